import type { Exchange } from '../../../core/event.js'
import type { Frame } from '../../../protocol/frame.js'
import type { Arrival } from '../arrival.js'
import { tiesOf, type Ties } from '../message.js'
import type { Reply } from '../reply.js'

/** What a session goes by, of an HTTP request. */
export interface RequestFacts {
  readonly request: 'POST' | 'GET' | 'DELETE'
  /** What came with it; undefined when there is no message in it. */
  readonly frame?: Frame | undefined
  /** It names a session that only the server can know. */
  readonly claims: boolean
  /** What the server says unasked may go with its answer: not before the handshake is over. */
  readonly carries: boolean
  /** The head of the request. */
  readonly arrival: Arrival
}

/** One HTTP request and its response. */
export class FrontExchange implements Exchange, RequestFacts {
  readonly request: RequestFacts['request']
  /** Undefined also when the response is over. */
  frame: Frame | undefined
  readonly claims: boolean
  readonly carries: boolean
  readonly arrival: Arrival
  /** Bytes that came for the reader while it was slow. */
  unread = 0

  constructor(
    readonly name: string,
    readonly reply: Reply,
    { request, frame, claims, carries, arrival }: RequestFacts,
  ) {
    this.request = request
    this.frame = frame
    this.claims = claims
    this.carries = carries
    this.arrival = arrival
  }

  get context(): string {
    return this.arrival.context('server')
  }

  get resumed(): boolean {
    return this.request === 'GET' && this.arrival.headers.has('last-event-id')
  }

  get ties(): Ties {
    return this.frame ? tiesOf(this.frame) : { requests: [], progress: [] }
  }
}
