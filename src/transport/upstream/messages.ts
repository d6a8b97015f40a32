import type { Frame, FrameLimits } from '../../protocol/frame.js'
import type { IdKey } from '../../protocol/json-rpc.js'
import { oversizedFrame } from '../../protocol/parse.js'
import { quote } from '../../protocol/quote.js'
import { decoded, UndecodableBody } from '../http/content-coding.js'
import { isUtf8, mediaType } from '../http/headers.js'
import type { Cursor } from './cursor.js'
import type { Latch } from './latch.js'
import type { HttpReply } from './pool.js'
import { SseParser, type SseEvent } from '../sse/parser.js'
import { parseInTurns } from '../turns.js'
import { answering, wholeBody } from './whole-body.js'

/** What a response's body is to be read as. */
export type BodyKind = 'json' | 'sse' | 'error' | 'other'

export const bodyKind = ({ status, headers }: HttpReply): BodyKind => {
  const type = mediaType(headers)
  if (status >= 400 && type !== 'text/event-stream') return 'error'
  // Read as anything but UTF-8, the bytes that were judged would say something else.
  if (!isUtf8(headers)) return 'other'
  return type === 'application/json' ? 'json' : type === 'text/event-stream' ? 'sse' : 'other'
}

export interface Reading {
  readonly limits: FrameLimits
  /** Closed: nothing more is read. */
  readonly latch: Latch
  /** The requests to which a JSON body is the answer, even where it does not say so. */
  readonly asked: () => readonly IdKey[]
  /** Kept up to date, for a stream that may be resumed. */
  readonly cursor: Cursor
}

/** Lines of an SSE event without a message. */
export interface Dressing {
  readonly lines: string
}

/**
 * Every message of a JSON or SSE body as it arrives, each of them one frame.
 * @throws what the connection fails with; a body that cannot be unpacked is a frame with a fault
 */
export async function* messagesOf(reply: HttpReply, reading: Reading): AsyncGenerator<Frame | Dressing> {
  if (bodyKind(reply) === 'json') {
    const frame = await messageOf(reply, reading)
    if (frame !== undefined) yield frame
    return
  }
  try {
    for await (const event of eventsOf(reply, reading)) yield read(event, reading.limits)
  } catch (error) {
    yield unreadable(error, reading)
  }
}

/**
 * The one message that a JSON body is; undefined where there is none.
 * @throws as `messagesOf`
 */
export const messageOf = async (reply: HttpReply, reading: Omit<Reading, 'cursor'>): Promise<Frame | undefined> => {
  const { limits, latch, asked } = reading
  try {
    const body = await wholeBody(reply, limits.messageBytes, latch)
    if (body === undefined) return undefined
    const frame = body.kind === 'whole' ? await parseInTurns(body.bytes, limits) : oversizedFrame(body.head, body.tail, body.size, limits)
    return answering(frame, asked)
  } catch (error) {
    return unreadable(error, reading)
  }
}

const unreadable = (error: unknown, { asked }: Pick<Reading, 'asked'>): Frame => {
  if (!(error instanceof UndecodableBody)) throw error
  return httpFault(`the response has ${error.message}`, asked())
}

/**
 * What to say of a response that is neither JSON nor SSE where an answer is due.
 * @returns a frame that is wrong as such, or the reason why there is no answer
 */
export const misfit = ({ status, headers }: HttpReply, asked: readonly IdKey[]): Frame | string => {
  const type = mediaType(headers)
  if (status !== 200 || type === '') return `the server gave no answer (HTTP ${status})`
  if (!isUtf8(headers)) return httpFault('the response claims another character set than UTF-8', asked)
  return httpFault(`the response is ${quote(type)}, neither JSON nor an event stream`, asked)
}

const httpFault = (message: string, keys: readonly IdKey[]): Frame => ({
  bytes: Buffer.alloc(0),
  message: { kind: 'unusable', keys },
  faults: [{ kind: 'http', path: '', message }],
})

/** The events of an SSE body; the cursor is past each of them when it is told. */
export async function* eventsOf(reply: HttpReply, { limits, latch, cursor }: Omit<Reading, 'asked'>): AsyncGenerator<SseEvent> {
  const parser = new SseParser(limits.messageBytes)
  for await (const chunk of decoded(reply.body, reply.headers)) {
    for (const event of parser.push(chunk)) {
      if (latch.isClosed) await latch.passed()
      advance(cursor, event)
      yield event
    }
  }
}

const advance = (cursor: Cursor, { kind, id, retry }: SseEvent): void => {
  // A comment, or a wish for another pace, gets nobody further.
  if (kind !== 'dressing' || id !== undefined) cursor.events += 1
  // An empty id takes back the one before (WHATWG HTML, 9.2.4).
  if (id !== undefined) cursor.lastEventId = id === '' ? undefined : id
  if (retry !== undefined) cursor.retryMs = retry
}

/** What an event says. */
export const read = async (event: SseEvent, limits: FrameLimits): Promise<Frame | Dressing> => {
  switch (event.kind) {
    case 'message': {
      const frame = await parseInTurns(event.data, limits)
      return event.dressing === '' ? frame : { ...frame, envelope: { event: event.dressing } }
    }
    case 'oversized':
      return oversizedFrame(event.head, event.tail, event.size, limits)
    case 'dressing':
      return event
    default:
      return event satisfies never
  }
}
