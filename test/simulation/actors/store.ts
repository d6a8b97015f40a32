import type { Engine, StoreProblem } from '#relay/host/replicas/store.js'
import type { Gateway } from '../worlds/gateway.js'
import type { Action, Actor } from '../world.js'

/** The longest time of an operation, in milliseconds. */
const limitMs = 500

/** The shared state of replicas: slow, and lost for a while. */
export class SlowStore implements Engine, Actor {
  readonly begun = Promise.resolve()
  problem: StoreProblem | undefined
  generation = 0
  readonly #held = new Map<string, string>()
  readonly #world: Gateway
  readonly #isSlow: boolean
  readonly #isShaky: boolean
  #waiting: { readonly answer: () => void; readonly fail: () => void; readonly until: number }[] = []
  #isDown = false

  constructor(world: Gateway) {
    this.#world = world
    this.#isSlow = world.setting.is(0.6)
    this.#isShaky = world.setting.is(0.3)
  }

  get(key: string): Promise<string | undefined> {
    return this.#do(() => this.#held.get(key))
  }

  set(key: string, value: string): Promise<void> {
    return this.#do(() => void this.#held.set(key, value))
  }

  replace(key: string, value: string): Promise<string | undefined> {
    return this.#do(() => {
      const before = this.#held.get(key)
      if (before !== undefined) this.#held.set(key, value)
      return before
    })
  }

  swap(key: string, before: string | undefined, value: string): Promise<boolean> {
    return this.#do(() => this.#held.get(key) === before && this.#held.set(key, value).has(key))
  }

  expire(key: string): Promise<boolean> {
    return this.#do(() => this.#held.has(key))
  }

  delete(key: string): Promise<void> {
    return this.#do(() => void this.#held.delete(key))
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #do<Value>(act: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      const one = {
        answer: () => resolve(act()), fail: () => reject(new Error('no answer')),
        until: this.#world.clock.time + limitMs,
      }
      if (this.#isDown) return one.fail()
      if (!this.#isSlow) return one.answer()
      this.#waiting.push(one)
    })
  }

  #next(): void {
    this.#waiting.shift()?.answer()
  }

  #expire(): void {
    const { time } = this.#world.clock
    for (const one of this.#waiting.filter(({ until }) => until <= time)) one.fail()
    this.#waiting = this.#waiting.filter(({ until }) => until > time)
  }

  actions(): readonly Action[] {
    this.#expire()
    const actions: Action[] = []
    if (this.#waiting.length > 0) actions.push({ label: 'the state answers', weight: 2, act: () => this.#next() })
    if (this.#isShaky) actions.push(this.#isDown
      ? { label: 'the state is back', weight: 0.5, act: () => {
          this.#isDown = false
          this.generation += 1
        } }
      : { label: 'the state is lost', weight: 0.1, act: () => this.#lose() })
    return actions
  }

  #lose(): void {
    this.#isDown = true
    for (const one of this.#waiting.splice(0)) one.fail()
    this.#held.clear()
  }

  rest(): readonly Action[] {
    this.#isDown = false
    if (this.#waiting.length === 0) return []
    return [{ label: 'the state answers', weight: 1, act: () => this.#next() }]
  }
}
