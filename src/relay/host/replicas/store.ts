import { createHmac, timingSafeEqual } from 'node:crypto'

/** The value of a key after `take`: it tells that a value existed, and is used up. */
export const usedUp = '0'

/**
 * An engine that keeps texts by key, each with an expiry. Operations have a time limit, and reject when they
 * fail. Others may write to it: only `Store` reads and writes it.
 */
export interface Engine {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** Replaces the value, if there is one. @returns the value before */
  replace(key: string, value: string, ttlMs: number): Promise<string | undefined>
  /** Sets the value if it still is the one before; undefined: none. @returns whether it was set */
  swap(key: string, before: string | undefined, value: string, ttlMs: number): Promise<boolean>
  /** Changes the expiry. @returns false when there is no such key */
  expire(key: string, ttlMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Why it cannot be used now; undefined: it can, as far as is known. */
  readonly problem: StoreProblem | undefined
  /** Grows whenever a lost connection is made anew: the engine may have lost what it held. */
  readonly generation: number
  close(): Promise<void>
}

export interface StoreProblem {
  /** It may name an address, and never credentials. */
  readonly reason: string
  /** ISO 8601. */
  readonly since: string
}

/** The other replicas may change a value this many times before `update` gives up. */
const maxTries = 20

/** A keyed hash of texts, for the names of keys. */
export const keyedHash = (secret: string, parts: readonly string[]): string =>
  createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url').slice(0, 22)

/**
 * What replicas keep in an engine. Each value begins with a keyed hash of its key and itself. A value without
 * the right one was written by somebody who does not have the secret: it counts as missing.
 */
export class Store {
  readonly #engine: Engine
  readonly #secret: string
  readonly #forged: () => void

  /** @param forged told of each value that was not written with the secret */
  constructor(engine: Engine, secret: string, forged: () => void = () => undefined) {
    this.#engine = engine
    this.#secret = secret
    this.#forged = forged
  }

  async get(key: string): Promise<string | undefined> {
    return this.#read(key, await this.#engine.get(key))
  }

  set(key: string, value: string, ttlMs: number): Promise<void> {
    return this.#engine.set(key, this.#signed(key, value), ttlMs)
  }

  /** Replaces the value, if there is one, by `usedUp`. @returns the value before */
  async take(key: string, ttlMs: number): Promise<string | undefined> {
    return this.#read(key, await this.#engine.replace(key, this.#signed(key, usedUp), ttlMs))
  }

  /**
   * Replaces a value by what `change` makes of it.
   * @param change called again when another replica was faster; `value` undefined: the value stays
   * @throws when other replicas always were faster
   */
  async update<Result>(
    key: string, ttlMs: number,
    change: (before: string | undefined) => { readonly value: string | undefined; readonly result: Result },
  ): Promise<Result> {
    for (let tries = 0; tries < maxTries; tries++) {
      const before = await this.#engine.get(key)
      const { value, result } = change(this.#read(key, before))
      if (value === undefined) return result
      if (await this.#engine.swap(key, before, this.#signed(key, value), ttlMs)) return result
    }
    throw new Error('other replicas change the value all the time')
  }

  /** Changes the expiry. @returns false when there is no such key */
  expire(key: string, ttlMs: number): Promise<boolean> {
    return this.#engine.expire(key, ttlMs)
  }

  delete(key: string): Promise<void> {
    return this.#engine.delete(key)
  }

  get problem(): StoreProblem | undefined {
    return this.#engine.problem
  }

  get generation(): number {
    return this.#engine.generation
  }

  #read(key: string, signed: string | undefined): string | undefined {
    if (signed === undefined) return undefined
    const value = signed.slice(signed.indexOf(' ') + 1)
    const [given, right] = [Buffer.from(signed), Buffer.from(this.#signed(key, value))]
    if (given.length === right.length && timingSafeEqual(given, right)) return value
    this.#forged()
    return undefined
  }

  /** Keys have no spaces, and other uses of the secret begin with a bracket: no hash has two meanings. */
  #signed(key: string, value: string): string {
    return `${createHmac('sha256', this.#secret).update(`value ${key} ${value}`).digest('base64url')} ${value}`
  }
}
