import { type Store, type StoreProblem, usedUp } from '#state/store.js'

/** A store in memory, whose clock the test moves. */
export class MemoryStore implements Store {
  readonly held = new Map<string, { readonly value: string; readonly until: number }>()
  now = 0
  problem: StoreProblem | undefined
  generation = 0
  operations = 0

  get(key: string): Promise<string | undefined> {
    return this.#do(() => this.#read(key))
  }

  set(key: string, value: string, ttlMs: number): Promise<void> {
    return this.#do(() => void this.held.set(key, { value, until: this.now + ttlMs }))
  }

  take(key: string, ttlMs: number): Promise<string | undefined> {
    return this.#do(() => {
      const before = this.#read(key)
      if (before !== undefined) this.held.set(key, { value: usedUp, until: this.now + ttlMs })
      return before
    })
  }

  expire(key: string, ttlMs: number): Promise<boolean> {
    return this.#do(() => {
      const value = this.#read(key)
      if (value !== undefined) this.held.set(key, { value, until: this.now + ttlMs })
      return value !== undefined
    })
  }

  delete(key: string): Promise<void> {
    return this.#do(() => void this.held.delete(key))
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #read(key: string): string | undefined {
    const held = this.held.get(key)
    return held !== undefined && held.until > this.now ? held.value : undefined
  }

  #do<Value>(operation: () => Value): Promise<Value> {
    this.operations++
    return this.problem === undefined
      ? Promise.resolve(operation())
      : Promise.reject(new Error(this.problem.reason))
  }
}
