import { basename } from 'node:path'
import type { Entry } from '#clients/entry.js'
import { CustomsError, pathText } from '#errors.js'
import { diffReport } from '#inspect/diff.js'
import { plain } from '#inspect/plain.js'
import type { Context } from '../context.js'
import { type Draft, Drafts } from '../lock/command.js'
import { targetOf } from '../server/upstream.js'
import type { InstallFlags } from './flags.js'
import { folderOf, lockFileOf, lockWord, lockWordOf, nameOf, setUpEntry } from './servers.js'
import type { ClientFile } from './sources.js'

/** The locks for the servers of a client's file. */
export interface Locking {
  /** The lock file as the server's entry names it; undefined for a server that runs without a lock. */
  readonly lockOf: (entry: Entry) => string | undefined
  /** The locks whose content changed. */
  readonly changed: readonly Draft[]
  /** True when a server could not be listed. */
  readonly isPartial: boolean
}

export const noLocking: Locking = { lockOf: () => undefined, changed: [], isPartial: false }

/**
 * Lists each server and prints the difference to its lock. A server that cannot be listed keeps its lock; one
 * that was never accepted runs without, because a lock would stop it from starting.
 * @returns the exit code when it was interrupted
 * @throws CustomsError for a lock that cannot be relied on
 */
export const lockEntries = async (
  entries: readonly Entry[], file: ClientFile, { lockFile, timeoutMs, yes }: InstallFlags, context: Context,
): Promise<Locking | number> => {
  const { print, style, width } = context
  const drafts = new Drafts()
  const words = new Map<string, string>()
  let isPartial = false
  for (const entry of entries) {
    const draft = await drafts.of(lockFileOf(entry, file, lockFile))
    const hold = () => words.set(keyOf(entry), lockFile === undefined
      ? (lockWordOf(entry) ?? lockWord(draft.file, file))
      : lockWord(draft.file, file))
    let name = entry.name
    try {
      const { configuration, servers: [setup] } = await setUpEntry(entry, folderOf(entry, file))
      if (setup === undefined) continue
      name = setup.server.name
      const listed =
        await context.list(setup, configuration, { audit: undefined, logLevel: 'warn', timeoutMs })
      if (typeof listed === 'number') return listed
      const comparison = draft.propose(name, targetOf(setup.server), listed, yes ? '--yes' : 'person')
      hold()
      await print(comparison.changes.length === 0
        ? `${nameOf(entry.name, entry.scope)}  offers what was accepted in ${pathText(draft.file)}\n`
        : `${diffReport({ ...comparison, before: basename(draft.file) }, style, width)}\n`)
    } catch (error) {
      if (!(error instanceof CustomsError)) throw error
      isPartial = true
      const isKnown = draft.before(name) !== undefined
      if (isKnown) hold()
      const rest = isKnown
        ? 'it is held to what was accepted before'
        : 'nothing of it is accepted, and it runs without a lock; install --lock can be run again'
      const reason = plain(error.message.replace(`${name}: `, ''), 300)
      const title = nameOf(entry.name, entry.scope)
      await print(`${style.warn(`${title}  cannot be asked: ${reason}: ${rest}`)}\n`)
    }
  }
  return { lockOf: entry => words.get(keyOf(entry)), changed: drafts.changed, isPartial }
}

const keyOf = ({ path }: Entry): string => path.join('\0')
