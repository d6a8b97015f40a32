import { hash, randomUUID } from 'node:crypto'
import type { SharedSession } from '#relay/core/vocabulary.js'
import type { Frame, ResponseHead } from '#relay/protocol/frame.js'
import { isObject, type JsonObject } from '#relay/protocol/json.js'
import type { Timers } from '../../timers.js'
import type { Transport } from '../../transport.js'
import type { RequestArrival, Peer } from '../arrival.js'
import type { ContextSource } from '../credentials.js'
import { calledTools, checkModern, isInitialize, isUnknownRevision } from '../message.js'
import { quotaClientOf, type Quota } from '../quota.js'
import { refusals, type Refusal } from '../refusal.js'
import { BoundIds, namedId, readNamedId } from './ids.js'
import { Sessions } from './registry.js'
import { FrontSession, type SessionKind } from './session.js'

/** A path at which one server is offered. */
export interface Endpoint {
  /** The server's name (default: its path). */
  readonly name?: string
  /**
   * For a stdio server the front creates session ids and chooses statuses; those of an HTTP server are
   * forwarded.
   */
  readonly server: 'stdio' | 'http'
  /** It stands for several servers, which may list by any of a client's headers. */
  readonly isMerged?: true
  /** The server gets the Authorization header of clients. */
  readonly passesAuthorization?: boolean
  /** The scopes that a token needs for this endpoint. */
  readonly scopes?: readonly string[] | undefined
  /** The further scopes that a token needs to call this tool. */
  scopesOf?(tool: string): readonly string[]
  /**
   * The state of a session that replicas share. Undefined: nothing is shared.
   * @param id undefined: the server has yet to choose it
   * @param kind `group`: `id` is the authorization context of clients that send no session id
   */
  shared?:
    ((id: string | undefined, kind: 'session' | 'group') => SharedSession) | undefined
  /**
   * Called for each new session, before its first event. It starts the session's transport, now or later.
   * @returns resolves when the session's process has ended; nothing where it has none
   */
  open(opening: NewSession): Promise<void> | void
}

/** A new session, to be connected to a server. */
export interface NewSession {
  readonly path: string
  readonly kind: SessionKind
  /**
   * The client's side. Its exchanges are HTTP requests. The gateway must close it after it reports `ended`.
   */
  readonly transport: Transport
  /** Identifies the session in records. Not the `Mcp-Session-Id`, which is a secret. */
  readonly session: string
  /**
   * True when the client made the handshake with another replica, or before a restart: this relay did not see
   * the handshake.
   */
  readonly joined: boolean
  readonly shared?: SharedSession | undefined
  /** The terms that the handshake agreed, where this relay did not see it, if they are known. */
  readonly agreed?: JsonObject | undefined
  /** The client that began the session. */
  readonly peer: Peer
  /** Makes a session id for the client, where the server does not. */
  readonly newSessionId: () => string
  /** The headers of the session's first request, without credentials that were meant for this relay. */
  readonly headers: ReadonlyMap<string, string>
}

/**
 * The settings of a router. They are read at each use, because all of them may be replaced while sessions
 * run.
 */
export interface RouterSettings {
  /** The Authorization header is meant for this relay. */
  readonly ownAuthorization: boolean
  readonly maxSessions: number
  readonly idleMs: number
  /** See `EndpointsSettings`. */
  readonly sessionKey: string | Uint8Array
  readonly replica: string | undefined
  /** Creates the `Mcp-Session-Id` of a session of a stdio server. It cannot be guessed. */
  readonly newSessionId: () => string
}

/** The session that a request belongs to. */
interface Destination {
  readonly session: FrontSession
  /**
   * True when the request names a session id of an HTTP server. Only that server knows the session: if it
   * answers 404, the relay ends its own session too.
   */
  readonly isUnverified: boolean
}

interface AgreedElsewhere {
  /** The terms that the handshake agreed at the other replica, if known. */
  readonly agreed: JsonObject | undefined
}

