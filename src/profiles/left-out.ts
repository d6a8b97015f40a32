import {
  each, isArray, isObject, isString, mapped, member, type Json, type JsonObject, type Meter,
} from '#protocol/json.js'
import { elements, includes, requiredOf, typesOf } from './merge.js'

/** References and combinations are followed so far. */
const deepest = 12

/**
 * Takes nulls out of arguments that stand for an argument left out: a strict profile shows every argument as
 * required, and the optional ones as nullable.
 * @param schema as the server declares it: a null that it accepts, or for a required argument, stays
 * @returns the same arguments when nothing is taken out
 */
export const withoutLeftOut = (given: JsonObject, schema: JsonObject, meter: Meter): JsonObject => {
  const made = new Nulls(schema, meter).without(given, [schema])
  return isObject(made) ? made : given
}

const present = (schema: Json | undefined): readonly Json[] => (schema === undefined ? [] : [schema])

class Nulls {
  readonly #root: JsonObject
  readonly #meter: Meter

  constructor(root: JsonObject, meter: Meter) {
    this.#root = root
    this.#meter = meter
  }

  /** @param schemas those that may hold for the value */
  without(value: Json, schemas: readonly Json[]): Json {
    this.#meter.pay(1)
    const all = schemas.flatMap(schema => this.#parts(schema, 0))
    if (isArray(value)) {
      const items = all.flatMap(schema => present(member(schema, 'items')))
      return this.#changed(value, mapped(value, this.#meter, one => this.without(one, items)))
    }
    if (!isObject(value)) return value
    const required = schemas.flatMap(schema => this.#required(schema, 0))
    return this.#changed(value, mapped(value, this.#meter, (one, name) => {
      const own = all.flatMap(schema => {
        const properties = member(schema, 'properties')
        return isObject(properties) ? present(member(properties, name)) : []
      })
      const isLeftOut = one === null && own.length > 0 && !required.includes(name) &&
        own.every(schema => !this.#takesNull(schema, 0))
      return isLeftOut ? undefined : this.without(one, own)
    }))
  }

  /** The value itself where the copy has all of its parts. */
  #changed<Value extends Json>(value: Value, copy: Value): Value {
    const [before, after] = [this.#children(value), this.#children(copy)]
    const isSame = before.length === after.length && before.every((child, index) => child === after[index])
    return isSame ? value : copy
  }

  #children(value: Json): readonly Json[] {
    if (isArray(value)) return elements(value, this.#meter)
    return isObject(value) ? [...each(value, this.#meter)].map(([, child]) => child) : []
  }

  /** The schema, and those that it refers to or combines. */
  #parts(schema: Json, depth: number): readonly JsonObject[] {
    this.#meter.pay(1)
    if (!isObject(schema) || depth > deepest) return []
    const inner = ['allOf', 'anyOf', 'oneOf'].flatMap(keyword => this.#list(schema, keyword))
    return [schema, ...[...this.#target(schema), ...inner].flatMap(one => this.#parts(one, depth + 1))]
  }

  #required(schema: Json, depth: number): readonly string[] {
    if (!isObject(schema) || depth > deepest) return []
    const inner = [...this.#list(schema, 'allOf'), ...this.#target(schema)]
    return [...requiredOf(schema, this.#meter), ...inner.flatMap(one => this.#required(one, depth + 1))]
  }

  /** False only when the schema certainly refuses null. */
  #takesNull(schema: Json, depth: number): boolean {
    this.#meter.pay(1)
    if (!isObject(schema) || depth > deepest) return schema !== false
    const [type, values, only] = [member(schema, 'type'), member(schema, 'enum'), member(schema, 'const')]
    const types = typesOf(type, this.#meter)
    if (types.length > 0 && !types.includes('null')) return false
    if (isArray(values) && !includes(values, null, this.#meter)) return false
    if (only !== undefined && only !== null) return false
    const takes = (one: Json) => this.#takesNull(one, depth + 1)
    if (![...this.#list(schema, 'allOf'), ...this.#target(schema)].every(takes)) return false
    return ['anyOf', 'oneOf'].every(keyword => {
      const branches = this.#list(schema, keyword)
      return branches.length === 0 || branches.some(takes)
    })
  }

  #list(schema: JsonObject, keyword: string): readonly Json[] {
    const list = member(schema, keyword)
    return isArray(list) ? elements(list, this.#meter) : []
  }

  #target(schema: JsonObject): readonly Json[] {
    const reference = member(schema, '$ref')
    const target = isString(reference) ? pointed(this.#root, reference) : undefined
    return target === undefined ? [] : [target]
  }
}

/** The part of a schema that a reference in it names; undefined for a reference that is no JSON Pointer. */
export const pointed = (root: JsonObject, reference: string): Json | undefined => {
  const fragment = /^#((?:\/[^#]*)?)$/.exec(reference)?.[1]
  if (fragment === undefined) return undefined
  let at: Json | undefined = root
  for (const part of fragment.split('/').slice(1)) {
    const step = decoded(part).replace(/~1/g, '/').replace(/~0/g, '~')
    if (isArray(at)) at = /^\d{1,6}$/.test(step) ? at[Number(step)] : undefined
    else at = isObject(at) ? member(at, step) : undefined
  }
  return at
}

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
