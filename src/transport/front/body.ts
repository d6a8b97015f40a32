import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { errorCode } from '../../protocol/json-rpc.js'
import { refusal, type Refusal } from './refusal.js'

/** Whole bodies, so that `maxOutputLength` bounds what comes of a small one. */
const unpackers = new Map([
  ['gzip', promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)],
  ['x-gzip', promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)],
  ['deflate', promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate)],
  ['br', promisify<Buffer, { maxOutputLength: number }, Buffer>(brotliDecompress)],
])

/**
 * The body of a request, unpacked.
 * @param maxBytes longest body, in bytes, as sent and as unpacked
 * @returns undefined when the client went away before its end
 */
export const readBody = async (request: IncomingMessage, maxBytes: number): Promise<Buffer | Refusal | undefined> => {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const unpack = unpackers.get(encoding)
  if (unpack === undefined && encoding !== 'identity') {
    return refusal(415, 'This Content-Encoding is not known', { 'accept-encoding': [...unpackers.keys()].join(', ') })
  }
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return tooLong(maxBytes)
  const sent = await collect(request, maxBytes)
  if (sent === undefined) return undefined
  if (sent === 'too-long') return tooLong(maxBytes)
  if (unpack === undefined) return sent
  try {
    return await unpack(sent, { maxOutputLength: maxBytes })
  } catch (error) {
    const bomb = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    return bomb ? tooLong(maxBytes) : { status: 400, code: errorCode.parse, message: 'The body is not what its Content-Encoding says' }
  }
}

const tooLong = (maxBytes: number): Refusal => refusal(413, `The body is longer than ${maxBytes} bytes`)

// Not by `for await`: leaving such a loop early destroys the request, and with it the connection for the answer.
const collect = (request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too-long' | undefined> =>
  new Promise(resolve => {
    const chunks: Buffer[] = []
    let length = 0
    const take = (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBytes) return done('too-long')
      chunks.push(chunk)
    }
    const done = (body: Buffer | 'too-long' | undefined) => {
      request.off('data', take)
      chunks.length = 0
      resolve(body)
    }
    request.on('data', take)
    request.once('end', () => done(Buffer.concat(chunks, length)))
    request.once('error', () => done(undefined))
    request.once('close', () => done(undefined))
  })
