import { extname } from 'node:path'
import { CustomsError } from '#relay/base/errors.js'
import { readBoundedText, type FilePlace } from '#relay/base/operator-file.js'
import type { Environment } from '#relay/base/platform/machine.js'
import type { Data } from '#relay/protocol/unmetered.js'
import { checked, type ConfigurationCheck } from './check.js'
import { expandVariables, ConfigurationProblem, wayTo } from './source.js'
import { parseStrictJson, parseYaml, SyntaxProblem, type ConfigurationText } from './text.js'

/** Longest file, in bytes. */
const maxBytes = 256 * 1024

/**
 * Reads an operator's file and checks it by its schema.
 * @param environment has the variables of `${env:NAME}`
 * @param read converts the checked data; may throw a `Problem`
 * @param partOf what is read of the file
 * @throws CustomsError BAD_CONFIG: one line, `FILE:LINE:COLUMN: KEY.PATH: reason`, without values of the
 * environment
 */
export const readChecked = async <Written, Read>(
  file: string,
  environment: Environment,
  check: ConfigurationCheck<Written>,
  read: (written: Written) => Read | Promise<Read>,
  partOf: (data: Data) => Data = data => data,
): Promise<Read> => {
  const { data: all, placeOf } = await readData(file)
  const data = partOf(all)
  try {
    return await read(checked(check, expandVariables(data, environment), data))
  } catch (cause) {
    if (!(cause instanceof ConfigurationProblem)) throw cause
    const where = placed(file, await placeOf(cause.keys))
    const parts = [where, ...(cause.keys.length > 0 ? [wayTo(cause.keys)] : []), cause.reason]
    throw new CustomsError('BAD_CONFIG', parts.join(': '), { cause })
  }
}

/**
 * A file as plain data: JSON when it is named `.json`, else YAML.
 * @throws CustomsError BAD_CONFIG, one line with the file and, for a syntax error, `:LINE:COLUMN`
 */
export const readData = async (file: string): Promise<ConfigurationText> => {
  const text = await readText(file)
  try {
    return await (extname(file).toLowerCase() === '.json' ? parseStrictJson(text) : parseYaml(text))
  } catch (cause) {
    if (!(cause instanceof SyntaxProblem)) throw cause
    throw new CustomsError('BAD_CONFIG', `${placed(file, cause.place)}: ${cause.message}`, { cause })
  }
}

/** @throws CustomsError BAD_CONFIG */
export const readText = (file: string): Promise<string> => readBoundedText(file, maxBytes)

const placed = (file: string, place: FilePlace | undefined): string =>
  place ? `${file}:${place.line}:${place.column}` : file
