import { readHeaders } from '../config/server.js'
import { Setting, type Environment } from '../config/setting.js'
import { CustomsError } from '../errors.js'

/**
 * The values of `--header NAME=VALUE`. A variable may be spelt `{env:NAME}` as well: clients put in the value of `${env:NAME}`
 * themselves, and out of their own environment.
 * @throws CustomsError BAD_USAGE, or BAD_CONFIG for a header that is none or a variable that is not set
 */
export const parseHeaders = (pairs: readonly string[], environment: Environment): ReadonlyMap<string, string> =>
  readHeaders(new Setting({ file: '--header', environment }, Object.fromEntries(pairs.map(split))))

/** What is none is not quoted: it may be a secret. */
const split = (pair: string): [string, string] => {
  const at = pair.indexOf('=')
  if (at < 1) throw new CustomsError('BAD_USAGE', '--header must be NAME=VALUE')
  return [pair.slice(0, at), pair.slice(at + 1).replace(/(?<!\$)\{env:/g, '${env:')]
}
