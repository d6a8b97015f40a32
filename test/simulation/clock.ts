import { AsyncLocalStorage } from 'node:async_hooks'
import { Turns, turns } from '#relay/protocol/turns.js'
import type { Groups } from '#relay/transport/machine.js'
import { realTimers } from '#relay/transport/timers.js'

/** A process of the simulated machine: timers and deliveries of a process that is dead or stalled wait. */
export class Owner {
  isDead = false
  isStalled = false
  /** Its event loop's. */
  readonly turns = new Turns()
  /** What it does when it ends, unless it is killed. */
  readonly #last = new Set<() => void>()
  readonly groups: Groups = {
    report: () => undefined,
    atLast: act => {
      this.#last.add(act)
      return () => void this.#last.delete(act)
    },
  }

  constructor(readonly name: string) {}

  /** Ends by itself. */
  end(): void {
    for (const act of this.#last) act()
    this.isDead = true
  }

  get isRunning(): boolean {
    return !this.isDead && !this.isStalled
  }
}

interface Timer {
  at: number
  readonly order: number
  readonly everyMs: number | undefined
  readonly act: () => void
  readonly owner: Owner
}

interface Immediate {
  readonly act: () => void
  readonly owner: Owner
}

/** Follows the code of a process through its promises. */
const acting = new AsyncLocalStorage<Owner>()

/** The clock, the timers and the turns of the event loop of a simulated machine. */
export class VirtualClock {
  readonly timers = new Set<Timer>()
  #immediates: Immediate[] = []
  /** What is done at the end of a turn, after the rest of it. */
  #ends: Immediate[] = []
  #order = 0
  time = 1000

  constructor(readonly main: Owner) {}

  /** Whose code runs now. */
  get owner(): Owner {
    return acting.getStore() ?? this.main
  }

  /** Calls a function as code of this process. */
  as<Value>(owner: Owner, act: () => Value): Value {
    return acting.run(owner, act)
  }

  readonly now = (): number => this.time

  readonly after = (ms: number, act: () => void): (() => void) => this.#start(ms, undefined, act)

  readonly every = (ms: number, act: () => void): (() => void) => this.#start(ms, ms, act)

  readonly immediate = (act: (...given: never[]) => void, ...given: never[]): object => {
    const immediate = { act: () => act(...given), owner: this.owner }
    this.#immediates.push(immediate)
    return immediate
  }

  readonly endOfTurn = (act: () => void): void => void this.#ends.push({ act, owner: this.owner })

  #start(ms: number, everyMs: number | undefined, act: () => void): () => void {
    const timer = { at: this.time + Math.max(0, ms), order: this.#order++, everyMs, act, owner: this.owner }
    this.timers.add(timer)
    return () => void this.timers.delete(timer)
  }

  get hasImmediates(): boolean {
    return this.#immediates.some(isRunning) || this.#ends.some(isRunning)
  }

  /** Ends the turn of the event loop of each process that runs. */
  endTurn(): void {
    this.#perform(this.#immediates)
    // One end may add another, which comes after it in the same turn.
    while (this.#ends.some(isRunning)) this.#perform(this.#ends)
  }

  /** What processes that are stalled have queued waits; what dead ones have is gone. */
  #perform(queue: Immediate[]): void {
    for (const one of queue.splice(0)) {
      if (one.owner.isRunning) this.as(one.owner, one.act)
      else if (!one.owner.isDead) queue.push(one)
    }
  }

  /** The next timer of a process that runs. */
  next(): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.timers) {
      if (timer.owner.isDead) this.timers.delete(timer)
      else if (timer.owner.isRunning && (first === undefined || isBefore(timer, first))) first = timer
    }
    return first
  }

  /** Lets the next timer fire. */
  fire(timer: Timer): void {
    this.time = Math.max(this.time, timer.at)
    if (timer.everyMs === undefined) this.timers.delete(timer)
    else timer.at = this.time + timer.everyMs
    this.as(timer.owner, timer.act)
  }
}

const isRunning = ({ owner }: Immediate): boolean => owner.isRunning

const isBefore = (one: Timer, other: Timer): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

const real = { timers: { ...realTimers }, setImmediate: globalThis.setImmediate, random: Math.random }

/** Puts the clock in the place of the machine's. @returns puts the machine's back */
export const install = (clock: VirtualClock, random: () => number): (() => void) => {
  const { now, after, every, endOfTurn } = clock
  Object.assign(realTimers, { now, after, every, endOfTurn })
  Object.assign(globalThis, { setImmediate: clock.immediate })
  Math.random = random
  Object.defineProperties(turns, {
    isOpen: { configurable: true, get: () => clock.owner.turns.isOpen },
    later: { configurable: true, value: (...given: Parameters<Turns['later']>) => clock.owner.turns.later(...given) },
    spend: { configurable: true, value: (...given: Parameters<Turns['spend']>) => clock.owner.turns.spend(...given) },
  })
  return () => {
    for (const name of ['isOpen', 'later', 'spend']) Reflect.deleteProperty(turns, name)
    Object.assign(realTimers, real.timers)
    Object.assign(globalThis, { setImmediate: real.setImmediate })
    Math.random = real.random
  }
}

/** Resolves when all microtasks and `nextTick`s are done. */
export const settled = (): Promise<void> => new Promise(resolve => void real.setImmediate(resolve))
