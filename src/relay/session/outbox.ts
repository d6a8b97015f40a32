import type { Flush } from '#relay/audit/audit.js'
import { joined } from '#relay/core/batches.js'
import { errorFrame } from '#relay/core/refusal.js'
import type { Frame } from '#relay/protocol/frame.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { realTimers } from '#relay/transport/timers.js'

/**
 * Performs actions on the transports of client and server, in order. An action waits until the audit records
 * before it are written (docs/promises.md, promise 7). The records of one turn of the event loop, of all
 * sessions, are written together.
 */
export class Outbox {
  readonly #waiting: (() => void)[] = []
  /** Writes the newest record; undefined when all records are written. */
  #flush: Flush | undefined
  /** True while the waiting actions are performed. An action added meanwhile is performed after them. */
  #isDraining = false
  /** True while a record waits for its digests. */
  #awaitsDigests = false
  /** Actions and records that came after the record that waits for its digests. */
  #afterDigests: (() => void)[] = []

  /**
   * @param onUnrecorded called when a record could not be written, before the actions that wait for it
   * @param onException called when an action threw; the actions behind it are performed
   */
  constructor(
    private readonly onUnrecorded: (failure: unknown) => void,
    private readonly onException: (cause: unknown) => void,
  ) {}

  /** Actions after this record wait until it is written. */
  recorded(flush: Flush): void {
    const before = this.#flush
    if (flush === before) return
    this.#flush = flush
    if (before === undefined) realTimers.endOfTurn(this.#write)
    // A new flush means that the audit log began a new batch: the earlier one is flushed now.
    else this.#attempt(before)
  }

  do(act: () => void): void {
    if (this.#awaitsDigests) this.#afterDigests.push(() => this.do(act))
    else if (!this.#awaitsRecords && !this.#isDraining) this.#perform(act)
    else this.#waiting.push(act)
  }

  /**
   * Makes a record, which calls `recorded`. Later records and actions wait until it is made.
   * @param ready resolves when the record can be made, and never rejects; undefined: it is made at once
   */
  record(make: () => void, ready: Promise<unknown> | undefined): void {
    if (this.#awaitsDigests) this.#afterDigests.push(() => this.record(make, ready))
    else if (ready === undefined) make()
    else {
      this.#awaitsDigests = true
      void ready.then(() => this.#goOn(make))
    }
  }

  #goOn(make: () => void): void {
    this.#awaitsDigests = false
    const behind = this.#afterDigests
    this.#afterDigests = []
    this.#isDraining = true
    this.#perform(make)
    for (const next of behind) next()
    this.#drain()
  }

  readonly #write = (): void => {
    if (this.#flush !== undefined) this.#attempt(this.#flush)
    this.#flush = undefined
    this.#drain()
  }

  #drain(): void {
    this.#isDraining = true
    try {
      while (!this.#awaitsRecords && this.#waiting.length > 0)
        for (const act of this.#waiting.splice(0)) this.#perform(act)
    } finally {
      this.#isDraining = false
    }
  }

  #perform(act: () => void): void {
    try {
      act()
    } catch (cause) {
      this.onException(cause)
    }
  }

  get #awaitsRecords(): boolean {
    return this.#flush !== undefined
  }

  #attempt(flush: Flush): void {
    try {
      flush()
    } catch (failure) {
      this.onUnrecorded(failure)
    }
  }
}

/**
 * Replaces a frame whose audit record could not be written: each response in that frame becomes an error,
 * with the code that the session's other open requests get (the session ends, so the server is gone).
 * Requests and notifications are left out.
 */
export const auditErrorFor = ({ message }: Frame, reason: string): Frame | undefined => {
  if (message.kind !== 'batch') {
    return message.kind === 'result' || message.kind === 'error'
      ? errorFrame(message, errorCode.gone, `mcp-customs: ${reason}`)
      : undefined
  }
  const responses = message.members.flatMap(member => auditErrorFor(member, reason) ?? [])
  return responses.length === 0 ? undefined : joined(responses)
}
