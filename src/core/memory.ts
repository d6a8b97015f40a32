
/** So many entries may be taken out before the collection is made anew, and twice as many as are left in it. */
const maxTaken = 64

/**
 * A Map that is filled and emptied without end: an entry for each request. V8 links each table that a Map outgrows to the next; once one of them is
 * old, all that came after it stay until the next full collection of garbage, with all that hangs on what was ever in them. A new Map links to none.
 */
export class ChurnMap<Key, Value> {
  #map = new Map<Key, Value>()
  #taken = 0

  get size(): number {
    return this.#map.size
  }

  has(key: Key): boolean {
    return this.#map.has(key)
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key)
  }

  set(key: Key, value: Value): void {
    this.#map.set(key, value)
  }

  /** @returns false when it was not there */
  delete(key: Key): boolean {
    if (!this.#map.delete(key)) return false
    if (++this.#taken > maxTaken + 2 * this.#map.size) {
      this.#map = new Map(this.#map)
      this.#taken = 0
    }
    return true
  }

  /** Those that are there now, the oldest first. */
  keys(): readonly Key[] {
    return [...this.#map.keys()]
  }

  /** Those that are there now, the oldest first. */
  values(): readonly Value[] {
    return [...this.#map.values()]
  }

  entries(): readonly (readonly [key: Key, value: Value])[] {
    return [...this.#map]
  }

  first(): Value | undefined {
    for (const value of this.#map.values()) return value
    return undefined
  }
}

/** The same for a Set. */
export class ChurnSet<Value> {
  readonly #map = new ChurnMap<Value, true>()

  get size(): number {
    return this.#map.size
  }

  has(value: Value): boolean {
    return this.#map.has(value)
  }

  add(value: Value): void {
    this.#map.set(value, true)
  }

  /** @returns false when it was not there */
  delete(value: Value): boolean {
    return this.#map.delete(value)
  }

  /** Those that are there now, the oldest first. */
  values(): readonly Value[] {
    return this.#map.keys()
  }
}

/** Several values under a key. */
export class ChurnGroups<Key, Value> {
  readonly #groups = new ChurnMap<Key, Set<Value>>()

  /** Keys that have values. */
  get size(): number {
    return this.#groups.size
  }

  add(key: Key, value: Value): void {
    const group = this.#groups.get(key)
    if (group === undefined) this.#groups.set(key, new Set([value]))
    else group.add(value)
  }

  delete(key: Key, value: Value): void {
    const group = this.#groups.get(key)
    if (group?.delete(value) === true && group.size === 0) this.#groups.delete(key)
  }

  /** Those that are there now, the oldest first. */
  of(key: Key): readonly Value[] {
    return [...(this.#groups.get(key) ?? [])]
  }

  all(): readonly Value[] {
    return this.#groups.values().flatMap(group => [...group])
  }
}

/**
 * Bytes that are kept because of what clients and servers sent: an account of one kind of thing, of a session, or of the
 * process. What is added to an account is added to all accounts that it belongs to.
 */
export class Ledger {
  #kept = 0
  #isClosed = false

  /** @param most the bound, in bytes */
  constructor(readonly most: number, readonly of?: Ledger) {}

  get kept(): number {
    return this.#kept
  }

  /** @param of the account that is part of this one */
  account(most: number): Ledger {
    return new Ledger(most, this)
  }

  hasRoom(bytes: number): boolean {
    return this.#kept + bytes <= this.most && this.of?.hasRoom(bytes) !== false
  }

  /** @param bytes negative when something is let go */
  add(bytes: number): void {
    if (this.#isClosed) return
    this.#kept += bytes
    this.of?.add(bytes)
  }

  /** Everything is let go, and nothing is counted any more: whoever lets go of a part later has been counted already. */
  close(): void {
    this.add(-this.#kept)
    this.#isClosed = true
  }
}

/**
 * What one object costs beside its bytes and texts, in bytes: itself, its place in a Map, the closures and generators that
 * belong to it. Measured by `test/core/ledger.test.ts`.
 */
export const weights = { clientRequest: 3000, heldRequest: 1000, serverRequest: 600, ownId: 150, task: 800 } as const
