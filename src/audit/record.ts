import { hash as hashOf, webcrypto } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Entry, Identity } from '#core/event.js'
import type { Finding } from '#core/rule.js'
import { canonical } from '#canonical.js'
import { type Payloads, payloadsOf, wellFormed } from './redact.js'
import { cut, withoutSecrets } from './secrets.js'

/** The end of a chain of records. */
export interface Position {
  /** Of the last record; counted from 1 through all files of the log. */
  readonly seq: number
  /** Of the last record: hex. */
  readonly hash: string
}

export const beginning: Position = { seq: 0, hash: '0'.repeat(64) }

export interface Line {
  /** A record in canonical form (RFC 8785), with the line end. */
  readonly text: string
  /** After this record. */
  readonly position: Position
}

/**
 * The line of a record. `hash` is inserted at its place in the canonical order of the members.
 * @param before the members that sort before `hash`, each as `"name":value,`
 * @param after the members that sort after it, without the last comma
 */
export const sealed = (before: string, after: string, last: Position): Line => {
  const hash = hashOf('sha256', `{${before}${after}}`)
  return { text: `{${before}"hash":"${hash}",${after}}\n`, position: { seq: last.seq + 1, hash } }
}

/** Searched before the text is cut: the `@` of an address, which makes its password known, may come later. */
const maxSearched = 4096

/**
 * The record of an entry, at the position after `last`. The members are written out in canonical order: a
 * library would sort them for each record, which takes several times as long.
 * @param now the wall clock
 */
export const nextLine = (entry: Entry, last: Position, payloads: Payloads, now: Date): Line => {
  const { client, error, findings, health, id, more, ms, peer, phase, reason } = entry
  const { revision, serverMs, stderr, subject, tool, tools } = entry
  const full = payloads === 'full'
  const text = full ? (value: string) => JSON.stringify(wellFormed(cut(value))) : nameText
  const clean = full ? wellFormed : scrubbed
  const found = findings.map(finding => findingText(finding, clean, text)).join()
  const token = peer?.token === undefined ? '' : `,"token":${peer.token}`
  const before =
    bytesOf(entry) +
    (client ? `"client":{"name":${text(client.name)},"version":${text(client.version)}},` : '') +
    (payloads === 'none' ? '' : digestsOf(entry)) +
    (error === undefined ? '' : `"error":${error},`) +
    `"event":${text(entry.event)},"findings":[${found}],"from":"${entry.from}",`
  const after =
    (health === undefined ? '' : `"health":"${health}",`) +
    (id === undefined ? '' : `"id":${idText(id, text)},`) +
    (more === undefined ? '' : `"more":${more},`) +
    (ms === undefined ? '' : `"ms":${microseconds(ms)},`) +
    (payloads === 'redacted' || full ? payloadText(entry, payloads) : '') +
    (peer === undefined ? '' : `"peer":{"address":${text(peer.address)}${token}},`) +
    (phase === undefined ? '' : `"phase":"${phase}",`) +
    `"prev":"${last.hash}",` +
    (reason === undefined ? '' : `"reason":${text(reason)},`) +
    (revision === undefined ? '' : `"revision":${text(revision)},`) +
    `"seq":${last.seq + 1},"server":${text(entry.server)},` +
    (serverMs === undefined ? '' : `"serverMs":${microseconds(serverMs)},`) +
    `"session":${text(entry.session)},` +
    (stderr === undefined ? '' : `"stderr":[${stderr.map(text).join()}],`) +
    (subject === undefined ? '' : `"subject":${subjectText(subject, text)},`) +
    `"time":"${isoTime(now)}",` +
    (tool === undefined ? '' : `"tool":${text(tool)},`) +
    (tools === undefined ? '' : toolsText(tools, text)) +
    `"verdict":"${entry.verdict}"`
  return sealed(before, after, last)
}

/** Names of tools in a record; only their number is kept of further ones. */
const maxToolNames = 300

const toolsText = (tools: readonly string[], text: (name: string) => string): string => {
  const more = tools.length - maxToolNames
  const names = tools.slice(0, maxToolNames).map(text).join()
  return `"tools":[${names}],${more > 0 ? `"toolsMore":${more},` : ''}`
}

/** The claims have their names in JWTs (RFC 9068). */
const subjectText = (
  { issuer, subject, client, name }: Identity, text: (value: string) => string,
): string => {
  const claims = [['client_id', client], ['iss', issuer], ['name', name], ['sub', subject]] as const
  const members = claims.flatMap(([key, value]) => (value === undefined ? [] : `"${key}":${text(value)}`))
  return `{${members.join()}}`
}

