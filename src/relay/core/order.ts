import type { Event, Exchange } from './vocabulary.js'
import { type Driver, type Flow, Slot } from './flow.js'
import { ChurnMap, type Ledger } from './memory.js'
import { parsedWeight } from './request.js'

/** An event about one exchange. */
type OnExchange = Extract<Event, { readonly exchange: Exchange }>

/** The weight of an event without a frame. */
const smallEvent = 500

/** Events in the order of their arrival. Their memory is in the session's ledger. */
export class Waiting {
  readonly #ledger: Ledger
  readonly #events: { readonly event: OnExchange; readonly weight: number }[] = []
  /** In bytes. */
  weight = 0

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  get isEmpty(): boolean {
    return this.#events.length === 0
  }

  /** @returns false when there is no memory for a frame */
  push(event: OnExchange): boolean {
    const frame = event.type === 'frame-received' ? event.frame : undefined
    const weight = frame === undefined ? smallEvent : frame.bytes.length + parsedWeight(frame)
    if (frame !== undefined && !this.#ledger.hasRoom(weight)) return false
    this.#events.push({ event, weight })
    this.#weigh(weight)
    return true
  }

  some(fits: (event: OnExchange) => boolean): boolean {
    return this.#events.some(({ event }) => fits(event))
  }

  shift(): OnExchange | undefined {
    return this.#took(this.#events.shift())
  }

  /** Takes the first event that fits. */
  take(fits: (event: OnExchange) => boolean): OnExchange | undefined {
    const at = this.#events.findIndex(({ event }) => fits(event))
    return at < 0 ? undefined : this.#took(this.#events.splice(at, 1)[0])
  }

  #took(taken: { readonly event: OnExchange; readonly weight: number } | undefined): OnExchange | undefined {
    this.#weigh(-(taken?.weight ?? 0))
    return taken?.event
  }

  #weigh(bytes: number): void {
    this.weight += bytes
    this.#ledger.add(bytes)
  }
}

/**
 * The order of what the server sends on an exchange: messages, lost requests, the head and the end of its
 * HTTP response. While a message waits for a schema check, a list, or the shared state, what came after it on
 * the same exchange is kept here. An exchange on which nothing waits has no entry.
 */
export class Order {
  /** `holds`: the number of waits that are not over. */
  readonly #lanes = new ChurnMap<Exchange, { holds: number; readonly waiting: Waiting }>()
  /** Exchanges on which an event may go on. */
  readonly #free: Exchange[] = []
  readonly #ledger: Ledger

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** True when no message waits. */
  get isEmpty(): boolean {
    return this.#lanes.size === 0
  }

  isHeld(exchange: Exchange): boolean {
    return this.#lanes.size > 0 && this.#lanes.has(exchange)
  }

  /**
   * A message of this exchange waits, until `release`.
   * @param isAsking it waits for an answer of the server, which may need an event that is kept
   */
  hold(exchange: Exchange, isAsking = false): void {
    const lane = this.#lanes.get(exchange)
    if (lane === undefined) this.#lanes.set(exchange, { holds: 1, waiting: new Waiting(this.#ledger) })
    else {
      lane.holds++
      if (isAsking) this.#free.push(exchange)
    }
  }

  release(exchange: Exchange): void {
    const lane = this.#lanes.get(exchange)
    if (lane === undefined || --lane.holds > 0) return
    if (lane.waiting.isEmpty) this.#lanes.delete(exchange)
    else this.#free.push(exchange)
  }

  /** Keeps an event until nothing before it waits. @returns false when nothing waits, or without memory */
  keep(event: OnExchange): boolean {
    return this.#lanes.size > 0 && this.#lanes.get(event.exchange)?.waiting.push(event) === true
  }

  /** Whether an event that fits is kept on any exchange. */
  keeps(fits: (event: OnExchange) => boolean): boolean {
    return this.#lanes.values().some(({ waiting }) => waiting.some(fits))
  }

  /** Takes the next event that may go on. @param isNeeded the server may need it to answer the relay */
  next(isNeeded: (event: OnExchange) => boolean): OnExchange | undefined {
    for (let exchange = this.#free[0]; exchange !== undefined; exchange = this.#free[0]) {
      const lane = this.#lanes.get(exchange)
      const event = lane?.holds === 0 ? lane.waiting.shift() : lane?.waiting.take(isNeeded)
      if (lane?.holds === 0 && lane.waiting.isEmpty) this.#lanes.delete(exchange)
      if (event !== undefined) return event
      this.#free.shift()
    }
    return undefined
  }
}

/** The replies that flows wait for, to numbered effects. Each wait holds its exchange. */
export class Replies<Reply> {
  readonly #driver: Driver
  readonly #order: Order
  readonly #waiting = new ChurnMap<number, { readonly slot: Slot<Reply>; readonly exchange: Exchange }>()
  #last = 0

  constructor(driver: Driver, order: Order) {
    this.#driver = driver
    this.#order = order
  }

  /** @param ask emits the effect with this number */
  *to(ask: (number: number) => void, exchange: Exchange): Flow<Reply> {
    const number = ++this.#last
    const slot = new Slot<Reply>()
    this.#waiting.set(number, { slot, exchange })
    this.#order.hold(exchange)
    ask(number)
    return yield* slot.value()
  }

  arrived(number: number, reply: NoInfer<Reply>): void {
    const waiting = this.#waiting.get(number)
    if (waiting === undefined) return
    this.#waiting.delete(number)
    this.#driver.fill(waiting.slot, reply)
    this.#order.release(waiting.exchange)
  }
}
