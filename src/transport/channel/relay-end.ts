import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { deserialize } from 'node:v8'
import { ChurnMap } from '../../core/memory.js'
import type { IdKey } from '../../protocol/json-rpc.js'
import { Arrival } from '../front/arrival.js'
import type { Backend } from '../front/endpoints.js'
import type { FrontRequest, FrontResponse, ProcessPlace } from '../front/request.js'
import { type Calls, Channel, type Message } from './calls.js'
import { type Kind, windowBytes, Wire } from './wire.js'

/** The head of a request, as the front sends it. */
export interface OpenHead {
  readonly path: string
  readonly method: string
  readonly httpVersion: string
  readonly headers: IncomingHttpHeaders
  /** See `Peer`. */
  readonly address: string
  readonly token: number | null
  readonly isSecure: boolean
  /** Of a process, for the session that it may begin; null: it begins none. */
  readonly place: 'kept' | 'full' | null
}

/** The head of a response: its status, its names and values in turn, and those that are set apart (see `writeHead`). */
export type ResponseHead = readonly [status: number, raw: readonly (string | string[])[], set: readonly (readonly [string, string | string[]])[]]

/** So many responses that are over are remembered. */
const mostPast = 1024

/** What the heartbeat tells. */
export interface Vitals {
  /** Resident memory, in bytes. */
  readonly rss: number
  readonly sessions: number
}

export interface RelayEndOptions {
  /** Answers a request; may do so later. */
  readonly serve: Backend['serve']
  readonly calls: Calls
  readonly vitals: () => Vitals
  /** The front is gone. */
  readonly closed: () => void
}

/** The relay process's end of the channel: requests come out of it as Node's own would out of a listener. */
export class RelayEnd<Theirs extends Calls> {
  readonly calls: Channel<Theirs>
  readonly #wire: Wire
  readonly #options: RelayEndOptions
  readonly #open = new ChurnMap<number, ChannelResponse>()
  /** What to do when the connection of a response that is over ends before the client has asked for more; the oldest first. */
  readonly #past = new Map<number, () => void>()

  constructor(stream: Duplex, options: RelayEndOptions) {
    this.#options = options
    this.#wire = new Wire(stream, { frame: (kind, exchange, payload) => this.#frames[kind]?.(exchange, payload), closed: () => this.#closed() })
    this.calls = new Channel<Theirs>(message => this.#wire.sendJson('note', 0, message), options.calls)
  }

  /** Sends what waits for the end of the turn. */
  flush(): void {
    this.#wire.flush()
  }

  /** What the front sends. */
  readonly #frames: Readonly<Partial<Record<Kind, (exchange: number, payload: Buffer) => void>>> = {
    open: (exchange, payload) => this.#begin(exchange, JSON.parse(payload.toString()) as OpenHead),
    body: (exchange, payload) => this.#open.get(exchange)?.req.body(payload),
    bodyEnd: exchange => this.#open.get(exchange)?.req.bodyEnd(),
    taken: (exchange, payload) => this.#open.get(exchange)?.taken(payload.readUInt32LE(0)),
    gone: exchange => this.#over(exchange),
    unread: exchange => this.#past.get(exchange)?.(),
    ping: () => this.#wire.sendJson('pong', 0, this.#options.vitals()),
    note: (_, payload) => this.calls.heard(deserialize(payload) as Message),
  }

  #begin(exchange: number, head: OpenHead): void {
    // Should this request end the process, the front knows the ids of those that came before it.
    this.#wire.flushLate()
    const request = new ChannelRequest(this.#wire, exchange, head)
    const response = new ChannelResponse(this.#wire, exchange, request)
    this.#open.set(exchange, response)
    this.#options.serve(request, response, new Arrival(request, head.token ?? undefined))
  }

  #over(exchange: number): void {
    const response = this.#open.get(exchange)
    if (!response) return
    this.#open.delete(exchange)
    const act = response.onUnread
    if (act) this.#past.set(exchange, act)
    const [oldest] = this.#past.keys()
    if (this.#past.size > mostPast && oldest !== undefined) this.#past.delete(oldest)
    response.gone()
  }

  #closed(): void {
    for (const exchange of this.#open.keys()) this.#over(exchange)
    this.calls.close()
    this.#options.closed()
  }
}

class ChannelRequest extends EventEmitter implements FrontRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly httpVersion: string
  /** What is not read of it is the front's to deal with. */
  readonly complete = true
  readonly socket: { destroyed: boolean; readonly remoteAddress: string }
  readonly place?: ProcessPlace
  readonly #passed: (bytes: number) => void
  /** Came before anybody listened. */
  readonly #early: Buffer[] = []
  #isRead = false
  #isEnded = false
  #untold = 0

