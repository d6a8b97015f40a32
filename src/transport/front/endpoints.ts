import { randomUUID } from 'node:crypto'
import type { FrameLimits } from '../../protocol/frame.js'
import { errorCode, type IdKey } from '../../protocol/json-rpc.js'
import { parseInTurns } from '../frames.js'
import { realTimers, type Timers } from '../timers.js'
import { dueIn, isInitialize, isModern, received, statusOf, type Arrival } from './arrival.js'
import { checkBody, readBody } from './body.js'
import { checkAccept, checkContentType, type DoorOptions } from './door.js'
import { clientOf, Quota, Share } from './quota.js'
import { refusal, refuse, type Refusal } from './refusal.js'
import { nothingOwed, Reply, type Owed } from './reply.js'
import type { FrontRequest, FrontResponse } from './request.js'
import { Places, type Endpoint, type PlaceSettings } from './sessions/find.js'
import type { FrontSession } from './sessions/session.js'

/** Serves the requests that the front has admitted: the endpoints of this process, or relay processes. */
export interface Backend<Request = FrontRequest, Response = FrontResponse> {
  has(path: string): boolean
  /** Answers a request at a path that it has. */
  serve(request: Request, response: Response, arrival: Arrival): void
  /** The front takes no more requests: ends the streams that would never end by themselves. */
  endStreams(): void
  /** Ends all sessions. Resolves when each has said its last to its client. */
  giveUp(reason: string): Promise<unknown>
}

export interface EndpointsSettings extends Partial<Pick<DoorOptions, 'tokens'>> {
  readonly limits: FrameLimits
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
  /**
   * Called for every request that is answered with an error before it reaches a session; for logs, records
   * and metrics.
   */
  readonly refused?: (refused: Refused) => void
  readonly mint?: PlaceSettings['mint']
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

/** Silent answers are looked for so often in the time that one may be silent. */
const looks = 3

/**
 * The endpoints of this process: they read what the front has admitted, find its session, and begin the
 * answer.
 */
export class Endpoints implements Backend {
  readonly #options: EndpointsOptions
  readonly #timers: Timers
  readonly #places = new Map<string, Places>()
  #settings: EndpointsSettings
  /** The memory for bodies. */
  readonly #bodies = new Quota(() => this.#settings.bufferedBytes ?? 64 * 1024 * 1024)
  readonly #processes = new Quota(() => this.#settings.maxProcesses ?? 64)
  /** Stops the clock that looks for silent answers; undefined while nothing is open. */
  #stopLooking: (() => void) | undefined

  constructor(options: EndpointsOptions) {
    this.#options = options
    this.#settings = options
    this.#timers = options.timers ?? realTimers
    this.offer(options.endpoints)
  }

  /** How many sessions run. */
  get sessions(): number {
    return this.#sessions().length
  }

  has(path: string): boolean {
    return this.#places.has(path)
  }

  /** Other endpoints from now on. A path that stays keeps its sessions; one that is gone serves those that it has to their end. */
  offer(endpoints: ReadonlyMap<string, Endpoint>): void {
    for (const [path, places] of this.#places) {
      if (endpoints.has(path)) continue
      places.retire()
      if (places.sessions().length === 0) this.#places.delete(path)
    }
    for (const [path, endpoint] of endpoints) {
      const places = this.#places.get(path)
      if (places) places.replace(endpoint)
      else {
        const settings = () => this.#placeSettings()
        this.#places.set(path, new Places(path, endpoint, settings, this.#processes, this.#timers))
      }
    }
  }

  /** Other settings from now on, all of them. */
  reload(settings: EndpointsSettings): void {
    this.#settings = settings
  }

  serve(request: FrontRequest, response: FrontResponse, arrival: Arrival): void {
    const places = this.#places.get(arrival.path)
    if (!places) return this.#refuse(request, response, arrival, noEndpoint)
    if (arrival.isLoop) return this.#refuse(request, response, arrival, loop)
    const refused = (reason: Refusal | undefined) => {
      if (reason) this.#refuse(request, response, arrival, reason)
    }
    this.#answer(places, request, response, arrival).then(refused).catch(() => refused(broken))
    const { keepAliveMs = 15_000 } = this.#options
    this.#stopLooking ??= this.#timers.every(keepAliveMs / looks, () => this.#look())
  }

