
/** A collection is rebuilt after this many deletions plus twice its size. */
const maxTaken = 64

/**
 * A Map for entries that come and go with every request. V8 links each table that a Map outgrows to the next.
 * Once one of them is in the old generation, the later ones and all their former entries live until the next
 * full garbage collection. So the Map is replaced from time to time.
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

  /** @returns false when there is no such entry */
  delete(key: Key): boolean {
    if (!this.#map.delete(key)) return false
    if (++this.#taken > maxTaken + 2 * this.#map.size) {
      this.#map = new Map(this.#map)
      this.#taken = 0
    }
    return true
  }

  /** A snapshot, the oldest first, as are `values` and `entries`. */
  keys(): readonly Key[] {
    return [...this.#map.keys()]
  }

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

/** `ChurnMap` as a Set. */
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

  /** @returns false when there is no such entry */
  delete(value: Value): boolean {
    return this.#map.delete(value)
  }

  values(): readonly Value[] {
    return this.#map.keys()
  }
}

/** `ChurnMap` with several values for each key. */
export class ChurnGroups<Key, Value> {
  readonly #groups = new ChurnMap<Key, Set<Value>>()

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

  of(key: Key): readonly Value[] {
    return [...(this.#groups.get(key) ?? [])]
  }

  all(): readonly Value[] {
    return this.#groups.values().flatMap(group => [...group])
  }
}

/**
 * Counts the bytes that are kept for clients and servers. The accounts form a tree: the process, its
 * sessions, and the kinds of data in a session. Bytes added to an account count in its ancestors too.
 */
export class Ledger {
  #kept = 0
  #isClosed = false

  /** @param max in bytes */
  constructor(readonly max: number, readonly of?: Ledger) {}

  get kept(): number {
    return this.#kept
  }

  /** Opens an account below this one. */
  account(max: number): Ledger {
    return new Ledger(max, this)
  }

  hasRoom(bytes: number): boolean {
    return this.#kept + bytes <= this.max && this.of?.hasRoom(bytes) !== false
  }

  /** @param bytes negative to release */
  add(bytes: number): void {
    if (this.#isClosed) return
    this.#kept += bytes
    this.of?.add(bytes)
  }

  /** Releases everything, and ignores later changes. */
  close(): void {
    this.add(-this.#kept)
    this.#isClosed = true
  }
}

/** Most bytes of memory for all sessions of a process, unless their options name another account. */
const processBytes = 1024 * 1024 * 1024

export const processLedger = new Ledger(processBytes)

/**
 * The bytes of an object beside its buffers and strings: itself, its entry in a Map, its closures and
 * generators. Measured by `test/core/ledger.long.test.ts`.
 */
export const weights = {
  clientRequest: 3000, queuedRequest: 1000, serverRequest: 600, relayId: 150, task: 800, givenResponse: 1000,
} as const
