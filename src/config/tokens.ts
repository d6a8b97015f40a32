import { CustomsError } from '../errors.js'
import { checked } from './check.js'
import { readText } from './file.js'
import { isTokens } from './generated/checks.js'
import { Problem } from './problem.js'

/**
 * A file of bearer tokens, one a line; empty lines do not count.
 * @throws CustomsError BAD_CONFIG: `FILE:LINE: reason`
 */
export const readTokens = async (file: string): Promise<readonly string[]> => {
  const lines = (await readText(file)).split(/\r?\n/)
  const tokens = lines.filter(line => line !== '')
  if (tokens.length === 0) throw new CustomsError('BAD_CONFIG', `${file}: holds no token`)
  try {
    return checked(isTokens, tokens, tokens)
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const line = lines.indexOf(tokens[Number(cause.keys[0])] ?? '') + 1
    throw new CustomsError('BAD_CONFIG', `${file}:${line}: ${cause.reason}`, { cause })
  }
}
