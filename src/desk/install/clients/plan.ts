import type { ServerEntry } from './entry.js'
import { holdsSecret } from './mask.js'
import { cmdMetacharacter, innermost, sameWords, type Launcher } from '#relay/base/own-command.js'
import {
  planWith, wordsOf, type EntryDecision, type KnownServer, type EntryPlan, type EntrySource,
  type WantedEntries,
} from './steps.js'
import type { Document } from './tree.js'
import { isWrapped, unwrapEdits, type WrappedServer } from './unwrap.js'
import { optionWords, pinEdits, rewrapEdits, withOption, wrapEdits, type Pin } from './wrap.js'

/** The policy of what `install` wraps: whoever uses a client can do nothing about a careless server. */
export const usualPolicy = 'compat'

export interface Wrapped extends WantedEntries {
  readonly launcher: Launcher
  /** Undefined: the usual one, and what is wrapped already keeps its policy. */
  readonly policy: string | undefined
  /** The path of the server's lock file. Undefined: a server that is wrapped already keeps its own. */
  readonly lockOf: (entry: ServerEntry) => string | undefined
  /** The package whose version is to be written into a server's command. */
  readonly pinOf: (entry: ServerEntry) => Pin | undefined
  /** True when a word of a wrapped command is a path that no longer exists. */
  readonly isGone: (path: string) => boolean
}

/** The changes that `install` makes to a file. */
export const planInstall = (source: EntrySource, wanted: Wrapped): EntryPlan =>
  planWith(source, recognizing(wanted), (document, entry) => {
    const { server, disabled, name } = entry
    if (server.kind === 'unknown') return left(server.reason)
    const lock = wanted.lockOf(entry)
    const pin = wanted.pinOf(entry)
    if (server.kind === 'command' && isWrapped(server)) {
      return rewrap(document, server, { lock, pin }, wanted)
    }
    if (disabled) return left('is disabled')
    // All users of a machine can read the command lines of its processes.
    if (server.kind === 'remote' && holdsSecret(server.url.value.text)) {
      return left(
        'its URL seems to hold a secret, which a command line would show to everybody on this machine',
      )
    }
    const policy = wanted.policy ?? usualPolicy
    const options = optionWords({ server: name, policy, profile: source.client?.profile, lock })
    const splices = wrapEdits(document, server, wanted.launcher.words, options, pin)
    const misread = cmdMetacharacter([...wanted.launcher.words, ...options, ...wordsOf(server)])
    if (misread !== undefined) {
      return left(
        `cmd would not hand on the ${misread} in its words as it is: copy mcp-customs to a folder that ` +
          'stays, and run install from there',
      )
    }
    return { kind: 'wrap', splices, pin, advice: adviceFor(server) }
  })

/** What is written now is ours as well. */
const recognizing = ({ launcher: { words }, recognizer, ...wanted }: Wrapped): WantedEntries => ({
  ...wanted,
  recognizer: { ...recognizer, isOurs: one => sameWords(one, words) || recognizer.isOurs(one) },
})

interface Rewrapping {
  readonly lock: string | undefined
  readonly pin: Pin | undefined
}

const rewrap = (
  document: Document, server: WrappedServer, { lock, pin }: Rewrapping,
  { launcher, policy, isGone }: Wrapped,
): EntryDecision => {
  const words = server.own.launcher.slice(0, -1)
  const options = withOption(withOption(server.own.options, 'policy', policy), 'lock', lock)
  const gone = words.some(isGone)
  const elements = server.args.value.elements.slice(innermost(server.own).target)
  const pinned = pinEdits(document, elements, pin)
  if (!gone && pinned.length === 0 && sameWords(options, server.own.options)) {
    return { kind: 'done', reason: 'runs under mcp-customs already' }
  }
  return {
    kind: 'rewrap',
    splices: [...rewrapEdits(document, server, gone ? launcher.words : words, options), ...pinned],
    pin,
    advice: [],
  }
}

const adviceFor = (server: KnownServer): readonly string[] => {
  const signsIn = server.kind === 'remote' && server.headers === undefined && server.bearer === undefined
  return signsIn ? ['if it asks you to sign in: the client did that, and will do so no more'] : []
}

/** The changes that `uninstall` makes to a file. */
export const planUninstall = (source: EntrySource, wanted: WantedEntries): EntryPlan =>
  planWith(source, wanted, (document, entry, note) => {
    const { server } = entry
    if (server.kind === 'unknown') return left(server.reason)
    if (server.kind !== 'command' || !isWrapped(server)) {
      return { kind: 'done', reason: 'does not run under mcp-customs' }
    }
    const splices = unwrapEdits(document, entry, server, note)
    return typeof splices === 'string'
      ? left(`${splices}: undo it by hand`)
      : { kind: 'unwrap', splices, advice: [] }
  })

/**
 * The changes that relax a tool of a wrapped server; `*` stands for all tools.
 * @param isUndone takes it back
 */
export const planRelax = (
  source: EntrySource, wanted: WantedEntries, tool: string, isUndone: boolean,
): EntryPlan =>
  planWith(source, wanted, (document, { server }) => {
    if (server.kind !== 'command' || !isWrapped(server)) {
      return left('does not run under mcp-customs: mcp-customs install puts it there')
    }
    const { launcher, options } = server.own
    const word = `--relax=${tool}`
    if (options.includes(word) !== isUndone) {
      return { kind: 'done', reason: isUndone ? 'is not relaxed' : 'is relaxed already' }
    }
    const misread = cmdMetacharacter([...launcher, word])
    if (misread !== undefined) return left(`cmd would not hand on the ${misread} in its words as it is`)
    const changed = isUndone ? options.filter(one => one !== word) : [...options, word]
    return {
      kind: 'rewrap', splices: rewrapEdits(document, server, launcher.slice(0, -1), changed), advice: [],
    }
  })

const left = (reason: string): EntryDecision => ({ kind: 'left', reason })
