import { randomBytes, randomUUID } from 'node:crypto'
import type { Identity } from '#relay/core/vocabulary.js'
import { grants } from '#relay/core/options.js'
import type { Frame, FrameLimits, ResponseHead } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { parseInTurns } from '../frames.js'
import { realTimers, type Timers } from '../timers.js'
import type { RequestArrival } from './arrival.js'
import { checkBody, readBody } from './body.js'
import { lacking, ownChallenge, type Resource } from './authority.js'
import { checkAccept, checkContentType, onlyForm } from './gate.js'
import { expectedIn, isInitialize, isModernFrame, received, statusOf } from './message.js'
import { quotaClientOf, Quota, Share } from './quota.js'
import { refusals, refuse, type Refusal } from './refusal.js'
import { nothingExpected, Reply, type ExpectedReply } from './reply.js'
import { hasLeft, type FrontRequest, type FrontResponse } from './request.js'
import { SessionRouter, type Endpoint, type RouterSettings } from './sessions/router.js'
import type { FrontSession } from './sessions/session.js'

/** Answers the requests that the front has admitted: the endpoints of this process, or relay processes. */
export interface Backend<Request = FrontRequest, Response = FrontResponse> {
  has(path: string): boolean
  /** Answers a request at a path that it has. */
  serve(request: Request, response: Response, arrival: RequestArrival): void
  /** Ends the streams that would never end by themselves, because the front is stopping. */
  endStreams(): void
  /** Ends all sessions. Resolves when each has sent its last response. */
  giveUp(reason: string): Promise<unknown>
}

export interface EndpointsSettings {
  /** The front checks tokens: the Authorization header is not forwarded, unless the endpoint says so. */
  readonly ownAuthorization?: boolean
  /** Binds session ids to their clients; the same at all replicas (default: a key of this process). */
  readonly sessionKey?: string | Uint8Array | undefined
  /** The name of this replica, which the session ids of clients begin with. */
  readonly replica?: string | undefined
  /** For the scopes of endpoints and tools; undefined: scopes are not checked. */
  readonly resource?: Resource | undefined
  readonly limits: FrameLimits
  /** Most bytes of request bodies in memory at a time (64 MiB). */
  readonly bufferedBytes?: number
  /** Most sessions of an endpoint at a time (1000). */
  readonly maxSessions?: number
  /** Most sessions with a process of their own at a time, over all endpoints (64). */
  readonly maxProcesses?: number
  /** A session ends after this time without an open HTTP request, in milliseconds (30 minutes). */
  readonly idleMs?: number
}

export interface EndpointsOptions extends EndpointsSettings {
  /** By path, such as `/files/mcp`. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  /** The longest time that a stream is silent before it gets a comment, in milliseconds (15 seconds). */
  readonly keepAliveMs?: number
  /** Called for every request that is refused before it reaches a session; for logs, records and metrics. */
  readonly refused?: (refused: Refused) => void
  readonly newSessionId?: RouterSettings['newSessionId']
  readonly timers?: Timers
}

export interface Refused {
  readonly status: number
  /** Never repeats text that the client sent. */
  readonly message: string
  /** The client's. */
  readonly address: string
  /** Who it is, where its token says so. */
  readonly subject?: Identity | undefined
  /** Undefined where there is no endpoint. */
  readonly path: string | undefined
}

/** How many times within `keepAliveMs` responses are checked for silence. */
const checks = 3

/** The endpoints of this process: reads requests' bodies, finds their sessions, begins the responses. */
export class Endpoints implements Backend {
  readonly #timers: Timers
  readonly #routers = new Map<string, SessionRouter>()
  #settings: EndpointsSettings
  /** The bytes of memory for bodies. */
  readonly #bodies = new Quota(() => this.#settings.bufferedBytes ?? 64 * 1024 * 1024)
  readonly #processes = new Quota(() => this.#settings.maxProcesses ?? 64)
  readonly #ownKey = randomBytes(32)
  /** Stops the timer of keep-alive comments; undefined while no response is open. */
  #stopKeepAlive: (() => void) | undefined

  constructor(private readonly options: EndpointsOptions) {
    this.#settings = options
    this.#timers = options.timers ?? realTimers
    this.offer(options.endpoints)
  }

  /** The number of sessions. */
  get sessions(): number {
    return this.#sessions().length
  }

