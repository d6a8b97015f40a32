import type { ServerEntry } from './clients/entry.js'
import { innermost } from '#relay/base/own-command.js'
import { isWrapped } from './clients/unwrap.js'
import type { Pin } from './clients/wrap.js'
import { CustomsError } from '#relay/base/errors.js'
import { plain } from '#relay/base/plain.js'
import type { Context } from '#desk/terminal/context.js'
import { type NamedPackage, namedPackage, packageOf } from '#relay/lock/identity.js'
import { subjectOf } from '#relay/config/subject.js'
import { isNewer } from './registry.js'
import { folderOf, entryName, setUpEntry } from './servers.js'
import type { ClientFile } from './sources.js'

/** The package that an entry runs by npx, uvx and the like. */
export interface EntryPackage extends NamedPackage {
  readonly entry: ServerEntry
  /** The word of the command line that names it. */
  readonly word: string
  /** The version that would run now, as far as it is known. */
  readonly now: string | undefined
  /** The newest version, if its registry tells one. */
  readonly newest: string | undefined
}

/** The packages of entries. All are looked up at once, unless no registry is to be asked. */
export const packagesOf = async (
  entries: readonly ServerEntry[], file: ClientFile, offline: boolean,
  { newestVersion }: Pick<Context, 'newestVersion'>,
): Promise<readonly EntryPackage[]> => {
  const found = await Promise.all(entries.map(async (entry): Promise<EntryPackage | undefined> => {
    const { server } = entry
    if (server.kind !== 'command' || entry.disabled) return undefined
    const words = isWrapped(server) ? server.words.slice(innermost(server.own).target) : server.words
    const subject = subjectOf(words)
    const named = namedPackage(subject)
    const word = words.findLast(one => one === subject.word || one.endsWith(`=${subject.word}`))
    if (named === undefined || word === undefined) return undefined
    const newest = offline ? undefined : await newestVersion(named.registry, named.name)
    const now = named.exact ?? (await cachedVersion(entry, file)) ?? newest
    return { ...named, entry, word, now, newest }
  }))
  return found.flatMap(one => one ?? [])
}

/** The version in the cache of npx, which starts that again. */
const cachedVersion = async (entry: ServerEntry, file: ClientFile): Promise<string | undefined> => {
  try {
    const { servers: [setup] } = await setUpEntry(entry, folderOf(entry, file))
    if (setup === undefined || 'url' in setup.server) return undefined
    const installed = await packageOf(setup.server, subjectOf(setup.server.command))
    return installed?.from === undefined ? installed?.version : undefined
  } catch (error) {
    if (!(error instanceof CustomsError)) throw error
    // Only the client can fill in its command line.
    return undefined
  }
}

/** The word with the version that would run now. */
const pinFor = ({ word, now, exact, pinned }: EntryPackage): Pin | undefined => {
  if (exact !== undefined || now === undefined) return undefined
  const option = /^(--[a-z]+=)/.exec(word)?.[1] ?? ''
  return { from: word, to: `${option}${pinned(now)}` }
}

/** Whether a person is asked to keep the version that would run now. */
export const canPin = (one: EntryPackage): boolean => pinFor(one) !== undefined

/** What a person may want to know of an entry's package. */
export const remarkOn = ({ name, exact, now, newest }: EntryPackage): string | undefined => {
  const shown = plain(name, 100)
  if (exact === undefined) {
    const version = now === undefined ? '' : ` (now ${now})`
    return `the entry names no version of ${shown}, so the next start may run another one${version}: ` +
      'install --pin writes the version'
  }
  return newest !== undefined && isNewer(newest, exact)
    ? `${shown} ${exact}: version ${newest} is there`
    : undefined
}

/** @returns the pins by entry: all where the flag says so, or a person agrees */
export const choosePins = async (
  packages: readonly EntryPackage[], isWanted: boolean, dialogue: Context['dialogue'],
): Promise<(entry: ServerEntry) => Pin | undefined> => {
  const pins = packages.flatMap(one => {
    const pin = pinFor(one)
    return pin === undefined ? [] : [{ ...one.entry, pin }]
  })
  const list = pins.map(({ name, scope, pin }) => `${entryName(name, scope)}: ${plain(pin.to, 100)}`).join(', ')
  const isChosen = isWanted || (pins.length > 0 && (await dialogue?.confirm(
    `Keep these packages at the version that they have now (${list})?`,
  )) === true)
  return entry => {
    const key = entry.path.join('\0')
    return isChosen ? pins.find(({ path }) => path.join('\0') === key)?.pin : undefined
  }
}
