import { closestMatch } from 'leven'
import { isRecord, type Data } from '#relay/protocol/unmetered.js'
import { fail, type Keys, wayTo } from './source.js'

export const noServer = 'no server is configured'

/** The least configuration. */
export const beginning = '"servers: { NAME: { command: [npx, -y, PACKAGE] } }"'

/** A part of the configuration's schema, compiled to plain code (`generated/checks.ts`). */
export interface ConfigurationCheck<Written> {
  (value: unknown): value is Written
  /** Of the last call that failed. */
    readonly errors?: readonly SchemaError[] | null
}

/** A keyword that failed, as Ajv reports it. */
interface SchemaError {
  readonly keyword: string
  /** JSON Pointer into the checked value. */
  readonly instancePath: string
  readonly schemaPath: string
  readonly params: Readonly<Record<string, unknown>>
  /** The keyword's value. */
  readonly schema: unknown
  readonly parentSchema: Described
  /** Set when the error is about a member's name, not its value. */
  readonly propertyName?: string
}

/** The parts of a schema that messages quote. */
interface Described {
  readonly errorMessage?: string
  readonly properties?: Readonly<Record<string, unknown>>
  readonly minimum?: number
  readonly maximum?: number
}

/**
 * The value, if it is valid.
 * @param written the value before `${env:NAME}` was replaced: messages quote this, never values of the
 * environment
 * @throws Problem for the most specific error
 */
export const checked = <Written>(
  check: ConfigurationCheck<Written>, value: unknown, written: Data,
): Written => {
  if (check(value)) return value
  const errors = check.errors ?? []
  const whole = withoutParts(errors)
  // A misspelt key also makes a required one seem missing.
  const error = whole.find(({ keyword }) => keyword === 'additionalProperties') ?? whole[0]
  if (error === undefined) return fail([], 'is not valid')
  const parts = error.instancePath.split('/').slice(1)
  const keys = parts.map(part => part.replace(/~1/g, '/').replace(/~0/g, '~'))
  const wrong = valueAt(written, keys)
  const isEmpty = error.keyword === 'type' && error.schema === 'object' && (wrong ?? null) === null
  if (isEmpty && (keys.length === 0 || wayTo(keys) === 'servers')) {
    return fail(keys, `${keys.length === 0 ? 'the file is empty' : noServer}: begin with ${beginning}`)
  }
  const { key, reason } = describeError(error, wrong, choicesIn(error, errors))
  return fail(key === undefined ? keys : [...keys, key], reason)
}

/**
 * The errors that are no part of another error. When no branch of an anyOf or oneOf is valid, an error
 * below the value, or about its keys, shows which branch the operator meant. Such an error is kept in place
 * of the error of the anyOf; where there is none, the error of the anyOf is kept.
 */
const withoutParts = (errors: readonly SchemaError[]): readonly SchemaError[] => {
  const parts = new Set(errors.filter(({ propertyName }) => propertyName !== undefined))
  for (const choice of errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')) {
    const branches = branchesOf(choice, errors)
    const isOfMeant = ({ instancePath, keyword, parentSchema }: SchemaError) =>
      instancePath !== choice.instancePath || keyword === 'additionalProperties'
      || (keyword === 'required' && parentSchema.properties !== undefined)
    if (branches.some(isOfMeant)) parts.add(choice)
    for (const error of branches) if (!isOfMeant(error)) parts.add(error)
  }
  return errors.filter(error => !parts.has(error))
}

/**
 * The errors in the branches of an anyOf or oneOf. The errors of a branch that is a `$ref` have the schema
 * path of its target, so only its `type` error is found, by the path of the value.
 */
const branchesOf = (choice: SchemaError, errors: readonly SchemaError[]) => {
  const { schemaPath, instancePath } = choice
  return errors.slice(0, errors.indexOf(choice)).filter(error =>
    (error.schemaPath.startsWith(`${schemaPath}/`) && error.instancePath.startsWith(instancePath))
    || (error.keyword === 'type' && error.instancePath === instancePath))
}

/** The valid values of an enum, a const, or an anyOf of those. */
const choicesIn = (error: SchemaError, errors: readonly SchemaError[]): readonly string[] =>
  error.keyword === 'enum' || error.keyword === 'const'
    ? [error.schema].flat().map(String)
    : error.keyword === 'anyOf' ? branchesOf(error, errors).flatMap(branch => choicesIn(branch, errors)) : []

