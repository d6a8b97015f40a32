import type { Exchange } from '../../../core/event.js'
import type { Frame } from '../../../protocol/frame.js'
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
}

/** One HTTP request and its response. */
export class FrontExchange implements Exchange, RequestFacts {
  readonly request: RequestFacts['request']
  readonly frame: Frame | undefined
  readonly claims: boolean
  readonly carries: boolean
  /** Bytes that came for the reader while it was slow. */
  unread = 0

  constructor(
    readonly name: string,
    readonly reply: Reply,
    { request, frame, claims, carries }: RequestFacts,
  ) {
    this.request = request
    this.frame = frame
    this.claims = claims
    this.carries = carries
  }

  get ties(): Ties {
    return this.frame ? tiesOf(this.frame) : { requests: [], progress: [] }
  }
}
