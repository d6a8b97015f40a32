/** The value of a key after `take`: it tells that a value existed, and is used up. */
export const usedUp = '0'

/** A store of texts by key, each with an expiry. Operations have a time limit, and reject when they fail. */
export interface Store {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** Replaces the value, if there is one, by `usedUp`. @returns the value before */
  take(key: string, ttlMs: number): Promise<string | undefined>
  /** Changes the expiry. @returns false when there is no such key */
  expire(key: string, ttlMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Why it cannot be used now; undefined: it can, as far as is known. */
  readonly problem: StoreProblem | undefined
  /** Grows whenever a lost connection is made anew: the store may have lost what it held. */
  readonly generation: number
  close(): Promise<void>
}

export interface StoreProblem {
  /** It may name an address, and never credentials. */
  readonly reason: string
  /** ISO 8601. */
  readonly since: string
}
