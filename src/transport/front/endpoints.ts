import { randomUUID } from 'node:crypto'
import { errorCode, type IdKey } from '../../protocol/json-rpc.js'
import { realTimers, type Timers } from '../timers.js'
import type { Peer } from './arrival.js'
import type { DoorOptions } from './door.js'
import { EndpointServer, type EndpointSettings, type Shared } from './endpoint.js'
import { refuse } from './linger.js'
import { originOf } from './origin.js'
import { Pace } from './pace.js'
import { refusal, type Refusal } from './refusal.js'
import type { FrontRequest, FrontResponse } from './request.js'
import type { Endpoint } from './sessions/find.js'
import { Quota } from './sessions/quota.js'
import { pathOf } from './target.js'
import { isLoop } from './via.js'

/** What serves the requests that the front has admitted: the endpoints of this process, or relay processes. */
export interface Backend<Request = FrontRequest, Response = FrontResponse> {
  has(path: string): boolean
  /** Answers a request at a path that it has. */
  serve(path: string, request: Request, response: Response, peer: Peer): void
  /** The front takes no more requests: ends the streams that would never end by themselves. */
  endStreams(): void
  /** Ends all sessions. Resolves when each has said its last to its client. */
  giveUp(reason: string): Promise<unknown>
}

export interface EndpointsSettings extends Pick<EndpointSettings, 'limits'>, Partial<Pick<DoorOptions, 'tokens'>> {
  /** Most bytes of request bodies held at a time, over all (64 MiB). */
  readonly bufferedBytes?: number
  /** Most sessions of an endpoint at a time (1000). */
  readonly maxSessions?: number
  /** Most sessions at a time that have a process of their own, over all endpoints (64). */
  readonly maxProcesses?: number
  /** A session without an open HTTP request ends after so many milliseconds (30 minutes). */
  readonly idleMs?: number
}

export interface EndpointsOptions extends EndpointsSettings {
  /** By path, such as `/files/mcp`. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  /** A silent stream gets a comment at the latest after so many milliseconds (15 seconds). */
  readonly keepAliveMs?: number
  /** A stream's reader that takes nothing for so many milliseconds while something waits for it is cut off (30 seconds). */
  readonly stallMs?: number
  /** Told of every request that is answered with an error before it reaches a session; for logs, records and metrics. */
  readonly refused?: (refused: Refused) => void
  readonly mint?: EndpointSettings['mint']
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

/** The endpoints of this process by path, and what they share. */
export class Endpoints implements Backend {
  readonly #options: EndpointsOptions
  readonly #timers: Timers
  readonly #shared: Shared
  readonly #servers = new Map<string, EndpointServer>()
  #settings: EndpointsSettings

  constructor(options: EndpointsOptions) {
    const { timers = realTimers, keepAliveMs = 15_000, stallMs = 30_000, mint = randomUUID } = options
    this.#options = options
    this.#settings = options
    this.#timers = timers
    this.#shared = {
      settings: () => {
        const { limits, maxSessions = 1000, idleMs = 30 * 60_000, tokens = [] } = this.#settings
        return { limits, maxSessions, idleMs, ownAuthorization: tokens.length > 0, mint }
      },
      pace: new Pace({ keepAliveMs, stallMs, timers }),
      timers,
      bodies: new Quota(() => this.#settings.bufferedBytes ?? 64 * 1024 * 1024),
      processes: new Quota(() => this.#settings.maxProcesses ?? 64),
      refuse: (request, response, reason, key) => this.#refuse(request, response, reason, key),
    }
    this.offer(options.endpoints)
  }

  /** How many sessions run. */
  get sessions(): number {
    return this.#sessions().length
  }

  has(path: string): boolean {
    return this.#servers.has(path)
  }

  /** Other endpoints from now on. A path that stays keeps its sessions; one that is gone serves those that it has to their end. */
  offer(endpoints: ReadonlyMap<string, Endpoint>): void {
    for (const [path, { places }] of this.#servers) {
      if (endpoints.has(path)) continue
      places.retire()
      if (places.sessions().length === 0) this.#servers.delete(path)
    }
    for (const [path, endpoint] of endpoints) {
      const served = this.#servers.get(path)
      if (served) served.places.replace(endpoint)
      else this.#servers.set(path, new EndpointServer(path, endpoint, this.#shared))
    }
  }

  /** Other settings from now on, all of them. */
  reload(settings: EndpointsSettings): void {
    this.#settings = settings
  }

  serve(path: string, request: FrontRequest, response: FrontResponse, peer: Peer): void {
    const endpoint = this.#servers.get(path)
    if (!endpoint) return this.#refuse(request, response, noEndpoint)
    if (isLoop(request.headers.via)) return this.#refuse(request, response, loop)
    endpoint.handle(request, response, peer).catch(() => this.#refuse(request, response, broken))
  }

  endStreams(): void {
    for (const session of this.#sessions()) session.endStreams()
  }

  giveUp(reason: string): Promise<unknown> {
    const sessions = this.#sessions()
    for (const session of sessions) session.giveUp(reason)
    return Promise.all(sessions.map(session => session.closed))
  }

  #sessions() {
    return [...this.#servers.values()].flatMap(({ places }) => places.sessions())
  }

  #refuse(request: FrontRequest, response: FrontResponse, reason: Refusal, key?: IdKey): void {
    const path = pathOf(request)
    this.#options.refused?.({ status: reason.status, message: reason.message, address: originOf(request).address, path: this.has(path) ? path : undefined })
    refuse(request, response, reason, this.#timers, key)
  }
}

const loop = refusal(508, 'The request has been here before: a server leads back to this relay')
export const noEndpoint: Refusal = { ...refusal(404, 'There is no endpoint at this path'), isPlain: true }
const broken: Refusal = { status: 500, code: errorCode.blocked, message: 'The relay failed on this request' }
