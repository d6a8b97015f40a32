import type { Entry } from '../core/effect.js'
import type { Verdict } from '../core/policy.js'
import type { Finding } from '../core/rule.js'
import type { Json } from '../protocol/json.js'
import { canonicalHash } from './canonical.js'
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
  readonly client?: { readonly name: string; readonly version: string }
  readonly revision?: string
  readonly tool?: string
  readonly id?: string | number
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
  readonly ms?: number
  readonly bytes?: { readonly request?: number; readonly response?: number }
  readonly digest?: Kept<string>
  readonly payload?: Kept<Json>
  readonly error?: number
  readonly reason?: string
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
  const hash = canonicalHash(record)
  return { line: JSON.stringify({ ...record, hash }) + '\n', position: { seq: record.seq, hash } }
}

const recordOf = (entry: Entry, last: Position, payloads: Payloads, now: Date): Record => {
  const { client, revision, tool, id, ms, bytes, error, reason } = entry
  const clean = payloads === 'full' ? wellFormed : (text: string): string => wellFormed(withoutSecrets(text))
  const text = (value: string): string => clean(value.length <= longest ? value : `${value.slice(0, longest)}…`)
  const digest = payloads === 'none' ? undefined : digestsOf(entry)
  const payload = payloads === 'redacted' || payloads === 'full' ? payloadsOf(entry, payloads) : undefined
  return {
    time: now.toISOString(),
    seq: last.seq + 1,
    event: text(entry.event),
    server: text(entry.server),
    session: text(entry.session),
    ...(client && { client: { name: text(client.name), version: text(client.version) } }),
    ...(revision !== undefined && { revision: text(revision) }),
    ...(tool !== undefined && { tool: text(tool) }),
    // A number beyond a double has no form in JSON.
    ...(id !== undefined && { id: typeof id === 'string' ? text(id) : Number.isFinite(id) ? id : String(id) }),
    verdict: entry.verdict,
    findings: entry.findings.map(({ rule, path, message }) => ({ rule, path: clean(path), message: clean(message) })),
    ...(ms !== undefined && { ms: Math.round(ms * 1000) / 1000 }),
    ...(bytes && { bytes }),
    ...(digest && { digest }),
    ...(payload && { payload }),
    ...(error !== undefined && { error }),
    ...(reason !== undefined && { reason: text(reason) }),
    prev: last.hash,
  }
}
