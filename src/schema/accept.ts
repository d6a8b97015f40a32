import { isArray, isObject, type Json, type JsonObject } from '../protocol/json.js'
import { countOf } from './code-points.js'
import type { Place } from './document.js'
import { bit, glanceOf, type Glance } from './glance.js'
import { costOf } from './pattern.js'

/** As for the evaluation on the main thread: steps of about 10 ns, and levels that each take some of the native stack. */
const mostSteps = 1_000_000
const deepest = 300

/**
 * Sees at a glance that a value is valid, its formats included: most values are. It knows what most schemas are made of, and
 * neither messages nor paths: what it does not accept is not invalid, but for the evaluation to judge.
 */
export class Acceptor {
  readonly #root: Place
  #steps = 0
  /** The schema has something that is not known here: it is not tried again. */
  #helpless = false

  constructor(root: Place) {
    this.#root = root
  }

  accepts(value: Json): boolean {
    this.#steps = mostSteps
    return !this.#helpless && this.#accepts(this.#root, value, 0)
  }

  #accepts(place: Place, value: Json, depth: number): boolean {
    const glance = place.glance ?? this.#look(place)
    if (glance === undefined || depth > deepest || --this.#steps < 0) return false
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
    for (let index = 0; index < all.length; index++) if (!this.#accepts(all[index] ?? place, value, depth + 1)) return false
    return any === undefined || any.some(schema => this.#accepts(schema, value, depth + 1))
  }

  #look(place: Place): Glance | undefined {
    place.glance = glanceOf(place)
    this.#helpless ||= place.glance === undefined
    return place.glance
  }

  #text({ shortest, longest, pattern, format }: Glance, text: string): boolean {
    const { length } = text
    if (length > longest || length < shortest || (shortest > 1 && length < 2 * shortest && countOf(text) < shortest)) return false
    if (pattern !== undefined) {
      this.#steps -= costOf(pattern, text)
      if (this.#steps < 0 || !pattern.test(text)) return false
    }
    if (format === undefined) return true
    this.#steps -= length >> 2
    return this.#steps >= 0 && format(text)
  }

  #array({ items, fewest, most }: Glance, array: readonly Json[], depth: number): boolean {
    if (array.length < fewest || array.length > most) return false
    if (items === undefined) return true
    for (let index = 0; index < array.length; index++) if (!this.#accepts(items, array[index] ?? null, depth)) return false
    return true
  }

  #object({ properties, byName, needed, closed, rest }: Glance, object: JsonObject, depth: number): boolean {
    let next = 0
    let found = 0
    // Members mostly come in the order in which they are declared; what comes from JSON inherits none.
    for (const key in object) {
      const expected = properties[next]
      const property = expected?.name === key ? expected : byName.get(key)
      if (property === undefined) {
        if (closed || --this.#steps < 0) return false
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
