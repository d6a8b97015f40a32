import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { oversizedFrame } from '#relay/protocol/parse.js'
import { quote } from '#relay/protocol/quote.js'
import { Gathering, parseInTurns, type Gathered } from '../frames.js'
import { decoded, UndecodableBody } from '../http/content-coding.js'
import { isUtf8, mediaType, only } from '../http/headers.js'
import { encodeBetween, fieldLines, type SseEvent } from '../sse/event.js'
import { SseParser } from '../sse/parser.js'
import type { Latch } from '../timers.js'
import { nextPiece, type ResponseBody } from './body.js'
import type { HttpReply } from './pool.js'

/** The position in a stream, from which it can be resumed. */
export interface StreamCursor {
  lastEventId: string | undefined
  /** The server's `retry:`, in milliseconds. */
  retryMs: number | undefined
  /** Events so far, with or without a message. */
  events: number
  /** Streams that were opened from here. */
  streams: number
}

export const cursor = (): StreamCursor =>
  ({ lastEventId: undefined, retryMs: undefined, events: 0, streams: 0 })

interface EventReading {
  readonly limits: FrameLimits
  /** Backpressure: nothing more is read while it is closed. */
  readonly latch: Latch
  /** Kept up to date, for a stream that may be resumed. */
  readonly cursor: StreamCursor
}

export interface BodyReading extends Omit<EventReading, 'cursor'> {
  /** The requests that a JSON body without a readable id answers. */
  readonly asked: () => readonly IdKey[]
}

export type StreamReading = BodyReading & EventReading

const decodedBody = ({ body, headers }: HttpReply): ResponseBody | AsyncGenerator<Buffer, void> =>
  headers.has('content-encoding') ? decoded(body, headers) : body

/**
 * Reads an SSE body to its end. Not a generator, and promises only where needed: for a small answer they
 * would cost as much as all the rest of reading it.
 * @param onEvent called for each event, after the cursor has moved; returns `enough` to stop reading
 * @throws what the connection fails with, and UndecodableBody
 */
export const readEvents = async (
  reply: HttpReply, { limits, latch, cursor }: EventReading,
  onEvent: (event: SseEvent) => MaybeStop | Promise<MaybeStop>,
): Promise<void> => {
  const parser = new SseParser(limits.messageBytes)
  const source = decodedBody(reply)
  try {
    for (;;) {
      const piece = nextPiece(source)
      const { done, value } = piece instanceof Promise ? await piece : piece
      if (done === true) return
      for (const event of parser.push(value)) {
        if (latch.isClosed) await latch.passed()
        advance(cursor, event)
        const answer = onEvent(event)
        if ((answer instanceof Promise ? await answer : answer) === 'enough') return
      }
    }
  } finally {
    // Closes the connection of a body that was not read to its end.
    await source.return()
  }
}

export type MaybeStop = 'enough' | undefined

const advance = (cursor: StreamCursor, event: SseEvent): void => {
  if (event.kind === 'comment') return
  const { kind, id, retry } = event
  // An event with `retry` alone is no progress.
  if (kind !== 'fields' || id !== undefined) cursor.events += 1
  // An empty id resets the last one (WHATWG HTML, 9.2.4).
  if (id !== undefined) cursor.lastEventId = id === '' ? undefined : id
  if (retry !== undefined) cursor.retryMs = retry
}

/** How the body of a response is read. */
export const bodyKind = ({ status, headers }: HttpReply): 'json' | 'sse' | 'error' | 'other' => {
  const type = mediaType(headers)
  if (status >= 400 && type !== 'text/event-stream') return 'error'
  // In another character set, the client would read something else than was judged.
  if (!isUtf8(headers)) return 'other'
  return type === 'application/json' ? 'json' : type === 'text/event-stream' ? 'sse' : 'other'
}

/** Events without a message and comments, encoded to be sent to the client. */
export interface EventWithoutMessage {
  readonly lines: string
}

export type Received = Frame | EventWithoutMessage

/**
 * Reads an SSE body to its end.
 * @param onMessage called for every message as it arrives, and for events without one; returns `enough` to
 * stop reading
 * @throws what the connection fails with; a body that cannot be decoded is a frame with a fault
 */
