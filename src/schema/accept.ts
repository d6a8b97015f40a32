import { isArray, isObject, type Json, type JsonObject } from '../protocol/json.js'
import { countOf } from './code-points.js'
import type { Place } from './document.js'
import { mainThread } from './evaluate/run.js'
import { bit, glanceOf, type Glance } from './glance.js'
import { costOf } from './pattern.js'

/**
 * A step can be made to cost a thousand times as much: by an `enum` whose numbers collide, a pattern that tries all there is to
 * try. So the clock counts as well, in milliseconds; it is looked at now and then, for a look costs as much as ten steps.
 */
const mostMs = 25
const stepsBetweenLooks = 2000

/**
 * Sees at a glance that a value is valid, its formats included: most values are. It knows what most schemas are made of, and
 * neither messages nor paths: what it does not accept is not invalid, but for the evaluation to judge.
 */
export class Acceptor {
  readonly #root: Place
  #steps = 0
  #nextLook = 0
  /** Set by the first look: most values are done before it. */
  #deadline: number | undefined
  /** The schema has something that is not known here: it is not tried again. */
  #helpless = false

  constructor(root: Place) {
    this.#root = root
  }

  accepts(value: Json): boolean {
    this.#steps = mainThread.steps
    this.#nextLook = mainThread.steps - stepsBetweenLooks
    this.#deadline = undefined
    return !this.#helpless && this.#accepts(this.#root, value, 0)
  }

  /** The value just looked at was too much: nobody who goes by the same allowance would come further. */
  get spent(): boolean {
    return this.#steps < 0
  }

  #accepts(place: Place, value: Json, depth: number): boolean {
    if (depth > mainThread.depth || !this.#spend(1)) return false
    const glance = place.glance ?? this.#look(place)
    if (glance === undefined) return false
    const { types, all, any } = glance
    if (typeof value === 'string') {
      if ((types & bit.string) === 0 || !this.#text(glance, value)) return false
    } else if (typeof value === 'number') {
      if ((types & bit.number) === 0 && !((types & bit.integer) !== 0 && Number.isInteger(value))) return false
      if (!(value >= glance.minimum && value <= glance.maximum && value > glance.above && value < glance.below)) return false
    } else if (value === null || typeof value === 'boolean') {
      if ((types & (value === null ? bit.null : bit.boolean)) === 0) return false
    } else if (isArray(value)) {
      if ((types & bit.array) === 0 || !this.#array(glance, value, depth + 1)) return false
    } else if ((types & bit.object) === 0 || !isObject(value) || !this.#object(glance, value, depth + 1)) return false
    if (glance.among?.has(value) === false) return false
    for (let index = 0; index < all.length; index++) if (!this.#branch(all[index] ?? place, value, depth + 1)) return false
    return any === undefined || any.some(schema => this.#branch(schema, value, depth + 1))
  }

  /** An object may have a million members, and every branch goes through them again. */
  #branch(place: Place, value: Json, depth: number): boolean {
    return (!isObject(value) || this.#inTime()) && this.#accepts(place, value, depth)
  }

  #look(place: Place): Glance | undefined {
    const glance = (place.glance = glanceOf(place))
    this.#helpless ||= glance === undefined
    // Making a pattern ready may take a millisecond.
    return glance?.pattern === undefined || this.#inTime() ? glance : undefined
  }

  /** @returns false when the allowance is used up */
  #spend(steps: number): boolean {
    this.#steps -= steps
    return this.#steps > this.#nextLook || (this.#steps >= 0 && this.#inTime())
  }

  #inTime(): boolean {
    this.#nextLook = this.#steps - stepsBetweenLooks
    const now = performance.now()
    this.#deadline ??= now + mostMs
    if (now < this.#deadline) return true
    // No other branch is worth trying either.
    this.#steps = -Infinity
    return false
  }

  #text({ shortest, longest, pattern, format }: Glance, text: string): boolean {
    const { length } = text
    if (length > longest || length < shortest) return false
    // A character may be two code units long.
    if (shortest > 1 && length < 2 * shortest && !(this.#spend(length >> 2) && countOf(text) >= shortest)) return false
    if (pattern !== undefined && !(this.#spend(costOf(pattern, text)) && pattern.test(text))) return false
    return format === undefined || (this.#spend(length >> 2) && format(text))
  }

  #array({ items, fewest, most }: Glance, array: readonly Json[], depth: number): boolean {
    if (array.length < fewest || array.length > most) return false
    if (items === undefined) return true
    for (let index = 0; index < array.length; index++) if (!this.#accepts(items, array[index] ?? null, depth)) return false
    return true
  }

  #object({ properties, byName, needed, closed, rest }: Glance, object: JsonObject, depth: number): boolean {
    if (properties.length === 0 && !closed && rest === undefined) return true
    let next = 0
    let found = 0
    // Members mostly come in the order in which they are declared; what comes from JSON inherits none.
    for (const key in object) {
      if (!this.#spend(1)) return false
      const expected = properties[next]
      const property = expected?.name === key ? expected : byName.get(key)
      if (property === undefined) {
        if (closed) return false
        if (rest !== undefined && !this.#accepts(rest, object[key] ?? null, depth)) return false
        continue
      }
      next = property.index + 1
      if (property.required) found++
      if (property.schema !== undefined && !this.#accepts(property.schema, object[key] ?? null, depth)) return false
    }
    return found === needed
  }
}
