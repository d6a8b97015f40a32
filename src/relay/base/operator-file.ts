import { open } from 'node:fs/promises'
import { cannotRead, CustomsError, type ErrorCode } from './errors.js'

const piece = 64 * 1024

/**
 * Reads a file that the operator names, up to a limit: it may be a device that never ends.
 * @param longest in bytes
 * @throws CustomsError of this code, with the system's error as its `cause`
 */
export const readBounded = async (
  file: string, longest: number, code: ErrorCode = 'BAD_CONFIG',
): Promise<Buffer> => {
  const pieces: Buffer[] = []
  try {
    const handle = await open(file)
    try {
      for (let length = 0; length <= longest;) {
        const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(piece))
        if (bytesRead === 0) return Buffer.concat(pieces)
        pieces.push(buffer.subarray(0, bytesRead))
        length += bytesRead
      }
    } finally {
      await handle.close()
    }
  } catch (cause) {
    throw cannotRead(code, file, cause)
  }
  throw new CustomsError(code, `${file}: longer than ${longest} bytes`)
}

/** The same for a UTF-8 text. */
export const readBoundedText = async (file: string, longest: number, code?: ErrorCode): Promise<string> => {
  const bytes = await readBounded(file, longest, code)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new CustomsError('BAD_CONFIG', `${file}: not UTF-8`, { cause })
  }
}

/** Counted from 1. */
export interface FilePlace {
  readonly line: number
  readonly column: number
}

/** @param offset in UTF-16 units */
export const placeAt = (text: string, offset: number): FilePlace => {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