  has(path: string): boolean {
    return this.#routers.has(path)
  }

  /**
   * Replaces the endpoints. The sessions of a path that stays go on; a path that is gone gets no new ones.
   */
  offer(endpoints: ReadonlyMap<string, Endpoint>): void {
    for (const [path, router] of this.#routers) {
      if (endpoints.has(path)) continue
      router.retire(() => this.#routers.delete(path))
    }
    for (const [path, endpoint] of endpoints) {
      const router = this.#routers.get(path)
      if (router) router.replace(endpoint)
      else {
        const settings = () => this.#routerSettings()
        const added = new SessionRouter(path, endpoint, settings, this.#processes, this.#timers)
        this.#routers.set(path, added)
      }
    }
  }

  /** Replaces all settings. */
  reload(settings: EndpointsSettings): void {
    this.#settings = settings
  }

  serve(request: FrontRequest, response: FrontResponse, arrival: RequestArrival): void {
    const router = this.#routers.get(arrival.path)
    if (!router) return this.#refuse(request, response, arrival, refusals.noEndpoint)
    if (arrival.isLoop) return this.#refuse(request, response, arrival, refusals.loop)
    const refused = (reason: Refusal | undefined) => {
      if (reason) this.#refuse(request, response, arrival, reason)
    }
    this.#answer(router, request, response, arrival).then(refused).catch(() => refused(refusals.broken))
    const { keepAliveMs = 15_000 } = this.options
    this.#stopKeepAlive ??= this.#timers.every(keepAliveMs / checks, () => this.#keepAlive())
  }

  endStreams(): void {
    for (const session of this.#sessions()) session.endStreams()
  }

  giveUp(reason: string): Promise<unknown> {
    const sessions = this.#sessions()
    for (const session of sessions) session.giveUp(reason)
    return Promise.all(sessions.map(session => session.closed))
  }

  #routerSettings(): RouterSettings {
    const {
      maxSessions = 1000, idleMs = 30 * 60_000, ownAuthorization = false, sessionKey = this.#ownKey, replica,
    } = this.#settings
    const { newSessionId = randomUUID } = this.options
    return { maxSessions, idleMs, ownAuthorization, sessionKey, replica, newSessionId }
  }

  #sessions(): readonly FrontSession[] {
    return [...this.#routers.values()].flatMap(router => router.sessions())
  }

  #keepAlive(): void {
    const open = this.#sessions().filter(({ idle }) => !idle)
    for (const session of open) session.keepAlive(checks)
    if (open.length > 0) return
    this.#stopKeepAlive?.()
    this.#stopKeepAlive = undefined
  }

  /** @returns why the request is refused */
  async #answer(
    router: SessionRouter, request: FrontRequest, response: FrontResponse, arrival: RequestArrival,
  ): Promise<Refusal | undefined> {
    const turnedAway = this.#lacking(router, arrival) ?? router.readSessionId(arrival)
    if (turnedAway) return turnedAway
    if (request.method !== 'POST') return this.#bare(router, request, response, arrival)
    const { limits } = this.#settings
    const { headers } = request
    const refused = checkContentType(headers) ?? (router.isStdio ? checkAccept('POST', headers) : undefined)
      ?? checkBody(request, limits.messageBytes)
      ?? (headers.expect === undefined ? undefined : router.checkHead(arrival))
    if (refused) return refused
    const known = router.sessionOf(arrival)
    if (known?.latch.isClosed === true) await known.latch.passed()
    if (hasLeft(response)) return undefined
    const client = quotaClientOf(arrival)
    const share = new Share(this.#bodies, client, response)
    const body = await readBody(request, response, limits.messageBytes, share)
    if (body === undefined || hasLeft(response)) return undefined
    if (!Buffer.isBuffer(body)) return body
    const parsed = parseInTurns(body, limits)
    const read = parsed instanceof Promise ? await parsed : parsed
    if (hasLeft(response)) return undefined
    const modern = arrival.modern || isModernFrame(read)
    const frame = received(read, router.headersFor(arrival), modern, this.#scopesOf(arrival), client)
    const expected = expectedIn(frame)
    const asked = modern ? undefined : router.askReplicas(arrival)
    const elsewhere = asked && await asked
    if (hasLeft(response)) return undefined
    const found = this.#lacking(router, arrival, frame) ?? router.find(arrival, modern, frame, elsewhere)
    if ('status' in found) {
      this.#refuse(request, response, arrival, found, expected.length === 1 ? expected[0] : undefined)
      return undefined
    }
    const { session, isUnverified } = found
    const form = router.isStdio ? onlyForm(headers) : undefined
    const reply = this.#reply(router, session, response, arrival, {
      keys: expected,
      form,
      statusOf: answers => statusOf(answers, frame, modern),
      emptyStatus: frame.message.kind === 'unusable' ? 400 : 202,
      challenge: scopes => this.#refusalFor(router, arrival, scopes),
    })
    const carries = expected.length > 0 && !isInitialize(frame) && form !== 'json'
    session.post(reply, frame, { arrival, isUnverified, carries })
    // A stdio server sends nothing for a message without requests.
    if (router.isStdio && expected.length === 0) reply.finish()
    return undefined
  }

