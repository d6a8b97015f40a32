import type { Duplex } from 'node:stream'
import { serialize } from 'node:v8'
import { ChurnMap } from '#relay/core/memory.js'
import { errorCode, type IdKey } from '#relay/protocol/json-rpc.js'
import type { RequestArrival } from '../front/arrival.js'
import type { Backend } from '../front/endpoints.js'
import { quotaClientOf, Share, type Quota } from '../front/quota.js'
import { endUnread, refusal, refusalBody, refuse, type Refusal } from '../front/refusal.js'
import { type FrontRequest, type FrontResponse, onceOver } from '../front/request.js'
import { realTimers, type Timers } from '../timers.js'
import { type ChannelCalls, Channel, type ChannelMessage } from './calls.js'
import type { OpenHead, ChannelHead } from './exchange.js'
import { ServedAsks } from './served.js'
import { type WireKind, Wire } from './wire.js'

/** An admitted request, for a relay process to serve. */
export interface Admitted {
  readonly request: FrontRequest
  readonly response: FrontResponse
  readonly arrival: RequestArrival
  /** Releases the place of a request that may begin a session with a server process; `full`: none is free. */
  readonly place: (() => void) | 'full' | undefined
}

interface FrontEndOptions {
  readonly calls: ChannelCalls
  /** Limits the bodies of all requests, over all processes. */
  readonly bodies: Quota
  /** A response has named a session. */
  readonly named: (session: string) => void
  /** Answers the requests of the process to other endpoints; undefined: it sends none. */
  readonly serve?: Backend['serve'] | undefined
  readonly timers?: Timers
}

/** The front's end of the channel to one relay process. */
export class FrontEnd<Theirs extends ChannelCalls> {
  readonly calls: Channel<Theirs>
  readonly #wire: Wire
  readonly #open = new ChurnMap<number, HandedOver>()
  /**
   * Release the places of requests that may begin a session with a server process, by their exchange. The
   * relay process alone knows whether one did: it says when the place is free again (`leave`).
   */
  readonly #places = new Map<number, () => void>()
  readonly #served: ServedAsks | undefined
  #last = 0

  constructor(stream: Duplex, private readonly options: FrontEndOptions) {
    this.#wire = new Wire(stream, {
      frame: (...frame) => this.#frame(...frame), closed: () => this.#closed(),
    })
    this.#served = options.serve && new ServedAsks(this.#wire, options.serve)
    this.calls = new Channel<Theirs>(
      message => this.#wire.send('note', 0, serialize(message)), options.calls, options.timers,
    )
  }

  /** Exchanges that are not over. */
  get inFlight(): number {
    return this.#open.size
  }

  handOver(admitted: Admitted): void {
    this.#last = (this.#last + 1) % 2 ** 32
    const number = this.#last
    const { place, response } = admitted
    if (typeof place === 'function') this.#places.set(number, place)
    const exchange = new HandedOver(this.#wire, number, admitted, this.options)
    this.#open.set(number, exchange)
    onceOver(response, () => {
      this.#open.delete(number)
      exchange.over()
    })
  }

  /** The process is gone: answers its requests, and releases its places. */
  lose(): void {
    this.#wire.close()
    for (const exchange of this.#open.values()) exchange.lose()
    for (const number of [...this.#places.keys()]) this.#leave(number)
  }

  #closed(): void {
    this.calls.close()
    this.#served?.lose()
  }

  #leave(number: number): void {
    const leave = this.#places.get(number)
    this.#places.delete(number)
    leave?.()
  }

  #frame(kind: WireKind, number: number, payload: Buffer): void {
    if (kind === 'note') return this.calls.onMessage(JSON.parse(payload.toString()) as ChannelMessage)
    if (kind === 'leave') return this.#leave(number)
    this.#open.get(number)?.frame(kind, payload)
    this.#served?.frame(kind, number, payload)
  }
}

/** A request that a relay process serves, and its response. */
class HandedOver {
  readonly #request: FrontRequest
  readonly #response: FrontResponse
  readonly #named: FrontEndOptions['named']
  readonly #share: Share
  /** Bytes of the response that the client took, not yet reported to the relay process. */
  #taken = 0
  /** Ids of requests that need a response. */
  readonly #pending = new Set<IdKey>()
  /** The relay process has sent all of the response. */
  #isWhole = false
  #isStream = false
  /** The head is on its way to the client: Node keeps a head back until something follows it. */
  #isBegun = false
  /** The socket is corked until the end of the turn. */
  #isCorked = false
  /** The body is not read until the process reads again. */
  #isWaiting = false
  /** The response ends with a complete event. */
  #isBetweenEvents = true

