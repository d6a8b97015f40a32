import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { chmod, constants, copyFile, link, readlink, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseStrictJson, SyntaxProblem } from '#relay/config/text.js'
import { cannotWrite, codeOf, CustomsError, reasonOf } from '#relay/base/errors.js'
import { markLongNumbers } from './digits.js'
import { formatLock, type Lock, parseLock } from './lock.js'
import { readBounded } from '#relay/base/operator-file.js'
import { replaceFile } from '#relay/base/platform/files.js'
import { countTokens, stringsIn } from '#relay/protocol/ambiguity.js'
import { type Data, parseData } from '#relay/protocol/unmetered.js'

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
  return bytes && { bytes, lock: await parseLockText(bytes, file) }
}

/** @param file what it is called in errors @throws CustomsError BAD_CONFIG */
export const parseLockText = async (bytes: Buffer, file: string): Promise<Lock> => {
  if (!isUtf8(bytes)) throw new CustomsError('BAD_CONFIG', `${file}: cannot be read (it is not UTF-8)`)
  try {
    const text = (markLongNumbers(bytes) ?? bytes).toString().replace(/^\ufeff/, '')
    return parseLock(valueIfDistinct(text) ?? (await parseStrictJson(text)).data, file)
  } catch (cause) {
    if (!(cause instanceof SyntaxProblem)) throw cause
    const place = cause.place ? `:${cause.place.line}:${cause.place.column}` : ''
    throw new CustomsError('BAD_CONFIG', `${file}${place}: ${cause.message}`, { cause })
  }
}

/** Deepest nesting of a text that is read at once. */
const deepest = 200

/**
 * The value of a text without duplicated keys: such a text has as many strings as its value. Undefined in
 * doubt; then the strict parser finds the fault.
 */
const valueIfDistinct = (text: string): Data | undefined => {
  const value = parseData(text)
  return value !== undefined && 2 * stringsIn(value, deepest, true) === countTokens(Buffer.from(text)).quotes
    ? value
    : undefined
}

/** Longest lock, in bytes: far beyond what thousands of tools take. */
const longest = 64 * 1024 * 1024

const readBytes = async (file: string): Promise<Buffer | undefined> => {
  const fail = (reason: string, cause?: unknown): never => {
    throw new CustomsError('BAD_CONFIG', `${file}: cannot be read: ${reason}`, { cause })
  }
  try {
    const found = await stat(file)
    // A pipe in its place would hold us up for ever.
    if (!found.isFile()) return fail('it is no file')
    return found.size > longest
      ? fail(`it is longer than ${longest} bytes`)
      : await readBounded(file, longest)
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    return codeOf(cause) === 'ENOENT' ? undefined : fail(reasonOf(cause), cause)
  }
}

/**
 * Writes a lock. A reader sees the old file or the new one, never a part. Of two processes that write at
 * once, one fails.
 * @param before the content that the file must still have
 * @throws CustomsError BAD_CONFIG when the file has other content by now, or cannot be written
 */
export const writeLock = async (file: string, before: Buffer | undefined, lock: Lock): Promise<void> => {
  const isUnchanged = async () => {
    const now = await readBytes(file)
    return before === undefined ? now === undefined : now?.equals(before) === true
  }
  try {
    // A link stays one, also where it leads to no file yet.
    const real = await realpath(file).catch(() =>
      readlink(file).then(target => resolve(dirname(file), target), () => resolve(file)))
    const mode = await stat(real).then(found => found.mode & 0o7777, () => undefined)
    const claim = join(dirname(real), `.${basename(real)}.new`)
    const ino = await takeClaim(claim, formatLock(lock), mode)
    try {
      const isOurs = (await isUnchanged()) && (await replaceFile(claim, real).then(() => true, isGone))
        && (await inoOf(real)) === ino
      if (isOurs) return
    } finally {
      if ((await inoOf(claim).catch(() => undefined)) === ino) await rm(claim, { force: true })
    }
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    throw cannotWrite('BAD_CONFIG', file, cause)
  }
  throw new CustomsError(
    'BAD_CONFIG', `${file}: has changed since it was read: nothing was written, run the command again`,
  )
}

/**
 * The age from which a claim is taken for that of a dead process, in milliseconds. A claim lasts as long as
 * it takes to compare and rename.
 */
const patience = 10_000

/**
 * Writes the new file beside the old one, under a name that only one process can create: the claim. Its owner
 * may replace the old file. A process that was suspended for longer than a claim lasts finds its claim gone,
 * or that of another process.
 * @returns the inode of the claim
 */
const takeClaim = async (claim: string, text: string, mode: number | undefined): Promise<bigint> => {
  const temporary = `${claim}.${randomUUID()}.tmp`
  try {
    await writeFile(temporary, text, { flag: 'wx', flush: true })
    // The mode of a new file is narrowed by the process's mask.
    if (mode !== undefined) await chmod(temporary, mode)
    // Some file systems have no links.
    const attempt = () => link(temporary, claim).catch((cause: unknown) => {
      if (codeOf(cause) === 'EEXIST') throw cause
      return copyFile(temporary, claim, constants.COPYFILE_EXCL)
    })
    while (!(await attempt().then(() => true, isTaken))) {
      const age = await stat(claim).then(({ ctimeMs }) => Date.now() - ctimeMs, () => 0)
      if (age > patience) await replaceFile(claim, `${temporary}.old`).then(() => rm(`${temporary}.old`), isGone)
      else await pause(20)
    }
    return await inoOf(claim)
  } finally {
    await rm(temporary, { force: true })
  }
}

const inoOf = (file: string): Promise<bigint> => stat(file, { bigint: true }).then(({ ino }) => ino)

/** @returns false for the error that is expected @throws any other */
const unless = (code: string) => (cause: unknown): false => {
  if (codeOf(cause) !== code) throw cause
  return false
}
const isTaken = unless('EEXIST')
const isGone = unless('ENOENT')
