import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { withoutLineEnds } from '../protocol/edit.js'
import type { Frame, FrameLimits } from '../protocol/frame.js'
import { parseFrame } from '../protocol/parse.js'
import { errorCode } from '../protocol/json-rpc.js'
import { revisions, traitsOf } from '../protocol/revision.js'
import { readBody } from './client-http-body.js'
import { authorizationDigest } from './client-http-gate.js'
import { checkAccept, checkContentType } from './client-http-media.js'
import { dueIn, isInitialize, isModern, lacksEnvelope, namesUnknownRevision, received, statusOf, unsupportedVersion } from './client-http-message.js'
import { refusal, refusalBody, type Refusal } from './client-http-refusal.js'
import { nothingOwed, Reply, type Owed, type ReplySettings } from './client-http-reply.js'
import { HttpSession, type SessionKind } from './client-http-session.js'
import { Sessions } from './client-http-sessions.js'
import type { Transport } from './transport.js'

/** A path at which one server is offered. */
export interface Endpoint {
  /**
   * What stands behind it: a process, for which the front mints sessions and chooses statuses; or an HTTP server, whose
   * sessions and statuses are handed on.
   */
  readonly server: 'stdio' | 'http'
  /** Called for each new session, before its first event: start its transport, now or later. */
  open(opening: Opening): void
}

/** A new session, to be joined to a server. */
export interface Opening {
  readonly path: string
  readonly kind: SessionKind
  /** The client's side. Its exchanges are HTTP requests; it is `ended` at the end of the session, and wants to be closed then. */
  readonly transport: Transport
  /** Names the session in records; it is not the `Mcp-Session-Id`, which is a secret. */
  readonly session: string
  /** Equal for clients that showed the same credentials; tells nothing about them. */
  readonly authorization: string
  /** Of the first request; without credentials that were meant for us. */
  readonly headers: ReadonlyMap<string, string>
}

export interface EndpointSettings extends ReplySettings {
  readonly limits: FrameLimits
  /** The Authorization header was meant for us: it is not handed on. */
  readonly ownAuthorization: boolean
  readonly maxSessions: number
  readonly idleMs: number
  /** Answers without the body having been read to its end. */
  readonly refuse: (request: IncomingMessage, response: ServerResponse, reason: Refusal) => void
}

/** Where a request belongs. */
interface Place {
  readonly session: HttpSession
  /** It names a session that only the server can know. */
  readonly claims: boolean
}

const methods = 'GET, POST, DELETE'

/** What comes in at one path, once the gate has let it in: reads it, finds its session, and begins the answer. */
export class EndpointServer {
  readonly #path: string
  #endpoint: Endpoint | undefined
  /** What stands behind the path; sessions that run keep theirs. */
  #kind: Endpoint['server']
  /** Counts the servers that stood here: nobody begins a session with one that was replaced. */
  #generation = 0
  readonly #settings: EndpointSettings
  readonly #sessions: Sessions<HttpSession>

  constructor(path: string, endpoint: Endpoint, settings: EndpointSettings) {
    this.#path = path
    this.#endpoint = endpoint
    this.#kind = endpoint.server
    this.#settings = settings
    this.#sessions = new Sessions({ max: settings.maxSessions, idleMs: settings.idleMs, timers: settings.timers })
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'POST') return this.#post(request, response)
    if (request.method === 'GET') return this.#get(request, response)
    if (request.method === 'DELETE') return this.#delete(request, response)
    this.#settings.refuse(request, response, refusal(405, 'This method is not allowed', { allow: methods }))
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

  sessions(): readonly HttpSession[] {
    return this.#sessions.all()
  }

