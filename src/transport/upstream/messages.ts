import type { Frame, FrameLimits } from '../../protocol/frame.js'
import type { IdKey } from '../../protocol/json-rpc.js'
import { oversizedFrame } from '../../protocol/parse.js'
import { quote } from '../../protocol/quote.js'
import { Gathering, parseInTurns, type Gathered } from '../frames.js'
import { decoded, UndecodableBody } from '../http/content-coding.js'
import { isUtf8, mediaType, only } from '../http/headers.js'
import { encodeBetween, fieldLines, type SseEvent } from '../sse/event.js'
import { SseParser } from '../sse/parser.js'
import type { Latch } from '../timers.js'
import { nextPiece, type ResponseBody } from './body.js'
import type { HttpReply } from './pool.js'

/** Where a stream stands: what is needed to ask for the rest of it. */
export interface Cursor {
  lastEventId: string | undefined
  /** The server's `retry:`, in milliseconds. */
  retryMs: number | undefined
  /** Events so far, those without a message too. */
  events: number
}

export const cursor = (): Cursor => ({ lastEventId: undefined, retryMs: undefined, events: 0 })

export interface EventReading {
  readonly limits: FrameLimits
  /** Closed: nothing more is read. */
  readonly latch: Latch
  /** Kept up to date, for a stream that may be resumed. */
  readonly cursor: Cursor
}

/** Most bodies are packed in no way. */
const unpacked = ({ body, headers }: HttpReply): ResponseBody | AsyncGenerator<Buffer, void> =>
  headers.has('content-encoding') ? decoded(body, headers) : body

/**
 * Reads an SSE body to its end. It is no generator, and `told` no promise where none is needed: for a small answer that
 * costs as much as all else that is done to read it.
 * @param told called for each event, when the cursor is past it; returns `enough` to read no more
 * @throws what the connection fails with, and UndecodableBody
 */
export const readEvents = async (
  reply: HttpReply, { limits, latch, cursor }: EventReading,
  told: (event: SseEvent) => Told | Promise<Told>,
): Promise<void> => {
  const parser = new SseParser(limits.messageBytes)
  const source = unpacked(reply)
  try {
    for (;;) {
      const piece = nextPiece(source)
      const { done, value } = piece instanceof Promise ? await piece : piece
      if (done === true) return
      for (const event of parser.push(value)) {
        if (latch.isClosed) await latch.passed()
        advance(cursor, event)
        const said = told(event)
        if ((said instanceof Promise ? await said : said) === 'enough') return
      }
    }
  } finally {
    // Lets go of a body that was not read to its end.
    await source.return()
  }
}

export type Told = 'enough' | undefined

const advance = (cursor: Cursor, event: SseEvent): void => {
  if (event.kind === 'comment') return
  const { kind, id, retry } = event
  // A wish for another pace gets nobody further.
  if (kind !== 'fields' || id !== undefined) cursor.events += 1
  // An empty id takes back the one before (WHATWG HTML, 9.2.4).
  if (id !== undefined) cursor.lastEventId = id === '' ? undefined : id
  if (retry !== undefined) cursor.retryMs = retry
}

/** What a response's body is to be read as. */
export type BodyKind = 'json' | 'sse' | 'error' | 'other'

export const bodyKind = ({ status, headers }: HttpReply): BodyKind => {
  const type = mediaType(headers)
  if (status >= 400 && type !== 'text/event-stream') return 'error'
  // Read as anything but UTF-8, the bytes that were judged would say something else.
  if (!isUtf8(headers)) return 'other'
  return type === 'application/json' ? 'json' : type === 'text/event-stream' ? 'sse' : 'other'
}

export interface Reading extends EventReading {
  /** The requests to which a JSON body is the answer, even where it does not say so. */
  readonly asked: () => readonly IdKey[]
}

/** What an event stream says between its messages, as it is to be sent. */
export interface Between {
  readonly lines: string
}

/**
 * Reads a JSON or SSE body to its end.
 * @param told called for every message as it arrives, each of them one frame, and for what stands between them; returns
 * `enough` to read no more
 * @throws what the connection fails with; a body that cannot be unpacked is a frame with a fault
 */
export const readMessages = async (
  reply: HttpReply, reading: Reading, told: (heard: Frame | Between) => Told,
): Promise<void> => {
  if (bodyKind(reply) === 'json') {
    const frame = await messageOf(reply, reading)
    if (frame !== undefined) told(frame)
    return
  }
  try {
    await readEvents(reply, reading, event => {
      const heard = read(event, reading.limits)
      return heard instanceof Promise ? heard.then(told) : told(heard)
    })
  } catch (error) {
    told(unreadable(error, reading))
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

/** What an event says. */
export const read = (event: SseEvent, limits: FrameLimits): Frame | Between | Promise<Frame> => {
  switch (event.kind) {
    case 'message': {
      const frame = parseInTurns(event.data, limits)
      return frame instanceof Promise ? frame.then(parsed => withFields(parsed, fieldLines(event))) : withFields(frame, fieldLines(event))
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

const withFields = (frame: Frame, event: string): Frame => (event === '' ? frame : { ...frame, envelope: { event } })

/**
 * A body that is one message, unpacked.
 * @param maxBytes of one that is longer no more is read
 * @returns undefined where it is empty
 * @throws UndecodableBody, or what the connection fails with
 */
export const wholeBody = async (
  reply: HttpReply, maxBytes: number, latch: Latch,
): Promise<Gathered | undefined> => {
  const gathering = new Gathering(maxBytes, Number(only(reply.headers, 'content-length')) || 0)
  const source = unpacked(reply)
  // Not by `for await`: most bodies are here as a whole by the time that they are read, and need no waiting for.
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

/** A whole body without an id that can be read is the answer to what was asked with it, and to nothing else. */
export const answering = (frame: Frame, asked: () => readonly IdKey[]): Frame => {
  const { message } = frame
  return message.kind === 'unusable' && message.keys.length === 0 ? { ...frame, message: { ...message, keys: asked() } } : frame
}
