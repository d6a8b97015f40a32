import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { serialize } from 'node:v8'
import { ChurnMap } from '../../core/memory.js'
import { errorCode } from '../../protocol/json-rpc.js'
import type { Arrival } from '../front/arrival.js'
import { clientOf, Share, type Quota } from '../front/quota.js'
import { endUnread, refusal, refusalBody, refuse, type Refusal } from '../front/refusal.js'
import type { FrontResponse } from '../front/request.js'
import { realTimers } from '../timers.js'
import { type Calls, Channel, type Message } from './calls.js'
import type { OpenHead, ResponseHead, Vitals } from './relay-end.js'
import { type Kind, windowBytes, Wire } from './wire.js'

/** A request that was let in, for a relay process to serve. */
export interface Admitted {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly arrival: Arrival
  /** For a request that may begin a session with a process of its own: gives its place back; or there is none. */
  readonly place: (() => void) | 'full' | undefined
}

export interface FrontEndOptions {
  readonly calls: Calls
  /** For the bodies of all requests, whichever process has them. */
  readonly bodies: Quota
  readonly alive: (vitals: Vitals) => void
  /** A response has named a session. */
  readonly named: (session: string) => void
  readonly closed: () => void
}

/** The front's end of the channel to one relay process. */
export class FrontEnd<Theirs extends Calls> {
  readonly calls: Channel<Theirs>
  readonly #wire: Wire
  readonly #options: FrontEndOptions
  readonly #open = new ChurnMap<number, HandedOver>()
  /** Places of processes that run for sessions, by the exchange that began it. */
  readonly #places = new Map<number, () => void>()
  #last = 0
  /** Responses that are over. */
  served = 0

