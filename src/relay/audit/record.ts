import { hash as hashOf, webcrypto } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Entry, Finding } from '#relay/core/vocabulary.js'
import { canonical } from '#relay/base/canonical.js'
import type { Json } from '#relay/protocol/json.js'
import { isRecord, isString, unmetered } from '#relay/protocol/unmetered.js'
import { type Payloads, payloadsOf } from './payloads.js'
import { declaredBy, redacted, redactedMessage, redactedPath } from './redaction.js'
import { cut, safeName, wellFormed, withoutCredentials } from '#relay/protocol/text/secrets.js'

/** The end of a chain of records. */
export interface Position {
  /** Of the last record; counted from 1 through all files of the log. */
  readonly seq: number
  /** Of the last record: hex. */
  readonly hash: string
}

export const recordBeginning: Position = { seq: 0, hash: '0'.repeat(64) }

export interface RecordLine {
  /** A record in canonical form (RFC 8785), with the line end. */
  readonly text: string
  /** After this record. */
  readonly position: Position
}

/** Members in canonical order, without the braces: a library would sort them for each record. */
const inner = (members: object): string => JSON.stringify(members).slice(1, -1)

/**
 * The line of a record. Both objects have their members, at any depth, in canonical order (RFC 8785).
 * @param before the members that sort before `hash`
 * @param after the members that sort after it; a text is such members in canonical form
 */
export const sealedLine = (
  before: object, after: readonly (object | string)[], last: Position,
): RecordLine => {
  const texts = after.map(part => (typeof part === 'string' ? part : inner(part))).filter(text => text !== '')
  const [head, tail] = [`{${inner(before)},`, `${texts.join()}}`]
  const hash = hashOf('sha256', head + tail)
  return { text: `${head}"hash":"${hash}",${tail}\n`, position: { seq: last.seq + 1, hash } }
}

/** Names of tools in a record; only their number is kept of further ones. */
const maxToolNames = 300

/**
 * The record of an entry, at the position after `last`.
 * @param now the wall clock
 */
export const nextLine = (entry: Entry, last: Position, payloads: Payloads, now: Date): RecordLine => {
  const { bytes, client, clientRevision, error, event, findings, from, health, id, more, ms } = entry
  const { peer, phase, reason, revision, server, serverInfo, serverMs, session, stderr, subject } = entry
  const { shown, shownTools, tool, tools, verdict } = entry
  const full = payloads === 'full'
  const name = full ? (text: string): string => wellFormed(cut(text)) : safeName
  const maybe = (text?: string): string | undefined => (text === undefined ? undefined : name(text))
  const payload = full || payloads === 'redacted' ? payloadsOf(entry, payloads) : undefined
  return sealedLine({
    bytes: bytes && { request: bytes.request, response: bytes.response },
    client: client && { name: name(client.name), version: name(client.version) },
    clientRevision: maybe(clientRevision),
    digest: payloads === 'none' ? undefined : digestsOf(entry),
    error, event: name(event), findings: findings.length === 0 ? findings : findingsOf(entry, payloads), from,
  }, [
    { health, id: typeof id === 'number' ? idOf(id) : maybe(id), more, ms: microseconds(ms) },
    payload === undefined ? '' : `"payload":${canonical(payload)}`,
    {
      peer: peer && { address: name(peer.address), token: peer.token },
      phase, prev: last.hash, reason: maybe(reason), revision: maybe(revision), seq: last.seq + 1,
      server: name(server),
      serverInfo: serverInfo && { name: name(serverInfo.name), version: name(serverInfo.version) },
      serverMs: microseconds(serverMs), session: name(session),
      shown: maybe(shown), shownTools: shownTools?.slice(0, maxToolNames).map(name),
      stderr: stderr?.map(name),
      // The claims have their names in JWTs (RFC 9068).
      subject: subject && {
        client_id: maybe(subject.client), iss: maybe(subject.issuer), name: maybe(subject.name),
        sub: maybe(subject.subject),
      },
      time: isoTime(now), tool: maybe(tool),
      tools: tools?.slice(0, maxToolNames).map(name),
      toolsMore: tools && tools.length > maxToolNames ? tools.length - maxToolNames : undefined,
      verdict,
    },
  ], last)
}