  constructor(
    private readonly wire: Wire,
    private readonly number: number,
    admitted: Admitted,
    { bodies, named }: FrontEndOptions,
  ) {
    const { request, response, arrival, place } = admitted
    this.#request = request
    this.#response = response
    this.#named = named
    this.#share = new Share(bodies, quotaClientOf(arrival), response)
    const { method = '', httpVersion, headers } = request
    const { path, address, token = null, subject = null, scheme, upstream, agreed = null } = arrival
    const head: OpenHead = {
      path, method, httpVersion, headers, address, token, subject, upstream: upstream?.header ?? null,
      isSecure: scheme === 'https', agreed,
      place: place === undefined ? null : place === 'full' ? 'full' : 'kept',
    }
    wire.sendJson('open', number, head)
    request.on('data', this.#body)
    this.#waitForRoom()
    request.once('end', this.#bodyEnd)
  }

  /** Handles a frame of the relay process. */
  frame(kind: WireKind, payload: Buffer): void {
    this.#isBegun ||= kind === 'flush' || kind === 'piece' || kind === 'last'
    switch (kind) {
      case 'head': return this.#head(JSON.parse(payload.toString()) as ChannelHead)
      case 'flush': return this.#flush()
      case 'piece': return this.#piece(payload)
      case 'last':
        this.#isWhole = true
        return endUnread(this.#request, this.#response, payload, realTimers)
      case 'cut': return void this.#response.destroy()
      case 'continue': return this.#response.writeContinue()
      case 'pending': return keysIn(payload).forEach(key => this.#pending.add(key))
      case 'answered': return keysIn(payload).forEach(key => this.#pending.delete(key))
      // The others are handled by `FrontEnd`, or are never sent to the front.
      case 'open': case 'body': case 'bodyEnd': case 'gone': case 'leave': case 'note': case 'taken':
    }
  }

  /** The response is over, complete or not. */
  over(): void {
    const isPart = !this.#response.writableFinished
    this.wire.send('gone', this.number, this.#isBegun ? one : nothing, isPart)
  }

  /** The process is gone: answers as it would for a server that is gone. */
  lose(): void {
    // The client has not read all of it yet.
    if (this.#isWhole) return
    this.#ignoreBody()
    const keys = [...this.#pending]
    if (!this.#response.headersSent) refuse(this.#request, this.#response, lost, realTimers, keys)
    else if (!this.#isStream || !this.#isBetweenEvents) this.#response.destroy()
    else this.#response.end(Buffer.from(keys.map(key => `data: ${refusalBody(lost, key).toString()}\n\n`).join('')))
  }

  readonly #body = (chunk: Buffer): void => {
    if (!this.#share.take(chunk.length)) {
      this.#ignoreBody()
      refuse(this.#request, this.#response, noRoom, realTimers)
      return
    }
    this.wire.send('body', this.number, chunk)
    this.#waitForRoom()
  }

  readonly #bodyEnd = (): void => this.wire.send('bodyEnd', this.number)

  /** Of a body that is not sent whole, the end is not sent either: the server must not get a part of it. */
  #ignoreBody(): void {
    this.#request.off('data', this.#body)
    this.#request.off('end', this.#bodyEnd)
  }

  /** Bodies wait in the sockets of their clients while the process does not read. */
  #waitForRoom(): void {
    if (!this.wire.isFull || this.#isWaiting) return
    this.#isWaiting = true
    this.#request.pause()
    this.wire.onceFree(() => {
      this.#isWaiting = false
      this.#request.resume()
    })
  }

  #head([status, raw, set]: ChannelHead): void {
    const response = this.#response
    if (response.headersSent) return
    for (const [name, value] of set) {
      if (name === 'mcp-session-id') this.#named(String(value))
      response.setHeader(name, value)
    }
    const head: (string | string[])[] = []
    for (let at = 0; at < raw.length; at += 2) {
      const [name, value] = [String(raw[at]), raw[at + 1] ?? '']
      // The value that was set for CORS stays.
      if (name === 'vary' && response.hasHeader(name)) response.appendHeader(name, [value].flat())
      else head.push(name, value)
    }
    // The rest of the request's body is not read.
    if (!this.#request.complete) head.push('connection', 'close')
    response.writeHead(status, head)
  }

  #flush(): void {
    this.#isStream = true
    this.#cork()
    // Node's `flushHeaders` would write the head as UTF-8 (see `Reply`).
    this.#response.write(nothing)
  }

  /** Writes everything of this turn of the event loop together. */
  #cork(): void {
    const { socket } = this.#response
    if (this.#isCorked || !socket) return
    this.#isCorked = true
    socket.cork()
    setImmediate(() => {
      this.#isCorked = false
      socket.uncork()
    })
  }

  #piece(part: Buffer): void {
    if (part.length === 0) return
    this.#cork()
    this.#isBetweenEvents = part.length > 1 && part.at(-1) === newline && part.at(-2) === newline
    this.#response.write(part, () => this.#tookMore(part.length))
  }

  #tookMore(bytes: number): void {
    if (this.#taken === 0) {
      setImmediate(() => {
        this.wire.taken(this.number, this.#taken)
        this.#taken = 0
      })
    }
    this.#taken += bytes
  }
}

const keysIn = (payload: Buffer): readonly IdKey[] => payload.toString().split('\n')

const nothing = Buffer.alloc(0)
const one = Buffer.from([1])
const newline = 10
const lost: Refusal = {
  status: 502, code: errorCode.gone, message: 'The server gave no answer: its relay process has ended',
}
const noRoom = refusal(
  503, 'There is no room for this body: too much of others is waiting', { 'retry-after': '5' },
)

/** Answers a request that no relay process can serve, like one whose relay process is gone. */
export const answerLost = ({ request, response }: Admitted): void =>
  refuse(request, response, { ...lost, headers: { 'retry-after': '1' } }, realTimers)