/** Finds or begins the sessions of the requests at one path. */
export class SessionRouter {
  #endpoint: Endpoint
  /** Called after the last session of a retired endpoint; undefined: new sessions may begin. */
  #emptied: (() => void) | undefined
  /**
   * The number of endpoints so far. It is part of a group's name, so that no request joins the session of a
   * server that was replaced.
   */
  #generation = 0
  readonly #sessions: Sessions<FrontSession>

  /** @param processes limits the processes of sessions, over all paths */
  constructor(
    private readonly path: string,
    endpoint: Endpoint,
    private readonly settings: () => RouterSettings,
    private readonly processes: Quota,
    timers: Timers,
  ) {
    this.#endpoint = endpoint
    const max = () => settings().maxSessions
    this.#sessions = new Sessions({ max, idleMs: () => settings().idleMs, timers })
  }

  /** True when the server speaks stdio: the front then chooses session ids and statuses. */
  get isStdio(): boolean {
    return this.#endpoint.server === 'stdio'
  }

  /** New sessions, and requests without a session, go to this endpoint from now on. */
  replace(endpoint: Endpoint): void {
    const other = endpoint.server !== this.#endpoint.server
    this.#endpoint = endpoint
    this.#emptied = undefined
    this.#generation++
    for (const session of this.#sessions.all()) {
      if (other || (session.kind === 'stateless' && session.idle)) session.end('the server was replaced')
      // Later requests of these clients belong to another session, which would not learn of changed lists.
      else if (session.kind === 'stateless') session.endStreams()
    }
  }

  /** Takes no new sessions. Requests of running ones still need the scopes of the endpoint. */
  retire(emptied: () => void): void {
    this.#emptied = emptied
    this.#tellEmptied()
  }

  #tellEmptied(): void {
    if (this.#emptied !== undefined && this.#sessions.all().length === 0) this.#emptied()
  }

  sessions(): readonly FrontSession[] {
    return this.#sessions.all()
  }

  /**
   * Reads the id of a request to an HTTP server: takes the replica's name from it, and the client that it is
   * bound to where this relay knows its clients. That holds for every revision: a server of several could
   * take the id of any request.
   */
  readSessionId(arrival: RequestArrival): Refusal | undefined {
    const { sessionId } = arrival
    const { replica, ownAuthorization } = this.settings()
    if (sessionId === undefined || this.isStdio) return undefined
    const id = replica === undefined ? sessionId : readNamedId(sessionId).rest
    arrival.sessionId = ownAuthorization ? this.#ids.read(id, this.#ownerOf(arrival)) : id
    return arrival.sessionId === undefined ? refusals.noSession : undefined
  }

  /** The head of an HTTP server's response, with session ids as the client of this request gets them. */
  withClientId(arrival: RequestArrival, { status, headers }: ResponseHead): ResponseHead {
    const { replica, ownAuthorization } = this.settings()
    const ids = this.isStdio ? undefined : headers.get('mcp-session-id')
    if (ids === undefined) return { status, headers }
    const owner = this.#ownerOf(arrival)
    const idOf = (id: string) => namedId(replica, ownAuthorization ? this.#ids.bind(id, owner) : id)
    return { status, headers: new Map([...headers, ['mcp-session-id', ids.map(idOf)]]) }
  }

  get #ids(): BoundIds {
    return new BoundIds(this.settings().sessionKey, this.#endpoint.name ?? this.path)
  }

  /** The session to which a request belongs by its headers, if that session exists here. */
  sessionOf(arrival: RequestArrival): FrontSession | undefined {
    if (arrival.modern) return this.#sessions.find(this.#groupName('modern', arrival))
    const id = arrival.sessionId
    return id === undefined ? undefined : this.#sessions.find(idName(id, this.#ownerOf(arrival)))
  }

  /** Refuses a request by its headers alone, before the client is asked for the body. */
  checkHead(arrival: RequestArrival): Refusal | undefined {
    const { sessionId, modern } = arrival
    if (!this.isStdio || modern || sessionId === undefined || this.sessionOf(arrival)) return undefined
    return this.#unknownToProcess(sessionId)
  }

  /** Why an unknown id is refused in front of a process: a session is only where its process runs. */
  #unknownToProcess(sessionId: string): Refusal {
    const home = readNamedId(sessionId).replica
    const isOwn = home === undefined || home === this.settings().replica
    return isOwn ? refusals.noSession : refusals.otherReplica
  }