export const readStream = async (
  reply: HttpReply, reading: StreamReading, onMessage: (received: Received) => MaybeStop,
): Promise<void> => {
  try {
    await readEvents(reply, reading, event => {
      const received = readStreamEvent(event, reading.limits)
      return received instanceof Promise ? received.then(onMessage) : onMessage(received)
    })
  } catch (error) {
    onMessage(unreadable(error, reading))
  }
}

/** The message of a JSON body; undefined when the body is empty. @throws as `readStream` */
export const readJson = async (reply: HttpReply, reading: BodyReading): Promise<Frame | undefined> => {
  const { limits, latch, asked } = reading
  try {
    const body = await wholeBody(reply, limits.messageBytes, latch)
    if (body === undefined) return undefined
    if (body.kind === 'whole') return answering(await parseInTurns(body.bytes, limits), asked)
    return answering(oversizedFrame(body.head, body.tail, body.size, limits), asked)
  } catch (error) {
    return unreadable(error, reading)
  }
}

const unreadable = (error: unknown, { asked }: Pick<StreamReading, 'asked'>): Frame => {
  if (!(error instanceof UndecodableBody)) throw error
  return httpFault(`the response has ${error.message}`, asked())
}

/**
 * Stands in for the answer where the response is neither JSON nor SSE.
 * @returns a frame with a fault, or the reason why there is no answer
 */
export const unexpectedBody = ({ status, headers }: HttpReply, asked: readonly IdKey[]): Frame | string => {
  const type = mediaType(headers)
  if (status !== 200 || type === '') return `the server gave no answer (HTTP ${status})`
  if (!isUtf8(headers)) return httpFault('the response claims another character set than UTF-8', asked)
  return httpFault(`the response is ${quote(type)}, neither JSON nor an event stream`, asked)
}

const httpFault = (message: string, keys: readonly IdKey[]): Frame => ({
  bytes: Buffer.alloc(0),
  message: { kind: 'unusable', keys, isWholeResponse: true },
  faults: [{ kind: 'http', path: '', message }],
})

export const readStreamEvent = (event: SseEvent, limits: FrameLimits): Received | Promise<Frame> => {
  switch (event.kind) {
    case 'message': {
      const frame = parseInTurns(event.data, limits)
      const fields = fieldLines(event)
      if (frame instanceof Promise) return frame.then(parsed => withFields(parsed, fields))
      return withFields(frame, fields)
    }
    case 'oversized':
      return oversizedFrame(event.head, event.tail, event.size, limits)
    case 'fields':
    case 'comment':
      return { lines: encodeBetween(event) }
    default:
      return event satisfies never
  }
}

const withFields = (frame: Frame, event: string): Frame =>
  (event === '' ? frame : { ...frame, envelope: { event } })

/**
 * Reads and decodes a whole body.
 * @param maxBytes reading stops beyond this size
 * @returns undefined when the body is empty
 * @throws UndecodableBody, or what the connection fails with
 */
export const wholeBody = async (
  reply: HttpReply, maxBytes: number, latch: Latch,
): Promise<Gathered | undefined> => {
  const gathering = new Gathering(maxBytes, Number(only(reply.headers, 'content-length')) || 0)
  const source = decodedBody(reply)
  // Not `for await`: most bodies have arrived completely by now, and need no promises.
  for (;;) {
    const piece = nextPiece(source)
    const next = piece instanceof Promise ? await piece : piece
    if (next.done === true) break
    if (latch.isClosed) await latch.passed()
    gathering.add(next.value)
    if (gathering.size > maxBytes) {
      await source.return(undefined)
      break
    }
  }
  return gathering.take()
}

/** An unusable body without a readable id counts as the response to all requests still unanswered. */
export const answering = (frame: Frame, asked: () => readonly IdKey[]): Frame => {
  const { message } = frame
  if (message.kind !== 'unusable' || message.keys.length > 0) return frame
  return { ...frame, message: { ...message, keys: asked(), isWholeResponse: true } }
}
