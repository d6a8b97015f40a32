import { errorCode } from '#relay/protocol/json-rpc.js'
import type { LogRecord } from '#relay/audit/read/record.js'
import { shown } from '../sentence.js'
import type { HealthRow, Periods } from '../summary.js'
import { Series } from './series.js'

const maxText = 300
/** Lines of stderr that are kept. */
const maxLines = 5

/** What happened to a server: failures, and whether it has answered since. */
export class ServerHealth {
  #failures = 0
  readonly #series = new Series(1)
  #first = Infinity
  #newest: LogRecord | undefined
  #answeredAt = -Infinity

  /** The table drops servers that never failed, or not lately. */
  get weight(): number {
    return this.#newest?.time ?? -Infinity
  }

  take(record: LogRecord): void {
    const { time, health, serverMs, error } = record
    // A lost request has a `serverMs` too, but the error is the relay's and the server has not answered.
    const isResponse = serverMs !== undefined && error !== errorCode.gone && error !== errorCode.late
    if (isResponse || health === 'restored') this.#answeredAt = Math.max(this.#answeredAt, time)
    if (health === undefined || health === 'restored') return
    this.#failures += 1
    this.#first = Math.min(this.#first, time)
    this.#series.add(time, 0)
    if (time >= this.weight) this.#newest = record
  }

  get state() {
    return {
      failures: this.#failures, series: this.#series.state, first: this.#first, newest: this.#newest,
      answeredAt: this.#answeredAt,
    }
  }

  merge({ failures, series, first, newest, answeredAt }: ServerHealth['state']): void {
    this.#failures += failures
    this.#series.merge(series)
    this.#first = Math.min(this.#first, first)
    this.#answeredAt = Math.max(this.#answeredAt, answeredAt)
    if (newest !== undefined && newest.time > this.weight) this.#newest = newest
  }

  /** @returns nothing for a server that did not fail */
  summary(server: string, periods: Periods): readonly HealthRow[] {
    if (this.#newest === undefined) return []
    const { time, health = '', reason = '', stderr } = this.#newest
    return [{
      server, health, isDown: time >= this.#answeredAt,
      reason: shown(reason, maxText), stderr: stderr.slice(-maxLines).map(line => shown(line, maxText)),
      count: this.#failures, first: this.#first, last: time, series: this.#series.summary(periods),
    }]
  }
}
