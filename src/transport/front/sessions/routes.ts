import { ChurnSet } from '../../../core/memory.js'
import type { Exchange } from '../../../core/event.js'
import type { Frame } from '../../../protocol/frame.js'
import type { IdKey } from '../../../protocol/json-rpc.js'
import { isObject, member, type Json } from '../../../protocol/json.js'
import { isId, written } from '../../../protocol/message.js'
import { inMeta } from '../../../protocol/revisions/index.js'
import { requestsIn, type Arrival } from '../arrival.js'
import type { Reply } from '../reply.js'

/** What a session goes by, of an HTTP request. */
export interface RequestFacts {
  readonly request: 'POST' | 'GET' | 'DELETE'
  /** Undefined where there is no message in it. */
  readonly frame?: Frame | undefined
  /** It names a session that only the server can know. */
  readonly claims: boolean
  /** Unasked messages of the server may leave with its answer: not before the handshake is over. */
  readonly carries: boolean
  readonly arrival: Arrival
}

/** One HTTP request and its response. */
export class FrontExchange implements Exchange {
  /** Undefined also when the response is over. */
  frame: Frame | undefined
  /** Bytes that came for the reader while it was slow. */
  unread = 0

  constructor(
    readonly name: string,
    readonly reply: Reply,
    readonly facts: RequestFacts,
  ) {
    this.frame = facts.frame
  }

  get context(): string {
    return this.facts.arrival.context('server')
  }

  get resumed(): boolean {
    return this.facts.request === 'GET' && this.facts.arrival.headers.has('last-event-id')
  }
}

/** What ties messages of the server to a request; as JSON text, as keys of ids are. */
interface Ties {
  readonly requests: readonly IdKey[]
  readonly progress: readonly IdKey[]
}

const tiesOf = (frame: Frame | undefined): Ties => {
  const requests = frame === undefined ? [] : requestsIn(frame)
  const metas = requests.map(({ params }) => member(params, '_meta'))
  return {
    requests: requests.map(({ key }) => key),
    progress: metas.flatMap(meta => (isObject(meta) ? keyOf(member(meta, 'progressToken')) : [])),
  }
}

/** Of a notification: the request whose progress it tells, or the subscription that it belongs to (2026-07-28). */
const tiesIn = ({ message }: Frame): Ties | undefined => {
  if (message.kind !== 'notification') return undefined
  const progress = message.method === 'notifications/progress' ? keyOf(member(message.params, 'progressToken')) : []
  const requests = keyOf(inMeta(message.params, 'subscriptionId'))
  return progress.length + requests.length > 0 ? { requests, progress } : undefined
}

const keyOf = (value: Json | undefined): readonly IdKey[] => (isId(value) ? [written(value)] : [])

/**
 * From so many messages of the server on that wait for a stream, or so many bytes of them, the server is held
 * back.
 */
const manyWaiting = 256
const manyWaitingBytes = 1024 * 1024
/**
 * Beyond this the oldest are dropped. Only a server that cannot be held back reaches it, because an answer
 * that carries nothing else is due by the same pipe.
 */
const mostWaiting = 4096
const mostWaitingBytes = 16 * 1024 * 1024
/** Streams opened by GET; the oldest is ended beyond this. */
const mostStreams = 4

/**
 * The open HTTP requests of a session, and which of them carries a message that names none: a process has one
 * pipe for all.
 */
export class Routes {
  readonly #open = new ChurnSet<FrontExchange>()
  readonly #waiting: Frame[] = []
  #waitingBytes = 0
  readonly #whose: 'one client' | 'as named'
  #last = 0

  /** @param whose exchanges these are; `as named`: every message names the exchange that it belongs to */
  constructor(whose: 'one client' | 'as named') {
    this.#whose = whose
  }

  get size(): number {
    return this.#open.size
  }

  /** So much waits for a stream that the server is not read before there is one, or an answer is due. */
  get isCrowded(): boolean {
    if (this.#waiting.length < manyWaiting && this.#waitingBytes < manyWaitingBytes) return false
    return !this.open().some(({ reply }) => reply.awaited)
  }

  open(): readonly FrontExchange[] {
    return this.#open.values()
  }

  find(exchange: Exchange): FrontExchange | undefined {
    return exchange instanceof FrontExchange && this.#open.has(exchange) ? exchange : undefined
  }

  add(reply: Reply, facts: RequestFacts): FrontExchange {
    if (facts.request === 'GET' && this.#whose === 'one client') this.#endOldestStream()
    const exchange = new FrontExchange(`http-${++this.#last}`, reply, facts)
    this.#open.add(exchange)
    return exchange
  }

  /** What waited for an exchange like this leaves by it. */
  flush({ reply, facts: { request, carries } }: FrontExchange): void {
    if (request !== 'GET' && !carries) return
    this.#waitingBytes = 0
    for (const frame of this.#waiting.splice(0)) reply.send(frame)
  }

  /** @returns false when it was gone before */
  delete(exchange: FrontExchange): boolean {
    return this.#open.delete(exchange)
  }

  /** The exchange by which a message leaves; undefined when there is none, or none yet. */
  route(exchange: Exchange, frame: Frame): FrontExchange | undefined {
    const answers = frame.message.kind === 'result' || frame.message.kind === 'error'
    const named = this.find(exchange)
    // An answer belongs to its request, and to nothing else when that is gone.
    if (named || answers || this.#whose === 'as named') return named
    // On another stream than its request's, it might come after the answer.
    return this.#tied(frame) ?? this.#anyOfOne(frame)
  }

  #tied(frame: Frame): FrontExchange | undefined {
    const named = tiesIn(frame)
    if (named === undefined) return undefined
    return this.open().find(
      ({ reply, frame }) => {
        if (!reply.awaited) return false
        const ties = tiesOf(frame)
        return ties.progress.some(key => named.progress.includes(key))
          || ties.requests.some(key => named.requests.includes(key))
      },
    )
  }

  /** The newest stream of a GET; else that of a request that still waits; else the next one. */
  #anyOfOne(frame: Frame): FrontExchange | undefined {
    const open = this.open().filter(({ reply }) => !reply.done).reverse()
    const chosen = open.find(({ facts }) => facts.request === 'GET')
      ?? open.find(({ reply, facts }) => facts.carries && reply.awaited)
    if (chosen) return chosen
    this.#waiting.push(frame)
    this.#waitingBytes += frame.bytes.length
    while (this.#waiting.length > mostWaiting || (this.#waitingBytes > mostWaitingBytes && this.#waiting.length > 1)) {
      this.#waitingBytes -= this.#waiting.shift()?.bytes.length ?? 0
    }
    return undefined
  }

  #endOldestStream(): void {
    const streams = this.open().filter(({ facts }) => facts.request === 'GET')
    if (streams.length >= mostStreams) streams[0]?.reply.finish()
  }
}
