import { each, isArray, isObject, isString, mapped, member, type Json, type JsonObject, type Meter } from '#protocol/json.js'
import { targetOf } from '#protocol/json-schema.js'
import { elements, includes, requiredOf, typesOf } from './merge.js'

/** References and combinations are followed so far. */
const deepest = 12

type Path = readonly (string | number)[]

/**
 * Removes each null that stands for an argument that the model left out. A strict profile shows every
 * argument as required, and the optional arguments as nullable.
 * @param schema as the server declares it. A null stays if this schema accepts it or requires the argument
 * @returns the same arguments when nothing is taken out
 */
export const withoutLeftOut = (given: JsonObject, schema: JsonObject, meter: Meter): JsonObject => {
  const made = new LeftOut(schema, meter).without(given, [])
  return isObject(made) ? made : given
}

class LeftOut {
  readonly #root: JsonObject
  readonly #meter: Meter

  constructor(root: JsonObject, meter: Meter) {
    this.#root = root
    this.#meter = meter
  }

  /** @param path where the value is in the arguments */
  without(value: Json, path: Path): Json {
    if (isArray(value)) {
      const made = mapped(value, this.#meter, (one, index) => this.without(one, [...path, index]))
      return this.#changed(value, made)
    }
    if (!isObject(value)) return value
    return this.#changed(value, mapped(value, this.#meter, (one, name) => {
      const isLeftOut = one === null && this.#refusesNull(this.#root, [...path, name], 0) &&
        !this.#requires(this.#root, path, name, 0)
      return isLeftOut ? undefined : this.without(one, [...path, name])
    }))
  }

  /** The value itself if nothing was removed from the copy, else the copy. */
  #changed<Value extends Json>(value: Value, copy: Value): Value {
    const [before, after] = [this.#children(value), this.#children(copy)]
    const isSame = before.length === after.length && before.every((child, index) => child === after[index])
    return isSame ? value : copy
  }

  #children(value: Json): readonly Json[] {
    if (isArray(value)) return elements(value, this.#meter)
    return isObject(value) ? [...each(value, this.#meter)].map(([, child]) => child) : []
  }

  /** True only when the schema certainly refuses null at a path that it declares. */
  #refusesNull(schema: Json, path: Path, depth: number): boolean {
    this.#meter.pay(1)
    const [step, ...rest] = path
    if (step === undefined) return !this.#takesNull(schema, 0)
    if (!isObject(schema) || depth > deepest) return false
    const own = partOf(schema, step)
    const refuses = (one: Json) => this.#refusesNull(one, path, depth + 1)
    return (own !== undefined && this.#refusesNull(own, rest, 0)) || this.#others(schema).some(refuses) ||
      this.#unions(schema).some(branches => branches.every(refuses))
  }

  /** Whether the object at a path must have a member. */
  #requires(schema: Json, path: Path, name: string, depth: number): boolean {
    this.#meter.pay(1)
    if (!isObject(schema) || depth > deepest) return false
    const [step, ...rest] = path
    const own = step === undefined ? undefined : partOf(schema, step)
    return (step === undefined && requiredOf(schema, this.#meter).includes(name)) ||
      (own !== undefined && this.#requires(own, rest, name, 0)) ||
      this.#others(schema).some(one => this.#requires(one, path, name, depth + 1))
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
    return this.#others(schema).every(takes) && this.#unions(schema).every(branches => branches.some(takes))
  }

  /** The schemas that the value must match too. */
  #others(schema: JsonObject): readonly Json[] {
    const reference = member(schema, '$ref')
    const target = isString(reference) ? targetOf(this.#root, reference) : undefined
    return [...this.#list(schema, 'allOf'), ...(target === undefined ? [] : [target])]
  }

  /** Lists of schemas, of each of which the value must match one. */
  #unions(schema: JsonObject): readonly (readonly Json[])[] {
    return [this.#list(schema, 'anyOf'), this.#list(schema, 'oneOf')].filter(({ length }) => length > 0)
  }

  #list(schema: JsonObject, keyword: string): readonly Json[] {
    const list = member(schema, keyword)
    return isArray(list) ? elements(list, this.#meter) : []
  }
}

/** The schema of one member or element. */
const partOf = (schema: JsonObject, step: string | number): Json | undefined => {
  if (isString(step)) {
    const properties = member(schema, 'properties')
    return isObject(properties) ? member(properties, step) : undefined
  }
  const [tuple, items] = [member(schema, 'prefixItems'), member(schema, 'items')]
  const first = isArray(tuple) ? tuple : isArray(items) ? items : []
  return first[step] ?? (isArray(items) ? member(schema, 'additionalItems') : items)
}
