import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { Readable, Writable } from 'node:stream'
import type { Identity } from '#relay/core/vocabulary.js'
import type { JsonObject } from '#relay/protocol/json.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
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
  /** See `FrontRequest`. */
  readonly agreed: JsonObject | null
  /**
   * Whether the front has reserved a place for the server process of a session that the request may begin
   * (`full`: none was free); null: the request begins no such session.
   */
  readonly place: 'kept' | 'full' | null
}

export type ChannelHead = readonly [
  status: number,
  /** Names and values in turn, given to `writeHead`. */
  raw: readonly (string | string[])[],
  /** Names and values given to `setHeader` before. */
  set: readonly (readonly [string, string | string[]])[],
]

/** A request of the front, with the interface that a listener of Node's gets. */
export class ChannelRequest extends Readable implements FrontRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly httpVersion: string
  /** The front discards what is not read of the body. */
  readonly complete = true
  readonly socket: { destroyed: boolean; readonly remoteAddress: string }
  readonly processSlot?: ProcessSlot
  readonly agreed: JsonObject | undefined
  readonly #place: Place | undefined

  constructor(wire: Wire, exchange: number, head: OpenHead) {
    // The front's quota for bodies limits what is kept here.
    super({ read: () => undefined, autoDestroy: false })
    const { address, isSecure, place } = head
    this.method = head.method
    this.url = head.path
    this.headers = head.headers
    this.httpVersion = head.httpVersion
    this.agreed = head.agreed ?? undefined
    this.socket = { destroyed: false, remoteAddress: address, ...(isSecure && { encrypted: true }) }
    if (place === 'full') this.processSlot = { reserve: () => undefined }
    else if (place === 'kept') this.processSlot = this.#place = new Place(() => wire.send('leave', exchange))
  }

  gone(): void {
    this.socket.destroyed = true
    this.#place?.over()
    if (!this.readableEnded) this.destroy()
  }
}

/**
 * The place that the front has reserved for the process of a session that the request may begin. Given back
 * once: when that session is closed, or at the end of a request that began none.
 */
class Place implements ProcessSlot {
  #state: 'free' | 'taken' | 'given back' = 'free'

  constructor(private readonly giveBack: () => void) {}

  reserve(): (() => void) | undefined {
    if (this.#state !== 'free') return undefined
    this.#state = 'taken'
    return this.giveBack
  }

  /** The request is over. */
  over(): void {
    if (this.#state !== 'free') return
    this.#state = 'given back'
    this.giveBack()
  }
}

/** The response to a `ChannelRequest`. Its bytes are sent to the front as far as the window has room. */
export class ChannelResponse extends Writable implements FrontResponse {
  readonly req: ChannelRequest
  readonly socket = null
  readonly isWrittenLater = true
  headersSent = false
  readonly #set: [string, string | string[]][] = []
  /** Bytes that are sent, and that the client has not taken yet. */
  #untaken = 0
  /** Sends the rest of a write that the window had no room for. */
  #sendRest: (() => void) | undefined
  #last: Buffer | undefined
  #isGone = false
  #closeWhenGone: (() => void) | undefined

  constructor(private readonly wire: Wire, private readonly exchange: number, request: ChannelRequest) {
    super({ highWaterMark: windowBytes, autoDestroy: false })
    this.req = request
    // A write came after the end.
    this.on('error', () => undefined)
  }

  writeHead(status: number, headers: OutgoingHttpHeaders | (string | string[])[] = []): void {
    this.headersSent = true
    const raw = Array.isArray(headers)
      ? headers
      : Object.entries(headers).flatMap(([name, value]) => [name, String(value)])
    const head: ChannelHead = [status, raw, this.#set]
    this.wire.sendJson('head', this.exchange, head)
  }

  sendHead(): void {
    this.wire.send('flush', this.exchange)
  }

  writeContinue(): void {
    this.wire.send('continue', this.exchange)
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
    if (keys.length > 0) this.wire.send('pending', this.exchange, keys.join('\n'), false)
  }

  setAnswered(keys: readonly IdKey[]): void {
    if (keys.length > 0) this.wire.send('answered', this.exchange, keys.join('\n'), false)
  }

  taken(bytes: number): void {
    this.#untaken -= bytes
    this.#sendRest?.()
  }

  /** @param hasHead the client's connection got the head */
  gone(hasHead: boolean): void {
    this.headersSent = hasHead
    this.#isGone = true
    this.req.gone()
    this.destroy()
    this.#closeWhenGone?.()
  }

  override _write(chunk: Buffer, encoding: string, done: () => void): void {
    const part = chunk.subarray(0, windowBytes - this.#untaken)
    const rest = chunk.subarray(part.length)
    this.#untaken += part.length
    if (part.length > 0) this.wire.send('piece', this.exchange, part)
    this.#sendRest = rest.length === 0 ? undefined : () => this._write(rest, encoding, done)
    if (rest.length === 0) done()
  }

  /** A last part for which there is room goes with the end: the front then writes once. */
  override end(chunk?: unknown): this {
    const room = windowBytes - this.#untaken - this.writableLength
    if (!Buffer.isBuffer(chunk) || chunk.length > room) return super.end(chunk)
    this.#last = chunk
    return super.end()
  }

  override _final(done: () => void): void {
    this.wire.send('last', this.exchange, this.#last)
    done()
  }

  override _destroy(_: Error | null, done: () => void): void {
    if (this.#isGone) return done()
    this.wire.send('cut', this.exchange)
    this.#closeWhenGone = done
  }
}
