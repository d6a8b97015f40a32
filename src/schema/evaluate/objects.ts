import { isArray, isObject, isString, member, type Json, type JsonObject } from '../../protocol/json.js'
import type { Place } from '../document.js'
import { compilePattern, type Pattern } from '../pattern.js'
import { hasAll } from './assertions.js'
import type { Check, Keyword } from './compile.js'
import { evaluate } from './evaluate.js'
import { Spent, type Run } from './run.js'

/** The schemas of a keyword whose value is an object of schemas, by key. */
const schemasOf = (value: Json, place: Place, keyword: string): readonly (readonly [string, Place])[] =>
  (isObject(value) ? Object.keys(value) : []).flatMap(key => {
    const child = place.child(keyword, key)
    return child === undefined ? [] : [[key, child]]
  })

/** Goes through what concerns the value, one after the other; ends at the first failure unless more are wanted. */
const each = <Item>(items: readonly Item[], run: Run, holds: (item: Item) => boolean): boolean => {
  let valid = true
  for (const item of items) {
    if (holds(item)) continue
    valid = false
    if (!run.collecting) break
  }
  return valid
}

const properties: Keyword = {
  name: 'properties',
  check(value, place) {
    const schemas = schemasOf(value, place, 'properties')
    return (value, run, scope, seen) => {
      if (!isObject(value)) return true
      run.spend(schemas.length / 8)
      return each(schemas, run, ([key, schema]) => {
        if (!Object.hasOwn(value, key)) return true
        seen?.addMember(key)
        run.path.push(key)
        const valid = evaluate(schema, value[key] ?? null, run, scope, undefined)
        run.path.pop()
        return valid
      })
    }
  },
}

const matches = (pattern: Pattern, key: string, run: Run): boolean => {
  if (!pattern.linear && !run.allowance.anyPattern) throw new Spent()
  run.spend(0.5 + key.length * pattern.cost)
  return pattern.test(key)
}

const patternsOf = (place: Place): readonly (readonly [Pattern, Place])[] => {
  const value = isObject(place.schema) ? (member(place.schema, 'patternProperties') ?? null) : null
  return schemasOf(value, place, 'patternProperties').flatMap(([source, schema]) => {
    const pattern = compilePattern(source)
    return pattern === undefined ? [] : [[pattern, schema]]
  })
}

/** Applies a schema to each member that `select` picks. */
const members = (schemas: (key: string, run: Run) => readonly Place[]): Check => (value, run, scope, seen) => {
  if (!isObject(value)) return true
  return each(Object.keys(value), run, key => {
    run.spend(0.25)
    return each(schemas(key, run), run, schema => {
      seen?.addMember(key)
      run.path.push(key)
      const valid = evaluate(schema, value[key] ?? null, run, scope, undefined)
      run.path.pop()
      return valid
    })
  })
}

const patternProperties: Keyword = {
  name: 'patternProperties',
  check(_, place) {
    const patterns = patternsOf(place)
    return members((key, run) => patterns.filter(([pattern]) => matches(pattern, key, run)).map(([, schema]) => schema))
  },
}

const additionalProperties: Keyword = {
  name: 'additionalProperties',
  check(value, place) {
    const declared = new Set(Object.keys(objectAt(place, 'properties')))
    const patterns = patternsOf(place)
    const extra = (key: string, run: Run) => !declared.has(key) && !patterns.some(([pattern]) => matches(pattern, key, run))
    if (value === false) return none(extra)
    const schema = place.child('additionalProperties')
    const schemas = schema === undefined ? [] : [schema]
    // Draft-04 has `true` here, which is no schema there.
    return members((key, run) => (extra(key, run) ? schemas : []))
  },
}

const none = (extra: (key: string, run: Run) => boolean): Check => (value, run) =>
  !isObject(value) ||
  each(Object.keys(value), run, key => {
    run.spend(0.25)
    return !extra(key, run) || run.fail('is not declared (additionalProperties)', key)
  })

const objectAt = ({ schema }: Place, keyword: string): JsonObject => {
  const value = isObject(schema) ? member(schema, keyword) : undefined
  return isObject(value) ? value : {}
}

const propertyNames: Keyword = {
  name: 'propertyNames',
  dialects: ['2020-12', '2019-09', 'draft-07', 'draft-06'],
  check(_, place) {
    const schema = place.child('propertyNames')
    if (schema === undefined) return undefined
    return (value, run, scope) =>
      !isObject(value) ||
      each(Object.keys(value), run, key => {
        const valid = run.aside(() => evaluate(schema, key, run, scope, undefined))
        return valid || run.fail('has a name that is not allowed (propertyNames)', key)
      })
  },
}

const dependent = (name: string): Keyword => ({
  name,
  dialects: name === 'dependencies' ? ['draft-07', 'draft-06', 'draft-04'] : ['2020-12', '2019-09'],
  check(dependencies, place) {
    const schemas = schemasOf(dependencies, place, name)
    const lists = (isObject(dependencies) ? Object.keys(dependencies) : []).flatMap(key => {
      const names = isObject(dependencies) ? member(dependencies, key) : undefined
      return isArray(names) ? [[key, names.filter(isString)] as const] : []
    })
    return (value, run, scope, seen) => {
      if (!isObject(value)) return true
      run.spend((schemas.length + lists.length) / 8)
      const listed = each(lists, run, ([key, names]) => !Object.hasOwn(value, key) || hasAll(value, names, run, name))
      if (!listed && !run.collecting) return false
      return each(schemas, run, ([key, schema]) => !Object.hasOwn(value, key) || evaluate(schema, value, run, scope, seen)) && listed
    }
  },
})

export const objects: readonly Keyword[] = [
  properties,
  patternProperties,
  additionalProperties,
  propertyNames,
  dependent('dependentRequired'),
  dependent('dependentSchemas'),
  dependent('dependencies'),
]
