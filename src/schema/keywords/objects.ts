import { isArray, isObject, isString, member, type Json, type JsonObject } from '../../protocol/unmetered.js'
import { quote } from '../../protocol/quote.js'
import { compilePattern, isPattern, type Pattern } from '../pattern/pattern.js'
import { costOfMany, costOfMembers, costOfName, manyMembers, nameKey } from '../budget.js'
import type { Evaluated } from './unevaluated.js'
import type { Run } from '../evaluate.js'
import { attempt, eachHolds, sizeMessage, type Check, type Checks, type Keyword, type Site, type Subschema } from './keyword.js'

/** Reads a member from an object that was parsed from JSON, in the quickest way that there is. */
type OwnMember = (object: JsonObject) => Json | undefined

/** Only the few names that every object inherits need the question whether the member is the object's own. */
const ownMember = (name: string): OwnMember =>
  name in Object.prototype ? object => (Object.hasOwn(object, name) ? object[name] : undefined) : object => object[name]

type ObjectCheck = Check<JsonObject>

const keysOf = (value: Json | undefined): readonly string[] => (isObject(value) ? Object.keys(value) : [])

/** The schemas of a keyword whose value is an object of schemas, by name. */
const namedSchemas = (site: Site, keyword: string): readonly (readonly [string, Subschema])[] =>
  keysOf(site.sibling(keyword)).flatMap(name => {
    const schema = site.subschema(keyword, name)
    return schema === undefined ? [] : [[name, schema]]
  })

/** A member that is declared, or required, or both. */
interface Declared {
  readonly name: string
  readonly index: number
  readonly of: OwnMember
  required: boolean
  schema: Subschema | undefined
}

/** By name, in the order of their declaration: that is mostly the order in which they come. */
const declaredMembers = (site: Site): ReadonlyMap<string, Declared> => {
  const members = new Map<string, Declared>()
  const declare = (name: string): Declared => {
    site.budget.spend(50 + costOfName(name))
    const key = nameKey(name)
    const known = members.get(key)
    if (known !== undefined) return known
    const member = { name, index: members.size, of: ownMember(name), required: false, schema: undefined }
    members.set(key, member)
    return member
  }
  for (const [name, schema] of namedSchemas(site, 'properties')) declare(name).schema = schema
  const required = site.sibling('required')
  for (const name of isArray(required) ? required.filter(isString) : []) declare(name).required = true
  site.budget.keep(250 * members.size)
  return members
}

/** Which of the required members are missing is told. @returns whether none is */
const hasAll = (object: JsonObject, members: readonly Pick<Declared, 'name' | 'of'>[], run: Run, keyword: string): boolean => {
  run.spend(members.length)
  return eachHolds(members, run, ({ name, of }) =>
    of(object) !== undefined || run.fail(`must have the property ${quote(name)} (${keyword})`))
}

/** Where other members do not matter the declared ones are looked up: an object of many others costs nothing. */
const open = (members: readonly Declared[]): ObjectCheck => {
  const required = members.filter(one => one.required)
  return (object, run, seen) => {
    run.spend(2 * members.length)
    let valid = !run.collecting || hasAll(object, required, run, 'required')
    for (const { name, of, required, schema } of members) {
      const value = of(object)
      if (value === undefined ? !required : schema === undefined) continue
      if (value !== undefined) {
        seen?.addMember(name)
        if (schema?.matchesBelow(name, value, run) === true) continue
      }
      valid = false
      if (!run.collecting) return false
    }
    return valid
  }
}

/** What a member must match that is not declared: one of the patterns, or else the rest. */
interface Undeclared {
  readonly patterns: readonly { readonly pattern: Pattern; readonly schema: Subschema }[]
  readonly rest: Subschema | undefined
  readonly closed: boolean
}

/** `properties`, `patternProperties`, `additionalProperties` and `required` in one way through the members. */
const each = (byName: ReadonlyMap<string, Declared>, { patterns, rest, closed }: Undeclared): ObjectCheck => {
  const members = [...byName.values()]
  const required = members.filter(one => one.required)

  const holds = (name: string, value: Json, declared: Subschema | undefined, run: Run, seen: Evaluated | undefined): boolean => {
    let known = declared !== undefined
    let valid = declared === undefined || declared.matchesBelow(name, value, run)
    for (let index = 0; index < patterns.length; index++) {
      const one = patterns[index]
      if (one?.pattern.test(name, run.budget) !== true) continue
      known = true
      valid = one.schema.matchesBelow(name, value, run) && valid
    }
    if (!known && closed) return run.fail('is not declared (additionalProperties)', name)
    if (known || rest !== undefined) seen?.addMember(name)
    return known || rest === undefined ? valid : rest.matchesBelow(name, value, run)
  }

  return (object, run, seen) => {
    let valid = !run.collecting || hasAll(object, required, run, 'required')
    let next = 0
    let found = 0
    let count = 0
    const quick = patterns.length === 0 && !run.tracing
    // for-in reads members by their place where Object.keys would look each one up; what comes from JSON inherits no member.
    for (const name in object) {
      if (++count > manyMembers) run.spend(costOfMany)
      let declared = members[next]
      if (declared?.name !== name) {
        run.spend(costOfName(name))
        declared = byName.get(nameKey(name))
      }
      if (declared !== undefined) {
        next = declared.index + 1
        if (declared.required) found++
      }
      const value = object[name] ?? null
      const schema = declared?.schema
      if (quick && schema !== undefined && seen === undefined ? schema.matches(value, run, undefined) : holds(name, value, schema, run, seen)) continue
      valid = false
      if (run.collecting) continue
      // All the members were listed, though not all were looked at.
      run.spend(costOfMembers(Object.keys(object).length))
      return false
    }
    run.spend(3 * count)
    return valid && found === required.length
  }
}

