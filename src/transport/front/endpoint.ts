import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FrameLimits } from '../../protocol/frame.js'
import { Arrival, type Peer } from './arrival.js'
import { readBody } from './body.js'
import { checkAccept, checkContentType } from './media-type.js'
import { dueIn, isInitialize, isModern, received, statusOf } from './message.js'
import { Places, type Endpoint, type PlaceSettings } from './sessions/find.js'
import { refusal, refusalBody, type Refusal } from './refusal.js'
import { nothingOwed, Reply, type Owed, type ReplySettings } from './reply.js'
import type { FrontSession } from './sessions/session.js'
import { parseInTurns } from '../turns.js'

interface EndpointSettings extends PlaceSettings, ReplySettings {
  readonly limits: FrameLimits
  /** Answers without the body having been read to its end. */
  readonly refuse: (request: IncomingMessage, response: ServerResponse, reason: Refusal) => void
}

const methods = 'GET, POST, DELETE'

/** What comes in at one path, once the gate has let it in: reads it, finds its session, and begins the answer. */
export class EndpointServer {
  readonly places: Places
  readonly #settings: EndpointSettings

  constructor(path: string, endpoint: Endpoint, settings: EndpointSettings) {
    this.places = new Places(path, endpoint, settings)
    this.#settings = settings
  }

  async handle(request: IncomingMessage, response: ServerResponse, peer: Peer): Promise<void> {
    const arrival = new Arrival(request, peer)
    if (request.method === 'POST') return this.#post(request, response, arrival)
    if (request.method === 'GET') return this.#get(request, response, arrival)
    if (request.method === 'DELETE') return this.#delete(request, response, arrival)
    this.#settings.refuse(request, response, refusal(405, 'This method is not allowed', { allow: methods }))
  }

  async #post(request: IncomingMessage, response: ServerResponse, arrival: Arrival): Promise<void> {
    const refused = checkContentType(request.headers) ?? checkAccept('POST', request.headers)
    if (refused) return this.#settings.refuse(request, response, refused)
    await this.places.known(arrival)?.readable()
    const body = await readBody(request, this.#settings.limits.messageBytes)
    // Whoever left meanwhile will not be told of: there is nobody to begin an answer for.
    if (body === undefined || request.socket.destroyed) return
    if (!Buffer.isBuffer(body)) return this.#settings.refuse(request, response, body)
    const read = await parseInTurns(body, this.#settings.limits)
    const modern = arrival.modern || isModern(read)
    const frame = received(read, this.places.handedOn(arrival), modern)
    const due = dueIn(frame)
    const place = this.places.find(arrival, modern, frame)
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
    if (this.places.own && due.length === 0) reply.finish()
  }

  #get(request: IncomingMessage, response: ServerResponse, arrival: Arrival): void {
    const { modern } = arrival
    if (this.places.own && modern) {
      return this.#settings.refuse(request, response, refusal(405, 'This revision has no stream of its own', { allow: 'POST' }))
    }
    const place = checkAccept('GET', request.headers) ?? this.places.find(arrival, modern)
    if ('status' in place) return this.#settings.refuse(request, response, place)
    const { session, claims } = place
    const reply = this.#reply(session, response, nothingOwed)
    if (this.places.own) session.listen(reply)
    else session.bare(reply, 'GET', this.places.handedOn(arrival), claims)
  }

  #delete(request: IncomingMessage, response: ServerResponse, arrival: Arrival): void {
    const { modern } = arrival
    if (this.places.own && modern) {
      return this.#settings.refuse(request, response, refusal(405, 'This revision has no session to end', { allow: 'POST' }))
    }
    const place = this.places.find(arrival, modern)
    if ('status' in place) return this.#settings.refuse(request, response, place)
    const { session, claims } = place
    if (this.places.own) {
      session.end('the client ended the session')
      response.writeHead(200, { 'content-length': 0 }).end()
      return
    }
    const reply = this.#reply(session, response, nothingOwed)
    session.bare(reply, 'DELETE', this.places.handedOn(arrival), claims)
  }

  #reply(session: FrontSession, response: ServerResponse, owed: Owed): Reply {
    if (session.id !== undefined) response.setHeader('mcp-session-id', session.id)
    return new Reply(response, owed, !this.places.own, this.#settings)
  }
}
