import { ChurnSet } from '#relay/core/memory.js'
import type { Exchange } from '#relay/core/vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { isObject, member, type Json } from '#relay/protocol/json.js'
import { isId, written } from '#relay/protocol/message.js'
import { inMeta } from '#relay/protocol/revisions/index.js'
import { responseKeys } from '../../frames.js'
import type { RequestArrival } from '../arrival.js'
import { requestsIn } from '../message.js'
import type { Reply } from '../reply.js'

/** An HTTP request, as far as its session uses it. */
export interface RequestFacts {
  readonly request: 'POST' | 'GET' | 'DELETE'
  /** Undefined for a request without a message. */
  readonly frame?: Frame | undefined
  /** See `Destination`. */
  readonly isUnverified: boolean
  /** Its response may carry unrelated messages of the server: false until the handshake is over. */
  readonly carries: boolean
  readonly arrival: RequestArrival
}

/** One HTTP request and its response. */
export class FrontExchange implements Exchange {
  /** The client's message; undefined when the response is over. */
  frame: Frame | undefined
  /** Bytes sent to the client since it last read. */
  unread = 0

  constructor(
    readonly name: string,
    readonly reply: Reply,
    readonly facts: RequestFacts,
  ) {
    this.frame = facts.frame
  }

  get context(): string {
    return this.facts.arrival.context('headers')
  }

  get resumed(): boolean {
    return this.facts.request === 'GET' && this.facts.arrival.hasLastEventId
  }
}

/** Ids and progress tokens that relate a server's message to a request, as JSON text. */
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

/** Of a notification: the request whose progress it reports, or its subscription (2026-07-28). */
const tiesIn = ({ message }: Frame): Ties | undefined => {
  if (message.kind !== 'notification') return undefined
  const isProgress = message.method === 'notifications/progress'
  const progress = isProgress ? keyOf(member(message.params, 'progressToken')) : []
  const requests = keyOf(inMeta(message.params, 'subscriptionId'))
  return progress.length + requests.length > 0 ? { requests, progress } : undefined
}

const keyOf = (value: Json | undefined): readonly IdKey[] => (isId(value) ? [written(value)] : [])

const isPrinted = ({ message, faults }: Frame): boolean =>
  message.kind === 'unusable' && faults.some(({ kind }) => kind === 'json')

/** The server is paused when this many of its messages, or bytes of them, wait for a stream. */
const manyWaiting = 256
const manyWaitingBytes = 1024 * 1024
/**
 * Beyond these limits the oldest waiting messages are dropped. They are reached only while an answer is
 * expected, because then the server is not paused.
 */
const maxWaiting = 4096
const maxWaitingBytes = 16 * 1024 * 1024
/** The most streams opened by GET; beyond this the oldest is ended. */
const maxStreams = 4

/**
 * The open HTTP requests of a session. Chooses the one that carries a message: a stdio server sends all
 * messages on one pipe.
 */
export class Routes {
  readonly #open = new ChurnSet<FrontExchange>()
  readonly #waiting: Frame[] = []
  #waitingBytes = 0
  #last = 0

  /** @param whose `as named`: every message names its exchange */
  constructor(private readonly whose: 'one client' | 'as named') {}

  get size(): number {
    return this.#open.size
  }

  /** Above the high-water mark: the server is not read until a stream opens or an answer is expected. */
  get isAboveHighWater(): boolean {
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
    if (facts.request === 'GET' && this.whose === 'one client') this.#endOldestStream()
    const exchange = new FrontExchange(`http-${++this.#last}`, reply, facts)
    this.#open.add(exchange)
    return exchange
  }

  /** Sends the waiting messages, if the exchange may carry them. */
  flush({ reply, facts: { request, carries } }: FrontExchange): void {
    if (request !== 'GET' && !carries) return
    this.#waitingBytes = 0
    for (const frame of this.#waiting.splice(0)) reply.send(frame)
  }

  /** @returns false when it was gone before */
  delete(exchange: FrontExchange): boolean {
    return this.#open.delete(exchange)
  }

  /** The exchange that carries a message; undefined when there is none, or none yet. */
  route(exchange: Exchange, frame: Frame): FrontExchange | undefined {
    const answers = responseKeys(frame).length > 0
    const named = this.find(exchange)
    // An answer is dropped when its request is gone; what a process prints is no event of a stream.
    if (named || answers || isPrinted(frame) || this.whose === 'as named') return named
    // On another stream than its request's, progress could arrive after the answer.
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

  /** The newest stream of a GET, else a pending request, else the next exchange that may carry messages. */
  #anyOfOne(frame: Frame): FrontExchange | undefined {
    const open = this.open().filter(({ reply }) => !reply.done).reverse()
    const chosen = open.find(({ facts }) => facts.request === 'GET')
      ?? open.find(({ reply, facts }) => facts.carries && reply.awaited)
    if (chosen) return chosen
    this.#waiting.push(frame)
    this.#waitingBytes += frame.bytes.length
    while (
      this.#waiting.length > maxWaiting
      || (this.#waitingBytes > maxWaitingBytes && this.#waiting.length > 1)
    ) {
      this.#waitingBytes -= this.#waiting.shift()?.bytes.length ?? 0
    }
    return undefined
  }

  #endOldestStream(): void {
    const streams = this.open().filter(({ facts }) => facts.request === 'GET')
    if (streams.length >= maxStreams) streams[0]?.reply.finish()
  }
}
