import { isArray, lengthOf, type Json, type JsonArray, type JsonObject } from './json.js'

/** Steps that may be spent on one frame, in all rules together. A step is about 25 ns: one element, or 64 bytes of a text. */
export const frameShare = 4_000_000

/** Steps after which other sessions get a turn. */
export const turnShare = 400_000

/** The frame's share is spent: the rest of the frame is not looked at, which is the finding wire/size. */
export class OverBudget extends Error {
  constructor() {
    super('the message has more parts than are looked at')
  }
}

/** Steps spent since the event loop was handed back: one count for a session and a direction. */
export class Turn {
  spent = 0
}

/** Counts the work on one frame. All loops over what a client or server sent pay here (architecture: loops are paid for). */
export class Meter {
  readonly #turn: Turn
  #left: number

  constructor(turn = new Turn(), share = frameShare) {
    this.#turn = turn
    this.#left = share
  }

  /** @throws OverBudget when the frame's share is spent */
  pay(steps: number): void {
    this.#turn.spent += steps
    if ((this.#left -= steps) < 0) throw new OverBudget()
  }

  /** Pays for reading a text. */
  payText(text: string): void {
    this.pay(1 + (text.length >>> 6))
  }

  /** True when the event loop should be handed back before more is done. */
  get isTurnSpent(): boolean {
    return this.#turn.spent >= turnShare
  }

  /** The event loop was handed back. */
  newTurn(): void {
    this.#turn.spent = 0
  }
}

type Walk<Step extends string | number> = IterableIterator<readonly [step: Step, child: Json], void>

/** The only walk over a JSON array or object from the wire: each element with its index, each member with its name. */
export function each(value: JsonArray, meter: Meter): Walk<number>
export function each(value: JsonObject, meter: Meter): Walk<string>
export function each(value: JsonArray | JsonObject, meter: Meter): Walk<string | number>
export function each(value: JsonArray | JsonObject, meter: Meter): Walk<string | number> {
  return isArray(value) ? new Elements(value, meter) : members(value, meter)
}

/** No generator: V8 can inline this one into a loop. */
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

function* members(object: JsonObject, meter: Meter): Walk<string> {
  for (const name in object) {
    meter.pay(1)
    yield [name, object[name] ?? null]
  }
}

/** The value with other elements or members in it. @param make of each; undefined where it is left out */
export function mapped(value: JsonArray, meter: Meter, make: (element: Json, index: number) => Json | undefined): Json[]
export function mapped(value: JsonObject, meter: Meter, make: (member: Json, name: string) => Json | undefined): JsonObject
export function mapped(
  value: JsonArray | JsonObject, meter: Meter, make: (child: Json, step: never) => Json | undefined,
): JsonArray | JsonObject {
  const made: [string | number, Json][] = []
  for (const [step, child] of each(value, meter)) {
    const one = make(child, step as never)
    if (one !== undefined) made.push([step, one])
  }
  return isArray(value) ? made.map(([, element]) => element) : Object.fromEntries(made)
}

/** The object with these members in the place of its own, or added. */
export const withMembers = (object: JsonObject, members: Readonly<Record<string, Json>>, meter: Meter): JsonObject => ({
  ...mapped(object, meter, (member, name) => (Object.hasOwn(members, name) ? members[name] : member)), ...members,
})
