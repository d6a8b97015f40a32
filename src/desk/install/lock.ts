import { basename } from 'node:path'
import type { ServerEntry } from './clients/entry.js'
import { CustomsError } from '#relay/base/errors.js'
import { plain } from '#relay/base/plain.js'
import type { Context } from '#desk/terminal/context.js'
import { type Draft, Drafts } from '#desk/lock/command.js'
import { asFailure, type ComparedServer, details, listAll, overview } from '#desk/lock/servers.js'
import { targetOf } from '#relay/config/target.js'
import { noSettings } from '#relay/host/settings.js'
import type { InstallFlags } from '#cli/flags/install.js'
import { folderOf, lockFileOf, lockWord, lockWordOf, entryName, setUpEntry } from './servers.js'
import type { ClientFile } from './sources.js'

/** The locks for the servers of a client's file. */
export interface Locking {
  /** The lock file as the server's entry names it; undefined for a server that runs without a lock. */
  readonly lockOf: (entry: ServerEntry) => string | undefined
  /** The locks whose content changed. */
  readonly changed: readonly Draft[]
  /** True when a server could not be listed. */
  readonly isPartial: boolean
}

export const noLocking: Locking = { lockOf: () => undefined, changed: [], isPartial: false }

/**
 * Lists each server and prints the difference to its lock. A server that cannot be listed keeps its lock, or
 * gets none: a lock without its definitions would stop it from starting.
 * @returns the exit code when it was interrupted
 * @throws CustomsError for a lock that cannot be relied on
 */
export const lockEntries = async (
  entries: readonly ServerEntry[], file: ClientFile, flags: InstallFlags, context: Context,
): Promise<Locking | number> => {
  const { lockFile, timeoutMs, yes, verbose } = flags
  const { print, style } = context
  const drafts = new Drafts()
  const words = new Map<string, string>()
  const setups = await Promise.all(entries.map(async entry => ({
    entry, set: await setUpEntry(entry, folderOf(entry, file)).catch(asFailure),
  })))
  const ready = setups.flatMap(({ entry, set }) =>
    ('servers' in set ? set.servers.map(setup => ({ entry, setup, configuration: set.configuration })) : []))
  const asked = await listAll(ready, { ...noSettings, timeoutMs }, context)
  const compared: ComparedServer[] = []
  const failed: string[] = []
  for (const { entry, set } of setups) {
    const draft = await drafts.of(lockFileOf(entry, file, lockFile))
    const hold = () => words.set(keyOf(entry), lockFile === undefined
      ? (lockWordOf(entry) ?? lockWord(draft.file, file))
      : lockWord(draft.file, file))
    const answer = asked.find(one => one.entry === entry)
    const name = answer?.setup.server.name ?? entry.name
    const title = entryName(entry.name, entry.scope)
    const before = draft.before(name)
    try {
      if (set instanceof CustomsError) throw set
      if (answer === undefined) continue
      const { listed, setup: { server } } = answer
      if (typeof listed === 'number') return listed
      if (listed instanceof CustomsError) throw listed
      const comparison = draft.propose(name, targetOf(server), listed, yes ? '--yes' : 'person')
      hold()
      compared.push({
        name: title, comparison: { ...comparison, before: basename(draft.file) }, isNew: before === undefined,
      })
    } catch (error) {
      const { message } = asFailure(error)
      if (before !== undefined) hold()
      const rest = before !== undefined
        ? 'it is held to what was accepted before'
        : 'nothing of it is accepted, and it runs without a lock; install --lock can be run again'
      const reason = plain(message.replace(`${name}: `, ''), 300)
      failed.push(`${style.warn(`${title}  cannot be asked: ${reason}: ${rest}`)}\n`)
    }
  }
  if (compared.length > 0) await print(overview(compared, failed.length, verbose, context))
  for (const one of compared) await print(details(one, verbose, context))
  for (const line of failed) await print(line)
  return { lockOf: entry => words.get(keyOf(entry)), changed: drafts.changed, isPartial: failed.length > 0 }
}

const keyOf = ({ path }: ServerEntry): string => path.join('\0')