  /** The scopes that a token needs for any request. */
  get scopes(): readonly string[] {
    return this.#endpoint.scopes ?? []
  }

  /** The server's. */
  get name(): string | undefined {
    return this.#endpoint.name
  }

  /** The scopes that the called tools need. @param frame undefined: the message was not read yet */
  toolScopes(
    frame: Frame | undefined,
  ): readonly { readonly tool: string; readonly scopes: readonly string[] }[] {
    if (frame === undefined || this.#endpoint.scopesOf === undefined) return []
    return calledTools(frame).map(tool => ({ tool, scopes: this.#endpoint.scopesOf?.(tool) ?? [] }))
  }

  /**
   * Asks the shared state for a session that this relay does not know; undefined: there is nothing to ask.
   */
  askReplicas(arrival: RequestArrival): Promise<AgreedElsewhere> | undefined {
    const { sessionId, modern } = arrival
    if (this.isStdio || modern || sessionId === undefined || this.sessionOf(arrival)) return undefined
    if (this.#emptied !== undefined) return undefined
    return this.#endpoint.shared?.(sessionId, 'session').ask({ kind: 'find', part: 'session', name: '' })
      .then(agreed => ({ agreed: isObject(agreed) ? agreed : undefined }))
  }

  /** The request's headers as the server may see them. */
  headersFor(arrival: RequestArrival): ReadonlyMap<string, string> {
    const { passesAuthorization = !this.settings().ownAuthorization } = this.#endpoint
    return arrival.headers(!this.isStdio, passesAuthorization)
  }

  /**
   * Finds the session of a request, or begins one.
   * @param frame undefined for a request without a message
   * @param elsewhere what `askReplicas` has found
   */
  find(
    arrival: RequestArrival, modern: boolean, frame?: Frame,
    elsewhere: AgreedElsewhere = { agreed: undefined },
  ): Destination | Refusal {
    if (modern) {
      const refused = this.isStdio && frame ? checkModern(arrival.version, frame) : undefined
      return refused ?? this.#groupSession('modern', arrival)
    }
    const begins = frame !== undefined && isInitialize(frame)
    // No session begins with a batch (2025-03-26, lifecycle, initialization).
    if (this.isStdio) return this.#findOfProcess(arrival, begins && frame.message.kind === 'request')
    if (arrival.sessionId !== undefined) {
      const names = [idName(arrival.sessionId, this.#ownerOf(arrival))]
      // The server may know a session that is not known here: after a restart, or with several replicas.
      const session =
        this.sessionOf(arrival) ?? this.#open('upstream', arrival, names, begins ? undefined : elsewhere)
      return session ? { session, isUnverified: true } : this.#cannotOpen
    }
    if (!begins) return this.#groupSession('legacy', arrival)
    const session = this.#open('upstream', arrival, [])
    return session ? { session, isUnverified: false } : this.#cannotOpen
  }

  #findOfProcess(arrival: RequestArrival, begins: boolean): Destination | Refusal {
    if (isUnknownRevision(arrival.version)) return refusals.unknownVersion
    if (arrival.sessionId !== undefined) {
      const session = this.sessionOf(arrival)
      if (!session) return this.#unknownToProcess(arrival.sessionId)
      return begins ? refusals.initialized : { session, isUnverified: false }
    }
    if (!begins) return refusals.noSessionId
    const session = this.#open('own', arrival, [])
    return session ? { session, isUnverified: false } : this.#cannotOpen
  }

  /**
   * Requests that name no session share one session, if their authorization contexts are equal (see
   * `ContextSource`).
   */
  #groupSession(revision: 'modern' | 'legacy', arrival: RequestArrival): Destination | Refusal {
    const name = this.#groupName(revision, arrival)
    const session = this.#sessions.find(name) ?? this.#open('stateless', arrival, [name])
    return session ? { session, isUnverified: false } : this.#cannotOpen
  }

  #groupName(revision: 'modern' | 'legacy', arrival: RequestArrival): string {
    return `${revision} ${this.#generation} ${arrival.context(this.#contextSource)}`
  }

  /** Where this relay checks tokens, a session can only be used with the token that began it. */
  #ownerOf(arrival: RequestArrival): string {
    return this.settings().ownAuthorization ? arrival.context('token') : ''
  }

  get #contextSource(): ContextSource {
    if (!this.isStdio || this.#endpoint.isMerged) return 'headers'
    return this.settings().ownAuthorization ? 'token' : 'none'
  }

  get #cannotOpen(): Refusal {
    return this.#emptied === undefined ? refusals.manySessions : refusals.retired
  }

  /** @param joined the session began elsewhere: see `NewSession` */
  #open(
    kind: SessionKind, arrival: RequestArrival, names: readonly string[],
    joined?: AgreedElsewhere,
  ): FrontSession | undefined {
    const endpoint = this.#endpoint
    if (this.#emptied !== undefined) return undefined
    const client = quotaClientOf(arrival)
    const { replica, newSessionId } = this.settings()
    const id = kind === 'own' ? namedId(replica, newSessionId()) : undefined
    const generation = this.#generation
    const owner = this.#ownerOf(arrival)
    const shared = kind === 'own' ? undefined : kind === 'stateless'
      ? endpoint.shared?.(arrival.context(this.#contextSource), 'group')
      // A session that begins here has no id until the server chooses one.
      : endpoint.shared?.(joined && arrival.sessionId, 'session')
    const session: FrontSession = new FrontSession(kind, id, {
      idle: idle => {
        const isOld = generation < this.#generation
        // Without an id that the client knows, no later request can belong to this session.
        if (idle && kind !== 'stateless' && names.length === 0 && !session.answered) {
          session.end('the client left before it got the id of the session')
        } else if (idle && kind === 'upstream' && !this.#sessions.isNamed(session)) {
          session.end('the server named no session')
        } else if (idle && kind === 'stateless' && isOld) session.end('the server was replaced')
        else this.#sessions.setIdle(session, idle)
      },
      named: name => this.#sessions.name(session, idName(name, owner)),
      gone: () => void shared?.ask({ kind: 'forget', part: 'session', name: '' }),
      ended: () => {
        this.#sessions.remove(session)
        this.#tellEmptied()
      },
    })
    if (!this.#sessions.add(session, client, kind === 'stateless')) return undefined
    const place = kind === 'own' ? this.#reserveProcess(session, arrival, client) : noPlace
    if (place === undefined) return undefined
    for (const name of id === undefined ? names : [idName(id, owner)]) this.#sessions.name(session, name)
    try {
      const ended = endpoint.open({
        path: this.path,
        kind,
        transport: session,
        session: randomUUID(),
        joined: joined !== undefined,
        shared,
        agreed: joined && (joined.agreed ?? arrival.agreed),
        peer: arrival.peer,
        newSessionId,
        headers: this.headersFor(arrival),
      })
      void Promise.all([session.closed, ended]).then(place)
    } catch (error) {
      place()
      void session.close()
      throw error
    }
    return session
  }

  /** Counts the session's process in the quota. @returns to be called when the process has ended */
  #reserveProcess(session: FrontSession, arrival: RequestArrival, client: string): (() => void) | undefined {
    const release = (arrival.processSlot ?? this.processes.processSlot(client)).reserve()
    if (release === undefined) this.#sessions.remove(session)
    return release
  }
}

const noPlace = (): void => undefined

/**
 * A server may give two clients the same id. The owner is a digest. Long ids are hashed, because the server
 * chooses their length.
 */
const idName = (id: string, owner: string): string =>
  `id ${owner} ${id.length > 64 ? hash('sha256', id, 'base64url') : id}`
