import type { Entry } from '../core/effect.js'
import type { Verdict } from '../core/policy.js'
import type { Finding } from '../core/rule.js'
import type { Json } from '../protocol/json.js'
import { canonical, sha256 } from './canonical.js'
import { digestsOf, payloadsOf, wellFormed, type Kept, type Payloads } from './payload.js'
import { withoutSecrets } from './secrets.js'

/** One line of the log, but for its own hash (contract section 8). */
export interface Record {
  /** ISO 8601, UTC, with milliseconds. */
  readonly time: string
  /** Counted from 1 through the whole file. */
  readonly seq: number
  readonly event: string
  readonly server: string
  readonly session: string
  readonly client: { readonly name: string; readonly version: string } | undefined
  readonly revision: string | undefined
  readonly tool: string | undefined
  readonly id: string | number | undefined
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
  readonly ms: number | undefined
  readonly bytes: { readonly request?: number; readonly response?: number } | undefined
  readonly digest: Kept<string> | undefined
  readonly payload: Kept<Json> | undefined
  readonly error: number | undefined
  readonly reason: string | undefined
  /** The hash of the record before. */
  readonly prev: string
}

/** How far a log has come. */
export interface Position {
  readonly seq: number
  readonly hash: string
}

export const beginning: Position = { seq: 0, hash: '0'.repeat(64) }

/** Longest text that a peer can put into a record outside its payloads, in characters: names, ids, methods. */
const longest = 256

/** So many names are remembered: they come again with every call, and looking for secrets in them costs more than the rest. */
const mostNames = 1000
const cleanNames = new Map<string, string>()

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
  const record = recordOf(entry, last, payloads, now)
  const hash = sha256(canonicalOf(record))
  return { line: `${JSON.stringify(record).slice(0, -1)},"hash":"${hash}"}\n`, position: { seq: record.seq, hash } }
}

/** Most records hold nothing that would have to be sorted but their own members, which are sorted here: half of a record's cost. */
const canonicalOf = (record: Record): string => {
  const { bytes, client, digest, error, event, findings, id, ms, payload } = record
  const { prev, reason, revision, seq, server, session, time, tool, verdict } = record
  if (findings.length > 0 || payload !== undefined) return canonical(record)
  return JSON.stringify({
    bytes, client, digest, error, event, findings, id, ms, prev, reason, revision, seq, server, session, time, tool, verdict,
  })
}

const recordOf = (entry: Entry, last: Position, payloads: Payloads, now: Date): Record => {
  const { client, revision, tool, id, ms, bytes, error, reason } = entry
  const clean = payloads === 'full' ? wellFormed : scrubbed
  const text = payloads === 'full' ? (value: string) => clean(cut(value)) : cleanName
  return {
    time: now.toISOString(),
    seq: last.seq + 1,
    event: text(entry.event),
    server: text(entry.server),
    session: text(entry.session),
    client: client && { name: text(client.name), version: text(client.version) },
    revision: revision && text(revision),
    tool: tool === undefined ? undefined : text(tool),
    // A number beyond a double has no form in JSON.
    id: typeof id === 'string' ? clean(cut(id)) : id === undefined || Number.isFinite(id) ? id : String(id),
    verdict: entry.verdict,
    findings: entry.findings.map(({ rule, path, message }) => ({ rule, path: clean(path), message: clean(message) })),
    ms: ms === undefined ? undefined : Math.round(ms * 1000) / 1000,
    bytes,
    digest: payloads === 'none' ? undefined : digestsOf(entry),
    payload: payloads === 'redacted' || payloads === 'full' ? payloadsOf(entry, payloads) : undefined,
    error,
    reason: reason === undefined ? undefined : text(reason),
    prev: last.hash,
  }
}

const cut = (text: string): string => (text.length <= longest ? text : `${text.slice(0, longest)}…`)

const scrubbed = (text: string): string => wellFormed(withoutSecrets(text))

const cleanName = (name: string): string => {
  const text = cut(name)
  let clean = cleanNames.get(text)
  if (clean !== undefined) return clean
  clean = scrubbed(text)
  if (cleanNames.size >= mostNames) cleanNames.clear()
  cleanNames.set(text, clean)
  return clean
}
