import { hash, randomUUID } from 'node:crypto'
import type { Frame } from '../../../protocol/frame.js'
import { errorCode } from '../../../protocol/json-rpc.js'
import { modernRevisions } from '../../../protocol/revisions/index.js'
import type { Timers } from '../../timers.js'
import type { Transport } from '../../transport.js'
import {
  isInitialize, isUnknownRevision, lacksEnvelope, unsupportedVersion, type Arrival, type Peer,
} from '../arrival.js'
import type { Credentials } from '../credentials.js'
import { clientOf, type Quota } from '../quota.js'
import { refusal, type Refusal } from '../refusal.js'
import { Sessions } from './registry.js'
import { FrontSession, type SessionKind } from './session.js'

/** A path at which one server is offered. */
export interface Endpoint {
  /**
   * What stands behind it: a process, for which the front mints sessions and chooses statuses; or an HTTP server, whose
   * sessions and statuses are handed on.
   */
  readonly server: 'stdio' | 'http'
  /** Called for each new session, before its first event: start its transport, now or later. */
  open(opening: NewSession): void
}

/** A new session, to be joined to a server. */
export interface NewSession {
  readonly path: string
  readonly kind: SessionKind
  /** The client's side. Its exchanges are HTTP requests; it is `ended` at the end of the session, and wants to be closed then. */
  readonly transport: Transport
  /** Names the session in records; it is not the `Mcp-Session-Id`, which is a secret. */
  readonly session: string
  /** It began before this relay knew of it (another replica, a restart): its handshake is not known. */
  readonly joined: boolean
  /** Who began it. */
  readonly peer: Peer
  /** Of the first request; without credentials that were meant for us. */
  readonly headers: ReadonlyMap<string, string>
}

/** Read anew each time: all of it may be replaced while sessions run. */
export interface PlaceSettings {
  /** The Authorization header was meant for us: it is not handed on. */
  readonly ownAuthorization: boolean
  readonly maxSessions: number
  readonly idleMs: number
  /** Makes the `Mcp-Session-Id` of a session in front of a process: nobody can guess it. */
  readonly mint: () => string
}

/** Where a request belongs. */
export interface Place {
  readonly session: FrontSession
  /** It names a session that only the server can know. */
  readonly claims: boolean
}

/** Which session the requests at one path belong to: finds it, or begins it with the server that stands there now. */
export class Places {
  readonly #path: string
  #endpoint: Endpoint | undefined
  /** What stands behind the path; sessions that run keep theirs. */
  #kind: Endpoint['server']
  /** Counts the servers that stood here: nobody begins a session with one that was replaced. */
  #generation = 0
  readonly #settings: () => PlaceSettings
  readonly #processes: Quota
  readonly #sessions: Sessions<FrontSession>

  /** @param processes the places that the sessions of all paths share, each with a process of its own */
  constructor(path: string, endpoint: Endpoint, settings: () => PlaceSettings, processes: Quota, timers: Timers) {
    this.#path = path
    this.#endpoint = endpoint
    this.#kind = endpoint.server
    this.#settings = settings
    this.#processes = processes
    this.#sessions = new Sessions({ max: () => settings().maxSessions, idleMs: () => settings().idleMs, timers })
  }

  /** A process stands there: sessions and statuses are ours to choose. */
  get own(): boolean {
    return this.#kind === 'stdio'
  }

  /** New sessions get another server, and requests without a session too. */
  replace(endpoint: Endpoint): void {
    const other = endpoint.server !== this.#kind
    for (const session of this.#sessions.all()) {
      if (other || (session.kind === 'stateless' && session.idle)) session.end('the server was replaced')
    }
    this.#endpoint = endpoint
    this.#kind = endpoint.server
    this.#generation++
  }

  /** Takes no new sessions. */
  retire(): void {
    this.#endpoint = undefined
  }

  sessions(): readonly FrontSession[] {
    return this.#sessions.all()
  }

  /** The session to which a request belongs by its head, when there is one. */
  known(arrival: Arrival): FrontSession | undefined {
    if (arrival.modern) return this.#sessions.find(this.#groupName('modern', arrival))
    const session = arrival.sessionId === undefined ? undefined : this.#sessions.find(idName(arrival.sessionId))
    return session?.owner === this.#ownerOf(arrival) ? session : undefined
  }

  holds(id: string): boolean {
    return this.#sessions.find(idName(id)) !== undefined
  }

  /** Why a request is refused for its head alone, before its body is asked for. */
  checkHead(arrival: Arrival): Refusal | undefined {
    return this.own && !arrival.modern && arrival.sessionId !== undefined && !this.known(arrival) ? noSession : undefined
  }

