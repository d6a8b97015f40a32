import { CustomsError } from '#relay/base/errors.js'
import { isSamePath } from '#relay/base/platform/machine.js'
import { parseDocument } from './document.js'
import { entriesOf, type Server, type ServerEntry } from './entry.js'
import type { KnownClient } from './known.js'
import { maskedEntry } from './mask.js'
import { innermost, sameWords, type Recognizer } from '#relay/base/own-command.js'
import { noteFor, type Note } from './record.js'
import { regionOf, treeSlice, splice, type Document, type Splice } from './tree.js'
import { isWrapped } from './unwrap.js'
import type { Pin } from './wrap.js'

/** A client's file and its text. */
export interface EntrySource {
  /** The path that is shown to the user. */
  readonly file: string
  /** The path without symbolic links. */
  readonly real: string
  readonly text: string
  readonly client: KnownClient | undefined
  /** The project's folder, when only the servers of one project are wanted. */
  readonly scope?: string | undefined
}

/** The decision about one server. */
export type Step = EntryChange | Kept

export interface EntryChange {
  readonly kind: 'wrap' | 'rewrap' | 'unwrap'
  readonly entry: ServerEntry
  /** The entry before and after, with its secrets masked. */
  readonly before: string
  readonly after: string
  /** Notes for the user. */
  readonly advice: readonly string[]
  /** For the record. */
  readonly note: Note
}

interface Kept {
  /** `done`: nothing to do. `left`: it could not be done. */
  readonly kind: 'done' | 'left'
  readonly entry: ServerEntry
  readonly reason: string
}

export const isChange = (step: Step): step is EntryChange => 'after' in step

export interface EntryPlan {
  readonly source: EntrySource
  /** The new text of the file. */
  readonly text: string
  readonly steps: readonly Step[]
}

export interface WantedEntries {
  readonly isWanted: (entry: ServerEntry) => boolean
  readonly notes: readonly Note[]
  readonly recognizer: Recognizer
}

/** The servers of a file, or of the wanted project. @throws CustomsError BAD_CONFIG if it cannot be read */
export const readEntries = (source: EntrySource, recognizer: Recognizer): readonly ServerEntry[] =>
  entriesIn(source, parseDocument(source.file, source.text), recognizer)

const entriesIn = (
  { client, scope }: EntrySource, document: Document, recognizer: Recognizer,
): readonly ServerEntry[] =>
  entriesOf(document, client, recognizer).filter(entry =>
    scope === undefined || (entry.scope !== undefined && isSamePath(slashed(entry.scope), slashed(scope))))

// Clients on Windows write folders with either kind of slash.
const slashed = (path: string): string => path.replaceAll('\\', '/')

/** What to do with an entry. */
export type EntryDecision =
  | {
    readonly kind: EntryChange['kind']; readonly splices: readonly Splice[]; readonly pin?: Pin | undefined
    readonly advice: readonly string[]
  }
  | { readonly kind: Kept['kind']; readonly reason: string }

type Decide = (document: Document, entry: ServerEntry, note: Note | undefined) => EntryDecision

/**
 * Decides about the entries in order. Each change is made in the text that results from the change before it,
 * and only if it can be undone.
 */
export const planWith = (source: EntrySource, wanted: WantedEntries, decide: Decide): EntryPlan => {
  const steps: Step[] = []
  let document = parseDocument(source.file, source.text)
  for (const { path } of entriesIn(source, document, wanted.recognizer).filter(wanted.isWanted)) {
    const taken = takeStep(source, document, wanted, path, decide)
    if (taken === undefined) continue
    steps.push(taken.step)
    document = taken.document
  }
  return { source, text: document.text, steps }
}

