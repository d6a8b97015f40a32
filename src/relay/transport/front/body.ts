import { unpackers, type Unpacker } from '../http/content-coding.js'
import type { Share } from './quota.js'
import { refusal, refusals, type Refusal } from './refusal.js'
import type { FrontRequest, FrontResponse } from './request.js'

/**
 * Refuses a body for what the head says about it, before it is read.
 * @param maxBytes longest body, in bytes
 */
export const checkBody = ({ headers }: FrontRequest, maxBytes: number): Refusal | undefined => {
  const encoding = encodingOf(headers)
  if (encoding !== 'identity' && !unpackers.has(encoding)) {
    const known = [...unpackers.keys()].join(', ')
    return refusal(415, 'This Content-Encoding is not known', { 'accept-encoding': known })
  }
  return Number(headers['content-length'] ?? 0) > maxBytes ? tooLong(maxBytes) : undefined
}

/**
 * The body of a request, decompressed. A client that sent `Expect: 100-continue` gets its 100 first.
 * @param maxBytes longest body, in bytes, as sent and as decompressed
 * @param share of the memory for bodies; the returned body still counts in it
 * @returns undefined when the connection closed before the end of the body
 */
export const readBody = (
  request: FrontRequest, response: FrontResponse, maxBytes: number, share: Share,
): Promise<Read> => {
  // A client of HTTP/1.0 does not know 100 (RFC 9110, section 10.1.1).
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0') response.writeContinue()
  const sent = collect(request, maxBytes, share)
  const unpacker = unpackers.get(encodingOf(request.headers))
  return unpacker === undefined ? sent : unpacked(sent, unpacker, maxBytes, share)
}

type Read = Buffer | Refusal | undefined

const unpacked = async (
  body: Promise<Read>, unpacker: Unpacker, maxBytes: number, share: Share,
): Promise<Read> => {
  const sent = await body
  if (!Buffer.isBuffer(sent)) return sent
  const decoder = unpacker(sent)
  decoder.end(sent)
  const found = await collect(decoder, maxBytes, share)
  decoder.destroy()
  share.give(sent.length)
  return found ?? refusals.unpacked
}

const encodingOf = (headers: FrontRequest['headers']): string =>
  headers['content-encoding']?.trim().toLowerCase() ?? 'identity'

const tooLong = (maxBytes: number): Refusal => refusal(413, `The body is longer than ${maxBytes} bytes`)

// No `for await`: leaving such a loop early destroys the request and its connection, before the response.
const collect = (source: Pick<FrontRequest, 'on' | 'off'>, maxBytes: number, share: Share): Promise<Read> =>
  new Promise(resolve => {
    const chunks: Buffer[] = []
    let length = 0
    const take = (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBytes) return done(tooLong(maxBytes))
      if (!share.take(chunk.length)) return done(refusals.manyBytes)
      chunks.push(chunk)
    }
    const done = (body: Read) => {
      source.off('data', take)
      chunks.length = 0
      resolve(body)
    }
    const cut = () => done(undefined)
    source.on('data', take)
    // A body of one chunk is not copied.
    source.on('end', () => done(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length)))
    source.on('error', cut)
    source.on('close', cut)
  })
