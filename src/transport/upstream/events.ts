import type { FrameLimits } from '../../protocol/frame.js'
import { decoded } from '../http/content-coding.js'
import { SseParser, type SseEvent } from '../sse/parser.js'
import { nextPiece, type ResponseBody } from './body.js'
import type { Latch } from '../latch.js'
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

/**
 * The events of an SSE body; the cursor is past each of them when it is told. No generator: two of them, one inside the other, cost as
 * much for a small answer as all else that is done to read it.
 * @throws what the connection fails with, and UndecodableBody
 */
export class Events implements AsyncIterableIterator<SseEvent> {
  readonly #reading: EventReading
  readonly #parser: SseParser
  readonly #source: ResponseBody | AsyncGenerator<Buffer, void>
  #parsed: readonly SseEvent[] = []
  #told = 0

  constructor({ body, headers }: HttpReply, reading: EventReading) {
    this.#reading = reading
    this.#parser = new SseParser(reading.limits.messageBytes)
    this.#source = decoded(body, headers)
  }

  async next(): Promise<IteratorResult<SseEvent, undefined>> {
    const { latch, cursor } = this.#reading
    for (;;) {
      const value = this.#parsed[this.#told]
      if (value !== undefined) {
        this.#told += 1
        if (latch.isClosed) await latch.passed()
        advance(cursor, value)
        return { done: false, value }
      }
      const piece = nextPiece(this.#source)
      const { done, value: bytes } = piece instanceof Promise ? await piece : piece
      if (done === true) return { done: true, value: undefined }
      this.#parsed = this.#parser.push(bytes)
      this.#told = 0
    }
  }

  /** Lets go of the body. */
  async return(): Promise<IteratorResult<SseEvent, undefined>> {
    await this.#source.return()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

const advance = (cursor: Cursor, event: SseEvent): void => {
  if (event.kind === 'comment') return
  const { kind, id, retry } = event
  // A wish for another pace gets nobody further.
  if (kind !== 'fields' || id !== undefined) cursor.events += 1
  // An empty id takes back the one before (WHATWG HTML, 9.2.4).
  if (id !== undefined) cursor.lastEventId = id === '' ? undefined : id
  if (retry !== undefined) cursor.retryMs = retry
}
