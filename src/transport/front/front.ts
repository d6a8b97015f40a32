import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { CustomsError } from '../../errors.js'
import type { FrameLimits } from '../../protocol/frame.js'
import { errorCode } from '../../protocol/json-rpc.js'
import type { Peer } from './arrival.js'
import { EndpointServer } from './endpoint.js'
import { isPreflight, preflight, shareWith } from './cors.js'
import { Door, type DoorOptions } from './door.js'
import type { Endpoint } from './sessions/find.js'
import { answerUnreadable, refusal, refuse, type Refusal } from './refusal.js'
import { realTimers, type Timers } from './timers.js'

export type { Endpoint, Opening } from './sessions/find.js'
export type { SessionKind } from './sessions/session.js'

export interface HttpFrontOptions extends Partial<Pick<DoorOptions, 'allowHosts' | 'allowOrigins' | 'tokens'>> {
  /** The address to listen on. */
  readonly host: string
  /** 0 picks one. */
  readonly port: number
  /** In PEM; without it, plain HTTP. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer }
  /** By path, such as `/files/mcp`. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly limits: FrameLimits
  /** Most sessions of an endpoint at a time (1000). */
  readonly maxSessions?: number
  /** Most HTTP requests at a time, open streams among them (4096). */
  readonly maxRequests?: number
  /** A session without an open HTTP request ends after so many milliseconds (30 minutes). */
  readonly idleMs?: number
  /** A silent stream gets a comment each so many milliseconds (15 seconds). */
  readonly keepAliveMs?: number
  /** A stream's reader that takes nothing for so many milliseconds while much waits for it is cut off (30 seconds). */
  readonly stallMs?: number
  /** Told of every request that is answered with an error before it reaches a session; for logs and metrics. */
  readonly refused?: (status: number, message: string) => void
  readonly timers?: Timers
}

export interface HttpFront {
  /**
   * Begins to accept connections.
   * @returns where: `http://HOST:PORT`, without a path
   * @throws CustomsError CANNOT_START
   */
  listen(): Promise<string>
  /** Other endpoints from now on. A path that stays keeps its sessions; one that is gone serves those that it has to their end. */
  offer(endpoints: ReadonlyMap<string, Endpoint>): void
  /**
   * Stops accepting, and gives what is being answered so many milliseconds. Then every session is told that it is over, and
   * has a second for its last answers before what is left is cut.
   */
  close(graceMs: number): Promise<void>
}

/** Time for the last answers of sessions that were told to end, in milliseconds. */
const lastWordsMs = 1000

/** Longest header section of a request, in bytes. */
const headerBytes = 32 * 1024

/** Faces MCP clients over Streamable HTTP. */
export const httpFront = (options: HttpFrontOptions): HttpFront => new Front(options)

class Front implements HttpFront {
  readonly #options: HttpFrontOptions
  readonly #door: Door
  readonly #endpoints = new Map<string, EndpointServer>()
  readonly #server: Server
  readonly #timers: Timers
  /** Requests being answered. Streams of GET are not waited for: they never end by themselves. */
  readonly #open = new Set<ServerResponse>()
  readonly #onSocket = new WeakMap<Socket, Set<ServerResponse>>()
  #stopping = false
  #allAnswered: () => void = () => {}
  #closed: Promise<void> | undefined

