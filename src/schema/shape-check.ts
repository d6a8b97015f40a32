import { isArray, isObject, isString, type Json } from '../protocol/json.js'
import { Distinct } from './equal.js'
import { isPattern } from './pattern.js'
import type { Shape } from './shapes.js'

const types: ReadonlySet<Json> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])

/** What is wrong with a keyword's value, apart from the schemas in it; undefined when nothing is. */
export const misshapen = (shape: Shape, value: Json): string | undefined => {
  switch (shape) {
    case 'schema':
    case 'schema-or-boolean':
    case 'schema-or-schemas':
      return isArray(value) && shape === 'schema-or-schemas' ? need(value.length > 0, 'must not be an empty array') : undefined
    case 'schemas':
      return need(isArray(value) && value.length > 0, 'must be an array of schemas, not empty')
    case 'schema-map':
      return need(isObject(value), 'must be an object of schemas')
    case 'dependencies':
    case 'some-dependencies': {
      const least = shape === 'dependencies' ? 0 : 1
      const areNames = (item: Json | undefined) => areStrings(item) && item.length >= least
      const fine = isObject(value) && Object.values(value).every(item => !isArray(item) || areNames(item))
      return need(fine, 'must be an object of schemas or arrays of different strings')
    }
    case 'string':
      return need(isString(value), 'must be a string')
    case 'id':
      return need(isString(value) && /^[^#]*#?$/.test(value), 'must be a URI without fragment')
    case 'anchor':
      return need(isString(value) && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value), 'must be a plain name')
    case 'anchor-2019':
      return need(isString(value) && /^[A-Za-z][-A-Za-z0-9.:_]*$/.test(value), 'must be a plain name')
    case 'pattern':
      return need(isString(value) && isPattern(value), 'must be a regular expression')
    case 'pattern-map':
      return need(isObject(value) && Object.keys(value).every(isPattern), 'must be an object of schemas by regular expression')
    case 'boolean':
      return need(typeof value === 'boolean', 'must be a boolean')
    case 'boolean-map':
      return need(isObject(value) && Object.values(value).every(flag => typeof flag === 'boolean'), 'must be an object of booleans')
    case 'number':
      return need(typeof value === 'number', 'must be a number')
    case 'positive':
      return need(typeof value === 'number' && value > 0, 'must be a number above 0')
    case 'count':
      return need(Number.isInteger(value) && Number(value) >= 0, 'must be a whole number, 0 or more')
    case 'type':
      return need(
        types.has(value) || (areSome(value) && value.every(type => types.has(type))),
        'must name types of JSON Schema, each once',
      )
    case 'array':
      return need(isArray(value), 'must be an array')
    case 'values':
      return need(areSome(value), 'must be an array of different values, not empty')
    case 'strings':
      return need(areStrings(value), 'must be an array of different strings')
    case 'some-strings':
      return need(areStrings(value) && value.length > 0, 'must be an array of different strings, not empty')
    case 'strings-map':
      return need(isObject(value) && Object.values(value).every(areStrings), 'must be an object of arrays of different strings')
    default:
      return shape satisfies never
  }
}

const need = (fine: boolean, otherwise: string): string | undefined => (fine ? undefined : otherwise)

const areStrings = (value: Json | undefined): value is readonly string[] =>
  isArray(value) && value.every(isString) && new Set(value).size === value.length

const areSome = (value: Json): value is readonly Json[] => {
  const seen = new Distinct()
  return isArray(value) && value.length > 0 && value.every(item => seen.add(item))
}

/** The keys below a keyword at which schemas stand (`[]`: the value itself is one), with those schemas. */
export const schemasIn = (shape: Shape, value: Json): readonly (readonly [readonly (string | number)[], Json])[] => {
  if (shape === 'schema' || (shape === 'schema-or-boolean' && typeof value !== 'boolean')) return [[[], value]]
  if (shape === 'schemas' || shape === 'schema-or-schemas') {
    return isArray(value) ? value.map((item, index) => [[index], item]) : [[[], value]]
  }
  if (shape === 'schema-map' || shape === 'pattern-map') return members(value)
  return shape === 'dependencies' || shape === 'some-dependencies' ? members(value).filter(([, item]) => !isArray(item)) : []
}

const members = (value: Json): (readonly [readonly string[], Json])[] =>
  isObject(value) ? Object.keys(value).map(key => [[key], value[key] ?? null]) : []