  endStreams(): void {
    for (const session of this.#sessions()) session.endStreams()
  }

  giveUp(reason: string): Promise<unknown> {
    const sessions = this.#sessions()
    for (const session of sessions) session.giveUp(reason)
    return Promise.all(sessions.map(session => session.closed))
  }

  #placeSettings(): PlaceSettings {
    const { maxSessions = 1000, idleMs = 30 * 60_000, tokens = [] } = this.#settings
    const { mint = randomUUID } = this.#options
    return { maxSessions, idleMs, ownAuthorization: tokens.length > 0, mint }
  }

  #sessions(): readonly FrontSession[] {
    return [...this.#places.values()].flatMap(places => places.sessions())
  }

  #look(): void {
    const open = this.#sessions().filter(({ idle }) => !idle)
    for (const session of open) session.look(looks)
    if (open.length > 0) return
    this.#stopLooking?.()
    this.#stopLooking = undefined
  }

  /** @returns why the request is refused */
  async #answer(
    places: Places, request: FrontRequest, response: FrontResponse, arrival: Arrival,
  ): Promise<Refusal | undefined> {
    if (request.method !== 'POST') return this.#bare(places, request, response, arrival)
    const { limits } = this.#settings
    const { headers } = request
    const refused = checkContentType(headers) ?? (places.own ? checkAccept('POST', headers) : undefined)
      ?? checkBody(request, limits.messageBytes)
      ?? (headers.expect === undefined ? undefined : places.checkHead(arrival))
    if (refused) return refused
    const known = places.known(arrival)
    if (known?.latch.isClosed === true) await known.latch.passed()
    const share = new Share(this.#bodies, clientOf(arrival))
    response.once('close', () => share.end())
    const body = await readBody(request, response, limits.messageBytes, share)
    const hasLeft = () => request.socket.destroyed
    // For a client that has left meanwhile, here or while the message is read, no answer is begun.
    if (body === undefined || hasLeft()) return undefined
    if (!Buffer.isBuffer(body)) return body
    const parsed = parseInTurns(body, limits)
    const read = parsed instanceof Promise ? await parsed : parsed
    if (hasLeft()) return undefined
    const modern = arrival.modern || isModern(read)
    const frame = received(read, places.handedOn(arrival), modern)
    const due = dueIn(frame)
    const place = places.find(arrival, modern, frame)
    if ('status' in place) {
      this.#refuse(request, response, arrival, place, due.length === 1 ? due[0] : undefined)
      return undefined
    }
    const { session, claims } = place
    const reply = this.#reply(places, session, response, {
      due,
      statusOf: answers => statusOf(answers, frame, modern),
      settledStatus: frame.message.kind === 'unusable' ? 400 : 202,
    })
    session.post(reply, frame, { arrival, claims, carries: due.length > 0 && !isInitialize(frame) })
    // A process says nothing to what needs no answer.
    if (places.own && due.length === 0) reply.finish()
    return undefined
  }

  /** A request without a message. @returns why it is refused */
  #bare(
    places: Places, request: FrontRequest, response: FrontResponse, arrival: Arrival,
  ): Refusal | undefined {
    const { method, headers } = request
    if (method !== 'GET' && method !== 'DELETE') {
      return refusal(405, 'This method is not allowed', { allow: 'GET, POST, DELETE' })
    }
    const { modern } = arrival
    if (places.own && modern) {
      return refusal(405, 'This revision has no streams of GET, and no sessions', { allow: 'POST' })
    }
    const place = (method === 'GET' ? checkAccept('GET', headers) : undefined) ?? places.find(arrival, modern)
    if ('status' in place) return place
    const { session, claims } = place
    if (places.own && method === 'DELETE') {
      session.end('the client ended the session')
      response.writeHead(200, { 'content-length': 0 })
      response.end()
      return undefined
    }
    const reply = this.#reply(places, session, response, nothingOwed)
    if (places.own) session.listen(reply, arrival)
    else session.bare(reply, method, places.handedOn(arrival), { claims, arrival })
    return undefined
  }

  #reply(places: Places, session: FrontSession, response: FrontResponse, owed: Owed): Reply {
    return new Reply(response, owed, !places.own, session.id)
  }

  #refuse(
    request: FrontRequest, response: FrontResponse, { path, address }: Arrival, reason: Refusal, key?: IdKey,
  ): void {
    const { status, message } = reason
    this.#options.refused?.({ status, message, address, path: this.has(path) ? path : undefined })
    refuse(request, response, reason, this.#timers, key)
  }
}

const loop = refusal(508, 'The request has been here before: a server leads back to this relay')
export const noEndpoint: Refusal = { ...refusal(404, 'There is no endpoint at this path'), isPlain: true }
const broken: Refusal = { status: 500, code: errorCode.blocked, message: 'The relay failed on this request' }
