import { edit } from '../../protocol/edit.js'
import type { Frame } from '../../protocol/frame.js'
import type { IdKey } from '../../protocol/json-rpc.js'
import { anonymousError, idIn } from '../../protocol/message.js'
import { decoded, UndecodableBody } from '../http/content-coding.js'
import { isUtf8, mediaType } from '../http/headers.js'
import { parseInTurns } from '../turns.js'
import type { Reading } from './messages.js'
import type { HttpReply } from './pool.js'

/** A page that is longer is read by nobody, in bytes. */
const mostBytes = 1024 * 1024

/**
 * The body of an HTTP error, as the one frame that it is: the answer to what was asked by the request, even where its id could not be
 * read (JSON-RPC 2.0, section 5; 2025-11-25 lets it out), or else a page that passes on as it is.
 * @returns undefined where there is none, where nobody could say which of several requests it answers, or where it cannot be read
 * @throws what the connection fails with
 */
export const errorBody = async ({ body, headers }: HttpReply, { limits, latch, asked }: Omit<Reading, 'cursor'>): Promise<Frame | undefined> => {
  const bytes = await collected(decoded(body, headers), latch)
  const [key, ...more] = asked()
  if (bytes === undefined || bytes.length === 0 || more.length > 0) return undefined
  const isJson = key !== undefined && mediaType(headers) === 'application/json' && isUtf8(headers)
  return (isJson ? answerIn(await parseInTurns(bytes, limits), key) : undefined) ?? pageOf(bytes, key)
}

const answerIn = (frame: Frame, key: IdKey): Frame | undefined => {
  const { message } = frame
  if (message.kind === 'error' || message.kind === 'result') return frame
  const error = anonymousError(frame)
  return error && { ...frame, message: { kind: 'error', id: idIn(key), key, error }, faults: [] }
}

const pageOf = (bytes: Buffer, key: IdKey | undefined): Frame => ({ bytes, message: { kind: 'page', key, text: bytes.toString() }, faults: [] })

/** For a client who can tell by the id alone whose answer it is. */
export const withId = (frame: Frame): Frame => {
  const { message } = frame
  return message.kind === 'error' ? { ...frame, bytes: edit(frame.bytes, [{ path: ['id'], replace: message.key }]), facts: undefined } : frame
}

const collected = async (chunks: AsyncIterable<Buffer>, latch: Reading['latch']): Promise<Buffer | undefined> => {
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of chunks) {
      await latch.passed()
      parts.push(chunk)
      if ((size += chunk.length) > mostBytes) return undefined
    }
  } catch (error) {
    if (error instanceof UndecodableBody) return undefined
    throw error
  }
  return Buffer.concat(parts)
}
