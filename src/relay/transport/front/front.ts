import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ChurnMap } from '#relay/core/memory.js'
import { realTimers, type Timers } from '../timers.js'
import { logAccess, type ServedRequest } from './access-log.js'
import { RequestArrival } from './arrival.js'
import { resourceMetadata, metadataText } from './authority.js'
import { Connections } from './connections.js'
import type { Backend, EndpointsOptions } from './endpoints.js'
import { checkFraming, Gate, type GateVerdict, type GateOptions } from './gate.js'
import { isPreflight, preflight, shareWith } from './head.js'
import { createListener, listen, renewTls, requests, type FrontTls, type ListenAddress } from './listener.js'
import { Pace } from './pace.js'
import { quotaClientOf, Quota } from './quota.js'
import { hasLeft } from './request.js'
import { answerUnreadable, refusals, refuse, type Refusal } from './refusal.js'
import { isOfLogins, type Site, Visits } from './site.js'

export type { Peer } from './arrival.js'
export { Endpoints, type EndpointsSettings, type Refused } from './endpoints.js'
export type { Endpoint, NewSession } from './sessions/router.js'
export type { SessionKind } from './sessions/session.js'

/** Settings that can be replaced while the front runs. */
export interface FrontSettings extends Partial<Omit<GateOptions, 'host'>> {
  /** Undefined: plain HTTP. A front that began without TLS stays without TLS. */
  readonly tls?: FrontTls | undefined
  readonly site?: Site | undefined
}

/** Answers the admitted requests. */
export type FrontBackend = Backend

export interface HttpFrontOptions extends FrontSettings {
  readonly address: ListenAddress
  readonly backend: FrontBackend
  /** Most admitted HTTP requests at a time, open streams included (4096). */
  readonly maxRequests?: number
  /** Most connections at a time (half of the process's limit of open files). */
  readonly maxConnections?: number
  /** A client that reads nothing of its response for this time is cut off, in milliseconds (30 seconds). */
  readonly stallMs?: number
  /** Called for every request that the front refuses. */
  readonly refused?: EndpointsOptions['refused']
  /** Called at the end of every request. */
  readonly served?: (served: ServedRequest) => void
  readonly timers?: Timers
}

/** How often the clients of open responses are checked again, in milliseconds. */
const recheckMs = 5000
/** How many checks a response outlives while the issuer cannot say whether its token is valid. */
const maxUnknown = 60

/** An open response to an admitted request. */
interface Open {
  readonly arrival: RequestArrival
  /** The gate whose issuer has accepted the token. */
  gate: Gate
  /** Checks since then that had no outcome. */
  unknown: number
}

/** The time for the last responses of sessions that were told to end, in milliseconds. */
const lastResponsesMs = 1000

/** Serves MCP clients over Streamable HTTP. */
export class HttpFront {
  #gate: Gate
  #site: Site | undefined
  readonly #visits = new Visits()
  readonly #pace = new Pace()
  readonly #server: Server
  readonly #timers: Timers
  readonly #open = new ChurnMap<ServerResponse, Open>()
  /** Undefined while no response is open that could outlive its token. */
  #stopRechecks: (() => void) | undefined
  /** Limits the admitted requests of each client. Others do not count. */
  readonly #places: Quota
  readonly #connections: Connections
  #stopping = false
  #allAnswered: () => void = () => {}
  #closed: Promise<void> | undefined

  constructor(private readonly options: HttpFrontOptions) {
    this.#timers = options.timers ?? realTimers
    this.#gate = gateOf(options.address, options)
    this.#site = options.site
    this.#places = new Quota(() => options.maxRequests ?? 4096)
    this.#connections = new Connections(options.maxConnections)
    this.#server = this.#createServer()
  }

  /** Replaces all settings. Clients that the new settings would refuse are cut off. */
  reload(settings: FrontSettings): void {
    renewTls(this.#server, settings.tls)
    this.#gate = gateOf(this.options.address, settings)
    this.#site = settings.site
    this.#recheck()
    this.#recheckAgain()
  }

  /**
   * Cuts off every client that would not be let in now. No stream and no long call outlives its token, no
   * matter what ended the token: its time, a revocation, the issuer's word, or a reload.
   */
  #recheck(): void {
    const gate = this.#gate
    for (const [response, open] of this.#open.entries()) {
      const { arrival } = open
      const checked = gate.checkNames(response.req)
        ?? gate.checkToken(response.req.headers, arrival.path, quotaClientOf(arrival))
      const follow = (found: GateVerdict) => this.#rechecked(response, open, gate, found)
      if (checked instanceof Promise) void checked.then(follow)
      else follow(checked)
    }
  }