  async #post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refused = checkContentType(request.headers) ?? checkAccept('POST', request.headers)
    if (refused) return this.#settings.refuse(request, response, refused)
    await this.#known(request)?.readable()
    const body = await readBody(request, this.#settings.limits.messageBytes)
    // Whoever left meanwhile will not be told of: there is nobody to begin an answer for.
    if (body === undefined || request.socket.destroyed) return
    if (!Buffer.isBuffer(body)) return this.#settings.refuse(request, response, body)
    const whole = parseFrame(body, this.#settings.limits)
    const read = this.#own ? inOneLine(whole, this.#settings.limits) : whole
    const modern = isModern(request.headers, read)
    const frame = received(read, this.#handedOn(request), modern)
    const due = dueIn(frame)
    const place = this.#place(request, modern, frame)
    if ('status' in place) {
      response.writeHead(place.status, { ...place.headers, 'content-type': 'application/json' })
      response.end(refusalBody(place, due.length === 1 ? due[0] : undefined))
      return
    }
    const { session, claims } = place
    const reply = this.#reply(session, response, {
      due,
      statusOf: answers => statusOf(answers, frame, modern),
      settledStatus: frame.message.kind === 'unusable' ? 400 : 202,
    })
    session.post(reply, frame, { claims, carries: due.length > 0 && !isInitialize(frame) })
    // A process says nothing to what needs no answer.
    if (this.#own && due.length === 0) reply.finish()
  }

  #get(request: IncomingMessage, response: ServerResponse): void {
    const modern = isModern(request.headers)
    if (this.#own && modern) {
      return this.#settings.refuse(request, response, refusal(405, 'This revision has no stream of its own', { allow: 'POST' }))
    }
    const place = checkAccept('GET', request.headers) ?? this.#place(request, modern)
    if ('status' in place) return this.#settings.refuse(request, response, place)
    const { session, claims } = place
    const reply = this.#reply(session, response, nothingOwed)
    if (this.#own) session.listen(reply)
    else session.bare(reply, 'GET', this.#handedOn(request), claims)
  }

  #delete(request: IncomingMessage, response: ServerResponse): void {
    const modern = isModern(request.headers)
    if (this.#own && modern) {
      return this.#settings.refuse(request, response, refusal(405, 'This revision has no session to end', { allow: 'POST' }))
    }
    const place = this.#place(request, modern)
    if ('status' in place) return this.#settings.refuse(request, response, place)
    const { session, claims } = place
    if (this.#own) {
      session.end('the client ended the session')
      response.writeHead(200, { 'content-length': 0 }).end()
      return
    }
    const reply = this.#reply(session, response, nothingOwed)
    session.bare(reply, 'DELETE', this.#handedOn(request), claims)
  }

  get #own(): boolean {
    return this.#kind === 'stdio'
  }

  /** The session to which a request belongs by its head, when there is one. */
  #known({ headers }: IncomingMessage): HttpSession | undefined {
    if (isModern(headers)) return this.#sessions.find(this.#groupName('modern', headers))
    const id = headers['mcp-session-id']
    return typeof id === 'string' ? this.#sessions.find(idName(id, authorizationDigest(headers))) : undefined
  }

  /** @param frame undefined for a request without a message */
  #place(request: IncomingMessage, modern: boolean, frame?: Frame): Place | Refusal {
    if (modern) return this.#own && frame ? this.#placeModern(request, frame) : this.#group('modern', request)
    const id = request.headers['mcp-session-id']
    const begins = frame !== undefined && isInitialize(frame)
    if (this.#own) return this.#placeOwn(request, begins)
    if (typeof id === 'string') {
      const known = this.#known(request)
      // One that is not known here may still be known to the server: the relay was restarted, or the credentials renewed.
      const session = known ?? this.#open('upstream', request, [idName(id, authorizationDigest(request.headers))])
      return session ? { session, claims: true } : this.#full
    }
    if (!begins) return this.#group('legacy', request)
    const session = this.#open('upstream', request, [])
    return session ? { session, claims: false } : this.#full
  }