/** The findings of a record, whose members are in canonical order. */
const findingsOf = ({ called, findings }: Entry, payloads: Payloads): readonly Finding[] => {
  const full = payloads === 'full'
  const name = full ? (text: string): string => wellFormed(cut(text)) : safeName
  const maybe = (text?: string): string | undefined => (text === undefined ? undefined : name(text))
  const declared = full ? [] : declaredBy(called)
  const path = (text: string): string => wellFormed(full ? text : redactedPath(text, declared))
  // Where values are redacted, no message quotes them.
  const clean = payloads === 'redacted' ? redactedMessage : withoutCredentials
  const said = (text: string): string => wellFormed(full ? text : clean(text, declared))
  const json = (value: Json): string => {
    const held = unmetered(value)
    return wellFormed(cut(JSON.stringify(full ? held : redacted(held, declared))))
  }
  // What a server says of itself, and what a schema declares, is no payload: it loses only credentials.
  const schema = (
    value: Json,
  ): string => wellFormed(cut(withoutCredentials(JSON.stringify(unmetered(value)))))
  const texts = (value: Json): string => wellFormed(JSON.stringify(Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).map(([key, one]) =>
      [path(key), isString(one) && !full ? withoutCredentials(one) : one]))))
  const shown = (rule: string, key: 'declared' | 'value', value: Json) =>
    (rule.startsWith('tool/')
      ? { [key]: texts(value) }
      : payloads !== 'none' && { [key]: key === 'declared' ? schema(value) : json(value) })
  return findings.map((
    { rule, path: at, message, mended, tool, prompt, resource, ...beside }: Finding,
  ): Finding => ({
    ...(beside.declared !== undefined && shown(rule, 'declared', beside.declared)),
    ...(mended !== undefined && { mended: path(mended) }),
    message: said(message), path: path(at), prompt: maybe(prompt), resource: maybe(resource),
    rule, tool: maybe(tool),
    ...(beside.value !== undefined && shown(rule, 'value', beside.value)),
  }))
}

/** Milliseconds, to the third decimal. */
const microseconds = (ms: number | undefined): number | undefined =>
  (ms === undefined ? undefined : Math.round(ms * 1000) / 1000)

// A number beyond a double is Infinity, which JSON cannot write.
const idOf = (id: number): string | number => (Number.isFinite(id) ? id : String(id))

/** Digests of the arguments and the result, as they crossed the wire. */
const digestsOf = ({ arguments: given, result }: Entry): object | undefined =>
  given || result ? { arguments: given && digest(given), result: result && digest(result) } : undefined

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

/** A cache of the time's text without milliseconds: making the text costs as much as a hash. */
let second = { since: NaN, text: '' }

/** ISO 8601, UTC, with milliseconds. */
export const isoTime = (now: Date): string => {
  const milliseconds = now.getMilliseconds()
  const since = now.getTime() - milliseconds
  if (since !== second.since) second = { since, text: now.toISOString().slice(0, -4) }
  return `${second.text}${String(milliseconds).padStart(3, '0')}Z`
}

/** A record that was written, or is about to be. */
export interface Recorded {
  /** Its line in the log, with the line end. */
  readonly text: string
  /** Undefined for records about the log itself. */
  readonly entry: Entry | undefined
  readonly now: Date
}

/** Records that are written with one system call: either all of them are written, or none. */
export class RecordBatch {
  readonly records: Recorded[] = []
  /** All lines, with their line ends. */
  text = ''
  bytes = 0
  /** The sum of the counts in this batch's `audit/lost` records. */
  lost = 0
  /** Whether the records of this batch were already counted as lost. */
  isCounted = false
  #state: 'open' | 'written' | { readonly failure: unknown } = 'open'

  /**
   * @param before the position in the log before the first record of this batch
   * @param flush writes this batch. All records of a batch have the same function, so that a session that
   * waits for a record can tell whether a later record is in the same batch
   */
  constructor(readonly before: Position, readonly flush: () => void) {}

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  add({ text }: RecordLine, now: Date, entry: Entry | undefined): void {
    this.text += text
    this.bytes += Buffer.byteLength(text)
    this.records.push({ text, entry, now })
  }

  /**
   * Writes the batch at the first call; every later call reports the same outcome.
   * @throws CustomsError CANNOT_AUDIT, also when the operator chose `onFailure: continue`: the caller applies
   * that option
   */
  write(append: (batch: RecordBatch) => void): void {
    if (this.#state === 'open') {
      this.#state = 'written'
      try {
        append(this)
      } catch (failure) {
        this.#state = { failure }
      }
    }
    if (this.#state !== 'written') throw this.#state.failure
  }
}
