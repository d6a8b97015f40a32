import { createHash } from 'node:crypto'
import {
  isObject, isString, member, omit, withMembers, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { defaultDialect, dialectOf } from '#relay/protocol/json-schema.js'
import { upgrade } from '#relay/protocol/upgrade.js'
import type { ProfileRefusal } from './node.js'
import { longestName, type NameRules, type Profile, type SchemaRules } from './profile.js'
import { widen } from './widen.js'
import { described } from './words.js'

/** What a profile makes of a tool's definition. */
export interface Fitted {
  /** Why the profile refuses the definition; empty when it accepts it. */
  readonly refused: readonly ProfileRefusal[]
  /** A definition that the profile accepts: the same one when nothing is refused. */
  readonly made: JsonObject
}

/**
 * Rewrites a tool's definition by a profile. What the profile refuses is what the rewriting must change, so
 * each rule is said once.
 * @param server the name by which the client knows the server
 */
export const fit = (definition: JsonObject, profile: Profile, meter: Meter, server = ''): Fitted => {
  const { toolName, needsWords, input, output } = profile
  const refused: ProfileRefusal[] = []
  const changes = new Map<string, Json | undefined>()
  const [name, description] = [member(definition, 'name'), member(definition, 'description')]
  if (isString(name) && toolName !== undefined && !fitsName(name, toolName, server)) {
    refused.push({ path: '/name', message: nameReason(toolName, server) })
    changes.set('name', fittingName(name, toolName, server))
  }
  if (needsWords === true && description === '') {
    refused.push({ path: '/description', message: 'takes no empty description' })
    changes.set('description', undefined)
  }
  const fitted = (key: 'inputSchema' | 'outputSchema', rules: SchemaRules | undefined) => {
    const schema = member(definition, key)
    if (!isObject(schema) || rules === undefined) return
    const newest = newestOf(schema, meter)
    const widened = widen(newest ?? schema, rules, meter, key)
    const reasons = [...oldDialect(schema, newest, rules, key), ...widened.refused]
    if (reasons.length === 0) return
    refused.push(...reasons)
    if (key === 'outputSchema') {
      // An output schema is left out if its dialect cannot be translated, or if it describes no object and
      // the profile takes only objects. Results are judged by it all the same.
      const isShown = newest !== undefined && (rules.needsType !== true || member(schema, 'type') === 'object')
      return void changes.set(key, isShown ? widened.schema : undefined)
    }
    const { schema: made, notes } = newest === undefined
      ? widen({ type: 'object' }, rules, meter, key)
      : widened
    changes.set(key, made)
    if (notes.length > 0) changes.set('description', described(description, notes))
  }
  fitted('inputSchema', input)
  fitted('outputSchema', output)
  let made = definition
  for (const [key, value] of changes)
    made = value === undefined ? omit(made, key) : withMembers(made, { [key]: value }, meter)
  return { refused, made }
}

/** The schema in 2020-12; undefined when there is no equivalent. */
const newestOf = (schema: JsonObject, meter: Meter): JsonObject | undefined => {
  const named = member(schema, '$schema')
  const dialect = isString(named) ? dialectOf(named) : defaultDialect
  return dialect === defaultDialect ? schema : upgrade(schema, meter)
}

/** What is rewritten no longer names the dialect of the schema. */
const oldDialect = (
  schema: JsonObject, newest: JsonObject | undefined, { dialects }: SchemaRules, key: string,
): readonly ProfileRefusal[] => {
  const named = member(schema, '$schema')
  const dialect = isString(named) && newest !== schema && newest !== undefined ? dialectOf(named) : undefined
  return dialect === undefined || dialects === undefined || dialects.includes(dialect)
    ? []
    : [{ path: `/${key}/$schema`, message: `takes JSON Schema ${dialects.join(', ')} only` }]
}

const fitsName = (name: string, rules: NameRules, server: string): boolean =>
  name.length <= longestName(rules, server)
  && new RegExp(`^[${rules.first ?? rules.characters}][${rules.characters}]*$`).test(name)

const nameReason = (rules: NameRules, server: string): string =>
  `takes names of ${longestName(rules, server)} characters of ${rules.characters} at most` +
  (rules.first === undefined ? '' : `, the first of ${rules.first}`)

/** Digits that tell shortened names apart. */
const digits = 12

/** A name that fits, made from the name alone, so that it stays the same in every list. */
const fittingName = (name: string, rules: NameRules, server: string): string => {
  const digest = createHash('sha256').update(name).digest('hex').slice(0, digits)
  const longest = longestName(rules, server) - digits - 1
  const made = `${name.replace(new RegExp(`[^${rules.characters}]`, 'g'), '_').slice(0, longest)}_${digest}`
  return fitsName(made, rules, server) ? made : `t${made.slice(1)}`
}