/** Milliseconds, to the third decimal. */
const microseconds = (ms: number): number => Math.round(ms * 1000) / 1000

const bytesOf = ({ bytes }: Entry): string => {
  if (bytes === undefined) return ''
  const { request, response } = bytes
  const spell = (name: string, count: number | undefined): string =>
    count === undefined ? '' : `"${name}":${count}`
  return both('bytes', spell('request', request), spell('response', response))
}

/** Digests of the arguments and the result, as they crossed the wire. */
const digestsOf = ({ arguments: given, result }: Entry): string =>
  given === undefined && result === undefined
    ? ''
    : both('digest', given && `"arguments":"${digest(given)}"`, result && `"result":"${digest(result)}"`)

const digest = (bytes: Buffer): string => `sha256-${known.get(bytes) ?? hashOf('sha256', bytes)}`

/**
 * From this size on the thread pool hashes a value, in bytes. For the pool a value is copied, and kept
 * longer: for 1 MB, that costs 1 to 3 ms of CPU more than the 0.6 ms in which a hash holds the event loop up.
 */
const largeBytes = 4 * 1024 * 1024
/** The pool may be busy, with names that cannot be looked up: then the main thread hashes after all. */
const maxHashMs = 50
/** Digests of large values, hex. */
const known = new WeakMap<Buffer, string>()

/**
 * Has the digests of large values made beside the main thread, before their record is.
 * @returns resolves when `nextLine` need not wait for them; undefined where nothing is large
 */
export const digestLarge = ({ arguments: given, result }: Entry): Promise<unknown> | undefined => {
  const values = [given, result].filter(value => value !== undefined)
  const large = values.filter(({ length }) => length >= largeBytes)
  if (large.length === 0) return undefined
  const over = new AbortController()
  const hashed = Promise.all(large.map(async bytes => {
    known.set(bytes, Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex'))
  })).catch(() => undefined)
  return Promise.race([hashed, pause(maxHashMs, undefined, { signal: over.signal }).catch(() => undefined)])
    .finally(() => over.abort())
}

const both = (name: string, one = '', other = ''): string =>
  `"${name}":{${one}${one !== '' && other !== '' ? ',' : ''}${other}},`

const findingText = (
  { rule, path, message, mended, tool, prompt, resource }: Finding, clean: (text: string) => string,
  nameText: (name: string) => string,
): string => {
  const spell = (text: string): string => JSON.stringify(clean(text))
  const named = (key: string, name: string | undefined): string =>
    name === undefined ? '' : `,"${key}":${nameText(name)}`
  const change = mended === undefined ? '' : `"mended":${spell(mended)},`
  return `{${change}"message":${spell(message)},"path":${spell(path)}${named('prompt', prompt)}` +
    `${named('resource', resource)},"rule":"${rule}"${named('tool', tool)}}`
}

const payloadText = (entry: Entry, kind: 'redacted' | 'full'): string => {
  const payload = payloadsOf(entry, kind)
  return payload === undefined ? '' : `"payload":${canonical(payload)},`
}

/** A cache of the time's text without milliseconds: making the text costs as much as a hash. */
let second = { since: NaN, text: '' }

/** ISO 8601, UTC, with milliseconds. */
export const isoTime = (now: Date): string => {
  const milliseconds = now.getMilliseconds()
  const since = now.getTime() - milliseconds
  if (since !== second.since) second = { since, text: now.toISOString().slice(0, -4) }
  return `${second.text}${String(milliseconds).padStart(3, '0')}Z`
}

// A number beyond a double is Infinity, which JSON cannot write.
const idText = (id: string | number, text: (value: string) => string): string =>
  typeof id === 'string' ? text(id) : Number.isFinite(id) ? String(id) : `"${id}"`

const scrubbed = (text: string): string => wellFormed(withoutSecrets(text))

/** Names recur with every call, and searching them for secrets costs more than the rest of a record. */
const maxNames = 1000
const names = new Map<string, string>()

const nameText = (name: string): string => {
  const short = cut(name, maxSearched)
  const known = names.get(short)
  if (known !== undefined) return known
  const text = JSON.stringify(wellFormed(cut(withoutSecrets(short))))
  if (names.size >= maxNames) names.clear()
  names.set(short, text)
  return text
}