  constructor(stream: Duplex, options: FrontEndOptions) {
    this.#options = options
    this.#wire = new Wire(stream, { frame: (...frame) => this.#frame(...frame), closed: options.closed })
    this.calls = new Channel<Theirs>(message => this.#wire.send('note', 0, serialize(message)), options.calls)
  }

  /** Exchanges that are not over. */
  get inFlight(): number {
    return this.#open.size
  }

  ping(): void {
    this.#wire.send('ping', 0)
  }

  handOver(admitted: Admitted): void {
    this.#last = (this.#last + 1) % 2 ** 32
    const number = this.#last
    const { place, response } = admitted
    if (typeof place === 'function') this.#places.set(number, place)
    const exchange = new HandedOver(this.#wire, number, admitted, this.#options)
    this.#open.set(number, exchange)
    response.once('close', () => {
      this.#open.delete(number)
      this.served += 1
      exchange.over()
      if (!exchange.keepsPlace) this.#leave(number)
    })
  }

  /** The process is gone: whoever waits for it is answered, and its places are free. */
  lose(): void {
    this.calls.close()
    this.#wire.close()
    for (const exchange of this.#open.values()) exchange.lose()
    for (const number of [...this.#places.keys()]) this.#leave(number)
  }

  #leave(number: number): void {
    const leave = this.#places.get(number)
    this.#places.delete(number)
    leave?.()
  }

  #frame(kind: Kind, number: number, payload: Buffer, isWhole: boolean): void {
    if (kind === 'pong') return this.#options.alive(JSON.parse(payload.toString()) as Vitals)
    if (kind === 'note') return this.calls.heard(JSON.parse(payload.toString()) as Message)
    if (kind === 'leave') return this.#leave(number)
    this.#open.get(number)?.frame(kind, payload, isWhole)
  }
}

/** A request in the hands of a relay process, and the response as it comes. */
class HandedOver {
  readonly #wire: Wire
  readonly #number: number
  readonly #request: IncomingMessage
  readonly #response: ServerResponse & Pick<FrontResponse, 'onUnread'>
  readonly #named: FrontEndOptions['named']
  readonly #share: Share
  /** Bytes of the body that may be sent before more is asked for. */
  #room = windowBytes
  /** Bytes of the response that its reader took, and the relay process was not told of. */
  #taken = 0
  #owed = ''
  #isStream = false
  /** The socket is corked until the end of the turn. */
  #isHeld = false
  /** Nothing of an event was written that is not whole. */
  #isBetweenEvents = true
  /** A session was begun with a process. */
  keepsPlace = false

  constructor(wire: Wire, number: number, { request, response, arrival, place }: Admitted, { bodies, named }: FrontEndOptions) {
    this.#wire = wire
    this.#number = number
    this.#request = request
    this.#response = response
    this.#named = named
    this.#share = new Share(bodies, clientOf(arrival))
    const { method = '', httpVersion, headers } = request
    const head: OpenHead = {
      path: arrival.path, method, httpVersion, headers, address: arrival.address, token: arrival.token ?? null, isSecure: arrival.scheme === 'https',
      place: place === undefined ? null : place === 'full' ? 'full' : 'kept',
    }
    wire.sendJson('open', number, head)
    request.on('data', this.#body)
    request.once('end', () => wire.send('bodyEnd', number))
    this.#response.onUnread = () => wire.send('unread', number)
  }

  /** What a relay process sends. */
  static readonly #frames: Readonly<Partial<Record<Kind, (self: HandedOver, payload: Buffer, isWhole: boolean) => void>>> = {
    head: (self, payload) => self.#head(JSON.parse(payload.toString()) as ResponseHead),
    flush: self => self.#flush(),
    piece: (self, payload) => self.#piece(payload),
    last: (self, payload, isWhole) => (isWhole ? endUnread(self.#request, self.#response, payload, realTimers) : self.#piece(payload)),
    cut: self => self.#response.destroy(),
    goOn: self => self.#response.writeContinue(),
    owes: (self, payload) => (self.#owed = payload.toString()),
    keep: self => (self.keepsPlace = true),
    taken: (self, payload) => self.#more(payload.readUInt32LE(0)),
  }

  frame(kind: Kind, payload: Buffer, isWhole: boolean): void {
    HandedOver.#frames[kind]?.(this, payload, isWhole)
  }

  /** The response is over, whole or cut. */
  over(): void {
    this.#share.end()
    this.#wire.send('gone', this.#number, undefined, !this.#response.writableFinished)
  }

  /** Answers in the place of a process that is gone, as it would answer for a server that is gone. */
  lose(): void {
    this.#request.off('data', this.#body)
    const key = this.#owed === '' ? undefined : this.#owed
    if (!this.#response.headersSent) refuse(this.#request, this.#response, lost, realTimers, key)
    else if (!this.#isStream || !this.#isBetweenEvents) this.#response.destroy()
    else this.#response.end(key === undefined ? undefined : `data: ${refusalBody(lost, key).toString()}\n\n`)
  }

  readonly #body = (chunk: Buffer): void => {
    if (!this.#share.take(chunk.length)) {
      this.#request.off('data', this.#body)
      refuse(this.#request, this.#response, noRoom, realTimers)
      return
    }
    this.#wire.send('body', this.#number, chunk)
    this.#room -= chunk.length
    if (this.#room <= 0) this.#request.pause()
  }

  /** So much more of the body may be sent. */
  #more(bytes: number): void {
    this.#room += bytes
    if (this.#room > 0) this.#request.resume()
  }

  #head([status, raw, set]: ResponseHead): void {
    const response = this.#response
    if (response.headersSent) return
    for (const [name, value] of set) {
      if (name === 'mcp-session-id') this.#named(String(value))
      response.setHeader(name, value)
    }
    const own: (string | string[])[] = []
    for (let at = 0; at < raw.length; at += 2) {
      const [name, value] = [String(raw[at]), raw[at + 1] ?? '']
      // What was set for browsers stays.
      if (name === 'vary' && response.hasHeader(name)) response.appendHeader(name, value)
      else own.push(name, value)
    }
    // What is left of the body may be longer than anybody wants to read.
    if (!this.#request.complete) own.push('connection', 'close')
    response.writeHead(status, own)
  }

  #flush(): void {
    this.#isStream = true
    this.#hold()
    // Node's `flushHeaders` would write the head as UTF-8 (see `Reply`).
    this.#response.write(nothing)
  }

  /** What else comes in this turn leaves with it. */
  #hold(): void {
    const { socket } = this.#response
    if (this.#isHeld || !socket) return
    this.#isHeld = true
    socket.cork()
    setImmediate(() => {
      this.#isHeld = false
      socket.uncork()
    })
  }

  #piece(part: Buffer): void {
    if (part.length === 0) return
    this.#hold()
    this.#isBetweenEvents = part.length > 1 && part[part.length - 1] === newline && part[part.length - 2] === newline
    this.#response.write(part, () => this.#tookMore(part.length))
  }

  #tookMore(bytes: number): void {
    if (this.#taken === 0) {
      setImmediate(() => {
        this.#wire.taken(this.#number, this.#taken)
        this.#taken = 0
      })
    }
    this.#taken += bytes
  }
}

const nothing = Buffer.alloc(0)
const newline = 10
const lost: Refusal = { status: 502, code: errorCode.gone, message: 'The server gave no answer: its relay process has ended' }
const noRoom = refusal(503, 'There is no room for this body: too much of others is waiting', { 'retry-after': '5' })

/** Answers a request that no relay process can have, as one whose relay process is gone. */
export const answerLost = ({ request, response }: Admitted): void =>
  refuse(request, response, { ...lost, headers: { 'retry-after': '1' } }, realTimers)
