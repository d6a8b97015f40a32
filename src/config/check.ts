import { isObject, type Json } from '../protocol/unmetered.js'
import { fail, type Keys } from './problem.js'
import { suggestion } from './suggestion.js'

/** A part of the configuration's schema, as plain code (`generated/checks.ts`). */
export interface Check<Written> {
  (value: unknown): value is Written
  /** Of the last call that found any. */
  readonly errors?: readonly SchemaError[] | null
}

/** A keyword that does not hold, as the schema's engine says it. */
interface SchemaError {
  readonly keyword: string
  /** JSON Pointer into what was checked. */
  readonly instancePath: string
  readonly schemaPath: string
  readonly params: Readonly<Record<string, unknown>>
  /** The keyword's value. */
  readonly schema: unknown
  readonly parentSchema: Stated
  /** Said of the name of a member, not of its value. */
  readonly propertyName?: string
}

/** What a schema says of itself, as far as people are told. */
interface Stated {
  readonly errorMessage?: string
  readonly properties?: Readonly<Record<string, unknown>>
  readonly minimum?: number
  readonly maximum?: number
}

/**
 * The value, when its schema holds.
 * @param written as a person wrote it: messages quote this, never what the environment put in its place
 * @throws Problem for the most telling of all that is wrong
 */
export const checked = <Written>(check: Check<Written>, value: unknown, written: Json): Written => {
  if (check(value)) return value
  const errors = check.errors ?? []
  const whole = withoutParts(errors)
  // A misspelt key is why another one seems to be missing.
  const error = whole.find(({ keyword }) => keyword === 'additionalProperties') ?? whole[0]
  if (error === undefined) return fail([], 'is not valid')
  const keys = error.instancePath.split('/').slice(1).map(part => part.replace(/~1/g, '/').replace(/~0/g, '~'))
  const { key, reason } = tell(error, valueAt(written, keys), choicesIn(error, errors))
  return fail(key === undefined ? keys : [...keys, key], reason)
}

/**
 * Errors that are no part of another one. Where a value may be one of several things, and is none, what is wrong further in says
 * which of them it was meant to be.
 */
const withoutParts = (errors: readonly SchemaError[]): readonly SchemaError[] => {
  const parts = new Set(errors.filter(({ propertyName }) => propertyName !== undefined))
  for (const choice of errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')) {
    const branches = branchesOf(choice, errors)
    const isFurtherIn = (error: SchemaError) => error.instancePath !== choice.instancePath
    if (branches.some(isFurtherIn)) parts.add(choice)
    for (const error of branches) if (!isFurtherIn(error)) parts.add(error)
  }
  return errors.filter(error => !parts.has(error))
}

const branchesOf = ({ schemaPath, instancePath }: SchemaError, errors: readonly SchemaError[]): readonly SchemaError[] =>
  errors.filter(error => error.schemaPath.startsWith(`${schemaPath}/`) && error.instancePath.startsWith(instancePath))

/** The words that would have been right. */
const choicesIn = (error: SchemaError, errors: readonly SchemaError[]): readonly string[] =>
  error.keyword === 'enum' || error.keyword === 'const'
    ? [error.schema].flat().map(String)
    : error.keyword === 'anyOf' ? branchesOf(error, errors).flatMap(branch => choicesIn(branch, errors)) : []

/** Many more than these are a list that nobody reads. */
const mostTold = 20

const tell = (
  { keyword, schema, params, parentSchema }: SchemaError, value: Json | undefined, choices: readonly string[],
): { readonly key?: string; readonly reason: string } => {
  const named = (param: string) => String(params[param])
  const meant = typeof value === 'string' ? suggestion(value, choices) : ''
  switch (keyword) {
    case 'additionalProperties': {
      const known = Object.keys(parentSchema.properties ?? {})
      const key = named('additionalProperty')
      return { key, reason: `unknown key${suggestion(key, known) || (known.length > mostTold ? '' : `; known here: ${known.join(', ')}`)}` }
    }
    case 'propertyNames':
      return { key: named('propertyName'), reason: messageOf(schema) }
    case 'dependentRequired':
      return { key: named('property'), reason: `goes only with ${named('missingProperty')}` }
    case 'required':
      return { reason: `must have ${named('missingProperty')}` }
    case 'type':
      return { reason: Array.isArray(schema) ? messageOf(parentSchema) : `must be ${inWords.get(String(schema)) ?? String(schema)}, not ${schema === 'integer' && typeof value === 'number' ? spelt(value) : kindOf(value)}` }
    case 'minimum':
    case 'maximum':
      return { reason: `must be a whole number from ${parentSchema.minimum} to ${parentSchema.maximum}` }
    case 'enum':
    case 'const':
      return { reason: `must be ${choices.join(', ')}, not ${spelt(value)}${meant}` }
    default:
      return { reason: messageOf(parentSchema) + meant }
  }
}

const messageOf = (schema: unknown): string =>
  isObject(schema) && typeof schema['errorMessage'] === 'string' ? schema['errorMessage'] : 'is not as it must be'

const valueAt = (root: Json, keys: Keys): Json | undefined =>
  keys.reduce<Json | undefined>((held, key) => (typeof held === 'object' && held !== null ? Object.entries(held).find(([name]) => name === key)?.[1] : undefined), root)

const inWords: ReadonlyMap<string, string> = new Map([
  ['object', 'a map of keys'], ['array', 'a list'], ['string', 'text'], ['integer', 'a whole number'], ['boolean', 'true or false'],
])

const spelt = (value: Json | undefined): string =>
  typeof value === 'object' || value === undefined ? kindOf(value) : JSON.stringify(value)

const kindOf = (value: Json | undefined): string => {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map of keys'
  if (typeof value === 'string') return 'text'
  return typeof value === 'number' ? 'a number' : 'true or false'
}
