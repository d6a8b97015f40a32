import { edit } from '../../protocol/edit.js'
import type { Frame } from '../../protocol/frame.js'
import { readMediaType } from '../../protocol/headers.js'
import { anonymousError, idOf, lenientAnswer } from '../../protocol/message.js'
import type { IdKey } from '../../protocol/json-rpc.js'
import { afterSpace, byte } from '../../protocol/scan.js'
import { parseInTurns } from '../frames.js'
import { UndecodableBody } from '../http/content-coding.js'
import { only } from '../http/headers.js'
import type { HttpHeaders } from '../transport.js'
import { answering, wholeBody, type Reading } from './messages.js'
import type { HttpReply } from './pool.js'

/** A page that is longer is read by nobody, in bytes. */
const mostBytes = 1024 * 1024

/**
 * The body of an HTTP error, as the one frame that it is: a message like any other, where it is one; the answer to what was asked by
 * the request, even where its id could not be read (JSON-RPC 2.0, section 5; 2025-11-25 lets it out); or else a page that passes on as it is.
 * @returns undefined where there is none, or where it cannot be read
 * @throws what the connection fails with
 */
export const errorBody = async (reply: HttpReply, { limits, latch, asked }: Omit<Reading, 'cursor'>): Promise<Frame | undefined> => {
  const bytes = await bytesOf(reply, latch)
  if (bytes === undefined) return undefined
  // To whom such bytes are text, nobody can say: no page of today is in it.
  if (!isAsciiText(bytes, reply.headers)) return undefined
  const keys = asked()
  const text = mayBeJson(bytes) ? Buffer.from(new TextDecoder().decode(bytes)) : undefined
  return (text && keys.length > 0 ? messageIn(await parseInTurns(text, limits), keys) : undefined) ?? pageOf(bytes, keys)
}

/** A client parses the body whatever its type: `response.json()` asks for none, and skips a byte order mark. */
const mayBeJson = (bytes: Buffer): boolean => {
  const first = bytes[afterSpace(bytes, bytes[0] === 0xef ? 3 : 0)]
  return first === byte.openObject || first === byte.openArray
}

/** Whether the characters of JSON are bytes of ASCII in it: a reader finds UTF-16 and UTF-32 by their NULs, other sets by their names. */
const isAsciiText = (bytes: Buffer, headers: HttpHeaders): boolean =>
  !bytes.subarray(0, 4).includes(0) && !/^(?:\xff\xfe|\xfe\xff)/.test(bytes.toString('latin1', 0, 2))
  && readMediaType(only(headers, 'content-type')).charsets.every(charset => asciiCharset.test(charset))
const asciiCharset =
  /^(?:utf-?8|us-ascii|ascii|iso-?8859-?\d+|latin-?1|windows-125\d|cp125\d|gbk|gb2312|gb18030|big5|shift_jis|euc-\w+|koi8-\w)$/

const messageIn = (frame: Frame, asked: readonly IdKey[]): Frame | undefined => {
  const { message } = frame
  const [key, ...more] = asked
  if (message.kind === 'error' && key !== undefined && !asked.includes(message.key)) {
    // Some servers put a word of theirs in the place of an id that they have not read.
    return more.length > 0 ? undefined : withId({ ...frame, message: { ...message, id: idOf(key), key } })
  }
  if (message.kind !== 'unusable') return frame
  const error = anonymousError(frame)
  if (error === undefined || key === undefined) return mayBeResult(frame) ? answering(frame, () => asked) : undefined
  return more.length > 0 ? undefined : { ...frame, message: { kind: 'error', id: idOf(key), key, error }, faults: [] }
}

/** What some reader could take for the result of a call: it is judged as one, whatever the status says. */
const mayBeResult = (frame: Frame): boolean =>
  lenientAnswer(frame)?.kind === 'result' || frame.faults.some(({ kind, path }) => kind === 'size' || (kind === 'ambiguous' && /^\/result/i.test(path)))

/** To several requests it is the response to all, and the answer to none. */
const pageOf = (bytes: Buffer, [key, ...more]: readonly IdKey[]): Frame =>
  ({
    bytes, message: { kind: 'page', key: more.length > 0 ? undefined : key, text: bytes.toString() }, faults: [],
  })

/** For a client who can tell by the id alone whose answer it is. */
export const withId = (frame: Frame): Frame => {
  const { message } = frame
  return message.kind === 'error' ? { ...frame, bytes: edit(frame.bytes, [{ path: ['id'], replace: message.key }]), facts: undefined } : frame
}

const bytesOf = async (reply: HttpReply, latch: Reading['latch']): Promise<Buffer | undefined> => {
  try {
    const body = await wholeBody(reply, mostBytes, latch)
    return body?.kind === 'whole' ? body.bytes : undefined
  } catch (error) {
    if (error instanceof UndecodableBody) return undefined
    throw error
  }
}
