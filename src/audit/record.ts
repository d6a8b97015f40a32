import type { Entry } from '../core/effect.js'
import type { Finding } from '../core/rule.js'
import { canonical, sha256 } from './canonical.js'
import { payloadsOf, wellFormed, type Payloads } from './payload.js'
import { withoutSecrets } from './secrets.js'

/**
 * The members of a record but for its hash, each `"name":value,`, or nothing where there is none. Each is made once, and stands
 * both in the line and in the canonical form: that halves the cost of a record.
 */
type Members = Readonly<Record<Name, string>>

type Name =
  | 'time' | 'seq' | 'event' | 'phase' | 'server' | 'session' | 'client' | 'revision' | 'tool' | 'id' | 'verdict' | 'findings' | 'more' | 'ms'
  | 'bytes' | 'digest' | 'payload' | 'error' | 'reason' | 'prev'

/** As the contract shows them (section 8). */
const written = ({
  time, seq, event, phase, server, session, client, revision, tool, id, verdict, findings, more, ms, bytes, digest, payload, error, reason,
  prev,
}: Members): string =>
  time + seq + event + phase + server + session + client + revision + tool + id + verdict + findings + more + ms + bytes + digest +
  payload + error + reason + prev

/** In the order of the canonical form. The last one is there in every record. */
const sorted = ({
  bytes, client, digest, error, event, findings, id, more, ms, payload, phase, prev, reason, revision, seq, server, session, time, tool,
  verdict,
}: Members): string =>
  bytes + client + digest + error + event + findings + id + more + ms + payload + phase + prev + reason + revision + seq + server +
  session + time + tool + verdict.slice(0, -1)

/** How far a log has come. */
export interface Position {
  /** Of the last record; counted from 1 through the whole file. */
  readonly seq: number
  /** Of the last record: hex. */
  readonly hash: string
}

export const beginning: Position = { seq: 0, hash: '0'.repeat(64) }

/** Longest text that a peer can put into a record outside its payloads, in characters: names, ids, methods. */
const longest = 256

/**
 * The line for an entry that follows a position, line end included, and the position that it leads to.
 * @param now the wall clock
 */
export const nextLine = (
  entry: Entry,
  last: Position,
  payloads: Payloads,
  now: Date,
): { readonly line: string; readonly position: Position } => {
  const members = membersOf(entry, last, payloads, now)
  const hash = sha256(canonicalOf(members))
  return { line: `{${written(members)}"hash":"${hash}"}\n`, position: { seq: last.seq + 1, hash } }
}

const membersOf = (entry: Entry, last: Position, payloads: Payloads, now: Date): Members => {
  const { client, phase, revision, tool, id, verdict, findings, more, ms, error, reason } = entry
  const full = payloads === 'full'
  const text = full ? (value: string) => JSON.stringify(wellFormed(cut(value))) : nameText
  const clean = full ? wellFormed : scrubbed
  return {
    time: `"time":"${isoTime(now)}",`,
    seq: `"seq":${last.seq + 1},`,
    event: `"event":${text(entry.event)},`,
    phase: phase === undefined ? '' : `"phase":"${phase}",`,
    server: `"server":${text(entry.server)},`,
    session: `"session":${text(entry.session)},`,
    client: client ? `"client":{"name":${text(client.name)},"version":${text(client.version)}},` : '',
    revision: revision === undefined ? '' : `"revision":${text(revision)},`,
    tool: tool === undefined ? '' : `"tool":${text(tool)},`,
    id: id === undefined ? '' : `"id":${idText(id, clean)},`,
    verdict: `"verdict":"${verdict}",`,
    findings: findings.length === 0 ? noFindings : optional('findings', findings.map(finding => cleaned(finding, clean))),
    more: more === undefined ? '' : `"more":${more},`,
    ms: ms === undefined ? '' : `"ms":${Math.round(ms * 1000) / 1000},`,
    bytes: bytesOf(entry),
    digest: payloads === 'none' ? '' : digestsOf(entry),
    payload: payloads === 'redacted' || full ? optional('payload', payloadsOf(entry, payloads)) : '',
    error: error === undefined ? '' : `"error":${error},`,
    reason: reason === undefined ? '' : `"reason":${text(reason)},`,
    prev: `"prev":"${last.hash}",`,
  }
}

const cleaned = ({ rule, path, message, mended }: Finding, clean: (text: string) => string): Finding => ({
  rule,
  path: clean(path),
  message: clean(message),
  ...(mended !== undefined && { mended: clean(mended) }),
})

const bytesOf = ({ bytes }: Entry): string => {
  if (bytes === undefined) return ''
  const { request, response } = bytes
  return both('bytes', request === undefined ? '' : `"request":${request}`, response === undefined ? '' : `"response":${response}`)
}

/** Of the arguments and of the result, as they crossed the wire. */
const digestsOf = ({ arguments: given, result }: Entry): string =>
  given === undefined && result === undefined
    ? ''
    : both('digest', given && `"arguments":"sha256-${sha256(given)}"`, result && `"result":"sha256-${sha256(result)}"`)

const both = (name: Name, one = '', other = ''): string => `"${name}":{${one}${one !== '' && other !== '' ? ',' : ''}${other}},`

const noFindings = '"findings":[],'

const optional = (name: Name, value: unknown): string => (value === undefined ? '' : `"${name}":${JSON.stringify(value)},`)

/** Findings and payloads have members that are in no order here: with them it takes the library, which costs more than all the rest. */
const canonicalOf = (members: Members): string =>
  members.findings === noFindings && members.payload === ''
    ? `{${sorted(members)}}`
    : canonical(JSON.parse(`{${written(members).slice(0, -1)}}`))

/** The last second's text, but for the milliseconds: making it anew costs as much as a hash. */
let second = { since: NaN, text: '' }

/** ISO 8601, UTC, with milliseconds. */
const isoTime = (now: Date): string => {
  const milliseconds = now.getMilliseconds()
  const since = now.getTime() - milliseconds
  if (since !== second.since) second = { since, text: now.toISOString().slice(0, -4) }
  return `${second.text}${String(milliseconds).padStart(3, '0')}Z`
}

// A number beyond a double has no form in JSON.
const idText = (id: string | number, clean: (text: string) => string): string =>
  typeof id === 'string' ? JSON.stringify(clean(cut(id))) : Number.isFinite(id) ? String(id) : `"${id}"`

const cut = (text: string): string => (text.length <= longest ? text : `${text.slice(0, longest)}…`)

const scrubbed = (text: string): string => wellFormed(withoutSecrets(text))

/** So many names are remembered: they come again with every call, and looking for secrets in them costs more than the rest. */
const mostNames = 1000
const nameTexts = new Map<string, string>()

const nameText = (name: string): string => {
  const short = cut(name)
  let text = nameTexts.get(short)
  if (text !== undefined) return text
  text = JSON.stringify(scrubbed(short))
  if (nameTexts.size >= mostNames) nameTexts.clear()
  nameTexts.set(short, text)
  return text
}
