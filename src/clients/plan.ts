import { CustomsError } from '#errors.js'
import { parseDocument } from './document.js'
import { entriesOf, type ServerEntry, type Server } from './entry.js'
import type { Client } from './known.js'
import { holdsSecret, maskedEntry } from './mask.js'
import { innermost, cmdMetacharacter, type Recognizer, type Launcher } from './own-command.js'
import { noteFor, type Note } from './record.js'
import { splice, type Document, type Splice } from './tree.js'
import { isWrapped, unwrapEdits, type KeyNames, type WrappedServer } from './unwrap.js'
import {
  optionWords, respell, rewrapEdits, withOption, wrapEdits, type Pin, type Spelling,
} from './wrap.js'

/** A client's file and its text. */
export interface Source {
  /** The path that is shown to the user. */
  readonly file: string
  /** The path without symbolic links. */
  readonly real: string
  readonly text: string
  readonly client: Client | undefined
  /** The project's folder, when only the servers of one project are wanted. */
  readonly scope?: string | undefined
}

/** The decision about one server. */
export type Step = Change | Kept

export interface Change {
  readonly kind: 'wrap' | 'rewrap' | 'unwrap'
  readonly entry: ServerEntry
  /** The entry before and after, with its secrets masked. */
  readonly before: string
  readonly after: string
  /** Notes for the user. */
  readonly advice: readonly string[]
  readonly spelling: Spelling
}

interface Kept {
  /** `done`: nothing to do. `left`: it could not be done. */
  readonly kind: 'done' | 'left'
  readonly entry: ServerEntry
  readonly reason: string
}

export const isChange = (step: Step): step is Change => 'after' in step

export interface Plan {
  readonly source: Source
  /** The new text of the file. */
  readonly text: string
  readonly steps: readonly Step[]
}

export interface Wanted {
  readonly isWanted: (entry: ServerEntry) => boolean
  readonly notes: readonly Note[]
  readonly recognizer: Recognizer
}

export interface Wrapped extends Wanted {
  readonly launcher: Launcher
  /** Undefined: what suits the client, and what is wrapped already keeps its policy. */
  readonly policy: string | undefined
  /** The path of the server's lock file. Undefined: a server that is wrapped already keeps its own. */
  readonly lockOf: (entry: ServerEntry) => string | undefined
  /** The package whose version is to be written into a server's command. */
  readonly pinOf: (entry: ServerEntry) => Pin | undefined
  /** True when a word of a wrapped command is a path that no longer exists. */
  readonly isGone: (path: string) => boolean
}

/** The servers of a file, or of the wanted project. @throws CustomsError BAD_CONFIG if it cannot be read */
export const readEntries = (source: Source, recognizer: Recognizer): readonly ServerEntry[] =>
  entriesIn(source, parseDocument(source.file, source.text), recognizer)

const entriesIn = (
  { client, scope }: Source, document: Document, recognizer: Recognizer,
): readonly ServerEntry[] =>
  entriesOf(document, client, recognizer).filter(entry =>
    scope === undefined || (entry.scope !== undefined && slashed(entry.scope) === slashed(scope)))

// Clients on Windows write folders with either kind of slash.
const slashed = (path: string): string => path.replaceAll('\\', '/')

/** The changes that `install` makes to a file. */
export const planInstall = (source: Source, wanted: Wrapped): Plan =>
  plan(source, wanted, (document, entry, known) => {
    const { server, disabled, name } = entry
    if (server.kind === 'unknown') return left(server.reason)
    const lock = wanted.lockOf(entry)
    const pin = wanted.pinOf(entry)
    if (server.kind === 'command' && isWrapped(server)) {
      return rewrap(document, server, { lock, pin, known }, wanted)
    }
    if (disabled) return left('is disabled')
    // All users of a machine can read the command lines of its processes.
    if (server.kind === 'remote' && holdsSecret(server.url.value.text)) {
      return left(
        'its URL seems to hold a secret, which a command line would show to everybody on this machine'
      )
    }
    const policy = wanted.policy ?? source.client?.policy?.name
    const options = optionWords({ server: name, policy, lock })
    const { splices, spelling } = wrapEdits(document, server, wanted.launcher.words, options, pin)
    const misread = cmdMetacharacter([...wanted.launcher.words, ...options, ...wordsOf(server)])
    if (misread !== undefined) {
      return left(
        `cmd would not hand on the ${misread} in its words as it is: npm install -g mcp-customs, and run ` +
          'install again',
      )
    }
    return { kind: 'wrap', splices, spelling, advice: adviceFor(server) }
  })

interface Rewrapping {
  readonly lock: string | undefined
  readonly pin: Pin | undefined
  readonly known: Spelling | undefined
}

const rewrap = (
  document: Document, server: WrappedServer, { lock, pin, known = {} }: Rewrapping,
  { launcher, policy, isGone }: Wrapped,
): Decision => {
  const words = server.own.launcher.slice(0, -1)
  const options = withOption(withOption(server.own.options, 'policy', policy), 'lock', lock)
  const gone = words.some(isGone)
  const elements = server.args.value.elements.slice(innermost(server.own).target)
  const pinned = pin === undefined ? [] : respell(document, elements, pin.from, pin.to)
  if (!gone && pinned.length === 0 && sameWords(options, server.own.options)) {
    return { kind: 'done', reason: 'runs under mcp-customs already' }
  }
  return {
    kind: 'rewrap',
    splices: [...rewrapEdits(document, server, gone ? launcher.words : words, options), ...pinned],
    spelling: pinned.length > 0 && pin ? { ...known, pin } : known,
    advice: [],
  }
}