  /** While a response is open, and tokens are asked for. */
  #recheckAgain(): void {
    if (this.#gate.authority === undefined || this.#open.size === 0) return
    this.#stopRechecks ??= this.#timers.every(recheckMs, () => this.#recheck())
  }

  #rechecked(response: ServerResponse, open: Open, gate: Gate, checked: GateVerdict): void {
    // A reload has checked it meanwhile.
    if (this.#gate !== gate) return
    if (!('status' in checked)) Object.assign(open, { gate, unknown: 0 })
    // An issuer that is away for a while ends nothing that it has let in itself.
    else if (checked.status !== 503 || open.gate.authority !== gate.authority) response.destroy()
    else if (++open.unknown > maxUnknown) response.destroy()
  }

  /**
   * Begins to accept connections.
   * @returns the address: `http://HOST:PORT`, without a path, or `unix:PATH`
   * @throws CustomsError CANNOT_START
   */
  listen(): Promise<string> {
    return listen(this.#server, this.options.address)
  }

  /**
   * Stops accepting connections, and waits this time for open responses, in milliseconds. Then every session
   * ends and has a second for its last responses, before the connections are cut off.
   */
  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  async #close(graceMs: number): Promise<void> {
    const { backend } = this.options
    this.#stopping = true
    const closed = once(this.#server, 'close')
    this.#server.close()
    backend.endStreams()
    if (this.#open.size > 0) {
      await this.#within(graceMs, new Promise<void>(resolve => (this.#allAnswered = resolve)))
    }
    await this.#within(lastResponsesMs, backend.giveUp('the relay is stopping'))
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
    const server = createListener(this.options.tls)
    for (const event of requests) {
      server.on(event, (request: IncomingMessage, response: ServerResponse) => {
        this.#receive(request, response)
      })
    }
    server.on('clientError', answerUnreadable)
    const { stallMs = 30_000 } = this.options
    server.timeout = stallMs
    // Nothing was read or written for this time: the client does not read its response, the connection is
    // idle, or the response takes longer. Only the last is allowed.
    server.on('timeout', (socket: Socket) => {
      if (this.#connections.isBusy(socket) && socket.writableLength === 0) socket.setTimeout(stallMs)
      else socket.destroy()
    })
    const connected = this.options.tls ? 'secureConnection' : 'connection'
    server.on(connected, (socket: Socket) => this.#connections.accept(socket))
    return server
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    if (this.#connections.hasGivenUp(request.socket)) return
    // `close` reports a broken connection; without these listeners its error would end the process.
    request.on('error', ignore)
    response.on('error', ignore)
    // While stopping, pipelined requests are refused at once; Node sends the refusals in order.
    if (this.#stopping) return this.#begin(request, response)
    this.#connections.follow(request.socket, response, () => this.#begin(request, response))
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const arrival = new RequestArrival(request)
    if (this.options.served) logAccess(request, response, arrival, this.options.served)
    try {
      const refused = this.#admit(request, response, arrival)
      if (refused === 'answered') return
      if (refused) return this.#refuseInTurn(request, response, arrival, refused)
      this.#checkToken(request, response, arrival)
    } catch {
      // A request that we fail on ends nothing but itself.
      this.#refuse(request, response, arrival, refusals.broken)
    }
  }

  #refuseInTurn(
    request: IncomingMessage, response: ServerResponse, arrival: RequestArrival, reason: Refusal,
  ): void {
    this.#inTurn(response, arrival, () => this.#refuse(request, response, arrival, reason), 'refused')
  }

  /**
   * Answers a client that is not known. What clients ask without a token has turns apart from those of
   * refusals: behind one proxy, clients that refresh their tokens do not wait for strangers.
   */
  #inTurn(
    response: ServerResponse, arrival: RequestArrival, answer: () => void, kind: 'refused' | 'answered' = 'answered',
  ): void {
    const wait = this.#stopping ? 0 : this.#pace.wait(`${kind} ${quotaClientOf(arrival)}`)
    if (wait === 0) return answer()
    if (wait === undefined) return void response.destroy()
    response.once('close', this.#timers.after(wait, () => {
      if (!hasLeft(response)) answer()
    }))
  }

  #checkToken(request: IncomingMessage, response: ServerResponse, arrival: RequestArrival): void {
    const gate = this.#gate
    const checked = gate.checkToken(request.headers, arrival.path, quotaClientOf(arrival))
    if (!(checked instanceof Promise)) return this.#enter(request, response, arrival, checked)
    void checked.then(access => {
      if (hasLeft(response)) return
      if (this.#gate === gate) return this.#enter(request, response, arrival, access)
      // A reload has replaced the settings meanwhile: nothing enters that the new ones forbid.
      const refused = this.#gate.checkNames(request)
      if (refused) this.#refuse(request, response, arrival, refused)
      else this.#checkToken(request, response, arrival)
    })
  }

  /** @param access the outcome of the check of the token */
  #enter(
    request: IncomingMessage, response: ServerResponse, arrival: RequestArrival, access: GateVerdict,
  ): void {
    if ('status' in access) return this.#refuseInTurn(request, response, arrival, access)
    arrival.letIn(access)
    if (this.#stopping) return this.#refuse(request, response, arrival, refusals.stopping)
    const client = quotaClientOf(arrival)
    if (!this.#places.reserve(client)) return this.#refuse(request, response, arrival, refusals.manyRequests)
    this.#open.set(response, { arrival, gate: this.#gate, unknown: 0 })
    this.#recheckAgain()
    response.once('close', () => {
      this.#places.release(client)
      this.#answered(response)
    })
    const { backend } = this.options
    if (backend.has(arrival.path)) backend.serve(request, response, arrival)
    else this.#refuse(request, response, arrival, refusals.noEndpoint)
  }

  /** @returns undefined to admit the request; `answered` for a preflight, metadata and pages of the site */
  #admit(
    request: IncomingMessage, response: ServerResponse, arrival: RequestArrival,
  ): Refusal | 'answered' | undefined {
    const { headers } = request
    const isPage = this.#site?.has(arrival.path) === true
    const gate = this.#gate
    const refused = checkFraming(request) ?? gate.checkNames(request) ?? gate.checkSite(request, isPage)
    if (refused) return refused
    if (this.#gate.sharesWith(headers.origin)) {
      shareWith(headers.origin, response)
      if (isPreflight(request)) {
        this.#inTurn(response, arrival, () => preflight(request, response))
        return 'answered'
      }
    }
    const { backend } = this.options
    const endpoint = this.#gate.authority && resourceMetadata(arrival.path)
    if (endpoint !== undefined && backend.has(endpoint)) {
      this.#inTurn(response, arrival, () => this.#metadata(request, response, arrival, endpoint))
      return 'answered'
    }
    if (isPage && this.#site !== undefined) {
      const site = this.#site
      this.#inTurn(response, arrival, () => this.#visit(site, request, response, arrival))
      return 'answered'
    }
    if (isOfLogins(arrival.path)) return refusals.noLogin
    const { expect } = headers
    return expect !== undefined && !/^100-continue$/i.test(expect) ? refusals.badExpect : undefined
  }

  #visit(site: Site, request: IncomingMessage, response: ServerResponse, arrival: RequestArrival): void {
    this.#visits.serve(site, request, response, arrival).then(
      refused => refused && this.#refuse(request, response, arrival, refused),
      () => this.#refuse(request, response, arrival, refusals.broken),
    )
  }

  /** Answers with the metadata of an endpoint (RFC 9728, section 3.2). Pages of any origin may read it. */
  #metadata(
    request: IncomingMessage, response: ServerResponse, arrival: RequestArrival, endpoint: string,
  ): void {
    const refused = (reason: Refusal) => this.#refuse(request, response, arrival, reason)
    if (request.method !== 'GET' && request.method !== 'HEAD') return refused(refusals.badMethod)
    const resource = this.#gate.resourceAt(endpoint)
    if (resource === undefined) return refused(refusals.noLogin)
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('cache-control', 'max-age=300')
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(request.method === 'HEAD' ? undefined : metadataText(resource, endpoint))
  }

  #refuse(
    request: IncomingMessage, response: ServerResponse, arrival: RequestArrival, reason: Refusal,
  ): void {
    const { refused, backend } = this.options
    const { path, address, subject = reason.subject } = arrival
    const { status, message } = reason
    refused?.({ status, message, address, subject, path: backend.has(path) ? path : undefined })
    refuse(request, response, reason, this.#timers)
  }

  #answered(response: ServerResponse): void {
    this.#open.delete(response)
    if (this.#open.size === 0) {
      this.#stopRechecks?.()
      this.#stopRechecks = undefined
    }
    if (!this.#stopping) return
    if (this.#open.size === 0) this.#allAnswered()
    // A connection that was in use when we stopped accepting becomes idle only now.
    setImmediate(() => this.#server.closeIdleConnections())
  }
}

const ignore = () => {}

/** A Unix socket has no host name: its clients send `localhost`, or a name in `allowHosts`. */
const gateOf = (address: ListenAddress, settings: FrontSettings): Gate => {
  const { allowHosts = [], allowOrigins = [], tokens = [], authority, scopes } = settings
  const host = 'socket' in address ? 'localhost' : address.host
  return new Gate({ host, allowHosts, allowOrigins, tokens, authority, scopes })
}
