import type { Audit, AuditOptions, Follower } from '#relay/audit/audit.js'
import type { Usage } from '#relay/audit/output.js'
import type { Log } from '#relay/audit/log.js'
import { recordBeginning, nextLine } from '#relay/audit/record.js'
import { openAudit } from '#relay/audit/sink.js'
import type { AuditConfiguration } from '#relay/config/configuration.js'
import type { Entry } from '#relay/core/vocabulary.js'
import { messageOf } from '#relay/base/errors.js'
import { quote } from '#relay/protocol/quote.js'
import { type LogRecord, recordOfLine } from '#relay/audit/read/record.js'
import type { Metrics } from '#relay/telemetry/metrics.js'
import type { Refused } from '#relay/transport/front/front.js'
import { realTimers, type Timers } from '#relay/transport/timers.js'

/** Descriptor of the standard output, which `serve` does not use otherwise. */
const standardOutput = 1

type AuditsOptions = Pick<AuditOptions, 'followers' | 'failed'> & {
  readonly log: Log
  /** Descriptor of the standard stream that is spare (that of `serve`). */
  readonly stream?: number
}

/**
 * The audit logs of a gateway: one for all servers when the operator names a file, else one for each. Each is
 * opened once and survives a reload, because a chain has one writer. The guard decides which payloads are
 * recorded.
 */
export class Audits {
  readonly #options: AuditsOptions
  readonly #open = new Map<string, Promise<Audit>>()
  /** By server name; servers may share a log. */
  readonly #opened = new Map<string, Audit>()

  constructor(options: AuditsOptions) {
    this.#options = options
  }

  /** @throws CustomsError CANNOT_AUDIT */
  async open(configuration: AuditConfiguration, server: string): Promise<Audit> {
    const { file } = configuration
    const key = file === undefined ? `server ${server}` : `file ${file}`
    const audit =
      this.#open.get(key) ?? openAudit({ ...configuration, server, stream: standardOutput, ...this.#options })
    this.#open.set(key, audit)
    // A log that could not be opened is retried at the next reload.
    audit.catch(() => this.#open.delete(key))
    this.#opened.set(server, await audit)
    return audit
  }

  /** The open log of a server. */
  of(server: string): Audit | undefined {
    return this.#opened.get(server)
  }

  /** Disk usage by server name. */
  usage(): ReadonlyMap<string, Usage> {
    return new Map([...this.#opened].flatMap(([server, audit]) => {
      const usage = audit.usage()
      return usage ? [[server, usage] as const] : []
    }))
  }

  /** @throws CustomsError CANNOT_AUDIT when one could not be brought to its end; all are closed */
  async close(): Promise<void> {
    const audits = await Promise.all(this.#open.values())
    const failures = audits.flatMap(audit => {
      try {
        audit.close()
        return []
      } catch (error) {
        return [error]
      }
    })
    if (failures.length > 0) throw failures[0]
  }
}

/** Writes a record that belongs to no session: when it fails, the messages go on. */
export const writeBeside = (
  { audit, log, metrics }: { readonly audit: Pick<Audit, 'write'>; readonly log: Log; readonly metrics: Metrics },
  entry: Entry,
): void => {
  try {
    audit.write(entry)
  } catch (failure) {
    metrics.auditFailed()
    log.warn(messageOf(failure))
  }
}

/** A refusal, and how many like it came since the last report. */
export interface ToldRefusal extends Refused {
  readonly times: number
}

/** How often a kind of refusal is reported, in milliseconds; and how many kinds are counted separately. */
const everyMs = 60_000
const maxKinds = 1000

/**
 * Reports each kind of refusal (address, status, message, path) at once, and then with a count at most once a
 * minute, so that refused clients cannot fill a log.
 */
export class Refusals {
  readonly #report: (refusal: ToldRefusal) => void
  readonly #timers: Timers
  readonly #kinds = new Map<string, { times: number; last: Refused; readonly stop: () => void }>()

  constructor(report: (refusal: ToldRefusal) => void, timers: Timers = realTimers) {
    this.#report = report
    this.#timers = timers
  }

  note(refused: Refused): void {
    // Beyond that, all addresses and messages of a status are counted as one.
    const isOneOfMany = this.#kinds.size >= maxKinds
    const address = isOneOfMany ? 'others' : refused.address
    const { status, message, path, subject } = refused
    const { issuer, subject: user, name } = subject ?? {}
    const key = JSON.stringify(
      isOneOfMany ? [address, status] : [address, status, message, path, issuer, user, name])
    const kind = this.#kinds.get(key)
    if (kind) {
      kind.times++
      kind.last = { ...refused, address }
      return
    }
    const stop = this.#timers.after(everyMs, () => this.#again(key))
    this.#kinds.set(key, { times: 0, last: { ...refused, address }, stop })
    this.#report({ ...refused, address, times: 1 })
  }

  /** Reports pending counts. */
  flush(): void {
    for (const key of [...this.#kinds.keys()]) this.#again(key)
  }

  #again(key: string): void {
    const kind = this.#kinds.get(key)
    this.#kinds.delete(key)
    kind?.stop()
    if (kind === undefined || kind.times === 0) return
    this.#report({ ...kind.last, times: kind.times })
  }
}

/** Feeds a page with records, without secrets, whatever the log keeps. */
export const recordsFor = (take: (record: LogRecord) => void): Follower => ({
  recorded: (_, entry, now) => {
    if (entry === undefined) return
    const { text } = nextLine({ ...entry, arguments: undefined, result: undefined }, recordBeginning, 'digest', now)
    const record = recordOfLine(text)
    if (record !== undefined) take(record)
  },
})

/** Counts refusals and records them. */
export const refusalsTo = (
  places: RefusalPlaces,
): { readonly refused: (refused: Refused) => void; readonly flush: () => void } => {
  const refusals = new Refusals(
    refusal => record(refusal, refusal.path === undefined ? undefined : places.nameAt(refusal.path), places),
  )
  return {
    refused: refused => {
      places.metrics.refused(refused.status)
      refusals.note(refused)
    },
    flush: () => refusals.flush(),
  }
}

interface RefusalPlaces {
  readonly audits: Pick<Audits, 'of'>
  readonly metrics: Metrics
  readonly log: Log
  /** The server at a path. */
  readonly nameAt: (path: string) => string | undefined
}

/** Writes a refusal to stderr and to the log of the server it was meant for. */
const record = (
  { status, message, address, subject, times }: ToldRefusal, server: string | undefined,
  { audits, metrics, log }: RefusalPlaces,
): void => {
  const reason = `HTTP ${status}: ${message}${times > 1 ? ` (${times} times)` : ''}`
  const who = subject?.subject ?? subject?.client ?? subject?.name
  const from = `${address || 'a program of this machine'}${who === undefined ? '' : ` (${quote(who)})`}`
  log.warn(`refused ${from}: ${reason}`)
  const audit = server === undefined ? undefined : audits.of(server)
  if (server === undefined || audit === undefined) return
  writeBeside({ audit, log, metrics }, {
    event: 'http/refused', from: 'client', server, session: '', client: undefined,
    peer: { address, token: undefined }, subject, revision: undefined, verdict: 'block', findings: [], reason,
  })
}
