import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ChurnSet } from '../../core/memory.js'
import { realTimers, type Timers } from '../timers.js'
import { Arrival } from './arrival.js'
import { Connections } from './connections.js'
import { checkFraming, Door, isPreflight, preflight, shareWith, type DoorOptions } from './door.js'
import { noEndpoint, type Backend, type EndpointsOptions } from './endpoints.js'
import { createListener, listen, renewTls, requests, type FrontTls, type ListenAddress } from './listener.js'
import { clientOf, Quota } from './quota.js'
import { answerUnreadable, refusal, refuse, type Refusal } from './refusal.js'

export type { Peer } from './arrival.js'
export { Endpoints, type EndpointsSettings, type Refused } from './endpoints.js'
export type { Endpoint, NewSession } from './sessions/find.js'
export type { SessionKind } from './sessions/session.js'

/** What can be replaced while the front runs. */
export interface FrontSettings extends Partial<Pick<DoorOptions, 'allowHosts' | 'allowOrigins' | 'tokens'>> {
  /** Undefined: plain HTTP. A front that began without stays without. */
  readonly tls?: FrontTls | undefined
}

/** Serves the requests that were let in; relay processes need all of what Node knows of them. */
export type FrontBackend = Backend<IncomingMessage, ServerResponse>

export interface HttpFrontOptions extends FrontSettings {
  readonly address: ListenAddress
  readonly backend: FrontBackend
  /** Most HTTP requests at a time of those who were let in, open streams among them (4096). */
  readonly maxRequests?: number
  /** Most connections at a time (half as many as the files that the process may have open). */
  readonly maxConnections?: number
  /** A client that takes nothing of what waits for it for so many milliseconds is cut off (30 seconds). */
  readonly stallMs?: number
  /** Called for every request that the front itself answers with an error. */
  readonly refused?: EndpointsOptions['refused']
  /** Called for every request when it is over, however it was answered. */
  readonly served?: (served: Served) => void
  readonly timers?: Timers
}

/** A line of an access log; nothing in it is a secret. */
export interface Served {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly status: number
  readonly ms: number
  /** Of the answer, with its head, as far as it was written. */
  readonly bytes: number
  /** Equal for requests of one session; not its id, which is a secret and may be short. */
  readonly session: string | undefined
  /** The client's address. */
  readonly peer: string
}

export interface HttpFront {
  /**
   * Begins to accept connections.
   * @returns where: `http://HOST:PORT`, without a path; or `unix:PATH`
   * @throws CustomsError CANNOT_START
   */
  listen(): Promise<string>
  /**
   * Other settings from now on, all of them. Who would not be let in by them is cut off: an open stream is no way to keep a token that
   * was taken back.
   */
  reload(settings: FrontSettings): void
  /**
   * Stops accepting, and gives what is being answered so many milliseconds. Then every session is told that it is over, and
   * has a second for its last answers before what is left is cut.
   */
  close(graceMs: number): Promise<void>
}

/** Time for the last answers of sessions that were told to end, in milliseconds. */
const lastWordsMs = 1000

/** Faces MCP clients over Streamable HTTP. */
export const httpFront = (options: HttpFrontOptions): HttpFront => new Front(options)

class Front implements HttpFront {
  readonly #options: HttpFrontOptions
  #door: Door
  readonly #server: Server
  readonly #timers: Timers
  /** Requests of those who were let in, while they are answered. Streams of GET are not waited for: they never end by themselves. */
  readonly #open = new ChurnSet<ServerResponse>()
  /** Their places, of which each client has a share. Only who was let in takes one. */
  readonly #places: Quota
  readonly #connections: Connections
  #stopping = false
  #allAnswered: () => void = () => {}
  #closed: Promise<void> | undefined

  constructor(options: HttpFrontOptions) {
    this.#options = options
    this.#timers = options.timers ?? realTimers
    this.#door = doorOf(options.address, options)
    this.#places = new Quota(() => options.maxRequests ?? 4096)
    this.#connections = new Connections(options.maxConnections)
    this.#server = this.#createServer()
  }

