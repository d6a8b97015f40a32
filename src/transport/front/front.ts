import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ChurnSet } from '../../core/memory.js'
import { logAccess, type Served } from './access-log.js'
import { clientOf, type Peer } from './arrival.js'
import { checkFraming } from './framing.js'
import { Connections } from './connections.js'
import { isPreflight, preflight, shareWith } from './cors.js'
import { Door, type DoorOptions } from './door.js'
import { type Backend, type EndpointsOptions, noEndpoint } from './endpoints.js'
import { refuse } from './linger.js'
import { createListener, type FrontTls, listen, type ListenAddress, renewTls, requests } from './listener.js'
import { originOf } from './origin.js'
import { refusal, type Refusal } from './refusal.js'
import { Quota } from './sessions/quota.js'
import { realTimers, type Timers } from '../timers.js'
import { namesOf, pathOf } from './target.js'
import { answerUnreadable } from './unreadable.js'

export type { Served } from './access-log.js'
export type { Peer } from './arrival.js'
export { Endpoints, type EndpointsSettings, type Refused } from './endpoints.js'
export type { Endpoint, Opening } from './sessions/find.js'
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
  /** Told of every request that the front itself answers with an error. */
  readonly refused?: EndpointsOptions['refused']
  /** Told of every request when it is over, however it was answered. */
  readonly served?: (served: Served) => void
  readonly timers?: Timers
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
      if (this.#door.refuses(namesOf(response.req))) response.destroy()
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
    if (this.#options.served) logAccess(request, response, this.#options.served)
    const peer = this.#admit(request, response)
    if (peer === 'answered') return
    if ('status' in peer) return this.#refuse(request, response, peer)
    const client = clientOf(peer)
    if (!this.#places.take(client)) return this.#refuse(request, response, tooMany)
    this.#open.add(response)
    response.on('close', () => {
      this.#places.leave(client)
      this.#answered(response)
    })
    const path = pathOf(request)
    const { backend } = this.#options
    if (backend.has(path)) backend.serve(path, request, response, peer)
    else this.#refuse(request, response, noEndpoint)
  }

  /** Who may come in; or why not; or nobody, where the head was all there is to answer. */
  #admit(request: IncomingMessage, response: ServerResponse): Peer | Refusal | 'answered' {
    const { headers } = request
    const misframed = checkFraming(request)
    if (misframed) return misframed
    const misnamed = this.#door.checkNames(namesOf(request))
    if (misnamed) return misnamed
    if (this.#door.sharesWith(headers.origin)) {
      shareWith(headers.origin, response)
      if (isPreflight(request)) {
        preflight(request, response)
        return 'answered'
      }
    }
    const token = this.#door.checkToken(headers)
    if (typeof token === 'object') return token
    if (this.#stopping) return refusal(503, 'The relay is stopping', { 'retry-after': '5', connection: 'close' })
    if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) return refusal(417, 'This Expect is not known')
    return { address: originOf(request).address, token }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, reason: Refusal): void {
    const path = pathOf(request)
    const { refused, backend } = this.#options
    refused?.({ status: reason.status, message: reason.message, address: originOf(request).address, path: backend.has(path) ? path : undefined })
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

const ignore = () => {}

const tooMany = refusal(503, 'Too many requests are open', { 'retry-after': '5' })

/** A socket in the file system has no name: who comes by it, or through a proxy, names this machine, or what is allowed besides. */
const doorOf = (address: ListenAddress, { allowHosts = [], allowOrigins = [], tokens = [] }: FrontSettings): Door =>
  new Door({ host: 'socket' in address ? 'localhost' : address.host, allowHosts, allowOrigins, tokens })
