import { processLedger } from '#relay/core/memory.js'
import type { Asked } from './book.js'
import { Chance } from './chance.js'
import { install, Owner, settled, VirtualClock } from './clock.js'
import { End, pair } from './pipe.js'

/** Something that may happen next. Its label is one plain line, and names it when a history is replayed. */
export interface Action {
  readonly label: string
  readonly weight: number
  readonly act: (chance: Chance) => void
}

/** Part of the world that acts by itself. */
export interface Actor {
  actions(): readonly Action[]
  /** What it still does at the end of a history. */
  rest(): readonly Action[]
}

export interface Step {
  readonly label: string
  /** Which of those with this label. */
  readonly at: number
  readonly seed: number
}

export interface Violation {
  readonly invariant: string
  readonly text: string
}

type Kind = 'client in' | 'client out' | 'server in' | 'server out' | 'channel' | 'event'

interface Happening {
  readonly label: string
  readonly owner: Owner
  readonly act: () => void
  /** No time passes before. */
  readonly isPrompt: boolean
}

/** How many rounds of the event loop one step may take before it counts as endless. */
const maxRounds = 3000

/** A simulated machine: its clock, its connections, and the actors on it. One step at a time. */
export abstract class World {
  readonly main = new Owner('main')
  readonly clock = new VirtualClock(this.main)
  /** For the setting: what this history is about. */
  readonly setting: Chance
  readonly lines: string[] = []
  readonly steps: Step[] = []
  readonly violations: Violation[] = []
  readonly actors: Actor[] = []
  readonly #ends = new Set<End>()
  readonly #kinds = new Map<End, Kind>()
  #happenings: Happening[] = []
  /** What arrives at once, without a step of its own. */
  readonly #auto: ReadonlyMap<Kind, boolean>
  readonly #keepsTurns: boolean
  /** How much time passes. */
  readonly pace: number
  readonly #uninstall: () => void
  isResting = false