const together = ['properties', 'patternProperties', 'additionalProperties', 'required'] as const

/** The first of the four that a schema has stands for all of them. */
const membersCheck = (name: (typeof together)[number], site: Site): Checks | undefined => {
  const has = (keyword: string) => site.sibling(keyword) !== undefined
  if (together.find(has) !== name) return undefined
  const declared = declaredMembers(site)
  if (!has('patternProperties') && !has('additionalProperties')) return { object: open([...declared.values()]) }
  const patterns = namedSchemas(site, 'patternProperties').flatMap(([source, schema]) => {
    const pattern = compilePattern(source, site.budget)
    return pattern === undefined ? [] : [{ pattern, schema }]
  })
  const closed = site.sibling('additionalProperties') === false
  return { object: each(declared, { patterns, rest: site.subschema('additionalProperties'), closed }) }
}

const areNotPatterns: Keyword['fault'] = (value, budget) =>
  keysOf(value).every(source => isPattern(source, budget)) ? undefined : 'must be an object of schemas by regular expression'

const propertyNames: Keyword = {
  name: 'propertyNames',
  applies: 'below',
  checks(_, site): Checks | undefined {
    const schema = site.subschema('propertyNames')
    if (schema === undefined) return undefined
    return {
      object(object, run) {
        const names = Object.keys(object)
        run.spend(costOfMembers(names.length))
        return eachHolds(names, run, name =>
          attempt(schema, name, run, undefined) || run.fail('has a name that is not allowed (propertyNames)', name))
      },
    }
  },
}

const size = (name: string, most: boolean): Keyword => ({
  name,
  checks(limit) {
    if (typeof limit !== 'number') return undefined
    const message = sizeMessage(name, most, limit, 'member')
    return {
      object(object, run) {
        const { length } = Object.keys(object)
        run.spend(costOfMembers(length))
        return (most ? length <= limit : length >= limit) || run.fail(message)
      },
    }
  },
})

/** What one member's being there asks for: other members, or that the whole matches a schema. */
const dependent = (name: string): Pick<Keyword, 'name' | 'checks'> => ({
  name,
  checks(dependencies, site) {
    const schemas = namedSchemas(site, name).map(([member, schema]) => ({ has: ownMember(member), schema }))
    const lists = keysOf(dependencies).flatMap(key => {
      const names = isObject(dependencies) ? member(dependencies, key) : undefined
      if (!isArray(names)) return []
      site.budget.spend(20 * names.length)
      site.budget.keep(100 * names.length)
      return [{ has: ownMember(key), members: names.filter(isString).map(name => ({ name, of: ownMember(name) })) }]
    })
    return {
      object(object, run, seen) {
        run.spend(schemas.length + lists.length)
        const haveAll = eachHolds(lists, run, ({ has, members }) =>
          has(object) === undefined || hasAll(object, members, run, name))
        if (!haveAll && !run.collecting) return false
        const match = eachHolds(schemas, run, ({ has, schema }) =>
          has(object) === undefined || schema.matches(object, run, seen))
        return haveAll && match
      },
    }
  },
})

export const objects: readonly Keyword[] = [
  { name: 'properties', applies: 'below', checks: (_, site) => membersCheck('properties', site) },
  { name: 'patternProperties', applies: 'below', fault: areNotPatterns, checks: (_, site) => membersCheck('patternProperties', site) },
  { name: 'additionalProperties', applies: 'below', checks: (_, site) => membersCheck('additionalProperties', site) },
  { name: 'required', checks: (_, site) => membersCheck('required', site) },
  propertyNames,
  size('minProperties', false),
  size('maxProperties', true),
  { ...dependent('dependentRequired') },
  { ...dependent('dependentSchemas'), applies: 'here' },
  { ...dependent('dependencies'), applies: 'here' },
]