const takeStep = (
  source: EntrySource, document: Document, wanted: WantedEntries, path: readonly string[], decide: Decide,
): { step: Step; document: Document } | undefined => {
  const entry = find(source, document, wanted, path)
  if (entry === undefined) return undefined
  const noted = noteFor(wanted.notes, source.real, path)
  const decision = decide(document, entry, noted)
  if ('reason' in decision) return { step: { ...decision, entry }, document }
  const { kind, splices, pin, advice } = decision
  const changed = read(source.file, splice(document.text, splices))
  const changedEntry = changed && find(source, changed, wanted, path)
  const note = changedEntry && noteOf(kind, source, noted, document, entry, changed, changedEntry)
  const isUndoable = changed !== undefined && changedEntry !== undefined && note !== undefined
    && isSound(kind, document, entry, changed, changedEntry, note, pin)
  if (!isUndoable) {
    return { step: {
      kind: 'left', entry,
      reason: 'could not be changed so that it can be undone byte for byte: change it by hand',
    }, document }
  }
  return {
    step: {
      kind, entry, advice, note,
      before: maskedEntry(document, entry.member), after: maskedEntry(changed, changedEntry.member),
    },
    document: changed,
  }
}

const textOf = (document: Document, { member }: ServerEntry): string => treeSlice(document, regionOf(member))

/** An entry that is wrapped already keeps what stood there before, unless somebody has edited it since. */
const noteOf = (
  kind: EntryChange['kind'], { real }: EntrySource, noted: Note | undefined, document: Document, entry: ServerEntry,
  changed: Document, changedEntry: ServerEntry,
): Note => {
  const text = textOf(document, entry)
  const before = kind === 'wrap' ? text : noted?.after === text ? noted.before : undefined
  return {
    file: real, path: entry.path, words: launcherOf(changedEntry.server),
    ...(before !== undefined && { before, after: textOf(changed, changedEntry) }),
  }
}

const find = (
  source: EntrySource, document: Document, { recognizer }: WantedEntries, path: readonly string[],
): ServerEntry | undefined =>
  entriesIn(source, document, recognizer).find(one => sameWords(one.path, path))

const read = (file: string, text: string): Document | undefined => {
  try {
    return parseDocument(file, text)
  } catch (error) {
    if (error instanceof CustomsError) return undefined
    throw error
  }
}

/** True if the changed entry has the wanted words, and the note about it restores the old bytes. */
const isSound = (
  kind: EntryChange['kind'], document: Document, before: ServerEntry, changed: Document, after: ServerEntry,
  note: Note, pin: Pin | undefined,
): boolean => {
  const { server } = after
  if (server.kind === 'unknown' || before.server.kind === 'unknown') return false
  const isOurs = server.kind === 'command' && isWrapped(server)
  if (kind === 'unwrap') return !isOurs
  if (!isOurs || !sameWords(targetOf(server), withVersion(targetOf(before.server), pin?.from, pin?.to))) {
    return false
  }
  const back = { ...regionOf(after.member), text: note.before ?? '' }
  return kind === 'rewrap' || splice(changed.text, [back]) === document.text
}

/** A server that can be wrapped. */
export type KnownServer = Exclude<Server, { kind: 'unknown' }>

export const wordsOf = (server: KnownServer): readonly string[] =>
  (server.kind === 'command' ? server.words : [server.url.value.text])

const launcherOf = (server: Server): readonly string[] =>
  (server.kind === 'command' && server.own ? server.own.launcher.slice(0, -1) : [])

/** The words of the server's own command, without our command in front of them. */
const targetOf = (server: KnownServer): readonly string[] =>
  server.kind === 'command' && server.own ? server.words.slice(innermost(server.own).target) : wordsOf(server)

/** Replaces the last word that equals `from`: a package with its version. */
const withVersion = (words: readonly string[], from?: string, to?: string): readonly string[] => {
  const at = from === undefined ? -1 : words.lastIndexOf(from)
  return words.map((word, index) => (index === at ? to ?? word : word))
}

/** The entry with the version of its package that will be written. */
export const pinnedEntry = (entry: ServerEntry, pin: Pin | undefined): ServerEntry => {
  const { server } = entry
  return pin === undefined || server.kind !== 'command'
    ? entry
    : { ...entry, server: { ...server, words: withVersion(server.words, pin.from, pin.to) } }
}