  /** The headers that the server may see. */
  handedOn(arrival: Arrival): ReadonlyMap<string, string> {
    // A process sees none of them.
    const headers = this.own ? arrival.headers : arrival.handedOn
    if (!this.#settings().ownAuthorization) return headers
    return new Map([...headers].filter(([name]) => name !== 'authorization'))
  }

  /**
   * Where a request belongs, or why it is refused.
   * @param frame undefined for a request without a message
   */
  find(arrival: Arrival, modern: boolean, frame?: Frame): Place | Refusal {
    if (modern) return this.own && frame ? this.#placeModern(arrival, frame) : this.#group('modern', arrival)
    const begins = frame !== undefined && isInitialize(frame)
    if (this.own) return this.#placeOwn(arrival, begins)
    if (arrival.sessionId !== undefined) {
      // One that is not known here may still be known to the server: the relay was restarted, or is one of
      // several.
      if (this.holds(arrival.sessionId) && !this.known(arrival)) return noSession
      const names = [idName(arrival.sessionId)]
      const session = this.known(arrival) ?? this.#open('upstream', arrival, names, !begins)
      return session ? { session, claims: true } : this.#full
    }
    if (!begins) return this.#group('legacy', arrival)
    const session = this.#open('upstream', arrival, [])
    return session ? { session, claims: false } : this.#full
  }

  /** What a process cannot refuse for the HTTP server that it is not, is refused here (2026-07-28, server validation). */
  #placeModern(arrival: Arrival, frame: Frame): Place | Refusal {
    // A process would take it for a legacy message, and from then on its connection for a legacy one.
    if (lacksEnvelope(frame)) return noEnvelope
    const requested = unsupportedVersion(arrival.version, frame)
    if (requested !== undefined) return { ...unsupported, data: { supported: modernRevisions, requested: requested.slice(0, 80) } }
    return this.#group('modern', arrival)
  }

  #placeOwn(arrival: Arrival, begins: boolean): Place | Refusal {
    if (isUnknownRevision(arrival.version)) return bad('The MCP-Protocol-Version is not known')
    if (arrival.sessionId !== undefined) {
      const session = this.known(arrival)
      if (!session) return noSession
      return begins ? bad('The session is initialized already') : { session, claims: false }
    }
    if (!begins) return bad('The Mcp-Session-Id header is missing: a session begins with initialize')
    const session = this.#open('own', arrival, [])
    return session ? { session, claims: false } : this.#full
  }

  /** Requests that belong to no session share one for each authorization context. */
  #group(revision: 'modern' | 'legacy', arrival: Arrival): Place | Refusal {
    const name = this.#groupName(revision, arrival)
    const session = this.#sessions.find(name) ?? this.#open('stateless', arrival, [name])
    return session ? { session, claims: false } : this.#full
  }

  #groupName(revision: 'modern' | 'legacy', arrival: Arrival): string {
    return `${revision} ${this.#generation} ${arrival.context(this.#credentials)}`
  }

  /** Whose session it is, where clients show tokens of ours: that of whoever began it, and nobody else's. */
  #ownerOf(arrival: Arrival): string {
    return this.#settings().ownAuthorization ? arrival.context('token') : ''
  }

  get #credentials(): Credentials {
    if (!this.own) return 'server'
    return this.#settings().ownAuthorization ? 'token' : 'nobody'
  }

  get #full(): Refusal {
    return this.#endpoint ? full : refusal(404, 'There is no endpoint at this path any more')
  }

  /** @param joined its handshake was made elsewhere */
  #open(
    kind: SessionKind, arrival: Arrival, names: readonly string[], joined = false,
  ): FrontSession | undefined {
    const endpoint = this.#endpoint
    if (!endpoint) return undefined
    const client = clientOf(arrival)
    const id = kind === 'own' ? this.#settings().mint() : undefined
    const generation = this.#generation
    const session: FrontSession = new FrontSession(kind, id, this.#ownerOf(arrival), {
      idle: idle => {
        // A handshake in which the server named no session has nothing to come back to.
        if (idle && kind === 'upstream' && !this.#sessions.isNamed(session)) session.end('the server named no session')
        else if (idle && kind === 'stateless' && generation < this.#generation) session.end('the server was replaced')
        else this.#sessions.setIdle(session, idle)
      },
      named: name => this.#sessions.name(session, idName(name)),
      ended: () => this.#sessions.remove(session),
    })
    if (!this.#sessions.add(session, client, kind === 'stateless')) return undefined
    if (kind === 'own' && !this.#takeProcess(session, arrival, client)) return undefined
    for (const name of id === undefined ? names : [idName(id)]) this.#sessions.name(session, name)
    try {
      endpoint.open({
        path: this.#path,
        kind,
        transport: session,
        session: randomUUID(),
        joined,
        peer: arrival.peer,
        headers: this.handedOn(arrival),
      })
    } catch (error) {
      void session.close()
      throw error
    }
    return session
  }

  /** Its process lives until the gateway has closed the session. */
  #takeProcess(session: FrontSession, arrival: Arrival, client: string): boolean {
    const leave = (arrival.place ?? this.#processes.place(client)).take()
    if (leave) void session.closed.then(leave)
    else this.#sessions.remove(session)
    return leave !== undefined
  }
}

/** A long one is known by its digest: how long it is, is the server's choice. */
const idName = (id: string): string => `id ${id.length > 64 ? hash('sha256', id, 'base64url') : id}`

const bad = (message: string): Refusal => ({ status: 400, code: errorCode.invalidRequest, message })

const noEnvelope: Refusal = {
  status: 400,
  code: errorCode.invalidParams,
  message: 'The request says nothing of its protocolVersion and clientCapabilities in _meta',
}

const unsupported: Refusal = { status: 400, code: errorCode.unsupportedVersion, message: 'The protocol version is not supported' }

const noSession = refusal(404, 'There is no such session: begin a new one with initialize')
const full = refusal(503, 'There are too many sessions', { 'retry-after': '5' })
