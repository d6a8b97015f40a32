import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ChurnSet } from '../../core/churn.js'
import { errorCode, type IdKey } from '../../protocol/json-rpc.js'
import { logAccess, type Served } from './access-log.js'
import { clientOf, type Peer } from './arrival.js'
import { checkFraming } from './framing.js'
import { Connections } from './connections.js'
import { isPreflight, preflight, shareWith } from './cors.js'
import { Door, type DoorOptions } from './door.js'
import { EndpointServer, type EndpointSettings, type Shared } from './endpoint.js'
import type { Handover, Receive } from './handover.js'
import { refuse } from './linger.js'
import { createListener, listen, renewTls, requests, type FrontTls, type ListenAddress } from './listener.js'
import { originOf, wasHandedOver } from './origin.js'
import { Pace } from './pace.js'
import { refusal, type Refusal } from './refusal.js'
import type { Endpoint } from './sessions/find.js'
import { Quota } from './sessions/quota.js'
import { realTimers, type Timers } from '../timers.js'
import { namesOf, pathOf } from './target.js'
import { answerUnreadable } from './unreadable.js'
import { isLoop } from './via.js'

export type { Served } from './access-log.js'
export type { Peer } from './arrival.js'
export type { Handover, Receive } from './handover.js'
export type { Endpoint, Opening } from './sessions/find.js'
export type { SessionKind } from './sessions/session.js'

/** What can be replaced while the front runs. */
export interface FrontSettings extends Partial<Pick<DoorOptions, 'allowHosts' | 'allowOrigins' | 'tokens'>>, Pick<EndpointSettings, 'limits'> {
  /** Undefined: plain HTTP. A front that began without stays without. */
  readonly tls?: FrontTls | undefined
  /** Most bytes of request bodies held at a time, over all (64 MiB). */
  readonly bufferedBytes?: number
  /** Most sessions of an endpoint at a time (1000). */
  readonly maxSessions?: number
  /** Most sessions at a time that have a process of their own, over all endpoints (64). */
  readonly maxProcesses?: number
  /** A session without an open HTTP request ends after so many milliseconds (30 minutes). */
  readonly idleMs?: number
}

export interface HttpFrontOptions extends FrontSettings {
  readonly address: ListenAddress
  /** By path, such as `/files/mcp`. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  /** Most HTTP requests at a time of those who were let in, open streams among them (4096). */
  readonly maxRequests?: number
  /** Most connections at a time (half as many as the files that the process may have open). */
  readonly maxConnections?: number
  /** A silent stream gets a comment at the latest after so many milliseconds (15 seconds). */
  readonly keepAliveMs?: number
  /** A stream's reader that takes nothing for so many milliseconds while something waits for it is cut off (30 seconds). */
  readonly stallMs?: number
  /** Told of every request that is answered with an error before it reaches a session; for logs, records and metrics. */
  readonly refused?: (refused: Refused) => void
  /** Told of every request when it is over, however it was answered. */
  readonly served?: (served: Served) => void
  /** Where processes with fronts like this one share the address: makes what hands requests over to them, and takes theirs in. */
  readonly handover?: (receive: Receive) => Handover
  readonly timers?: Timers
}

export interface Refused {
  readonly status: number
  /** Ours: nothing that the client sent stands in it. */
  readonly message: string
  /** The client's. */
  readonly address: string
  /** Undefined where there is no endpoint. */
  readonly path: string | undefined
}

