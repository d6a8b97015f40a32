import {
  costOfMany, costOfMembers, isList, isRecord, isString, manyMembers, field, type Data, type DataObject,
} from '#relay/protocol/unmetered.js'
import { quote } from '#relay/protocol/quote.js'
import { compilePattern, isPattern, type Pattern } from '../pattern/pattern.js'
import { costOfName, nameKey } from '../budget.js'
import type { Evaluated } from './evaluated.js'
import type { Run } from '../run.js'
import {
  attempt, eachHolds, ofSchema, ofSize, type Check, type KeywordChecks, type CompileContext, type Keyword,
  type Subschema,
} from './keyword.js'

/** Reads a member from an object that was parsed from JSON. */
type OwnMember = (object: DataObject) => Data | undefined

/** Only names that every object inherits need `hasOwn`, which is slow. */
const ownMember = (name: string): OwnMember =>
  name in Object.prototype
    ? object => (Object.hasOwn(object, name) ? object[name] : undefined)
    : object => object[name]

type ObjectCheck = Check<DataObject>

const keysOf = (value: Data | undefined): readonly string[] => (isRecord(value) ? Object.keys(value) : [])

/** The schemas of a keyword whose value is an object of schemas, by name. */
const namedSchemas = (context: CompileContext, keyword: string): readonly (readonly [string, Subschema])[] =>
  keysOf(context.sibling(keyword)).flatMap(name => {
    const schema = context.subschema(keyword, name)
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

/** By name, in the order of declaration, in which members usually come. */
const declaredMembers = (context: CompileContext): ReadonlyMap<string, Declared> => {
  const members = new Map<string, Declared>()
  const declare = (name: string): Declared => {
    context.budget.spend(50 + costOfName(name))
    const key = nameKey(name)
    const known = members.get(key)
    if (known !== undefined) return known
    const member = { name, index: members.size, of: ownMember(name), required: false, schema: undefined }
    members.set(key, member)
    return member
  }
  for (const [name, schema] of namedSchemas(context, 'properties')) declare(name).schema = schema
  const required = context.sibling('required')
  for (const name of isList(required) ? required.filter(isString) : []) declare(name).required = true
  context.budget.keep(250 * members.size)
  return members
}

/** Reports which of the required members are missing. @returns whether none is */
const hasAll = (
  object: DataObject, members: readonly Pick<Declared, 'name' | 'of'>[], run: Run, keyword: string,
): boolean => {
  run.spend(members.length)
  return eachHolds(members, run, ({ name, of }) =>
    of(object) !== undefined
    // Quoting a long name takes longer than everything else, so that it is done only for a report.
    || (run.collecting && run.fail(`must have the property ${quote(name)} (${keyword})`)))
}

/**
 * The check for schemas that allow any undeclared member. It looks up the declared members only, so that
 * further members of an object cost nothing.
 */
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

/** What undeclared members must match: the schemas of the patterns that match their names, or else `rest`. */
interface Undeclared {
  readonly patterns: readonly { readonly pattern: Pattern; readonly schema: Subschema }[]
  readonly rest: Subschema | undefined
  readonly closed: boolean
}

/** `properties`, `patternProperties`, `additionalProperties` and `required` in one pass over the members. */
const each = (byName: ReadonlyMap<string, Declared>, { patterns, rest, closed }: Undeclared): ObjectCheck => {
  const members = [...byName.values()]
  const required = members.filter(one => one.required)

  const holds = (
    name: string, value: Data, declared: Subschema | undefined, run: Run, seen: Evaluated | undefined,
  ): boolean => {
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
    // for-in is quicker than Object.keys; objects parsed from JSON inherit no enumerable member.
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
      const isQuick = quick && schema !== undefined && seen === undefined
      if (isQuick ? schema.matches(value, run, undefined) : holds(name, value, schema, run, seen)) continue
      valid = false
      if (run.collecting) continue
      // for-in listed all members, though not all were checked.
      run.spend(costOfMembers(Object.keys(object).length))
      return false
    }
    run.spend(3 * count)
    return valid && found === required.length
  }
}

const together = ['properties', 'patternProperties', 'additionalProperties', 'required'] as const

/** The first of these four keywords in a schema makes one check for all of them; the others make none. */
const membersCheck = (
  name: (typeof together)[number], context: CompileContext,
): KeywordChecks | undefined => {
  const has = (keyword: string) => context.sibling(keyword) !== undefined
  if (together.find(has) !== name) return undefined
  const declared = declaredMembers(context)
  const isOpen = !has('patternProperties') && !has('additionalProperties')
  if (isOpen) return { object: open([...declared.values()]) }
  const patterns = namedSchemas(context, 'patternProperties').flatMap(([source, schema]) => {
    const pattern = compilePattern(source, context.budget)
    return pattern === undefined ? [] : [{ pattern, schema }]
  })
  const closed = context.sibling('additionalProperties') === false
  return { object: each(declared, { patterns, rest: context.subschema('additionalProperties'), closed }) }
}

const areNotPatterns: Keyword['fault'] = (value, budget) =>
  keysOf(value).every(source => isPattern(source, budget))
    ? undefined
    : 'must be an object of schemas by regular expression'

const propertyNames = ofSchema('propertyNames', schema => ({
  object(object, run) {
    const names = Object.keys(object)
    run.spend(costOfMembers(names.length))
    const message = 'has a name that is not allowed (propertyNames)'
    return eachHolds(names, run, name => attempt(schema, name, run, undefined) || run.fail(message, name))
  },
}))

const size = (name: string): Keyword => ofSize(name, 'member', (fits, _, message) => ({
  object(object, run) {
    const { length } = Object.keys(object)
    run.spend(costOfMembers(length))
    return fits(length) || run.fail(message)
  },
}))

/** A member that is present may require other members, or that the whole object matches a schema. */
const dependent = (name: string): Keyword => ({
  name,
  checks(dependencies, context) {
    const schemas = namedSchemas(context, name)
      .map(([member, schema]) => ({ has: ownMember(member), schema }))
    const lists = keysOf(dependencies).flatMap(key => {
      const names = isRecord(dependencies) ? field(dependencies, key) : undefined
      if (!isList(names)) return []
      context.budget.spend(20 * names.length)
      context.budget.keep(100 * names.length)
      const members = names.filter(isString).map(name => ({ name, of: ownMember(name) }))
      return [{ has: ownMember(key), members }]
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

const members = (name: (typeof together)[number], more: Partial<Keyword> = {}): Keyword =>
  ({ name, applies: 'below', ...more, checks: (_, context) => membersCheck(name, context) })

export const objects: readonly Keyword[] = [
  members('properties'), members('patternProperties', { fault: areNotPatterns }),
  members('additionalProperties'), members('required'),
  propertyNames, size('minProperties'), size('maxProperties'),
  dependent('dependentRequired'),
  { ...dependent('dependentSchemas'), applies: 'here' },
  { ...dependent('dependencies'), applies: 'here' },
]
