import { createHash } from 'node:crypto'
import {
  isObject, isString, member, omit, withMembers, type Json, type JsonObject, type Meter,
} from '#protocol/json.js'
import { defaultDialect, dialectOf } from '#protocol/json-schema.js'
import { upgrade } from '#protocol/upgrade.js'
import { accepts, fitsName, longestName } from './accepts.js'
import type { NameRules, Profile, SchemaRules } from './profile.js'
import { widen } from './widen.js'
import { described } from './words.js'

/** The most rounds through all profiles: another profile may refuse what was changed for one. */
const maxRounds = 3

/**
 * Makes a definition that the profiles accept, by the smallest steps that each needs.
 * @param server the name by which the client knows the server
 * @returns the definition itself when nothing is refused
 */
export const adapted = (
  definition: JsonObject, profiles: readonly Profile[], meter: Meter, server = '',
): JsonObject => {
  let made = definition
  for (let round = 0; round < maxRounds; round++) {
    const before = made
    for (const profile of profiles) {
      const refused = accepts(made, profile, meter, server)
      if (refused.length > 0) made = forProfile(made, profile, refused.map(({ path }) => path), meter, server)
    }
    if (made === before) return made
  }
  return made
}

const forProfile = (
  definition: JsonObject, { input, output, toolName }: Profile, refused: readonly string[], meter: Meter,
  server: string,
): JsonObject => {
  const isRefused = (key: string) => refused.some(path => path === `/${key}` || path.startsWith(`/${key}/`))
  const made: Record<string, Json> = {}
  const name = member(definition, 'name')
  if (isString(name) && toolName !== undefined && isRefused('name')) made['name'] = fittingName(name, toolName, server)
  if (isRefused('inputSchema')) {
    const { schema, notes } = rewritten(member(definition, 'inputSchema'), input, meter)
    made['inputSchema'] = schema
    if (notes.length > 0) made['description'] = described(member(definition, 'description'), notes)
  }
  if (output === undefined || !isRefused('outputSchema')) return withMembers(definition, made, meter)
  const declared = member(definition, 'outputSchema')
  const dialect = isObject(declared) ? member(declared, '$schema') : undefined
  // An output schema is left out if its dialect cannot be translated, or if it describes no object and the
  // profile takes only objects. Results are judged by it all the same.
  const isKnown = isObject(declared) && (!isString(dialect) || newest(declared, meter) !== undefined)
    && (output.needsType !== true || member(declared, 'type') === 'object')
  if (!isKnown) return withMembers(omit(definition, 'outputSchema'), made, meter)
  const { schema: outputSchema } = rewritten(declared, output, meter, false)
  return withMembers(definition, { ...made, outputSchema }, meter)
}

/** The schema in 2020-12; undefined when there is no equivalent. */
const newest = (schema: JsonObject, meter: Meter): JsonObject | undefined => {
  const named = member(schema, '$schema')
  const dialect = isString(named) ? dialectOf(named) : defaultDialect
  return dialect === defaultDialect ? schema : upgrade(schema, meter)
}

const rewritten = (
  schema: Json | undefined, rules: SchemaRules, meter: Meter, isInput = true,
): ReturnType<typeof widen> => {
  const known = isObject(schema) ? newest(schema, meter) : undefined
  return widen(known ?? { type: 'object' }, rules, meter, isInput)
}

/** Digits that tell shortened names apart. */
const digits = 12

/** A name that fits, made from the name alone, so that it stays the same in every list. */
export const fittingName = (name: string, rules: NameRules, server: string): string => {
  const digest = createHash('sha256').update(name).digest('hex').slice(0, digits)
  const legible = name.replace(new RegExp(`[^${rules.characters}]`, 'g'), '_').slice(0, longestName(rules, server) - digits - 1)
  const made = `${legible}_${digest}`
  return fitsName(made, rules, server) ? made : `t${made.slice(1)}`
}
