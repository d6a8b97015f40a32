import { pipeline, Readable, type Duplex } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { asError } from '#relay/base/errors.js'
import type { HttpHeaders } from '../transport.js'

/** @param first the first bytes of the encoded body */
export type Unpacker = (first: Buffer) => Duplex

/** Decoders by content coding (RFC 9110, section 8.4.1). */
export const unpackers: ReadonlyMap<string, Unpacker> = new Map<string, Unpacker>([
  ['gzip', () => createGunzip({ chunkSize })],
  ['x-gzip', () => createGunzip({ chunkSize })],
  // `deflate` is the format of zlib, whose first byte ends with method 8. Some servers leave the header out.
  ['deflate', first => {
    const hasHeader = ((first[0] ?? 0) & 0x0f) === 8
    return hasHeader ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize })
  }],
  ['br', () => createBrotliDecompress({ chunkSize })],
])
const chunkSize = 64 * 1024

/** The body cannot be decoded. */
export class UndecodableBody extends Error {}

/**
 * Decodes a body: requests ask for `identity`, but some servers compress all the same. Pieces of at most 64
 * KB are decoded as they are read, so that the reader can stop when the body is too long.
 * @throws UndecodableBody, or the error with which reading the body failed
 */
export const decoded = <Body extends AsyncIterableIterator<Buffer>>(
  body: Body, headers: HttpHeaders,
): Body | AsyncGenerator<Buffer, void> => {
  const encoding = headers.get('content-encoding')?.join().trim().toLowerCase() ?? ''
  return encoding === '' || encoding === 'identity' ? body : decodedAs(encoding, body)
}

async function* decodedAs(
  encoding: string, source: AsyncIterableIterator<Buffer>,
): AsyncGenerator<Buffer, void> {
  const first = await source.next()
  // An empty body is not encoded, whatever the header says.
  if (first.done === true) return
  const decoder = unpackers.get(encoding)?.(first.value)
  if (!decoder) {
    await source.return?.(undefined)
    throw new UndecodableBody('an encoding that was not asked for')
  }
  yield* unpacked(first.value, source, decoder)
}

async function* unpacked(
  first: Buffer, rest: AsyncIterable<Buffer>, decoder: Duplex,
): AsyncGenerator<Buffer> {
  let cut: Error | undefined
  const packed = async function* () {
    try {
      yield first
      yield* rest
    } catch (error) {
      cut = asError(error)
      throw cut
    }
  }
  pipeline(Readable.from(packed()), decoder, () => {})
  try {
    yield* chunksOf(decoder)
  } catch {
    throw cut ?? new UndecodableBody('a body that is not packed as it says')
  }
}

async function* chunksOf(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    if (Buffer.isBuffer(chunk)) yield chunk
  }
}