export interface HttpFront {
  /**
   * Begins to accept connections.
   * @returns where: `http://HOST:PORT`, without a path; or `unix:PATH`
   * @throws CustomsError CANNOT_START
   */
  listen(): Promise<string>
  /** Whether a session of this `Mcp-Session-Id` runs here. */
  holds(path: string, session: string): boolean
  /** Other endpoints from now on. A path that stays keeps its sessions; one that is gone serves those that it has to their end. */
  offer(endpoints: ReadonlyMap<string, Endpoint>): void
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
  #settings: FrontSettings
  #door: Door
  readonly #shared: Shared
  readonly #endpoints = new Map<string, EndpointServer>()
  readonly #server: Server
  readonly #handover: Handover | undefined
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
    this.#settings = options
    this.#timers = options.timers ?? realTimers
    this.#door = doorOf(options.address, options)
    this.#shared = this.#share()
    this.offer(options.endpoints)
    this.#places = new Quota(() => options.maxRequests ?? 4096)
    this.#connections = new Connections(options.maxConnections)
    this.#server = this.#createServer()
    this.#handover = options.handover?.((request, response) => this.#receive(request, response))
  }

  #share(): Shared {
    const { keepAliveMs = 15_000, stallMs = 30_000 } = this.#options
    return {
      settings: () => {
        const { limits, maxSessions = 1000, idleMs = 30 * 60_000 } = this.#settings
        return { limits, maxSessions, idleMs, ownAuthorization: this.#door.asksForToken }
      },
      pace: new Pace({ keepAliveMs, stallMs, timers: this.#timers }),
      timers: this.#timers,
      bodies: new Quota(() => this.#settings.bufferedBytes ?? 64 * 1024 * 1024),
      processes: new Quota(() => this.#settings.maxProcesses ?? 64),
      refuse: (request, response, reason, key) => this.#refuse(request, response, reason, key),
    }
  }

  reload(settings: FrontSettings): void {
    renewTls(this.#server, settings.tls)
    this.#settings = settings
    this.#door = doorOf(this.#options.address, settings)
    for (const response of this.#open.values()) {
      if (this.#door.refuses(namesOf(response.req))) response.destroy()
    }
  }

  offer(endpoints: ReadonlyMap<string, Endpoint>): void {
    for (const [path, served] of this.#endpoints) {
      if (endpoints.has(path)) continue
      served.places.retire()
      if (served.places.sessions().length === 0) this.#endpoints.delete(path)
    }
    for (const [path, endpoint] of endpoints) {
      const served = this.#endpoints.get(path)
      if (served) served.places.replace(endpoint)
      else this.#endpoints.set(path, new EndpointServer(path, endpoint, this.#shared))
    }
  }

  holds(path: string, session: string): boolean {
    return this.#endpoints.get(path)?.places.holds(session) === true
  }

  async listen(): Promise<string> {
    await this.#handover?.listen()
    return listen(this.#server, this.#options.address)
  }

  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  async #close(graceMs: number): Promise<void> {
    this.#stopping = true
    const closed = once(this.#server, 'close')
    // A connection that a sibling does not take is given to the next; where none takes it, to nobody, and it would hang until the last has ended.
    if (!this.#handover) this.#server.close()
    for (const session of this.#sessions()) session.endStreams()
    if (this.#open.size > 0) {
      await this.#within(graceMs, new Promise<void>(resolve => (this.#allAnswered = resolve)))
    }
    const sessions = this.#sessions()
    for (const session of sessions) session.giveUp('the relay is stopping')
    await this.#within(lastWordsMs, Promise.all(sessions.map(session => session.closed)))
    if (this.#handover) this.#server.close()
    this.#server.closeAllConnections()
    await Promise.all([closed, this.#handover?.close()])
  }

  #sessions() {
    return [...this.#endpoints.values()].flatMap(({ places }) => places.sessions())
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
    const server = createListener(this.#settings.tls)
    for (const event of requests) {
      server.on(event, (request: IncomingMessage, response: ServerResponse) => this.#receive(request, response))
    }
    server.on('clientError', answerUnreadable)
    server.on(this.#settings.tls ? 'secureConnection' : 'connection', (socket: Socket) => this.#connections.accept(socket))
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
    // What a sibling handed over is in its log.
    if (this.#options.served && !wasHandedOver(request)) logAccess(request, response, this.#options.served)
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
    const endpoint = this.#endpoints.get(path)
    if (!endpoint) return this.#refuse(request, response, { ...refusal(404, 'There is no endpoint at this path'), isPlain: true })
    const serve = () => void endpoint.handle(request, response, peer).catch(() => this.#refuse(request, response, broken))
    if (!this.#handover || wasHandedOver(request)) return serve()
    const lost = () => this.#refuse(request, response, gone)
    this.#handover.route({ request, response, path, isProcess: endpoint.places.own, serve, lost }).catch(() => this.#refuse(request, response, broken))
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
    if (isLoop(headers.via)) return refusal(508, 'The request has been here before: a server leads back to this relay')
    return { address: originOf(request).address, token }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, reason: Refusal, key?: IdKey): void {
    const path = pathOf(request)
    this.#options.refused?.({
      status: reason.status, message: reason.message, address: originOf(request).address, path: this.#endpoints.has(path) ? path : undefined,
    })
    if (response.headersSent) response.destroy()
    else refuse(request, response, wasHandedOver(request) && !request.complete ? lastOf(reason) : reason, this.#timers, key)
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

/** The rest of the body is not read: a sibling must not send its next request behind it. */
const lastOf = (reason: Refusal): Refusal => ({ ...reason, headers: { ...reason.headers, connection: 'close' } })

const gone = refusal(503, 'The process that had this session has ended', { 'retry-after': '1' })
const broken: Refusal = { status: 500, code: errorCode.blocked, message: 'The relay failed on this request' }

/** A socket in the file system has no name: who comes by it, or through a proxy, names this machine, or what is allowed besides. */
const doorOf = (address: ListenAddress, { allowHosts = [], allowOrigins = [], tokens = [] }: FrontSettings): Door =>
  new Door({ host: 'socket' in address ? 'localhost' : address.host, allowHosts, allowOrigins, tokens })