  constructor(readonly seed: number) {
    this.setting = new Chance(seed)
    const isAuto = (probability: number) => this.setting.is(probability)
    this.#auto = new Map<Kind, boolean>([
      ['client in', isAuto(0.7)], ['client out', isAuto(0.8)], ['server in', isAuto(0.8)],
      ['server out', isAuto(0.7)], ['channel', isAuto(0.5)], ['event', isAuto(0.6)],
    ])
    this.#keepsTurns = this.setting.is(0.3)
    this.pace = this.setting.pick([0.7, 0.7, 0.7, 2, 5])
    End.freed = name => this.violate('own bytes', `the memory of bytes is freed before they are sent: ${name}`)
    const random = new Chance(seed ^ 0x5bd1e995)
    this.#uninstall = install(this.clock, () => random.next())
  }

  /** Begins the program. */
  abstract open(): Promise<void>

  /** Invariants that hold after every step. */
  abstract check(): void

  /** Invariants that hold when everything that may happen has happened; ends the program. */
  abstract checkAtRest(): Promise<void>

  /** A server has received a request. */
  arrived?(one: { readonly asked: Asked | undefined; readonly message: { readonly method?: string } }): void

  /** Whether the program has yet to see that a connection of the client is broken. */
  isBreaking?(client: string): boolean

  /** Whether a client still reads this stream. */
  isRead?(stream: string): boolean

  /** @param near of this owner, @param far of that one */
  connect(
    name: string, near: readonly [Owner, Kind], far: readonly [Owner, Kind], address?: string,
  ): [End, End] {
    const ends: [End, End] =
      [new End(`${name} <`, near[0], true, address), new End(`${name} >`, far[0], true, address)]
    pair(...ends)
    for (const [end, [, kind]] of [[ends[0], near], [ends[1], far]] as const) {
      this.#ends.add(end)
      this.#kinds.set(end, kind)
    }
    return ends
  }

  /** Something that happens soon. */
  soon(label: string, owner: Owner, act: () => void, isPrompt = false): void {
    this.#happenings.push({ label, owner, act, isPrompt })
  }

  say(line: string): void {
    this.lines.push(line)
  }

  /** The program has thrown. */
  readonly failed = (cause: unknown): void =>
    this.violate('no exception', String(cause instanceof Error ? cause.stack : cause))

  violate(invariant: string, text: string): void {
    this.violations.push({ invariant, text: `${text} (step ${this.steps.length}${this.isResting ? ', at rest' : ''})` })
  }

  /** When all is stopped, nothing is left. */
  protected checkNothingLeft(): void {
    for (const { owner, at } of this.clock.timers)
      if (owner.isRunning) this.violate('nothing left', `a timer of ${owner.name} runs, until ${at}`)
    if (processLedger.kept !== 0) this.violate('nothing left', `${processLedger.kept} bytes count that nobody keeps`)
  }

  /** Nothing of this history may reach the next one. */
  async close(): Promise<void> {
    for (let round = 0; round < 20 && this.clock.hasImmediates; round++) {
      this.clock.endTurn()
      await settled()
    }
    // Sessions of processes that were killed never end.
    processLedger.add(-processLedger.kept)
    this.#uninstall()
  }

  /** Everything that may happen now. */
  actions(): readonly Action[] {
    return [...this.actors.flatMap(actor => actor.actions()), ...this.#arrivals(), ...this.#time()]
  }

  #time(): readonly Action[] {
    const next = this.clock.next()
    // No time passes before the turn of the event loop ends.
    if (next === undefined || this.clock.hasImmediates || this.#isPressed) return []
    const act = () => this.clock.fire(next)
    // The next timer, or a longer wait.
    const wait = (ms: number): Action =>
      ({ label: `wait ${ms}`, weight: 0.12 * this.pace, act: () => void (this.#until = this.clock.time + ms) })
    return [{ label: 'timer', weight: 0.4 * this.pace, act }, wait(300), wait(1000), wait(4000)]
  }

  #until = 0

  /** Something happens before time passes. */
  get #isPressed(): boolean {
    return this.#happenings.some(({ isPrompt, owner }) => isPrompt && owner.isRunning)
  }

  #arrivals(): readonly Action[] {
    const arrivals: Action[] = []
    for (const end of this.#ends) {
      if (!end.isDue) continue
      arrivals.push({ label: `arrives ${end.name}`, weight: 2, act: chance =>
        this.#deliver(end, chance.is(0.3) ? 1 + chance.below(2000) : Infinity) })
    }
    for (const happening of this.#happenings) {
      if (!happening.owner.isRunning) continue
      arrivals.push({ label: happening.label, weight: 2, act: () => this.#happen(happening) })
    }
    return arrivals
  }

  #happen(happening: Happening): void {
    this.#happenings = this.#happenings.filter(one => one !== happening)
    this.clock.as(happening.owner, happening.act)
  }

  #deliver(end: End, maxBytes?: number): void {
    this.clock.as(end.owner, () => end.deliver(maxBytes))
  }

  /** Performs one step, and all that follows from it at once. */
  async step({ label, act }: Action, at: number, seed: number): Promise<void> {
    this.steps.push({ label, at, seed })
    this.say(`${this.clock.time} ${label}`)
    const chance = new Chance(seed)
    const keepsTurn = this.#keepsTurns && chance.is(0.25)
    act(chance)
    await this.settle(!keepsTurn)
    while (this.#until > this.clock.time && !this.#isPressed) {
      const next = this.clock.next()
      if (next === undefined || next.at > this.#until) this.clock.time = this.#until
      else {
        this.clock.fire(next)
        await this.settle()
      }
    }
    this.#until = 0
    this.check()
  }

  /** Lets happen what needs no step. @param turns whether the turn of the event loop ends */
  async settle(turns = true): Promise<void> {
    await settled()
    for (let round = 0; round < maxRounds; round++) {
      if (await this.#arrive()) continue
      if (!turns || !this.clock.hasImmediates) return
      this.clock.endTurn()
      await settled()
    }
    this.violate('quiet', 'the event loop never comes to rest')
  }

  async #arrive(): Promise<boolean> {
    let has = false
    for (const end of this.#ends) {
      if (end.destroyed) this.#forget(end)
      else if (end.isDue && (this.isResting || this.#auto.get(this.#kinds.get(end) ?? 'event') === true)) {
        has = true
        this.#deliver(end)
        await settled()
      }
    }
    for (const happening of this.#happenings) {
      if (!happening.owner.isRunning || (!this.isResting && this.#auto.get('event') !== true)) continue
      has = true
      this.#happen(happening)
      await settled()
    }
    return has
  }

  #forget(end: End): void {
    if (end.peer?.destroyed !== true && end.peer?.owner.isDead !== true) return
    this.#ends.delete(end)
    this.#kinds.delete(end)
  }

  /** Lets everything happen that may, for so many milliseconds. */
  async rest(ms: number): Promise<void> {
    this.isResting = true
    const until = this.clock.time + ms
    for (let step = 0; step < 2000; step++) {
      await this.settle()
      const [action] = this.actors.flatMap(actor => actor.rest())
      if (action !== undefined) {
        this.say(`${this.clock.time} ${action.label} (rest)`)
        action.act(new Chance(this.seed + step))
        continue
      }
      const next = this.clock.next()
      if (next === undefined || next.at > until) break
      this.clock.fire(next)
    }
    await this.settle()
    this.clock.time = Math.max(this.clock.time, until)
    this.check()
  }
}
