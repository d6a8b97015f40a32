import { type Engine, Store, type StoreProblem } from '#relay/host/replicas/store.js'

export const secret = 'known-to-all-replicas'

/** An engine in memory, whose clock the test moves. */
export class MemoryEngine implements Engine {
  readonly held = new Map<string, { readonly value: string; readonly until: number }>()
  now = 0
  problem: StoreProblem | undefined
  generation = 0
  operations = 0

  get(key: string): Promise<string | undefined> {
    return this.#do(() => this.#read(key))
  }

  set(key: string, value: string, ttlMs: number): Promise<void> {
    return this.#do(() => void this.#write(key, value, ttlMs))
  }

  replace(key: string, value: string, ttlMs: number): Promise<string | undefined> {
    return this.#do(() => {
      const before = this.#read(key)
      if (before !== undefined) this.#write(key, value, ttlMs)
      return before
    })
  }

  swap(key: string, before: string | undefined, value: string, ttlMs: number): Promise<boolean> {
    return this.#do(() => this.#read(key) === before && this.#write(key, value, ttlMs))
  }

  expire(key: string, ttlMs: number): Promise<boolean> {
    return this.#do(() => {
      const value = this.#read(key)
      return value !== undefined && this.#write(key, value, ttlMs)
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

  #write(key: string, value: string, ttlMs: number): true {
    this.held.set(key, { value, until: this.now + ttlMs })
    return true
  }

  #do<Value>(operation: () => Value): Promise<Value> {
    this.operations++
    return this.problem === undefined
      ? Promise.resolve(operation())
      : Promise.reject(new Error(this.problem.reason))
  }
}

/** The store of a replica in the engine. */
export const storeIn = (engine: MemoryEngine, forged?: () => void): Store => new Store(engine, secret, forged)
