import { isUtf8 } from 'node:buffer'
import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { replace } from '../clients/save.js'
import { SyntaxProblem } from '../config/text.js'
import { codeOf, CustomsError } from '../errors.js'
import type { Catalogue } from '../lock/compare.js'
import { frameOf } from '../lock/frame.js'
import { formatLock, parseLock, type Lock } from '../lock/lock.js'
import { readBounded } from '../operator-file.js'
import type { Json } from '../protocol/json.js'

/** A lock, and the file that it was read from; undefined where there was none. */
export interface LockFile {
  readonly bytes: Buffer
  readonly lock: Lock
}

/**
 * A lock that cannot be read, or that was tampered with, is an error: nothing goes on without it.
 * @returns undefined when there is no such file
 * @throws CustomsError BAD_CONFIG
 */
export const readLockFile = async (file: string): Promise<LockFile | undefined> => {
  const bytes = await readBytes(file)
  if (bytes === undefined) return undefined
  const { value, definitions } = frameOf(bytes) ?? { value: await strictly(bytes, file), definitions: undefined }
  return { bytes, lock: parseLock(value, file, definitions) }
}

/** Longest lock, in bytes: far beyond what thousands of tools take. */
const longest = 64 * 1024 * 1024

const readBytes = async (file: string): Promise<Buffer | undefined> => {
  const fail = (reason: string, cause?: unknown): never => {
    throw new CustomsError('BAD_CONFIG', `${file}: cannot be read (${reason})`, { cause })
  }
  try {
    const found = await stat(file)
    // A pipe in its place would hold us up for ever.
    if (!found.isFile()) return fail('it is no file')
    return found.size > longest ? fail(`it is longer than ${longest} bytes`) : await readBounded(file, longest)
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    const code = codeOf(cause)
    return code === 'ENOENT' ? undefined : fail(code, cause)
  }
}

/** A file that somebody laid out anew. */
const strictly = async (bytes: Buffer, file: string): Promise<Json> => {
  if (!isUtf8(bytes)) throw new CustomsError('BAD_CONFIG', `${file}: cannot be read (it is not UTF-8)`)
  try {
    return (await (await import('../config/json-text.js')).parseJson(bytes.toString().replace(/^\ufeff/, ''))).data
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
export const writeLock = async (file: string, before: Buffer | undefined, lock: ReadonlyMap<string, Catalogue>): Promise<void> => {
  try {
    // A link stays one.
    const real = await realpath(file).catch(() => resolve(file))
    const mode = await stat(real).then(found => found.mode & 0o7777, () => undefined)
    await replace(real, formatLock(lock), { mode }, async () => {
      const now = await readBytes(file)
      if (before === undefined ? now !== undefined : now?.equals(before) !== true) throw new CustomsError('BAD_CONFIG', `${file}: has changed since it was read: nothing was written, run the command again`)
    })
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    throw new CustomsError('BAD_CONFIG', `${file}: cannot be written (${codeOf(cause)})`, { cause })
  }
}
