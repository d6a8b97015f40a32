/** A parsed JSON value of unknown shape. */
export type Json = null | boolean | number | string | JsonArray | JsonObject

declare const wire: unique symbol

/**
 * The types forbid to iterate, measure or spread a JSON object or array from the wire: `each` walks it, for a
 * meter. Modules with another bound import unmetered.ts; `test/architecture.test.ts` lists them, and finds
 * spreads.
 */
export interface JsonObject {
  readonly [wire]?: 'object'
  readonly [member: string]: Json | undefined
}

export interface JsonArray {
  readonly [wire]?: 'array'
  readonly [index: number]: Json
}

type Unless<Value> = typeof wire extends keyof Value ? Value : never

declare global {
  interface ObjectConstructor {
    keys<Value extends object>(wire: Unless<Value>): 'walk it by each(value, meter)'[][never]
    values<Value extends object>(wire: Unless<Value>): 'walk it by each(value, meter)'[][never]
    entries<Value extends object>(wire: Unless<Value>): 'walk it by each(value, meter)'[][never]
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isArray = (value: Json | undefined): value is JsonArray => Array.isArray(value)

export const isString = (value: unknown): value is string => typeof value === 'string'

/** Parses a message or a slice of one; nothing else does. @returns undefined for a text that is not JSON */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** An own member of the object; members of the prototype (`constructor`) do not count. */
export const member = (object: JsonObject | undefined, key: string): Json | undefined =>
  object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined

// The functions below walk one value only, or have a bound of their own.
const elementsOf = (array: JsonArray): readonly Json[] => array as readonly Json[]
const membersOf = (object: JsonObject): Readonly<Record<string, Json | undefined>> => object

export const lengthOf = (array: JsonArray): number => elementsOf(array).length

/** A JSON Pointer (RFC 6901) of the given parts. */
export const pointer = (...parts: readonly (string | number)[]): string => {
  let path = ''
  for (const part of parts) path += `/${String(part).replace(/~/g, '~0').replace(/\//g, '~1')}`
  return path
}

/** Steps for listing the members of an object: V8 sorts those of larger ones, and looks them up slowly. */
export const costOfMembers = (count: number): number => (count > manyMembers ? costOfMany : 4) * count
export const manyMembers = 200
export const costOfMany = 40

/**
 * Equal as JSON values: member order does not matter, the order of elements does. Ends at the first
 * difference.
 * @param a its members are looked up in the other value, which may have very many
 * @param pay is told the steps
 */
export const equal = (
  a: Json | undefined, b: Json | undefined, pay?: (steps: number) => void,
): boolean => {
  pay?.(isString(a) ? 3 + (a.length >> 6) : 3)
  if (a === b) return true
  if (isArray(a)) {
    if (!isArray(b) || lengthOf(a) !== lengthOf(b)) return false
    return elementsOf(a).every((element, index) => equal(element, b[index], pay))
  }
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(membersOf(a))
  pay?.(costOfMembers(keys.length))
  if (!keys.every(key => Object.hasOwn(b, key) && equal(a[key], b[key], pay))) return false
  const { length } = Object.keys(membersOf(b))
  pay?.(costOfMembers(length))
  return keys.length === length
}

/** Estimates the memory that a value takes, in bytes. Stops soon after `limit`. */
export const weigh = (value: Json, limit = Infinity): number => {
  if (isString(value)) return 32 + value.length
  if (typeof value !== 'object' || value === null) return 8
  let sum = 64
  if (isArray(value)) {
    const length = lengthOf(value)
    for (let index = 0; index < length && sum <= limit; index++) {
      sum += weigh(value[index] ?? null, limit - sum)
    }
  } else {
    for (const key in value) {
      if ((sum += key.length + weigh(value[key] ?? null, limit - sum)) > limit) break
    }
  }
  return sum
}

/** The object without a member. */
export const omit = (object: JsonObject, key: string): JsonObject =>
  Object.hasOwn(object, key)
    ? Object.fromEntries(Object.entries(membersOf(object)).filter(([name]) => name !== key))
    : object

/** Steps for one frame, in all rules together. A step is about 25 ns: one element, or 64 bytes of text. */
const frameShare = 4_000_000

/** Steps after which the event loop is handed back to other sessions. */
export const turnShare = 400_000

/** The share of a frame is spent: the rest of it is not checked, and wire/size has a finding. */
export class OverBudget extends Error {
  constructor() {
    super('the message has more parts than are looked at')
  }
}

/** Steps spent since the event loop was handed back: one count for a session and a direction. */
export class Turn {
  spent = 0
}

/** Counts the work on one frame. Every loop over data of a client or server pays here. */
export class Meter {
  #left: number

  constructor(private readonly turn = new Turn(), share = frameShare) {
    this.#left = share
  }

  /** @throws OverBudget when the frame's share is spent */
  pay(steps: number): void {
    this.turn.spent += steps
    if ((this.#left -= steps) < 0) throw new OverBudget()
  }

  get left(): number {
    return Math.max(0, this.#left)
  }

  /** A meter for work that has a share of its own, in the same turns of the event loop. */
  part(share: number): Meter {
    return new Meter(this.turn, share)
  }

  payText(text: string): void {
    this.pay(1 + (text.length >>> 6))
  }

  /** True when the event loop should be handed back before more is done. */
  get isTurnSpent(): boolean {
    return this.turn.spent >= turnShare
  }

  /** To be called after the event loop was handed back. */
  newTurn(): void {
    this.turn.spent = 0
  }
}

type Walk<Step extends string | number> = IterableIterator<readonly [step: Step, child: Json], void>

/** Walks a JSON array or object from the wire: each element with its index, each member with its name. */
export function each(value: JsonArray, meter: Meter): Walk<number>
export function each(value: JsonObject, meter: Meter): Walk<string>
export function each(value: JsonArray | JsonObject, meter: Meter): Walk<string | number>
export function each(value: JsonArray | JsonObject, meter: Meter): Walk<string | number> {
  return isArray(value) ? new Elements(value, meter) : new Members(value, meter)
}

/** Members of an object of which a walk costs more. */
const manyToWalk = 1000

/** Not a generator, because V8 can inline this into a loop. */
class Elements implements Walk<number> {
  #next = 0

  constructor(readonly array: JsonArray, readonly meter: Meter) {}

  [Symbol.iterator](): this {
    return this
  }

  next(): IteratorResult<readonly [number, Json], void> {
    if (this.#next >= lengthOf(this.array)) return { done: true, value: undefined }
    this.meter.pay(1)
    const index = this.#next++
    return { done: false, value: [index, this.array[index] ?? null] }
  }
}

class Members implements Walk<string> {
  readonly #names: readonly string[]
  #next = 0

  constructor(readonly object: JsonObject, readonly meter: Meter) {
    this.#names = Object.keys(membersOf(object))
    // V8 keeps an object of many members in a hash table, and sorts its keys for each walk.
    if (this.#names.length > manyToWalk) meter.pay(this.#names.length)
  }

  [Symbol.iterator](): this {
    return this
  }

  next(): IteratorResult<readonly [string, Json], void> {
    const name = this.#names[this.#next++]
    if (name === undefined) return { done: true, value: undefined }
    this.meter.pay(1)
    return { done: false, value: [name, this.object[name] ?? null] }
  }
}

/** The names of the members; their values are not read. */
export const keysOf = (object: JsonObject, meter: Meter): readonly string[] => {
  const names = Object.keys(membersOf(object))
  meter.pay(names.length)
  return names
}

/** Copies the value with other elements or members. @param make returns undefined to leave one out */
export function mapped(
  value: JsonArray, meter: Meter, make: (element: Json, index: number) => Json | undefined,
): Json[]
export function mapped(
  value: JsonObject, meter: Meter, make: (member: Json, name: string) => Json | undefined,
): JsonObject
export function mapped(
  value: JsonArray | JsonObject, meter: Meter, make: (child: Json, step: never) => Json | undefined,
): JsonArray | JsonObject {
  if (!isArray(value)) {
    const made: [string, Json][] = []
    for (const [name, child] of each(value, meter)) {
      const one = make(child, name as never)
      if (one !== undefined) made.push([name, one])
    }
    return Object.fromEntries(made)
  }
  const made: Json[] = []
  for (let index = 0; index < lengthOf(value); index++) {
    meter.pay(1)
    const one = make(value[index] ?? null, index as never)
    if (one !== undefined) made.push(one)
  }
  return made
}

/** The value at the end of a way through objects. */
export const valueAt = (value: Json | undefined, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((inner, key) => (isObject(inner) ? member(inner, key) : undefined), value)

/** Copies the object with these members replaced in their places, or added. */
export const withMembers = (
  object: JsonObject, members: Readonly<Record<string, Json | undefined>>, meter: Meter,
): JsonObject => ({
  ...mapped(object, meter, (member, name) => (Object.hasOwn(members, name) ? members[name] : member)),
  ...members,
})
