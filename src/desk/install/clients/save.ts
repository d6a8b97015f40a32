import { randomUUID } from 'node:crypto'
import { chmod, chown, open, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { cannotWrite, codeOf, CustomsError } from '#relay/base/errors.js'
import { readBounded } from '#relay/base/operator-file.js'
import { replaceFile } from '#relay/base/platform/files.js'
import { isMac } from '#relay/base/platform/machine.js'

/** Longest file that is read, in bytes. Claude Code keeps much besides servers in its file. */
const maxBytes = 64 * 1024 * 1024

/**
 * The text of a client's file, with its byte order mark if it has one.
 * @returns undefined when there is no such file
 * @throws CustomsError BAD_CONFIG when it cannot be read, or is no UTF-8 text
 */
export const readFileText = async (file: string): Promise<string | undefined> => {
  const bytes = await readBounded(file, maxBytes).catch((error: unknown) => {
    if (!(error instanceof CustomsError) || error.cause === undefined) throw error
    if (codeOf(error.cause) === 'ENOENT' || codeOf(error.cause) === 'ENOTDIR') return undefined
    throw new CustomsError(error.code, `${error.message}${remedy(error.cause)}`, error)
  })
  if (bytes === undefined) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new CustomsError('BAD_CONFIG', `${file}: is no UTF-8 text`, { cause })
  }
}

const remedy = (error: unknown): string =>
  codeOf(error) === 'EPERM' && isMac()
    ? ': allow this terminal to access data of other apps (System Settings, Privacy & Security)'
    : ''

/**
 * Writes a file that another program may be writing too. Backs up the old text beside the file; keeps the
 * file's mode, owner and symbolic link. A reader sees the old text or the new one, never a part.
 * @param before the text that the file must still have
 * @returns the path of the backup
 * @throws CustomsError BAD_CONFIG when the file no longer has that text, or cannot be written; nothing was
 * written to the file then
 */
export const save = async (file: string, before: string, after: string): Promise<string> => {
  try {
    // Some virtual drives of Windows cannot say where a file really is.
    const real = await realpath(file).catch(() => file)
    const { mode, uid, gid } = await stat(real)
    const backup = await backUp(real, before, mode & 0o7777)
    await replace(real, after, { mode: mode & 0o7777, uid, gid }, async () => {
      if ((await readFileText(real)) === before) return
      const reason = 'has changed since it was shown: nothing was written, run the command again'
      throw new CustomsError('BAD_CONFIG', `${file}: ${reason}`)
    })
    return backup
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    const { code, message } = cannotWrite('BAD_CONFIG', file, cause)
    throw new CustomsError(code, `${message}${remedy(cause)}`, { cause })
  }
}

interface Attributes {
  /** Undefined gives the file the mode of a new file. */
  readonly mode: number | undefined
  readonly uid?: number
  readonly gid?: number
}

/**
 * Creates a file, or replaces it as a whole.
 * @param check is called just before the file is replaced; when it throws, the file is not replaced
 */
export const replace = async (
  file: string, text: string, { mode, uid, gid }: Attributes, check: () => Promise<void>,
): Promise<void> => {
  const temporary = join(dirname(file), `.${basename(file)}.${randomUUID()}.tmp`)
  try {
    const handle = await open(temporary, 'wx', mode === undefined ? undefined : 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    // Only root can change the owner; an owner's own file needs no change.
    if (uid !== undefined && gid !== undefined) await chown(temporary, uid, gid).catch(() => undefined)
    if (mode !== undefined) await chmod(temporary, mode)
    await check()
    await replaceFile(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/**
 * Backs a text up as `FILE.mcp-customs.bak`, `FILE.mcp-customs.2.bak` and so on: under the first free name,
 * unless a backup with the same text exists.
 * @returns the path of the backup
 */
const backUp = async (file: string, text: string, mode: number): Promise<string> => {
  for (const name of await backupsOf(file)) {
    if ((await readFileText(name)) === text) return name
  }
  for (let number = 1; ; number++) {
    const backup = `${file}.mcp-customs${number === 1 ? '' : `.${number}`}.bak`
    try {
      await writeFile(backup, text, { flag: 'wx', mode, flush: true })
      // The umask has narrowed the new file's mode.
      await chmod(backup, mode)
      return backup
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
}

const backupsOf = async (file: string): Promise<readonly string[]> => {
  const folder = dirname(file)
  const own = (name: string) => name.startsWith(`${basename(file)}.mcp-customs.`) && name.endsWith('.bak')
  return (await readdir(folder)).filter(own).map(name => join(folder, name))
}
