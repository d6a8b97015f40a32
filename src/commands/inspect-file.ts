import { readFile } from 'node:fs/promises'
import { CustomsError } from '../errors.js'
import { parseSaved, type Saved } from '../inspect/saved.js'
import type { FrameLimits } from '../protocol/frame.js'

/** Longest file, in bytes: as much as a server's list may be. */
const longest = 64 * 1024 * 1024

/** @throws CustomsError BAD_USAGE for a file that cannot be read, BAD_CONFIG for one that holds no list */
export const readSaved = async (file: string, limits: FrameLimits): Promise<Saved> => {
  const bytes = await readFile(file).catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason'
    const hint = code === 'ENOENT' ? '; a command is given after --, and a URL begins with http:// or https://' : ''
    throw new CustomsError('BAD_USAGE', `${file}: cannot be read (${code})${hint}`, { cause })
  })
  if (bytes.length > longest) throw new CustomsError('BAD_CONFIG', `${file}: longer than ${longest} bytes`)
  try {
    return parseSaved(new TextDecoder('utf-8', { fatal: true }).decode(bytes), file, limits)
  } catch (cause) {
    throw cause instanceof CustomsError ? cause : new CustomsError('BAD_CONFIG', `${file}: not UTF-8`, { cause })
  }
}
