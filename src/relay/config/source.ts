import { dirname, resolve } from 'node:path'
import { CustomsError } from '#relay/base/errors.js'
import type { Environment } from '#relay/base/platform/machine.js'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import type * as Written from './generated/types.js'

/** The path to a value, from the root of the file or of the flags. */
export type Keys = readonly (string | number)[]

/** An invalid value at these keys. The caller adds the file and line, or the flag. */
export class ConfigurationProblem extends Error {
  override readonly name = 'Problem'
  constructor(
    readonly keys: Keys,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`${wayTo(keys)}: ${reason}`, options)
  }
}

/** @throws Problem */
export const fail = (keys: Keys, reason: string): never => {
  throw new ConfigurationProblem(keys, reason)
}

/** The keys as a person reads them, such as `servers.files.command.0`. */
export const wayTo = (keys: Keys): string => keys.map(spell).join('.')

// A name with dots, spaces or control characters is quoted.
const spell = (key: string | number): string =>
  typeof key === 'number' || /^[\w@/-]{1,80}$/.test(key) ? String(key) : JSON.stringify(key.slice(0, 80))

/** Where a setting was written, and what is needed to read it. */
export interface ConfigurationSource {
  readonly file: string
  readonly environment: Environment
  /** Why a JSON Schema in the configuration cannot be used, in words; undefined: it can. */
  readonly judgeSchema: (
    schema: DataObject | boolean, limits: Readonly<Required<Written.Limits>>,
  ) => Promise<string | undefined>
}

/** A relative path is relative to the file that names it. */
export const pathFrom = ({ file }: Pick<ConfigurationSource, 'file'>, path: string): string => resolve(dirname(file), path)

/** An error in a file that the configuration names is reported at the key that names it. */
export const namedAt = <Read>(keys: Keys, reading: Promise<Read>): Promise<Read> =>
  reading.catch((cause: unknown) => {
    throw cause instanceof CustomsError ? new ConfigurationProblem(keys, cause.message, { cause }) : cause
  })

/** Inline schemas are left as they are: a pattern may contain `${env:`. */
const verbatim: ReadonlySet<unknown> = new Set(['outputSchema', 'resultSchema'])

/**
 * The same data, with each `${env:NAME}` in its texts (not in its keys) replaced by the variable's value.
 * @throws Problem for a variable that is not set
 */
export const expandVariables = (data: Data, environment: Environment, keys: Keys = []): Data => {
  if (typeof data === 'string') return expandText(data, environment, keys)
  if (typeof data !== 'object' || data === null || (verbatim.has(keys.at(-1)) && keys.length > 1)) return data
  const below = (value: Data, key: string | number) => expandVariables(value, environment, [...keys, key])
  if (Array.isArray(data)) return data.map(below)
  // `fromEntries` makes `__proto__` a member like any other.
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, below(value ?? null, key)]))
}

/** What manifests and examples have in the place of a secret, alone or as the password of a URL. */
const placeholder = /(?:^|[\s:])((?:replace|change)[-_]?me)(?=$|[\s@])/i

/**
 * Whoever left a placeholder where a secret belongs has published that secret.
 * @throws Problem
 */
export const refusePlaceholder = (text: string, keys: Keys): string => {
  const [, found] = placeholder.exec(text) ?? []
  return found === undefined ? text : fail(keys, `is still the placeholder ${JSON.stringify(found)}: put the ` +
    'real value there (a secret of yours: openssl rand -hex 32)')
}

const expandText = (text: string, environment: Environment, keys: Keys): string =>
  refusePlaceholder(replaced(text, environment, keys), keys)

const replaced = (text: string, environment: Environment, keys: Keys): string =>
  text.replace(/\$\{env:([^}]*)\}?/g, (reference, name: string) => {
    if (!reference.endsWith('}') || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      return fail(keys, 'a reference to the environment is spelt ${env:NAME}')
    }
    // `process.env` inherits from `Object.prototype`.
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined
    return value ?? fail(keys, `the environment variable ${name} is not set`)
  })