/** Longer lists of known keys are not printed. */
const maxListed = 32

const describeError = (
  { keyword, schema, params, parentSchema }: SchemaError, value: Data | undefined, choices: readonly string[],
): { readonly key?: string; readonly reason: string } => {
  const named = (param: string) => String(params[param])
  const meant = typeof value === 'string' ? suggestion(value, choices) : ''
  switch (keyword) {
    case 'additionalProperties': {
      const known = Object.keys(parentSchema.properties ?? {})
      const key = named('additionalProperty')
      const list = known.length > maxListed ? '' : `; known here: ${known.join(', ')}`
      // As clients' files have it.
      const isOfClient = key === 'args' && known.includes('command')
      const hint = isOfClient ? '; its words belong into command: [COMMAND, ARG, …]' : suggestion(key, known)
      return { key, reason: `unknown key${hint || list}` }
    }
    case 'propertyNames':
      return { key: named('propertyName'), reason: messageIn(schema) }
    case 'dependentRequired':
      return { key: named('property'), reason: `goes only with ${named('missingProperty')}` }
    case 'required':
      return { reason: `must have ${named('missingProperty')}` }
    case 'type':
      if (Array.isArray(schema)) return { reason: messageIn(parentSchema) }
      if (schema === 'string' && parentSchema.errorMessage?.includes('such as') === true) {
        return { reason: `${parentSchema.errorMessage}, not ${kindOf(value)}` }
      }
      return { reason: `must be ${typeNames.get(String(schema)) ?? String(schema)}, not ${
        schema === 'integer' && typeof value === 'number' ? spelt(value) : kindOf(value)}` }
    case 'minimum':
    case 'maximum':
      return { reason: `must be a whole number from ${parentSchema.minimum} to ${parentSchema.maximum}` }
    case 'enum':
    case 'const':
      return { reason: `must be ${choices.join(', ')}, not ${spelt(value)}${meant}` }
    default:
      return { reason: messageIn(parentSchema) + (meant || notUrl(messageIn(parentSchema), value)) }
  }
}

/** `, not "ftp://…"`: a URL as it was written, without what may be a password or token in it. */
const notUrl = (message: string, value: Data | undefined): string =>
  (typeof value === 'string' && message.includes('URL')
    ? `, not ${JSON.stringify(value.replace(/\/\/[^/]*@/, '//…@').replace(/[?#].*/s, '…').slice(0, 80))}`
    : '')

/** `off, log or block` */
export const orList = (words: readonly string[]): string =>
  [words.slice(0, -1).join(', '), words.at(-1) ?? ''].filter(part => part !== '').join(' or ')

const messageIn = (schema: unknown): string =>
  isRecord(schema) && typeof schema['errorMessage'] === 'string'
    ? schema['errorMessage']
    : 'is not as it must be'

const valueAt = (root: Data, keys: Keys): Data | undefined =>
  keys.reduce<Data | undefined>((held, key) => {
    if (typeof held !== 'object' || held === null) return undefined
    return Object.entries(held).find(([name]) => name === key)?.[1]
  }, root)

const typeNames: ReadonlyMap<string, string> = new Map([
  ['object', 'a map of keys'], ['array', 'a list'], ['string', 'text'], ['integer', 'a whole number'],
  ['boolean', 'true or false'],
])

const spelt = (value: Data | undefined): string =>
  typeof value === 'object' || value === undefined ? kindOf(value) : JSON.stringify(value)

const kindOf = (value: Data | undefined): string => {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map of keys'
  if (typeof value === 'string') return 'text'
  return typeof value === 'number' ? 'a number' : 'true or false'
}

/**
 * `; did you mean "…"?`, or an empty text when no candidate is near: a third of the letters may differ, at
 * most three; two letters may have changed places.
 */
export const suggestion = (word: string, candidates: readonly string[]): string => {
  const maxDistance = word.length < 4 ? 1 : Math.min(3, Math.max(2, Math.floor(word.length / 3)))
  const nearest = closestMatch(word, candidates, { maxDistance })
  return nearest === undefined ? '' : `; did you mean ${JSON.stringify(nearest)}?`
}
