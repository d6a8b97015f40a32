import { edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { readMediaType } from '#relay/protocol/headers.js'
import { isString } from '#relay/protocol/json.js'
import { anonymousError, idOf, lenientResponse } from '#relay/protocol/message.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { afterSpace, byte } from '#relay/protocol/scan.js'
import { parseInTurns } from '../frames.js'
import { UndecodableBody } from '../http/content-coding.js'
import { only } from '../http/headers.js'
import type { HttpHeaders } from '../transport.js'
import {
  answering, bodyKind, readJson, readStream, unexpectedBody, wholeBody, type BodyReading, type MaybeStop,
  type Received, type StreamReading,
} from './messages.js'
import { discard, type HttpReply } from './pool.js'

/**
 * Reads a response to its end, or discards a body that is neither JSON nor SSE.
 * @param onMessage as for `readStream`; gets an HTTP error's body, too, and a fault for a discarded one
 * @returns why the requests that are still unanswered get no answer
 * @throws as `readStream`
 */
export const readAnswer = async (
  reply: HttpReply, reading: StreamReading, onMessage: (received: Received) => MaybeStop,
): Promise<string> => {
  const kind = bodyKind(reply)
  if (kind === 'sse') {
    await readStream(reply, reading, onMessage)
    return endedEarly
  }
  if (kind === 'json') {
    const frame = await readJson(reply, reading)
    if (frame !== undefined) onMessage(frame)
    return endedEarly
  }
  if (kind === 'other') discard(reply)
  const asked = reading.asked()
  const received = kind === 'error' ? await errorBody(reply, reading)
    : asked.length > 0 ? unexpectedBody(reply, asked) : ''
  if (isString(received)) return received
  if (received !== undefined) onMessage(received)
  return kind === 'error' ? `the server answered HTTP ${reply.status}` : 'the response could not be read'
}

export const endedEarly = 'the response ended before the answer'

/** Longer error pages are not forwarded, in bytes. */
const maxBytes = 1024 * 1024

/**
 * Reads the body of an HTTP error as one frame: a JSON-RPC message; or an error response without a readable
 * id (JSON-RPC 2.0, section 5), which gets the id of the request; or else a page, which is forwarded
 * unchanged.
 * @returns undefined when there is no body, or it cannot be read
 * @throws what the connection fails with
 */
export const errorBody = async (
  reply: HttpReply, { limits, latch, asked }: BodyReading,
): Promise<Frame | undefined> => {
  const bytes = await bytesOf(reply, latch)
  // Clients may decode any other character set to a message that was not judged.
  if (bytes === undefined || !isAsciiText(bytes, reply.headers)) return undefined
  const keys = asked()
  const mayBeMessage = keys.length > 0 && mayBeJson(bytes)
  const text = mayBeMessage ? Buffer.from(new TextDecoder().decode(bytes)) : undefined
  return (text && messageIn(await parseInTurns(text, limits), keys)) ?? pageOf(bytes, keys)
}

/** Clients parse the body whatever its media type: `response.json()` checks none, and skips a BOM. */
const mayBeJson = (bytes: Buffer): boolean => {
  const first = bytes[afterSpace(bytes, bytes[0] === 0xef ? 3 : 0)]
  return first === byte.openObject || first === byte.openArray
}

/**
 * Whether all readers see the same ASCII characters in this body. Readers detect UTF-16 and UTF-32 by NULs
 * or a BOM, and other character sets by the name in the Content-Type.
 */
const isAsciiText = (bytes: Buffer, headers: HttpHeaders): boolean =>
  !bytes.subarray(0, 4).includes(0) && !/^(?:\xff\xfe|\xfe\xff)/.test(bytes.toString('latin1', 0, 2))
  && readMediaType(only(headers, 'content-type')).charsets.every(charset => asciiCharset.test(charset))
const asciiCharset = new RegExp('^(?:utf-?8|us-ascii|ascii|iso-?8859-?\\d+|latin-?1|windows-125\\d|cp125\\d|' +
  'gbk|gb2312|gb18030|big5|shift_jis|euc-\\w+|koi8-\\w)$')

const messageIn = (frame: Frame, asked: readonly IdKey[]): Frame | undefined => {
  const { message } = frame
  const [key, ...more] = asked
  if (message.kind === 'error' && key !== undefined && !asked.includes(message.key)) {
    // Some servers answer with an id of their own when they have not read the request's.
    return more.length > 0 ? undefined : withId({ ...frame, message: { ...message, id: idOf(key), key } })
  }
  if (message.kind !== 'unusable') return frame
  const error = anonymousError(frame)
  if (error === undefined || key === undefined) {
    return mayBeResult(frame) ? answering(frame, () => asked) : undefined
  }
  if (more.length > 0) return undefined
  return { ...frame, message: { kind: 'error', id: idOf(key), key, error }, faults: [] }
}

/** Whether a lenient reader could take the frame for a result: it is then judged as one, at any status. */
const mayBeResult = (frame: Frame): boolean =>
  lenientResponse(frame)?.kind === 'result' || frame.faults.some(({ kind, path }) =>
    kind === 'size' || (kind === 'ambiguous' && /^\/result/i.test(path)))

/** A page is the answer to a single request; after a batch it answers none of the requests. */
const pageOf = (bytes: Buffer, [first, ...more]: readonly IdKey[]): Frame => {
  const key = more.length > 0 ? undefined : first
  return { bytes, message: { kind: 'page', key, text: bytes.toString() }, faults: [] }
}

/** Writes the request's id into an error response: stdio clients find the request by it alone. */
export const withId = (frame: Frame): Frame => {
  const { bytes, message } = frame
  if (message.kind !== 'error') return frame
  return { ...frame, bytes: edit(bytes, [{ path: ['id'], replace: message.key }]), facts: undefined }
}

const bytesOf = async (reply: HttpReply, latch: BodyReading['latch']): Promise<Buffer | undefined> => {
  try {
    const body = await wholeBody(reply, maxBytes, latch)
    return body?.kind === 'whole' ? body.bytes : undefined
  } catch (error) {
    if (error instanceof UndecodableBody) return undefined
    throw error
  }
}