  /** What a process cannot refuse for the HTTP server that it is not, is refused here (2026-07-28, server validation). */
  #placeModern(request: IncomingMessage, frame: Frame): Place | Refusal {
    // A process would take it for a legacy message, and from then on its connection for a legacy one.
    if (lacksEnvelope(frame)) return noEnvelope
    const requested = unsupportedVersion(request.headers, frame)
    if (requested !== undefined) return { ...unsupported, data: { supported: modernRevisions, requested: requested.slice(0, 80) } }
    return this.#group('modern', request)
  }

  #placeOwn(request: IncomingMessage, begins: boolean): Place | Refusal {
    if (namesUnknownRevision(request.headers)) return bad('The MCP-Protocol-Version is not known')
    if (request.headers['mcp-session-id'] !== undefined) {
      const session = this.#known(request)
      if (!session) return refusal(404, 'There is no such session: begin a new one with initialize')
      return begins ? bad('The session is initialized already') : { session, claims: false }
    }
    if (!begins) return bad('The Mcp-Session-Id header is missing: a session begins with initialize')
    const session = this.#open('own', request, [])
    return session ? { session, claims: false } : this.#full
  }

  /** Requests that belong to no session share one for each authorization context. */
  #group(revision: 'modern' | 'legacy', request: IncomingMessage): Place | Refusal {
    const name = this.#groupName(revision, request.headers)
    const session = this.#sessions.find(name) ?? this.#open('stateless', request, [name])
    return session ? { session, claims: false } : this.#full
  }

  #groupName(revision: 'modern' | 'legacy', headers: IncomingMessage['headers']): string {
    return `${revision} ${this.#generation} ${authorizationDigest(headers)}`
  }

  get #full(): Refusal {
    return this.#endpoint ? full : refusal(404, 'There is no endpoint at this path any more')
  }

  #open(kind: SessionKind, request: IncomingMessage, names: readonly string[]): HttpSession | undefined {
    const endpoint = this.#endpoint
    if (!endpoint || !this.#sessions.makeRoom()) return undefined
    const authorization = authorizationDigest(request.headers)
    const id = kind === 'own' ? randomUUID() : undefined
    const generation = this.#generation
    const session: HttpSession = new HttpSession(kind, id, {
      idle: idle => {
        // A handshake in which the server named no session has nothing to come back to.
        if (idle && kind === 'upstream' && !this.#sessions.isNamed(session)) session.end('the server named no session')
        else if (idle && kind === 'stateless' && generation < this.#generation) session.end('the server was replaced')
        else this.#sessions.setIdle(session, idle)
      },
      named: name => this.#sessions.name(session, idName(name, authorization)),
      ended: () => this.#sessions.remove(session),
    })
    this.#sessions.add(session)
    for (const name of id === undefined ? names : [idName(id, authorization)]) this.#sessions.name(session, name)
    try {
      endpoint.open({
        path: this.#path,
        kind,
        transport: session,
        session: randomUUID(),
        authorization,
        headers: this.#handedOn(request),
      })
    } catch (error) {
      this.#sessions.remove(session)
      throw error
    }
    return session
  }

  #reply(session: HttpSession, response: ServerResponse, owed: Owed): Reply {
    if (session.id !== undefined) response.setHeader('mcp-session-id', session.id)
    return new Reply(response, owed, !this.#own, this.#settings)
  }

  #handedOn({ headers }: IncomingMessage): ReadonlyMap<string, string> {
    const handedOn = new Map<string, string>()
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined && !(name === 'authorization' && this.#settings.ownAuthorization)) {
        handedOn.set(name, typeof value === 'string' ? value : value.join(', '))
      }
    }
    return handedOn
  }
}

// A session belongs to the credentials that began it: its id alone opens nothing.
const idName = (id: string, authorization: string): string => `id ${authorization} ${id}`

/** For a pipe, on which a line end ends the message. */
const inOneLine = (frame: Frame, limits: FrameLimits): Frame => {
  const bytes = withoutLineEnds(frame.bytes)
  if (bytes === frame.bytes) return frame
  // Of what is a message, it was between tokens that they stood.
  return frame.message.kind === 'unusable' ? { ...frame, bytes } : parseFrame(bytes, limits)
}

const bad = (message: string): Refusal => ({ status: 400, code: errorCode.invalidRequest, message })

const noEnvelope: Refusal = {
  status: 400,
  code: errorCode.invalidParams,
  message: 'The request says nothing of its protocolVersion and clientCapabilities in _meta',
}

const unsupported: Refusal = { status: 400, code: errorCode.unsupportedVersion, message: 'The protocol version is not supported' }
const modernRevisions = revisions.filter(revision => traitsOf(revision).modern)

const full = refusal(503, 'There are too many sessions', { 'retry-after': '5' })
