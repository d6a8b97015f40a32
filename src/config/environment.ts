import type { Json } from '../protocol/unmetered.js'
import { fail, type Keys } from './problem.js'

/** `process.env`, or what a test puts in its place. */
export type Environment = Readonly<Record<string, string | undefined>>

/** An inline schema is not ours to write in: `${env:` may well stand in a pattern. */
const verbatim: ReadonlySet<unknown> = new Set(['outputSchema', 'resultSchema'])

/**
 * The same data, with each `${env:NAME}` in its texts (not in its keys) replaced by the environment's.
 * @throws Problem for a variable that is not set
 */
export const expand = (data: Json, environment: Environment, keys: Keys = []): Json => {
  if (typeof data === 'string') return expandText(data, environment, keys)
  if (typeof data !== 'object' || data === null || (verbatim.has(keys.at(-1)) && keys.length > 1)) return data
  if (Array.isArray(data)) return data.map((element: Json, index) => expand(element, environment, [...keys, index]))
  // `fromEntries` makes `__proto__` a member like any other.
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, expand(value ?? null, environment, [...keys, key])]))
}

const expandText = (text: string, environment: Environment, keys: Keys): string =>
  text.replace(/\$\{env:([^}]*)\}?/g, (reference, name: string) => {
    if (!reference.endsWith('}') || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      return fail(keys, 'a reference to the environment is spelt ${env:NAME}')
    }
    // `process.env` inherits from `Object.prototype`.
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined
    return value ?? fail(keys, `the environment variable ${name} is not set`)
  })
