import { hash as hashOf } from 'node:crypto'
import type { Entry } from '../core/event.js'
import type { Finding } from '../core/rule.js'
import { canonical } from '../canonical.js'
import { type Payloads, payloadsOf, wellFormed } from './payload.js'
import { withoutSecrets } from './secrets.js'

/** How far a log has come. */
export interface Position {
  /** Of the last record; counted from 1 through all files of the log. */
  readonly seq: number
  /** Of the last record: hex. */
  readonly hash: string
}

export const beginning: Position = { seq: 0, hash: '0'.repeat(64) }

export interface Line {
  /** A record in canonical form (RFC 8785), and the line end. */
  readonly text: string
  /** Where it leads. */
  readonly position: Position
}

/**
 * The line of a record. Its hash stands where the canonical form has it: between the members that sort before `hash` and
 * those that sort after it.
 * @param before each member `"name":value,`, in canonical order; so in `after`, but for the last comma
 */
export const sealed = (before: string, after: string, last: Position): Line => {
  const hash = hashOf('sha256', `{${before}${after}}`)
  return { text: `{${before}"hash":"${hash}",${after}}\n`, position: { seq: last.seq + 1, hash } }
}

/** Longest text that a peer can put into a record outside its payloads, in characters: names, ids, methods. */
const longest = 256

/**
 * The line for an entry that follows a position. The members are written out in their order here, which a library would have
 * to find out for each record again, and takes several times as long.
 * @param now the wall clock
 */
export const nextLine = (entry: Entry, last: Position, payloads: Payloads, now: Date): Line => {
  const { client, error, findings, id, more, ms, peer, phase, reason, revision, serverMs, tool } = entry
  const full = payloads === 'full'
  const text = full ? (value: string) => JSON.stringify(wellFormed(cut(value))) : nameText
  const clean = full ? wellFormed : scrubbed
  const before =
    bytesOf(entry) +
    (client ? `"client":{"name":${text(client.name)},"version":${text(client.version)}},` : '') +
    (payloads === 'none' ? '' : digestsOf(entry)) +
    (error === undefined ? '' : `"error":${error},`) +
    `"event":${text(entry.event)},"findings":[${findings.map(finding => findingText(finding, clean)).join()}],"from":"${entry.from}",`
  const after =
    (id === undefined ? '' : `"id":${idText(id, clean)},`) +
    (more === undefined ? '' : `"more":${more},`) +
    (ms === undefined ? '' : `"ms":${microseconds(ms)},`) +
    (payloads === 'redacted' || full ? payloadText(entry, payloads) : '') +
    (peer === undefined ? '' : `"peer":{"address":${text(peer.address)}${peer.token === undefined ? '' : `,"token":${peer.token}`}},`) +
    (phase === undefined ? '' : `"phase":"${phase}",`) +
    `"prev":"${last.hash}",` +
    (reason === undefined ? '' : `"reason":${text(reason)},`) +
    (revision === undefined ? '' : `"revision":${text(revision)},`) +
    `"seq":${last.seq + 1},"server":${text(entry.server)},` +
    (serverMs === undefined ? '' : `"serverMs":${microseconds(serverMs)},`) +
    `"session":${text(entry.session)},"time":"${isoTime(now)}",` +
    (tool === undefined ? '' : `"tool":${text(tool)},`) +
    `"verdict":"${entry.verdict}"`
  return sealed(before, after, last)
}

/** Milliseconds, to the third decimal. */
const microseconds = (ms: number): number => Math.round(ms * 1000) / 1000

const bytesOf = ({ bytes }: Entry): string => {
  if (bytes === undefined) return ''
  const { request, response } = bytes
  return both('bytes', request === undefined ? '' : `"request":${request}`, response === undefined ? '' : `"response":${response}`)
}

/** Of the arguments and of the result, as they crossed the wire. */
const digestsOf = ({ arguments: given, result }: Entry): string =>
  given === undefined && result === undefined
    ? ''
    : both('digest', given && `"arguments":"${digest(given)}"`, result && `"result":"${digest(result)}"`)

const digest = (bytes: Buffer): string => `sha256-${hashOf('sha256', bytes)}`

const both = (name: string, one = '', other = ''): string => `"${name}":{${one}${one !== '' && other !== '' ? ',' : ''}${other}},`

const findingText = ({ rule, path, message, mended }: Finding, clean: (text: string) => string): string => {
  const change = mended === undefined ? '' : `"mended":${JSON.stringify(clean(mended))},`
  return `{${change}"message":${JSON.stringify(clean(message))},"path":${JSON.stringify(clean(path))},"rule":"${rule}"}`
}

const payloadText = (entry: Entry, kind: 'redacted' | 'full'): string => {
  const payload = payloadsOf(entry, kind)
  return payload === undefined ? '' : `"payload":${canonical(payload)},`
}

/** The last second's text, but for the milliseconds: making it anew costs as much as a hash. */
let second = { since: NaN, text: '' }

/** ISO 8601, UTC, with milliseconds. */
export const isoTime = (now: Date): string => {
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

/** So many names are kept: they come again with every call, and the search for secrets costs more than all the rest. */
const maxNames = 1000
const names = new Map<string, string>()

const nameText = (name: string): string => {
  const short = cut(name)
  const known = names.get(short)
  if (known !== undefined) return known
  const text = JSON.stringify(scrubbed(short))
  if (names.size >= maxNames) names.clear()
  names.set(short, text)
  return text
}
