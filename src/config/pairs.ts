import { checked } from './check.js'
import { expand, type Environment } from './environment.js'
import { isHeaders, isVariables } from './generated/checks.js'
import { fail } from './problem.js'
import { readHeaders } from './server.js'

/** The values of `--header NAME=VALUE`; the last one of a name wins. @throws Problem at the name */
export const parseHeaders = (pairs: readonly string[], environment: Environment): ReadonlyMap<string, string> => {
  const written = Object.fromEntries(pairs.map(pair => split(pair, /^[^\s:]+$/)))
  return readHeaders(checked(isHeaders, expand(written, environment), written), [])
}

/** The values of `--env NAME=VALUE`; the last one of a name wins. @throws Problem at the name */
export const parseVariables = (pairs: readonly string[], environment: Environment): ReadonlyMap<string, string> => {
  const written = Object.fromEntries(pairs.map(pair => split(pair, /^[^\0]+$/)))
  return new Map(Object.entries(checked(isVariables, expand(written, environment), written)))
}

/**
 * A variable may be spelt `{env:NAME}` as well: clients put in the value of `${env:NAME}` themselves, and out of their own environment.
 * What is no pair is not quoted: `Authorization: Bearer abc=` is a secret, and no name.
 */
const split = (pair: string, name: RegExp): [string, string] => {
  const at = pair.indexOf('=')
  const before = pair.slice(0, Math.max(at, 0))
  return name.test(before) ? [before, pair.slice(at + 1).replace(/(?<!\$)\{env:/g, '${env:')] : fail([], 'must be NAME=VALUE')
}
