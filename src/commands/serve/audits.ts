import type { Usage } from '../../audit/log-file.js'
import type { Log } from '../../audit/log.js'
import { remembering } from '../../audit/secret-names.js'
import { withoutSecrets } from '../../audit/secrets.js'
import { type Audit, type AuditOptions, type Follower, openAudit } from '../../audit/sink.js'
import type { AuditConfiguration } from '../../config/configuration.js'
import { messageOf } from '../../errors.js'
import { type LogRecord, recordOfEntry } from '../../report/record.js'
import type { Metrics } from '../../telemetry/metrics.js'
import type { Refused } from '../../transport/front/front.js'
import { realTimers, type Timers } from '../../transport/timers.js'

/** The standard output, which `serve` has to spare. */
const standardOutput = 1

type AuditsOptions = Pick<AuditOptions, 'followers' | 'failed'> & { readonly log: Log }

/**
 * The logs of a gateway: one for all of its servers where the operator names a file, else one for each. Each
 * is opened
 * once, and stays open when the configuration is read again: its chain has one writer. What of each call is
 * kept in it is the guard's to say.
 */
export class Audits {
  readonly #options: AuditsOptions
  readonly #open = new Map<string, Promise<Audit>>()
  /** By the server's name; two may share a file. */
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
    // What could not be opened is tried again when the configuration is read again.
    audit.catch(() => this.#open.delete(key))
    this.#opened.set(server, await audit)
    return audit
  }

  /** That of a server, once it is open. */
  of(server: string): Audit | undefined {
    return this.#opened.get(server)
  }

  /** What those on disk take up, by the server's name. */
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

/** A refusal, and how many more of its kind there were since the last was told. */
export interface ToldRefusal extends Refused {
  readonly times: number
}

/** How often one kind is told, in milliseconds; and how many kinds are counted apart at a time. */
const everyMs = 60_000
const mostKinds = 1000

/**
 * Tells refusals, but each kind (one client, one reason, one path) once a minute at most: at once for the
 * first, with their number for those
 * that follow. Nobody can fill a log by being refused.
 */
export class Refusals {
  readonly #tell: (refusal: ToldRefusal) => void
  readonly #timers: Timers
  readonly #kinds = new Map<string, { times: number; last: Refused }>()

  constructor(tell: (refusal: ToldRefusal) => void, timers: Timers = realTimers) {
    this.#tell = tell
    this.#timers = timers
  }

  note(refused: Refused): void {
    // Beyond that, clients are not told apart.
    const address = this.#kinds.size < mostKinds ? refused.address : 'others'
    const { status, message, path } = refused
    const key = JSON.stringify([address, status, message, path])
    const kind = this.#kinds.get(key)
    if (kind) {
      kind.times++
      kind.last = { ...refused, address }
      return
    }
    this.#kinds.set(key, { times: 0, last: { ...refused, address } })
    this.#tell({ ...refused, address, times: 1 })
    this.#timers.after(everyMs, () => this.#again(key))
  }

  /** Tells what is not told yet: at the end. */
  flush(): void {
    for (const key of [...this.#kinds.keys()]) this.#again(key)
  }

  #again(key: string): void {
    const kind = this.#kinds.get(key)
    this.#kinds.delete(key)
    if (kind === undefined || kind.times === 0) return
    this.#tell({ ...kind.last, times: kind.times })
  }
}

/**
 * So many texts are remembered: they come again with every call, and looking for secrets in them costs more
 * than the rest.
 */
const most = 1000
/** Characters of a text that are looked at: no page shows more. */
const longest = 1000

/** Tells a page of each entry: no secrets, whatever the log keeps. */
export const recordsFor = (take: (record: LogRecord) => void): Follower => {
  const clean = remembering(withoutSecrets, most)
  return {
    recorded: (_, entry) => {
      if (entry !== undefined) take(recordOfEntry(entry, Date.now(), text => clean(text.slice(0, longest))))
    },
  }
}

/** Told of refusals: counts them, and puts them on record. */
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
  /** Which server stands at a path. */
  readonly nameAt: (path: string) => string | undefined
}

/** On stderr, and in the log of the server that was meant. */
const record = (
  { status, message, address, times }: ToldRefusal, server: string | undefined,
  { audits, metrics, log }: RefusalPlaces,
): void => {
  const reason = `HTTP ${status}: ${message}${times > 1 ? ` (${times} times)` : ''}`
  log.warn(`refused ${address || 'a program of this machine'}: ${reason}`)
  if (server === undefined) return
  try {
    audits.of(server)?.write({
      event: 'http/refused', from: 'client', server, session: '', client: undefined,
      peer: { address, token: undefined }, revision: undefined, verdict: 'block', findings: [], reason,
    })
  } catch (failure) {
    metrics.auditFailed()
    log.warn(messageOf(failure))
  }
}