  constructor(options: HttpFrontOptions) {
    this.#options = options
    this.#timers = options.timers ?? realTimers
    const { host, allowHosts = [], allowOrigins = [], tokens = [] } = options
    this.#door = new Door({ host, allowHosts, allowOrigins, tokens })
    this.offer(options.endpoints)
    this.#server = this.#createServer()
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
      else this.#endpoints.set(path, this.#serve(path, endpoint))
    }
  }

  #serve(path: string, endpoint: Endpoint): EndpointServer {
    const { limits, tokens = [], maxSessions = 1000, idleMs = 30 * 60_000, keepAliveMs = 15_000, stallMs = 30_000 } = this.#options
    return new EndpointServer(path, endpoint, {
      limits, ownAuthorization: tokens.length > 0, maxSessions, idleMs, keepAliveMs, stallMs, timers: this.#timers,
      refuse: (request, response, reason) => this.#refuse(request, response, reason),
    })
  }

  async listen(): Promise<string> {
    const { host, port, tls } = this.#options
    try {
      this.#server.listen({ host, port })
      await once(this.#server, 'listening')
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
      throw new CustomsError('CANNOT_START', `cannot listen on ${host}:${port}${code}`, { cause })
    }
    const address = this.#server.address()
    const bound = typeof address === 'object' && address ? address.port : port
    return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound}`
  }

  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  async #close(graceMs: number): Promise<void> {
    this.#stopping = true
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const session of this.#sessions()) session.endStreams()
    if (this.#open.size > 0) {
      await this.#within(graceMs, new Promise<void>(resolve => (this.#allAnswered = resolve)))
    }
    const sessions = this.#sessions()
    for (const session of sessions) session.giveUp('the relay is stopping')
    await this.#within(lastWordsMs, Promise.all(sessions.map(session => session.closed)))
    this.#server.closeAllConnections()
    await closed
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
    const settings = {
      maxHeaderSize: headerBytes,
      // A slow sender is given up on; how long an answer takes is nobody's business here.
      headersTimeout: 20_000,
      requestTimeout: 120_000,
      // Longer than the usual proxies keep theirs, so that it is never us who closes a connection just as it is used again.
      keepAliveTimeout: 75_000,
      noDelay: true,
      // A repeated Content-Type, Host or Authorization must not be read as its first: joined, it matches nothing.
      joinDuplicateHeaders: true,
      // Refused by the gate instead, with a body like every other refusal.
      requireHostHeader: false,
    }
    const { tls } = this.#options
    const server = tls ? createTlsServer({ ...settings, ...tls }) : createServer(settings)
    server.on('request', (request, response) => this.#receive(request, response))
    server.on('checkContinue', (request, response) => this.#receive(request, response))
    server.on('clientError', answerUnreadable)
    return server
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    // A connection that breaks is told by `close`; without listeners its error would end the process.
    request.on('error', () => {})
    response.on('error', () => {})
    this.#open.add(response)
    response.once('close', () => this.#answered(response))
    this.#follow(request.socket, response)
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const peer = this.#admit(request, response)
    if (peer === 'answered') return
    if ('status' in peer) return this.#refuse(request, response, peer)
    const endpoint = this.#endpoints.get(path)
    if (!endpoint) return this.#refuse(request, response, refusal(404, 'There is no endpoint at this path'))
    if (request.headers.expect !== undefined) response.writeContinue()
    endpoint.handle(request, response, peer).catch(() => this.#refuse(request, response, broken))
  }

  /** Node tells the response that is being sent when its connection closes, but not those that wait behind it. */
  #follow(socket: Socket, response: ServerResponse): void {
    const known = this.#onSocket.get(socket)
    const responses = known ?? new Set()
    responses.add(response)
    response.once('close', () => responses.delete(response))
    if (known) return
    this.#onSocket.set(socket, responses)
    socket.once('close', () => {
      process.nextTick(() => {
        for (const left of responses) left.emit('close')
      })
    })
  }

  /** Who may come in; or why not; or nobody, where the head was all there is to answer. */
  #admit(request: IncomingMessage, response: ServerResponse): Peer | Refusal | 'answered' {
    const { headers } = request
    const misnamed = this.#door.checkNames(headers)
    if (misnamed) return misnamed
    if (this.#door.sharesWith(headers.origin)) {
      shareWith(headers.origin, response)
      if (isPreflight(request)) {
        preflight(request, response)
        return 'answered'
      }
    }
    if (this.#stopping) return refusal(503, 'The relay is stopping', { 'retry-after': '5', connection: 'close' })
    if (this.#open.size > (this.#options.maxRequests ?? 4096)) return refusal(503, 'Too many requests are open', { 'retry-after': '5' })
    const token = this.#door.checkToken(headers)
    if (typeof token === 'object') return token
    return { address: request.socket.remoteAddress ?? '', token }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, reason: Refusal): void {
    this.#options.refused?.(reason.status, reason.message)
    if (response.headersSent) response.destroy()
    else refuse(request, response, reason, this.#options.limits.messageBytes)
  }

  #answered(response: ServerResponse): void {
    this.#open.delete(response)
    if (!this.#stopping) return
    if (this.#open.size === 0) this.#allAnswered()
    // Connections that were in use when we stopped accepting become idle only now.
    setImmediate(() => this.#server.closeIdleConnections())
  }
}

const broken: Refusal = { status: 500, code: errorCode.blocked, message: 'The relay failed on this request' }
