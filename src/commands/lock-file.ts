import { readFile, realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { replace } from '../clients/save.js'
import { parseJson } from '../config/json-text.js'
import { SyntaxProblem } from '../config/text.js'
import { CustomsError } from '../errors.js'
import { formatLock, parseLock, type Lock } from '../lock/lock.js'
import type { Json } from '../protocol/json.js'
import { plainJson } from '../protocol/plain-json.js'

/** A lock, and the text that it was read from; undefined where there was none. */
export interface LockFile {
  readonly text: string | undefined
  readonly lock: Lock
}

/**
 * A lock that cannot be read, or that was tampered with, is an error: nothing goes on without it.
 * @returns undefined when there is no such file
 * @throws CustomsError BAD_CONFIG
 */
export const readLockFile = async (file: string): Promise<LockFile | undefined> => {
  const text = await readText(file)
  return text === undefined ? undefined : { text, lock: parseLock(asWritten(text) ?? (await strictly(text, file)), file) }
}

const readText = async (file: string): Promise<string | undefined> => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file))
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason'
    if (code === 'ENOENT') return undefined
    throw new CustomsError('BAD_CONFIG', `${file}: cannot be read (${code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8' : code})`, { cause })
  }
}

/** A file that is just as it was written holds no key twice. Only any other takes the slow reader, which looks. */
const asWritten = (text: string): Json | undefined => {
  try {
    const value = JSON.parse(text) as Json
    return `${plainJson(value)}\n` === text ? value : undefined
  } catch {
    return undefined
  }
}

const strictly = async (text: string, file: string): Promise<Json> => {
  try {
    return (await parseJson(text)).data
  } catch (cause) {
    if (!(cause instanceof SyntaxProblem)) throw cause
    const place = cause.place ? `:${cause.place.line}:${cause.place.column}` : ''
    throw new CustomsError('BAD_CONFIG', `${file}${place}: ${cause.message}`, { cause })
  }
}

/**
 * Whoever reads the file meanwhile sees the old one or the new one, whole.
 * @param before what the file must hold still
 * @throws CustomsError BAD_CONFIG when it holds something else by now, or cannot be written
 */
export const writeLock = async (file: string, before: string | undefined, lock: Lock): Promise<void> => {
  try {
    // A link stays one.
    const real = await realpath(file).catch(() => resolve(file))
    const mode = await stat(real).then(found => found.mode & 0o7777, () => undefined)
    await replace(real, formatLock(lock), { mode }, async () => {
      if ((await readText(file)) !== before) throw new CustomsError('BAD_CONFIG', `${file}: has changed since it was read: nothing was written, run the command again`)
    })
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    throw new CustomsError('BAD_CONFIG', `${file}: cannot be written (${cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason'})`, { cause })
  }
}
