import type { Exchange } from '../../../core/event.js'
import type { Frame } from '../../../protocol/frame.js'
import { tiesIn, tiesOf, type Ties } from '../message.js'
import type { Reply } from '../reply.js'

/** One HTTP request while it is open. */
export interface Open {
  readonly reply: Reply
  readonly request: 'POST' | 'GET' | 'DELETE'
  /** What came with it; undefined when there is no message in it. */
  readonly frame?: Frame | undefined
  /** It names a session that only the server can know. */
  readonly claims: boolean
  /** What the server says unasked may go with its answer: not before the handshake is over. */
  readonly carries: boolean
}

/** From so many messages of the server's on that wait for a stream to leave by, or so many bytes of them, the server is held back. */
const manyWaiting = 256
const manyWaitingBytes = 1024 * 1024
/**
 * The oldest are dropped beyond this. It is reached by a server that cannot be held back, for its answer to a request that carries
 * nothing else comes by the same pipe; what was read of it when it was told to hold back is far less.
 */
const mostWaiting = 4096
const mostWaitingBytes = 16 * 1024 * 1024
/** Streams opened by GET; the oldest is ended beyond this. */
const mostStreams = 4

/** The open HTTP requests of a session, and by which of them a message leaves that names none: a process has one pipe for all. */
export class Routes {
  readonly #exchanges = new Map<Exchange, Open & { readonly ties: Ties }>()
  readonly #waiting: Frame[] = []
  #waitingBytes = 0
  readonly #whose: 'one client' | 'as named'
  #last = 0

  /** @param whose exchanges these are; `as named`: every message names the exchange that it belongs to */
  constructor(whose: 'one client' | 'as named') {
    this.#whose = whose
  }

  get size(): number {
    return this.#exchanges.size
  }

  /** So much waits for a stream that the server is not to be read before there is one, or something of which it owes the answer. */
  get isCrowded(): boolean {
    if (this.#waiting.length < manyWaiting && this.#waitingBytes < manyWaitingBytes) return false
    return !this.open().some(({ reply }) => reply.awaited)
  }

  open(): readonly Open[] {
    return [...this.#exchanges.values()]
  }

  entries(): readonly (readonly [Exchange, Open])[] {
    return [...this.#exchanges]
  }

  find(exchange: Exchange): Open | undefined {
    return this.#exchanges.get(exchange)
  }

  add(open: Open): Exchange {
    const exchange = `http-${++this.#last}`
    const ties = open.frame ? tiesOf(open.frame) : { requests: [], progress: [] }
    if (open.request === 'GET' && this.#whose === 'one client') this.#endOldestStream()
    const { reply, request, frame, claims, carries } = open
    // Spelt out, as in `received`.
    this.#exchanges.set(exchange, { reply, request, frame, claims, carries, ties })
    return exchange
  }

  /** What waited for an exchange like this leaves by it. */
  flush({ reply, request, carries }: Open): void {
    if (request !== 'GET' && !carries) return
    this.#waitingBytes = 0
    for (const frame of this.#waiting.splice(0)) reply.send(frame)
  }

  /** @returns false when it was gone before */
  delete(exchange: Exchange): boolean {
    return this.#exchanges.delete(exchange)
  }

  /** By which exchange a message leaves; undefined when there is none, or none yet. */
  route(exchange: Exchange, frame: Frame): Reply | undefined {
    const answers = frame.message.kind === 'result' || frame.message.kind === 'error'
    const named = this.#exchanges.get(exchange)
    // An answer belongs to its request, and to nothing else when that is gone.
    if (named || answers || this.#whose === 'as named') return named?.reply
    // On another stream than its request's, it might come after the answer.
    return this.#tied(frame) ?? this.#anyOfOne(frame)
  }

  #tied(frame: Frame): Reply | undefined {
    const named = tiesIn(frame)
    if (named === undefined) return undefined
    return [...this.#exchanges.values()].find(
      ({ reply, ties }) =>
        reply.awaited &&
        (ties.progress.some(key => named.progress.includes(key)) || ties.requests.some(key => named.requests.includes(key))),
    )?.reply
  }

  /** The newest stream that was opened for this; else that of a request that still waits; else whichever comes next. */
  #anyOfOne(frame: Frame): Reply | undefined {
    const open = [...this.#exchanges.values()].filter(({ reply }) => !reply.done).reverse()
    const chosen = open.find(({ request }) => request === 'GET') ?? open.find(({ reply, carries }) => carries && reply.awaited)
    if (chosen) return chosen.reply
    this.#waiting.push(frame)
    this.#waitingBytes += frame.bytes.length
    while (this.#waiting.length > mostWaiting || (this.#waitingBytes > mostWaitingBytes && this.#waiting.length > 1)) {
      this.#waitingBytes -= this.#waiting.shift()?.bytes.length ?? 0
    }
    return undefined
  }

  #endOldestStream(): void {
    const streams = [...this.#exchanges.values()].filter(({ request }) => request === 'GET')
    if (streams.length >= mostStreams) streams[0]?.reply.finish()
  }
}