  reload(settings: FrontSettings): void {
    renewTls(this.#server, settings.tls)
    this.#door = doorOf(this.#options.address, settings)
    for (const response of this.#open.values()) {
      if (this.#door.refuses(response.req)) response.destroy()
    }
  }

  listen(): Promise<string> {
    return listen(this.#server, this.#options.address)
  }

  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  async #close(graceMs: number): Promise<void> {
    const { backend } = this.#options
    this.#stopping = true
    const closed = once(this.#server, 'close')
    this.#server.close()
    backend.endStreams()
    if (this.#open.size > 0) {
      await this.#within(graceMs, new Promise<void>(resolve => (this.#allAnswered = resolve)))
    }
    await this.#within(lastWordsMs, backend.giveUp('the relay is stopping'))
    this.#server.closeAllConnections()
    await closed
  }

  async #within(ms: number, done: Promise<unknown>): Promise<void> {
    await new Promise<void>(resolve => {
      const stop = this.#timers.after(ms, resolve)
      void done.finally(() => {
        stop()
        resolve()
      })
    })
  }

  #createServer(): Server {
    const server = createListener(this.#options.tls)
    for (const event of requests) {
      server.on(event, (request: IncomingMessage, response: ServerResponse) => this.#receive(request, response))
    }
    server.on('clientError', answerUnreadable)
    const { stallMs = 30_000 } = this.#options
    server.timeout = stallMs
    // Nothing was read or written for so long: of a response that its client does not read, or of a
    // connection that nobody uses; or the answer takes its time.
    server.on('timeout', (socket: Socket) => {
      if (this.#connections.isBusy(socket) && socket.writableLength === 0) socket.setTimeout(stallMs)
      else socket.destroy()
    })
    server.on(this.#options.tls ? 'secureConnection' : 'connection', (socket: Socket) => this.#connections.accept(socket))
    return server
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    if (this.#connections.hasGivenUp(request.socket)) return
    // A connection that breaks is told by `close`; without listeners its error would end the process.
    request.on('error', ignore)
    response.on('error', ignore)
    // When we stop, what waits is refused, and the refusal can wait.
    if (this.#stopping) return this.#begin(request, response)
    this.#connections.follow(request.socket, response, () => this.#begin(request, response))
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const arrival = new Arrival(request)
    if (this.#options.served) logAccess(request, response, arrival, this.#options.served)
    const refused = this.#admit(request, response, arrival)
    if (refused === 'answered') return
    if (refused) return this.#refuse(request, response, arrival, refused)
    const client = clientOf(arrival)
    if (!this.#places.take(client)) return this.#refuse(request, response, arrival, tooMany)
    this.#open.add(response)
    response.once('close', () => {
      this.#places.leave(client)
      this.#answered(response)
    })
    const { backend } = this.#options
    if (backend.has(arrival.path)) backend.serve(request, response, arrival)
    else this.#refuse(request, response, arrival, noEndpoint)
  }

  /** @returns why the request is not let in; `answered` where its head was all there is to answer */
  #admit(
    request: IncomingMessage, response: ServerResponse, arrival: Arrival,
  ): Refusal | 'answered' | undefined {
    const { headers } = request
    const refused = checkFraming(request) ?? this.#door.checkNames(request)
    if (refused) return refused
    if (this.#door.sharesWith(headers.origin)) {
      shareWith(headers.origin, response)
      if (isPreflight(request)) {
        preflight(request, response)
        return 'answered'
      }
    }
    const token = this.#door.checkToken(headers)
    if (typeof token === 'object') return token
    arrival.token = token
    if (this.#stopping) return refusal(503, 'The relay is stopping', { 'retry-after': '5', connection: 'close' })
    if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) return refusal(417, 'This Expect is not known')
    return undefined
  }

  #refuse(
    request: IncomingMessage, response: ServerResponse, { path, address }: Arrival, reason: Refusal,
  ): void {
    const { refused, backend } = this.#options
    const { status, message } = reason
    refused?.({ status, message, address, path: backend.has(path) ? path : undefined })
    refuse(request, response, reason, this.#timers)
  }

  #answered(response: ServerResponse): void {
    this.#open.delete(response)
    if (!this.#stopping) return
    if (this.#open.size === 0) this.#allAnswered()
    // Connections that were in use when we stopped accepting become idle only now.
    setImmediate(() => this.#server.closeIdleConnections())
  }
}

/** @param served called when the request is over */
const logAccess = (
  request: IncomingMessage, response: ServerResponse, { path, address }: Arrival, served: (line: Served) => void,
): void => {
  const began = performance.now()
  const { socket } = response
  const before = socket?.bytesWritten ?? 0
  response.once('close', () => {
    const id = response.getHeader('mcp-session-id') ?? request.headers['mcp-session-id']
    served({
      method: request.method ?? '',
      path,
      status: response.statusCode,
      ms: Math.round((performance.now() - began) * 10) / 10,
      bytes: Math.max(0, (socket?.bytesWritten ?? before) - before),
      session: typeof id === 'string' ? createHash('sha256').update(id).digest('hex').slice(0, 8) : undefined,
      peer: address,
    })
  })
}

const ignore = () => {}

const tooMany = refusal(503, 'Too many requests are open', { 'retry-after': '5' })

/** A socket in the file system has no name: who comes by it, or through a proxy, names this machine, or what is allowed besides. */
const doorOf = (address: ListenAddress, { allowHosts = [], allowOrigins = [], tokens = [] }: FrontSettings): Door =>
  new Door({ host: 'socket' in address ? 'localhost' : address.host, allowHosts, allowOrigins, tokens })
