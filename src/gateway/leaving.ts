import type { Flush } from '../audit/chain.js'
import { joined } from '../core/batches.js'
import { errorAnswer } from '../core/refusal.js'
import type { Frame } from '../protocol/frame.js'
import { errorCode } from '../protocol/json-rpc.js'
import { type Exchange, type Side, stdioExchange } from '../core/event.js'
import type { Transport } from '../transport/transport.js'

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

/** What can take no more: a peer that does not read, or the queue of what waits in the relay. */
type Full = Side | 'queue'

/** The client as far as one exchange goes, the others as a whole. */
type Place = Exchange | Exclude<Full, 'client'>

/** Whom a full one holds back, so that nothing piles up here: who feeds it, and of a server that speaks HTTP the one exchange only. */
export class Held {
  readonly #ends: Readonly<Record<Side, Transport>>
  /** By where it is full. */
  readonly #held = new Map<Place, { readonly sides: Set<Side>; readonly where: Exchange }>()
  /** Each response of the server's can be left unread by itself. */
  readonly #isDivided: boolean

  constructor(ends: Readonly<Record<Side, Transport>>) {
    this.#ends = ends
    this.#isDivided = ends.server.open !== undefined
  }

  hold(side: Side, full: Full, exchange: Exchange): void {
    const where = this.#isDivided && full === 'client' ? exchange : stdioExchange
    // One request and its refusal: there is nothing more to come by it.
    if (side === 'client' && where !== stdioExchange) return
    const place = placeOf(full, exchange)
    const held = this.#held.get(place) ?? { sides: new Set(), where }
    this.#held.set(place, held)
    if (held.sides.has(side)) return
    held.sides.add(side)
    this.#ends[side].pause(where)
  }

  release(full: Full, exchange: Exchange): void {
    const place = placeOf(full, exchange)
    const held = this.#held.get(place)
    if (held === undefined) return
    this.#held.delete(place)
    const others = [...this.#held.values()]
    for (const side of held.sides) {
      if (!others.some(other => other.where === held.where && other.sides.has(side))) this.#ends[side].resume(held.where)
    }
  }
}

/** Only a client has readers of its own for each of its exchanges. */
const placeOf = (full: Full, exchange: Exchange): Place => (full === 'client' ? exchange : full)