  /** The scopes that the client's token grants; undefined where scopes are not checked. */
  #scopesOf({ subject }: RequestArrival): readonly string[] | undefined {
    return this.#settings.resource && (subject?.scopes ?? [])
  }

  /** Refuses a request whose token lacks a scope of the endpoint or of a called tool. */
  #lacking(router: SessionRouter, arrival: RequestArrival, frame?: Frame): Refusal | undefined {
    const granted = this.#scopesOf(arrival)
    if (granted === undefined) return undefined
    const tools = router.toolScopes(frame).filter(({ scopes }) => !grants(granted, scopes))
    if (tools.length === 0 && grants(granted, router.scopes)) return undefined
    const more = tools.flatMap(({ scopes }) => scopes)
    return this.#refusalFor(router, arrival, more, tools.map(({ tool }) => tool))
  }

  /** @param more scopes beside those of the endpoint @param tools that need them */
  #refusalFor(
    router: SessionRouter, arrival: RequestArrival, more: readonly string[], tools?: readonly string[],
  ): Refusal | undefined {
    const { resource } = this.#settings
    const { path, subject } = arrival
    const needed = [...new Set([...resource?.scopes ?? [], ...router.scopes, ...more])]
    const missing = needed.filter(scope => subject?.scopes.includes(scope) !== true)
    return resource && lacking(resource, path, needed, { missing, server: router.name, tools, subject })
  }

  /** A request without a message. @returns why it is refused */
  async #bare(
    router: SessionRouter, request: FrontRequest, response: FrontResponse, arrival: RequestArrival,
  ): Promise<Refusal | undefined> {
    const { method, headers } = request
    if (method !== 'GET' && method !== 'DELETE') return refusals.badMethod
    const { modern } = arrival
    if (router.isStdio && modern) return refusals.onlyPost
    const elsewhere = await router.askReplicas(arrival)
    if (hasLeft(response)) return undefined
    const found = (method === 'GET' ? checkAccept('GET', headers) : undefined)
      ?? router.find(arrival, modern, undefined, elsewhere)
    if ('status' in found) return found
    const { session, isUnverified } = found
    if (router.isStdio && method === 'DELETE') {
      session.end('the client ended the session')
      response.writeHead(200, { 'content-length': 0 })
      response.end()
      return undefined
    }
    const reply = this.#reply(router, session, response, arrival, nothingExpected)
    if (router.isStdio) session.listen(reply, arrival)
    else session.bare(reply, method, router.headersFor(arrival), { isUnverified, arrival })
    return undefined
  }

  #reply(
    router: SessionRouter, session: FrontSession, response: FrontResponse, arrival: RequestArrival,
    expected: ExpectedReply,
  ): Reply {
    const { resource } = this.#settings
    const { upstream, path } = arrival
    const isOwn = upstream !== undefined && resource !== undefined
    const change = (head: ResponseHead) =>
      router.withClientId(arrival, isOwn ? ownChallenge(resource, path, head) : head)
    return new Reply(response, expected, !router.isStdio, session.id, change)
  }

  #refuse(
    request: FrontRequest, response: FrontResponse, { path, address, subject }: RequestArrival,
    reason: Refusal,
    key?: IdKey,
  ): void {
    const { status, message } = reason
    this.options.refused?.({ status, message, address, subject, path: this.has(path) ? path : undefined })
    refuse(request, response, reason, this.#timers, key)
  }
}
