import { isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import type { Place } from './document.js'
import { isScalar } from './equal.js'
import { keywordsAt } from './evaluate/compile.js'
import { formatOf } from './formats.js'
import { compilePattern, type Pattern } from './pattern.js'

/** The types of JSON Schema, as bits of a set. */
export const bit = { null: 1, boolean: 2, integer: 4, number: 8, string: 16, array: 32, object: 64 } as const
const everyType = 127
const bitOf: ReadonlyMap<string, number> = new Map(Object.entries(bit))

/**
 * A schema as far as it can be applied at a glance: one flat object for every schema, so that reading it is quick. What a
 * schema does not ask for has the value that everything meets.
 */
export interface Glance {
  /** Those that are allowed. */
  types: number
  /** Scalars, one of which the value must be. */
  among: ReadonlySet<Json> | undefined
  /** All of these schemas must accept the value, and of `any` one. */
  all: readonly Place[]
  any: readonly Place[] | undefined
  minimum: number
  maximum: number
  above: number
  below: number
  /** Length of a text, in characters. */
  shortest: number
  longest: number
  pattern: Pattern | undefined
  format: ((text: string) => boolean) | undefined
  items: Place | undefined
  fewest: number
  most: number
  /** Those that are declared or required. */
  properties: Property[]
  byName: Map<string, Property>
  /** How many of them are required. */
  needed: number
  /** Whether nothing else may be there. */
  closed: boolean
  /** The schema of anything else. */
  rest: Place | undefined
}

interface Property {
  readonly name: string
  /** Its place in `properties`. */
  readonly index: number
  required: boolean
  /** Undefined: it may have any value. */
  schema: Place | undefined
}

/** Longer patterns, which take longer to make, are left to the evaluation: it keeps account of that. */
const longestPattern = 200

/** @returns undefined where the schema, or what stands right in it, has something that is not known here */
export const glanceOf = (place: Place): Glance | undefined => {
  const { schema } = place
  if (typeof schema === 'boolean') return schema ? anything() : { ...anything(), types: 0 }
  const names = keywordsAt(place).map(({ name }) => name)
  if (names.length === 1 && names[0] === '$ref') return glanceThrough(place)
  const glance = anything()
  // What is declared goes before what is required: a value has its members in that order.
  names.sort((a, b) => Number(b === 'properties') - Number(a === 'properties'))
  for (const name of names) if (keywords.get(name)?.(glance, schema[name] ?? null, place, schema) !== true) return undefined
  return settled(glance)
}

/** Of a schema that only refers to another. A chain of these has an end: one without is a problem of the schema. */
const glanceThrough = (place: Place): Glance | undefined => {
  const target = targetOf(place)
  return target && (target.glance ??= glanceOf(target))
}

const targetOf = (place: Place): Place | undefined => {
  const target = place.targets.get('$ref')
  return target?.dynamic === undefined ? target?.place : undefined
}

/** What is required and not declared is like anything else that is not. */
const settled = (glance: Glance): Glance | undefined => {
  for (const property of glance.properties) {
    if (property.required) glance.needed++
    if (property.schema === undefined && glance.closed) return undefined
    property.schema ??= glance.rest
  }
  return glance
}

const anything = (): Glance => ({
  types: everyType, among: undefined, all: [], any: undefined,
  minimum: -Infinity, maximum: Infinity, above: -Infinity, below: Infinity,
  shortest: 0, longest: Infinity, pattern: undefined, format: undefined,
  items: undefined, fewest: 0, most: Infinity,
  properties: [], byName: new Map(), needed: 0, closed: false, rest: undefined,
})

/** Notes what a keyword asks for. @returns false when it cannot be noted */
type Add = (glance: Glance, value: Json, place: Place, schema: JsonObject) => boolean

type Bound = 'minimum' | 'maximum' | 'above' | 'below' | 'shortest' | 'longest' | 'fewest' | 'most'

const bound = (name: Bound, flag?: string): Add => (glance, value, _, schema) => {
  if (typeof value !== 'number' || (flag !== undefined && member(schema, flag) === true)) return false
  glance[name] = value
  return true
}

const among = (values: (value: Json) => readonly Json[] | undefined): Add => (glance, value) => {
  const allowed = values(value)
  if (allowed === undefined || glance.among !== undefined || !allowed.every(isScalar)) return false
  glance.among = new Set(allowed)
  return true
}

const propertyOf = ({ properties, byName }: Glance, name: string): Property => {
  let property = byName.get(name)
  if (property !== undefined) return property
  property = { name, index: properties.length, required: false, schema: undefined }
  properties.push(property)
  byName.set(name, property)
  return property
}

const keywords: ReadonlyMap<string, Add> = new Map<string, Add>([
  ['type', (glance, value) => {
    const bits = (isArray(value) ? value : [value]).map(type => (isString(type) ? bitOf.get(type) : undefined))
    glance.types = 0
    for (const one of bits) glance.types |= one ?? 0
    return !bits.includes(undefined)
  }],
  ['enum', among(value => (isArray(value) ? value : undefined))],
  ['const', among(value => [value])],
  ['minimum', bound('minimum', 'exclusiveMinimum')],
  ['maximum', bound('maximum', 'exclusiveMaximum')],
  ['exclusiveMinimum', bound('above')],
  ['exclusiveMaximum', bound('below')],
  ['minLength', bound('shortest')],
  ['maxLength', bound('longest')],
  ['minItems', bound('fewest')],
  ['maxItems', bound('most')],
  ['pattern', (glance, source) => {
    glance.pattern = isString(source) && source.length <= longestPattern ? compilePattern(source) : undefined
    return glance.pattern?.linear === true
  }],
  ['format', (glance, name) => {
    // One that is not known is ignored.
    glance.format = isString(name) ? formatOf(name) : undefined
    return true
  }],
  ['items', (glance, value, place) => {
    glance.items = place.child('items')
    return !isArray(value) && glance.items !== undefined
  }],
  ['properties', (glance, value, place) => {
    for (const name of isObject(value) ? Object.keys(value) : []) {
      const schema = place.child('properties', name)
      if (schema === undefined) return false
      propertyOf(glance, name).schema = schema
    }
    return isObject(value)
  }],
  ['required', (glance, value) => {
    for (const name of isArray(value) ? value.filter(isString) : []) propertyOf(glance, name).required = true
    return isArray(value)
  }],
  ['additionalProperties', (glance, value, place) => {
    glance.closed = value === false
    glance.rest = place.child('additionalProperties')
    // Draft-04 has booleans here, which are no schemas there.
    return typeof value === 'boolean' || glance.rest !== undefined
  }],
  ['$ref', (glance, _, place) => {
    const target = targetOf(place)
    if (target !== undefined) glance.all = [...glance.all, target]
    return target !== undefined
  }],
  ['allOf', (glance, value, place) => {
    const schemas = branches('allOf', value, place)
    glance.all = [...glance.all, ...schemas]
    return isArray(value) && schemas.length === value.length
  }],
  ['anyOf', (glance, value, place) => {
    glance.any = branches('anyOf', value, place)
    return isArray(value) && glance.any.length === value.length
  }],
])

const branches = (keyword: string, value: Json, place: Place): readonly Place[] =>
  isArray(value) ? value.flatMap((_, index) => place.child(keyword, index) ?? []) : []
