import type { Output } from './core.js'
import type { Event, Exchange } from './event.js'
import { type Driver, type Flow, Slot } from './flow.js'
import { ChurnMap, type Ledger } from './memory.js'
import { parsedWeight } from './request.js'

/** An event about one exchange. */
type OnExchange = Extract<Event, { readonly exchange: Exchange }>

/** An exchange with a message that waits. */
interface Lane {
  /** The number of waits that are not over; and of those among them that need an answer of the server. */
  waits: number
  asking: number
  /** What the server sent after that message. */
  readonly waiting: { readonly event: OnExchange; readonly weight: number }[]
  bytes: number
  isPaused: boolean
}

/** The weight of an event without a frame. */
const smallEvent = 500

/** Bytes that wait on an exchange above which the server is paused there. */
const highWaterBytes = 1024 * 1024

/**
 * The order of what the server sends on an exchange: messages, lost requests, the head and the end of its
 * HTTP response. While a message waits for a schema check, a list, or the shared state, what came after it on
 * the same exchange is kept here. An exchange on which nothing waits has no entry.
 */
export class Order {
  readonly #lanes = new ChurnMap<Exchange, Lane>()
  /** Exchanges on which an event may go on. */
  readonly #free: Exchange[] = []
  readonly #ledger: Ledger
  readonly #output: Output

  constructor(ledger: Ledger, output: Output) {
    this.#ledger = ledger
    this.#output = output
  }

  /** True when no message waits. */
  get isEmpty(): boolean {
    return this.#lanes.size === 0
  }

  isHeld(exchange: Exchange): boolean {
    return this.#lanes.size > 0 && this.#lanes.has(exchange)
  }

  /** True while a message of this exchange waits for an answer of the server. */
  isAsking(exchange: Exchange): boolean {
    return (this.#lanes.get(exchange)?.asking ?? 0) > 0
  }

  /**
   * A message of this exchange waits, until `release`.
   * @param isAsking it waits for an answer of the server, so that the server must not be paused
   */
  hold(exchange: Exchange, isAsking = false): void {
    const lane = this.#lanes.get(exchange) ??
      { waits: 0, asking: 0, waiting: [], bytes: 0, isPaused: false }
    this.#lanes.set(exchange, lane)
    lane.waits++
    if (isAsking) {
      lane.asking++
      this.#free.push(exchange)
    }
    this.#pause(exchange, lane)
  }

  /** @param wasAsking as in `hold` */
  release(exchange: Exchange, wasAsking = false): void {
    const lane = this.#lanes.get(exchange)
    if (lane === undefined) return
    if (wasAsking) lane.asking--
    this.#pause(exchange, lane)
    if (--lane.waits > 0) return
    if (lane.waiting.length === 0) this.#lanes.delete(exchange)
    else this.#free.push(exchange)
  }

  /** Keeps an event until nothing before it waits. @returns false when nothing waits now */
  keep(event: OnExchange): boolean {
    const lane = this.#lanes.size > 0 ? this.#lanes.get(event.exchange) : undefined
    if (lane === undefined) return false
    const weight =
      event.type === 'frame-received' ? event.frame.bytes.length + parsedWeight(event.frame) : smallEvent
    lane.waiting.push({ event, weight })
    this.#weigh(event.exchange, lane, weight)
    return true
  }

  /** Takes the next event that may go on. @param isNeeded whether the server may need it, to give its answer */
  next(isNeeded: (event: OnExchange) => boolean): OnExchange | undefined {
    for (let exchange = this.#free[0]; exchange !== undefined; exchange = this.#free[0]) {
      const lane = this.#lanes.get(exchange)
      const next = lane && taken(lane, isNeeded)
      if (lane === undefined || next === undefined) {
        this.#free.shift()
        continue
      }
      this.#weigh(exchange, lane, -next.weight)
      if (lane.waits === 0 && lane.waiting.length === 0) this.#lanes.delete(exchange)
      return next.event
    }
    return undefined
  }

  #weigh(exchange: Exchange, lane: Lane, bytes: number): void {
    lane.bytes += bytes
    this.#ledger.add(bytes)
    this.#pause(exchange, lane)
  }

  #pause(exchange: Exchange, lane: Lane): void {
    const isPaused = lane.bytes > highWaterBytes && lane.asking === 0
    if (isPaused !== lane.isPaused) this.#output.emit({ type: 'pause', exchange, isOver: !isPaused })
    lane.isPaused = isPaused
  }
}

const taken = ({ waits, asking, waiting }: Lane, isNeeded: (event: OnExchange) => boolean) => {
  if (waits === 0) return waiting.shift()
  const at = asking === 0 ? -1 : waiting.findIndex(({ event }) => isNeeded(event))
  return at < 0 ? undefined : waiting.splice(at, 1)[0]
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
