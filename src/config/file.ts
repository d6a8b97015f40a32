import { extname } from 'node:path'
import { CustomsError } from '../errors.js'
import { readBoundedText } from '../operator-file.js'
import { checked, type Check } from './check.js'
import { expand, type Environment } from './environment.js'
import { parseJson } from './json-text.js'
import { Problem, wayTo } from './problem.js'
import { SyntaxProblem, type Place, type Text } from './text.js'
import { parseYaml } from './yaml-text.js'

/** Longest file, in bytes: larger by far than any that a person writes. */
const longest = 256 * 1024

/**
 * Reads a file that an operator wrote, by its schema.
 * @param environment what `${env:NAME}` refers to
 * @param read what the program makes of it; may throw a `Problem` of its own
 * @throws CustomsError BAD_CONFIG: one line, `FILE:LINE:COLUMN: KEY.PATH: reason`; no value of the environment is in it
 */
export const readChecked = async <Written, Read>(
  file: string,
  environment: Environment,
  check: Check<Written>,
  read: (written: Written) => Read | Promise<Read>,
): Promise<Read> => {
  const { data, placeOf } = await readData(file)
  try {
    return await read(checked(check, expand(data, environment), data))
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const where = placed(file, await placeOf(cause.keys))
    throw new CustomsError('BAD_CONFIG', [where, ...(cause.keys.length > 0 ? [wayTo(cause.keys)] : []), cause.reason].join(': '), { cause })
  }
}

/**
 * A file as plain data: JSON when it is named `.json`, else YAML.
 * @throws CustomsError BAD_CONFIG, one line with the file and, for its syntax, `:LINE:COLUMN`
 */
export const readData = async (file: string): Promise<Text> => {
  const text = await readText(file)
  try {
    return await (extname(file).toLowerCase() === '.json' ? parseJson(text) : parseYaml(text))
  } catch (cause) {
    if (!(cause instanceof SyntaxProblem)) throw cause
    throw new CustomsError('BAD_CONFIG', `${placed(file, cause.place)}: ${cause.message}`, { cause })
  }
}

/** @throws CustomsError BAD_CONFIG */
export const readText = (file: string): Promise<string> => readBoundedText(file, longest)

const placed = (file: string, place: Place | undefined): string => (place ? `${file}:${place.line}:${place.column}` : file)
