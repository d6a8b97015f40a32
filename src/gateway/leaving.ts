import type { Flush } from '../audit/chain.js'
import { joined } from '../core/batches.js'
import { errorAnswer } from '../core/refusal.js'
import type { Frame } from '../protocol/frame.js'
import { errorCode } from '../protocol/json-rpc.js'

/**
 * What is done toward the peers, in its order, and nothing of it before the records that come before it are written (promise 7). Those of one
 * turn of the event loop, in all sessions, are written together.
 */
export class Leaving {
  readonly #failed: (failure: unknown) => void
  readonly #broken: (cause: unknown) => void
  readonly #waiting: (() => void)[] = []
  /** Of the newest record that is not known to be written. */
  #flush: Flush | undefined
  /** What is done brings more about: that comes after what waits already. */
  #isLeaving = false

  /**
   * @param failed a record could not be written: told before anything that waits for it is done
   * @param broken an act threw; what waits behind it is done all the same
   */
  constructor(failed: (failure: unknown) => void, broken: (cause: unknown) => void) {
    this.#failed = failed
    this.#broken = broken
  }

  /** A record was made; what comes after it waits for it. */
  recorded(flush: Flush): void {
    const before = this.#flush
    if (flush === before) return
    this.#flush = flush
    if (before === undefined) process.nextTick(this.#write)
    else this.#attempt(before)
  }

  do(act: () => void): void {
    if (!this.#isHeld && !this.#isLeaving) this.#perform(act)
    else this.#waiting.push(act)
  }

  readonly #write = (): void => {
    if (this.#flush !== undefined) this.#attempt(this.#flush)
    this.#flush = undefined
    this.#isLeaving = true
    try {
      while (!this.#isHeld && this.#waiting.length > 0) for (const act of this.#waiting.splice(0)) this.#perform(act)
    } finally {
      this.#isLeaving = false
    }
  }

  #perform(act: () => void): void {
    try {
      act()
    } catch (cause) {
      this.#broken(cause)
    }
  }

  get #isHeld(): boolean {
    return this.#flush !== undefined
  }

  #attempt(flush: Flush): void {
    try {
      flush()
    } catch (failure) {
      this.#failed(failure)
    }
  }
}

/** Who waits for an answer is told that there is none; nothing else leaves. */
export const withheld = ({ message }: Frame, reason: string): Frame | undefined => {
  if (message.kind !== 'batch') {
    return message.kind === 'result' || message.kind === 'error' ? errorAnswer(message, errorCode.gone, `mcp-customs: ${reason}`) : undefined
  }
  const answers = message.members.flatMap(member => withheld(member, reason) ?? [])
  return answers.length === 0 ? undefined : joined(answers)
}
