import { isArray, isObject, isString, member, type Json, type JsonObject } from '../../protocol/json.js'
import type { Place } from '../document.js'
import { compilePattern, costOf, type Pattern } from '../pattern.js'
import { hasAll } from './assertions.js'
import type { Check, Keyword } from './compile.js'
import { below, evaluate, type Scope } from './evaluate.js'
import type { Evaluated } from './evaluated.js'
import { ownMember } from './own-member.js'
import { Spent, type Run } from './run.js'

/** The schemas of a keyword whose value is an object of schemas, by key. */
const schemasOf = (place: Place, keyword: string): readonly (readonly [string, Place])[] =>
  Object.keys(objectAt(place, keyword)).flatMap(key => {
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

const objectAt = ({ schema }: Place, keyword: string): JsonObject => {
  const value = isObject(schema) ? member(schema, keyword) : undefined
  return isObject(value) ? value : {}
}

const has = ({ schema }: Place, keyword: string): boolean => isObject(schema) && Object.hasOwn(schema, keyword)

/** Declared members alone: each is looked up, so that an object of many others costs nothing. */
const declared = (place: Place, run: Run): Check => {
  const schemas = schemasOf(place, 'properties').map(([key, schema]) => ({ key, schema, member: ownMember(key) }))
  run.spend(50 * schemas.length)
  return (value, run, scope, seen) => {
    if (!isObject(value)) return true
    run.spend(schemas.length)
    let valid = true
    for (const { key, schema, member } of schemas) {
      const child = member.of(value)
      if (child === undefined) continue
      seen?.addMember(key)
      if (!below(schema, key, child, run, scope)) valid = false
      if (!valid && !run.collecting) return false
    }
    return valid
  }
}

const matches = (pattern: Pattern, key: string, run: Run): boolean => {
  if (!pattern.linear && !run.allowance.anyPattern) throw new Spent()
  run.spend(costOf(pattern, key))
  return pattern.test(key)
}

/** `properties`, `patternProperties` and `additionalProperties` together: one way through the members serves all three. */
const all = (place: Place, run: Run): Check => {
  const named = new Map(schemasOf(place, 'properties'))
  run.spend(50 * named.size)
  const patterns = schemasOf(place, 'patternProperties').flatMap(([source, schema]) => {
    const pattern = compilePattern(source)
    run.spend(pattern?.effort ?? 0)
    return pattern === undefined ? [] : [{ pattern, schema }]
  })
  const rest = place.child('additionalProperties')
  // Draft-04 has booleans here, which are no schemas there.
  const closed = isObject(place.schema) && member(place.schema, 'additionalProperties') === false

  const holds = (key: string, child: Json, run: Run, scope: Scope, seen: Evaluated | undefined): boolean => {
    const schema = named.get(key)
    let known = schema !== undefined
    let valid = schema === undefined || below(schema, key, child, run, scope)
    for (const { pattern, schema } of patterns) {
      if (!matches(pattern, key, run)) continue
      known = true
      valid = below(schema, key, child, run, scope) && valid
    }
    if (!known && closed) return run.fail('is not declared (additionalProperties)', key)
    if (known || rest !== undefined) seen?.addMember(key)
    return known || rest === undefined ? valid : below(rest, key, child, run, scope)
  }

  return (value, run, scope, seen) => {
    if (!isObject(value)) return true
    run.look()
    let valid = true
    // for-in reads members by their place where Object.keys would look each one up; what comes from JSON inherits no member.
    for (const key in value) {
      run.spend(4)
      if (!holds(key, value[key] ?? null, run, scope, seen)) valid = false
      if (!valid && !run.collecting) return false
    }
    return valid
  }
}

/** The first of the three that a schema has stands for all of them. */
const properties: Keyword = {
  name: 'properties',
  check: (_, place, run) =>
    has(place, 'patternProperties') || has(place, 'additionalProperties') ? all(place, run) : declared(place, run),
}

const patternProperties: Keyword = {
  name: 'patternProperties',
  check: (_, place, run) => (has(place, 'properties') ? undefined : all(place, run)),
}

const additionalProperties: Keyword = {
  name: 'additionalProperties',
  check: (_, place, run) => (has(place, 'properties') || has(place, 'patternProperties') ? undefined : all(place, run)),
}

const propertyNames: Keyword = {
  name: 'propertyNames',
  dialects: ['2020-12', '2019-09', 'draft-07', 'draft-06'],
  check(_, place) {
    const schema = place.child('propertyNames')
    if (schema === undefined) return undefined
    return (value, run, scope) => {
      if (!isObject(value)) return true
      run.look()
      return each(Object.keys(value), run, key => {
        const valid = run.aside(() => evaluate(schema, key, run, scope, undefined))
        return valid || run.fail('has a name that is not allowed (propertyNames)', key)
      })
    }
  },
}

const dependent = (name: string): Keyword => ({
  name,
  dialects: name === 'dependencies' ? ['draft-07', 'draft-06', 'draft-04'] : ['2020-12', '2019-09'],
  check(dependencies, place) {
    const schemas = schemasOf(place, name)
    const lists = (isObject(dependencies) ? Object.keys(dependencies) : []).flatMap(key => {
      const names = isObject(dependencies) ? member(dependencies, key) : undefined
      return isArray(names) ? [[key, names.filter(isString).map(ownMember)] as const] : []
    })
    return (value, run, scope, seen) => {
      if (!isObject(value)) return true
      run.spend(schemas.length + lists.length)
      const listed = each(lists, run, ([key, names]) => !Object.hasOwn(value, key) || hasAll(value, names, run, name))
      if (!listed && !run.collecting) return false
      const applied = ([key, schema]: readonly [string, Place]) =>
        !Object.hasOwn(value, key) || evaluate(schema, value, run, scope, seen)
      return each(schemas, run, applied) && listed
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
