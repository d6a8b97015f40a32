import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { Identity } from '#core/event.js'
import type { IdKey } from '#protocol/json-rpc.js'
import type { FrontRequest, FrontResponse, ProcessSlot } from '../front/request.js'
import { windowBytes, type Wire } from './wire.js'

/** The head of a request, as the front sends it. */
export interface OpenHead {
  readonly path: string
  readonly method: string
  readonly httpVersion: string
  readonly headers: IncomingHttpHeaders
  /** See `Peer`. */
  readonly address: string
  readonly token: number | null
  readonly subject: Identity | null
  /** The Authorization header for the server behind, where the client has a token of its own for that. */
  readonly upstream: string | null
  readonly isSecure: boolean
  /**
   * Whether the front has reserved a place for the server process of a session that the request may begin
   * (`full`: none was free); null: the request begins no such session.
   */
  readonly place: 'kept' | 'full' | null
}

export type ResponseHead = readonly [
  status: number,
  /** Names and values in turn, given to `writeHead`. */
  raw: readonly (string | string[])[],
  /** Names and values given to `setHeader` before. */
  set: readonly (readonly [string, string | string[]])[],
]

/** A request of the front, with the interface that a listener of Node's gets. */
export class ChannelRequest extends EventEmitter implements FrontRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly httpVersion: string
  /** The front discards what is not read of the body. */
  readonly complete = true
  readonly socket: { destroyed: boolean; readonly remoteAddress: string }
  readonly processSlot?: ProcessSlot
  readonly #place: Place | undefined
  readonly #passed: (bytes: number) => void
  /** Parts of the body that came before the first listener. */
  readonly #early: Buffer[] = []
  #isRead = false
  #isEnded = false
  /** Bytes passed on, not yet reported to the front. */
  #unreported = 0

  constructor(wire: Wire, exchange: number, head: OpenHead) {
    super()
    const { address, isSecure, place } = head
    this.method = head.method
    this.url = head.path
    this.headers = head.headers
    this.httpVersion = head.httpVersion
    this.socket = { destroyed: false, remoteAddress: address, ...(isSecure && { encrypted: true }) }
    if (place === 'full') this.processSlot = { reserve: () => undefined }
    else if (place === 'kept') this.processSlot = this.#place = new Place(() => wire.send('leave', exchange))
    this.#passed = bytes => wire.taken(exchange, bytes)
  }

  override on(event: string, listener: (chunk: Buffer) => void): this {
    super.on(event, listener)
    if (event === 'data' && !this.#isRead) process.nextTick(() => this.#release())
    return this
  }

  body(part: Buffer): void {
    if (this.#isRead) this.#pass(part)
    else this.#early.push(part)
  }

  bodyEnd(): void {
    this.#isEnded = true
    if (this.#isRead) this.emit('end')
  }

  gone(): void {
    this.socket.destroyed = true
    this.#place?.over()
    if (!this.#isEnded) this.emit('close')
  }

  pause(): void {
    // At most one window of the body waits here.
  }

  resume(): void {
    this.#release()
  }

  destroy(): void {
    // The response is destroyed instead.
  }

  #release(): void {
    if (this.#isRead) return
    this.#isRead = true
    for (const part of this.#early.splice(0)) this.#pass(part)
    if (this.#isEnded) this.emit('end')
  }

  #pass(part: Buffer): void {
    this.#unreported += part.length
    if (this.#unreported >= windowBytes / 4) {
      this.#passed(this.#unreported)
      this.#unreported = 0
    }
    this.emit('data', part)
  }
}

/**
 * The place that the front has reserved for the process of a session that the request may begin. Given back
 * once: when that session is closed, or at the end of a request that began none.
 */
class Place implements ProcessSlot {
  readonly #giveBack: () => void
  #state: 'free' | 'taken' | 'given back' = 'free'

  constructor(giveBack: () => void) {
    this.#giveBack = giveBack
  }

  reserve(): (() => void) | undefined {
    if (this.#state !== 'free') return undefined
    this.#state = 'taken'
    return this.#giveBack
  }

  /** The request is over. */
  over(): void {
    if (this.#state !== 'free') return
    this.#state = 'given back'
    this.#giveBack()
  }
}

/** The response to a `ChannelRequest`. Its bytes are sent to the front as far as the window has room. */
export class ChannelResponse extends EventEmitter implements FrontResponse {
  readonly req: ChannelRequest
  readonly socket = null
  headersSent = false
  destroyed = false
  closed = false
  writableNeedDrain = false
  readonly #wire: Wire
  readonly #exchange: number
  readonly #set: [string, string | string[]][] = []
  /** Parts that the window has no room for yet. */
  readonly #unsent: Buffer[] = []
  #unsentBytes = 0
  #untaken = 0
  #isEnded = false
  #isAllSent = false

  constructor(wire: Wire, exchange: number, request: ChannelRequest) {
    super()
    this.#wire = wire
    this.#exchange = exchange
    this.req = request
  }

  get writableLength(): number {
    return this.#untaken + this.#unsentBytes
  }

  writeHead(status: number, headers: OutgoingHttpHeaders | (string | string[])[] = []): void {
    this.headersSent = true
    const raw = Array.isArray(headers)
      ? headers
      : Object.entries(headers).flatMap(([name, value]) => [name, String(value)])
    const head: ResponseHead = [status, raw, this.#set]
    this.#wire.sendJson('head', this.#exchange, head)
  }

  sendHead(): void {
    this.#wire.send('flush', this.#exchange)
  }

  writeContinue(): void {
    this.#wire.send('continue', this.#exchange)
  }

  /** The front adds the CORS headers. */
  hasHeader(): boolean {
    return false
  }

  setHeader(name: string, value: string | string[]): void {
    this.#set.push([name, value])
  }

  appendHeader(name: string, values: readonly string[]): void {
    this.#set.push([name, [...values]])
  }

  // An id is the text of a JSON value, which has no line feed.
  setPending(keys: readonly IdKey[]): void {
    if (keys.length > 0) this.#wire.send('pending', this.#exchange, Buffer.from(keys.join('\n')), false)
  }

  setAnswered(keys: readonly IdKey[]): void {
    if (keys.length > 0) this.#wire.send('answered', this.#exchange, Buffer.from(keys.join('\n')), false)
  }

  write(chunk: Buffer | string): boolean {
    this.#send(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    this.writableNeedDrain ||= this.writableLength >= windowBytes
    return !this.writableNeedDrain
  }

  end(chunk?: Buffer): void {
    this.#isEnded = true
    this.#send(chunk)
  }

  destroy(): void {
    this.destroyed = true
    this.#wire.send('cut', this.#exchange)
  }

  taken(bytes: number): void {
    this.#untaken -= bytes
    this.#send()
    if (!this.writableNeedDrain || this.writableLength > windowBytes / 4) return
    this.writableNeedDrain = false
    this.emit('drain')
  }

  /** @param hasHead the client's connection got the head */
  gone(hasHead: boolean): void {
    this.headersSent = hasHead
    this.closed = this.destroyed = true
    this.req.gone()
    this.emit('close')
  }

  #send(chunk?: Buffer): void {
    if (this.destroyed || this.#isAllSent) return
    if (chunk) {
      this.#unsent.push(chunk)
      this.#unsentBytes += chunk.length
    }
    let wasLast = false
    while (this.#unsent.length > 0 && this.#untaken < windowBytes) {
      wasLast = this.#sendPart(windowBytes - this.#untaken)
    }
    if (!this.#isEnded || wasLast || this.#unsent.length > 0) return
    this.#isAllSent = true
    this.#wire.send('last', this.#exchange)
  }

  /** @returns whether it was the last part of the body */
  #sendPart(maxBytes: number): boolean {
    const first = this.#unsent.shift() ?? nothing
    const part = first.subarray(0, maxBytes)
    if (part.length < first.length) this.#unsent.unshift(first.subarray(maxBytes))
    this.#untaken += part.length
    this.#unsentBytes -= part.length
    this.#isAllSent = this.#isEnded && this.#unsent.length === 0
    this.#wire.send(this.#isAllSent ? 'last' : 'piece', this.#exchange, part)
    return this.#isAllSent
  }
}

const nothing = Buffer.alloc(0)