const adviceFor = (server: Known): readonly string[] => {
  const signsIn = server.kind === 'remote' && server.headers === undefined && server.bearer === undefined
  return signsIn ? ['if it asks you to sign in: the client did that, and will do so no more'] : []
}

/** The changes that `uninstall` makes to a file. */
export const planUninstall = (source: Source, wanted: Wanted): Plan =>
  plan(source, wanted, (document, entry, spelling) => {
    const { server } = entry
    if (server.kind === 'unknown') return left(server.reason)
    if (server.kind !== 'command' || !isWrapped(server)) {
      return { kind: 'done', reason: 'does not run under mcp-customs' }
    }
    const splices = unwrapEdits(document, server, spelling, keyNamesOf(source))
    return typeof splices === 'string'
      ? left(`${splices}: undo it by hand`)
      : { kind: 'unwrap', splices, advice: [] }
  })

type Decision =
  | {
    readonly kind: Change['kind']; readonly splices: readonly Splice[]; readonly spelling?: Spelling;
    readonly advice: readonly string[]
  }
  | { readonly kind: Kept['kind']; readonly reason: string }

const left = (reason: string): Decision => ({ kind: 'left', reason })

type Decide = (document: Document, entry: ServerEntry, spelling: Spelling | undefined) => Decision

const plan = (source: Source, wanted: Wanted, decide: Decide): Plan => {
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
  source: Source, document: Document, wanted: Wanted, path: readonly string[], decide: Decide,
): { step: Step; document: Document } | undefined => {
  const entry = find(source, document, wanted, path)
  if (entry === undefined) return undefined
  const known = noteFor(wanted.notes, source.real, path)?.spelling
  const decision = decide(document, entry, known)
  if ('reason' in decision) return { step: { ...decision, entry }, document }
  const { kind, splices, spelling = known ?? {}, advice } = decision
  const changed = read(source.file, splice(document.text, splices))
  const next = changed && find(source, changed, wanted, path)
  const sound = changed !== undefined && next !== undefined
    && isSound(kind, document.text, entry, changed, next, spelling, keyNamesOf(source))
  if (!sound) {
    return { step: {
      kind: 'left', entry,
      reason: 'could not be changed so that it can be undone byte for byte: change it by hand',
    }, document }
  }
  return {
    step: {
      kind, entry, before: maskedEntry(document, entry.member), after: maskedEntry(changed, next.member),
      advice, spelling,
    },
    document: changed,
  }
}

const find = (
  source: Source, document: Document, { recognizer }: Wanted, path: readonly string[],
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

/** Reads the changed text: the entry has the wanted words, and unwrapping restores the old bytes. */
const isSound = (
  kind: Change['kind'], text: string, before: ServerEntry, document: Document, { server }: ServerEntry,
  spelling: Spelling, keyNames: KeyNames,
): boolean => {
  if (server.kind === 'unknown' || before.server.kind === 'unknown') return false
  if (kind === 'unwrap') {
    return sameWords(wordsOf(server), repinned(targetOf(before.server), spelling.pin?.to, spelling.pin?.from))
      && !(server.kind === 'command' && isWrapped(server))
  }
  if (server.kind !== 'command' || !isWrapped(server)) return false
  const expected = repinned(targetOf(before.server), spelling.pin?.from, spelling.pin?.to)
  if (!sameWords(targetOf(server), expected)) return false
  const back = kind === 'wrap' && unwrapEdits(document, server, spelling, keyNames)
  return kind === 'rewrap' || (typeof back === 'object' && splice(document.text, back) === text)
}

type Known = Exclude<Server, { kind: 'unknown' }>

const wordsOf = (server: Known): readonly string[] =>
  (server.kind === 'command' ? server.words : [server.url.value.text])

/** The words of the server's own command, without our command in front of them. */
const targetOf = (server: Known): readonly string[] =>
  server.kind === 'command' && server.own ? server.words.slice(innermost(server.own).target) : wordsOf(server)

const repinned = (words: readonly string[], from?: string, to?: string): readonly string[] => {
  const at = from === undefined ? -1 : words.lastIndexOf(from)
  return words.map((word, index) => (index === at ? to ?? word : word))
}

/** The entry as it will start its server. */
export const pinnedEntry = (entry: ServerEntry, pin: Pin | undefined): ServerEntry => {
  const { server } = entry
  return pin === undefined || server.kind !== 'command'
    ? entry
    : { ...entry, server: { ...server, words: repinned(server.words, pin.from, pin.to) } }
}

const sameWords = (a: readonly string[], b: readonly string[]): boolean => a.join('\0') === b.join('\0')

const keyNamesOf = ({ client }: Source): KeyNames =>
  client ?? { url: 'url', type: 'http', headers: 'headers' }