  constructor(wire: Wire, exchange: number, { path, method, headers, httpVersion, address, isSecure, place }: OpenHead) {
    super()
    this.method = method
    this.url = path
    this.headers = headers
    this.httpVersion = httpVersion
    this.socket = { destroyed: false, remoteAddress: address, ...(isSecure && { encrypted: true }) }
    if (place !== null) this.place = { take: () => (place === 'kept' ? takePlace(wire, exchange) : undefined) }
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
    if (!this.#isEnded) this.emit('close')
  }

  pause(): void {
    // At most a window of it waits here.
  }

  resume(): void {
    this.#release()
  }

  destroy(): void {
    // Its response is cut instead.
  }

  #release(): void {
    if (this.#isRead) return
    this.#isRead = true
    for (const part of this.#early.splice(0)) this.#pass(part)
    if (this.#isEnded) this.emit('end')
  }

  #pass(part: Buffer): void {
    this.#untold += part.length
    if (this.#untold >= windowBytes / 4) {
      this.#passed(this.#untold)
      this.#untold = 0
    }
    this.emit('data', part)
  }
}

const takePlace = (wire: Wire, exchange: number): (() => void) => {
  wire.send('keep', exchange)
  return () => wire.send('leave', exchange)
}

class ChannelResponse extends EventEmitter implements FrontResponse {
  readonly req: ChannelRequest
  readonly socket = null
  headersSent = false
  destroyed = false
  onUnread?: () => void
  writableNeedDrain = false
  readonly #wire: Wire
  readonly #exchange: number
  readonly #set: [string, string | string[]][] = []
  /** What the window has no room for yet. */
  readonly #unsent: Buffer[] = []
  #unsentBytes = 0
  #untaken = 0
  #isEnded = false
  #isAllSent = false
  #owed = ''

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
    const raw = Array.isArray(headers) ? headers : Object.entries(headers).flatMap(([name, value]) => [name, String(value)])
    const head: ResponseHead = [status, raw, this.#set]
    this.#wire.sendJson('head', this.#exchange, head)
  }

  sendHead(): void {
    this.#wire.send('flush', this.#exchange)
  }

  writeContinue(): void {
    this.#wire.send('goOn', this.#exchange)
  }

  /** The front adds what browsers need. */
  hasHeader(): boolean {
    return false
  }

  setHeader(name: string, value: string | string[]): void {
    this.#set.push([name, value])
  }

  appendHeader(name: string, values: readonly string[]): void {
    this.#set.push([name, [...values]])
  }

  owes(key: IdKey | undefined = ''): void {
    if (key === this.#owed) return
    this.#owed = key
    this.#wire.send('owes', this.#exchange, Buffer.from(key), false)
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

  gone(): void {
    this.destroyed = true
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
    while (this.#unsent.length > 0 && this.#untaken < windowBytes) wasLast = this.#sendPart(windowBytes - this.#untaken)
    if (!this.#isEnded || wasLast || this.#unsent.length > 0) return
    this.#isAllSent = true
    this.#wire.send('last', this.#exchange)
  }

  /** @returns whether it was the last of all */
  #sendPart(most: number): boolean {
    const first = this.#unsent.shift() ?? nothing
    const part = first.subarray(0, most)
    if (part.length < first.length) this.#unsent.unshift(first.subarray(most))
    this.#untaken += part.length
    this.#unsentBytes -= part.length
    this.#isAllSent = this.#isEnded && this.#unsent.length === 0
    this.#wire.send(this.#isAllSent ? 'last' : 'piece', this.#exchange, part)
    return this.#isAllSent
  }
}

const nothing = Buffer.alloc(0)
