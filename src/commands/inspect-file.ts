import { codeOf, CustomsError } from '../errors.js'
import { parseSaved, type Saved } from '../inspect/saved.js'
import { readBoundedText } from '../operator-file.js'
import type { FrameLimits } from '../protocol/frame.js'

/** Longest file, in bytes: as much as a server's list may be. */
const longest = 64 * 1024 * 1024

/** @throws CustomsError BAD_USAGE for a file that cannot be read, BAD_CONFIG for one that holds no list */
export const readSaved = async (file: string, limits: FrameLimits): Promise<Saved> => {
  const text = await readBoundedText(file, longest, 'BAD_USAGE').catch((error: unknown) => {
    if (!(error instanceof CustomsError) || codeOf(error.cause) !== 'ENOENT') throw error
    throw new CustomsError(error.code, `${error.message}; a command is given after --, and a URL begins with http:// or https://`, error)
  })
  return parseSaved(text, file, limits)
}
