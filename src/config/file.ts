import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { CustomsError } from '../errors.js'
import type { Json } from '../protocol/json.js'
import { parseJson } from './json-text.js'
import { SyntaxProblem } from './syntax-problem.js'
import { parseYaml } from './yaml-text.js'

/** Longest file, in bytes: larger by far than any that a person writes. */
const longest = 256 * 1024

/**
 * A file that an operator wrote, as plain data: JSON when it is named `.json`, else YAML.
 * @throws CustomsError BAD_CONFIG, one line with the file and, for its syntax, `:LINE:COLUMN`
 */
export const readData = async (file: string): Promise<Json> => {
  const text = await readText(file)
  try {
    return extname(file).toLowerCase() === '.json' ? parseJson(text) : await parseYaml(text)
  } catch (cause) {
    if (!(cause instanceof SyntaxProblem)) throw cause
    const place = cause.place ? `:${cause.place.line}:${cause.place.column}` : ''
    throw new CustomsError('BAD_CONFIG', `${file}${place}: ${cause.message}`, { cause })
  }
}

const readText = async (file: string): Promise<string> => {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new CustomsError('BAD_CONFIG', `${file}: cannot be read (${errorCode(cause)})`, { cause })
  })
  if (bytes.length > longest) throw new CustomsError('BAD_CONFIG', `${file}: longer than ${longest} bytes`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new CustomsError('BAD_CONFIG', `${file}: not UTF-8`, { cause })
  }
}

const errorCode = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason'
