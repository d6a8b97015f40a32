import { Duplex } from 'node:stream'
import type { Identity } from '#relay/core/vocabulary.js'
import { ChurnMap } from '#relay/core/memory.js'
import type { JsonObject } from '#relay/protocol/json.js'
import type { Backend } from '../front/endpoints.js'
import type { HttpAsk, HttpReply, HttpRequests } from '../upstream/pool.js'
import { errors, ResponseBody } from '../upstream/body.js'
import type { OpenHead, ChannelHead } from './exchange.js'
import { ServedAsks } from './served.js'
import { type WireKind, Wire } from './wire.js'

/** For whom a request is sent: the client of this process's own front. */
export interface AskedFor {
  readonly address: string
  readonly token: number | undefined
  readonly subject: Identity | undefined
  /** Its headers that are sent with the request. */
  readonly headers: readonly (readonly [string, string])[]
  /** See `FrontRequest`. */
  readonly agreed: JsonObject | undefined
}

/**
 * HTTP requests to the endpoints of the same gateway, without a network: the other direction of the channel.
 * The front serves them as it serves those of clients, but admits them: their clients were admitted before.
 */
export class Asks {
  readonly #open = new ChurnMap<number, AskedResponse>()
  #last = 0

  constructor(private readonly wire: Wire) {}

  /** An endpoint as an HTTP server. @param askedFor tells it of a request, by its body */
  server(url: URL, askedFor: (body: Buffer | undefined) => AskedFor): HttpRequests {
    return {
      url,
      request: ask => this.#request(url, ask, askedFor(ask.body)),
      close: () => Promise.resolve(),
    }
  }

  /** Handles a frame of the front. @returns false when it belongs to the other direction */
  frame(kind: WireKind, number: number, payload: Buffer): void {
    const open = this.#open.get(number)
    switch (kind) {
      case 'head': return open?.head(JSON.parse(payload.toString()) as ChannelHead)
      case 'piece': return open?.piece(payload)
      case 'last':
        open?.piece(payload)
        return this.#end(number)
      case 'cut': return this.#end(number, new errors.SocketError('the channel was cut'))
      // For a front that answers when this process is gone; and frames of the other direction.
      case 'flush': case 'continue': case 'pending': case 'answered': case 'leave': case 'open': case 'body':
      case 'bodyEnd': case 'gone': case 'taken': case 'note':
    }
  }

  /** The channel is closed. */
  lose(): void {
    for (const number of this.#open.keys()) this.#end(number, new errors.SocketError('the channel is closed'))
  }

  #end(number: number, error?: Error): void {
    const open = this.#open.get(number)
    this.#open.delete(number)
    if (open === undefined) return
    open.end(error)
    this.wire.send('gone', number, one)
  }

  #request(url: URL, { method, headers, body, signal }: HttpAsk, askedFor: AskedFor): Promise<HttpReply> {
    this.#last = (this.#last + 1) % 2 ** 32
    const number = this.#last
    const { address, token = null, subject = null, headers: own, agreed = null } = askedFor
    const head: OpenHead = {
      path: url.pathname, method, httpVersion: '1.1', address, token, subject, upstream: null, isSecure: false,
      agreed, place: null,
      headers: { ...Object.fromEntries([...own, ...headers]), 'content-length': String(body?.length ?? 0) },
    }
    return new Promise((resolve, reject) => {
      const abort = () => this.#end(number, new errors.RequestAbortedError())
      const taken = (bytes: number) => this.wire.taken(number, bytes)
      this.#open.set(number, new AskedResponse({ resolve, reject, abort, taken, signal }))
      this.wire.sendJson('open', number, head)
      if (body !== undefined) this.wire.send('body', number, body)
      this.wire.send('bodyEnd', number)
      if (signal.aborted) abort()
    })
  }
}

interface AskedResponseParts {
  readonly resolve: (reply: HttpReply) => void
  readonly reject: (error: Error) => void
  readonly abort: () => void
  /** So many bytes were read: more may be sent. */
  readonly taken: (bytes: number) => void
  readonly signal: HttpAsk['signal']
}

/** The response to a request over the channel, as undici controls one. */
class AskedResponse {
  #body: ResponseBody | undefined
  #untaken = 0
  paused = false

  constructor(private readonly parts: AskedResponseParts) {
    const { signal, abort } = parts
    if (signal instanceof AbortSignal) signal.addEventListener('abort', abort)
    else signal.onAbort = abort
  }

  head([status, raw, set]: ChannelHead): void {
    const headers = new Map<string, readonly string[]>(set.map(([name, value]) => [name, [value].flat()]))
    for (let at = 0; at < raw.length; at += 2) {
      const name = String(raw[at]).toLowerCase()
      headers.set(name, [...(headers.get(name) ?? []), ...[raw[at + 1] ?? ''].flat()])
    }
    this.#body = new ResponseBody(this)
    this.parts.resolve({ status, headers, body: this.#body })
  }

  piece(part: Buffer): void {
    if (part.length === 0) return
    this.#body?.push(part)
    if (this.paused) this.#untaken += part.length
    else this.parts.taken(part.length)
  }

  end(error: Error | undefined): void {
    const { signal, abort, reject } = this.parts
    if (signal instanceof AbortSignal) signal.removeEventListener('abort', abort)
    else if (signal.onAbort === abort) signal.onAbort = undefined
    if (this.#body !== undefined) this.#body.end(error)
    else reject(error ?? new errors.SocketError('the response has no head'))
  }

  abort(): void {
    this.parts.abort()
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
    if (this.#untaken > 0) this.parts.taken(this.#untaken)
    this.#untaken = 0
  }
}

const one = Buffer.from([1])

/** Requests to endpoints that this process serves itself. */
export const asksWithin = (serve: Backend['serve']): Asks => {
  const [mine, theirs] = joined()
  const own = new Wire(mine, { frame: (...frame) => asks.frame(...frame), closed: () => asks.lose() })
  const asks = new Asks(own)
  const wire = new Wire(theirs, { frame: (...frame) => served.frame(...frame), closed: () => served.lose() })
  const served = new ServedAsks(wire, serve)
  return asks
}

/** Two streams, each of which reads what is written to the other. */
const joined = (): readonly [Duplex, Duplex] => {
  const make = (other: () => Duplex): Duplex => new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      other().push(chunk)
      done()
    },
    destroy: (error, done) => {
      other().push(null)
      done(error)
    },
  })
  const one: Duplex = make(() => other)
  const other: Duplex = make(() => one)
  return [one, other]
}
