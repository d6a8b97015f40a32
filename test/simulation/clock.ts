import { realTimers } from '#transport/timers.js'

/** A process of the simulated machine: timers and deliveries of a process that is dead or stalled wait. */
export class Owner {
  isDead = false
  isStalled = false

  constructor(readonly name: string) {}

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

/** The clock, the timers and the turns of the event loop of a simulated machine. */
export class VirtualClock {
  readonly timers = new Set<Timer>()
  #immediates: Immediate[] = []
  #order = 0
  time = 1000
  /** Whose code runs now. */
  owner: Owner

  constructor(readonly main: Owner) {
    this.owner = main
  }

  readonly now = (): number => this.time

  readonly after = (ms: number, act: () => void): (() => void) => this.#start(ms, undefined, act)

  readonly every = (ms: number, act: () => void): (() => void) => this.#start(ms, ms, act)

  readonly immediate = (act: (...given: never[]) => void, ...given: never[]): object => {
    // The ends of turns are kept in one list, although each process has an event loop of its own.
    const owner = act.name === 'runEndOfTurn' ? this.main : this.owner
    const immediate = { act: () => act(...given), owner }
    this.#immediates.push(immediate)
    return immediate
  }

  #start(ms: number, everyMs: number | undefined, act: () => void): () => void {
    const timer = { at: this.time + Math.max(0, ms), order: this.#order++, everyMs, act, owner: this.owner }
    this.timers.add(timer)
    return () => void this.timers.delete(timer)
  }

  get hasImmediates(): boolean {
    return this.#immediates.some(({ owner }) => owner.isRunning)
  }

  takeImmediates(): readonly Immediate[] {
    const taken = this.#immediates.filter(({ owner }) => owner.isRunning)
    this.#immediates = this.#immediates.filter(({ owner }) => owner.isStalled && !owner.isDead)
    return taken
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
    this.owner = timer.owner
    timer.act()
  }
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

const real = { timers: { ...realTimers }, setImmediate: globalThis.setImmediate, random: Math.random }

/** Puts the clock in the place of the machine's. @returns puts the machine's back */
export const install = (clock: VirtualClock, random: () => number): (() => void) => {
  Object.assign(realTimers, { now: clock.now, after: clock.after, every: clock.every })
  Object.assign(globalThis, { setImmediate: clock.immediate })
  Math.random = random
  return () => {
    Object.assign(realTimers, real.timers)
    Object.assign(globalThis, { setImmediate: real.setImmediate })
    Math.random = real.random
  }
}

/** Resolves when all microtasks and `nextTick`s are done. */
export const settled = (): Promise<void> => new Promise(resolve => void real.setImmediate(resolve))
