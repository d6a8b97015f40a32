import { CustomsError } from '../errors.js'
import { jsonDocument } from './json-document.js'
import { tomlDocument } from './toml-document.js'
import type { Document } from './tree.js'

/**
 * A client's configuration: TOML where the file is so named, else JSON with comments.
 * @throws CustomsError BAD_CONFIG: `FILE:LINE:COLUMN: reason`
 */
export const parseDocument = (file: string, text: string): Document => {
  const fail = (at: number, reason: string): never => {
    const before = text.slice(0, at).split('\n')
    throw new CustomsError('BAD_CONFIG', `${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}: ${reason}`)
  }
  try {
    return (/\.toml$/i.test(file) ? tomlDocument : jsonDocument)(text, fail)
  } catch (error) {
    // The parsers recurse.
    if (error instanceof RangeError) return fail(0, 'nested too deep')
    throw error
  }
}
