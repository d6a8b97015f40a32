import type { FrontRequest, FrontResponse } from './request.js'
import type { FrameLimits } from '../../protocol/frame.js'
import type { IdKey } from '../../protocol/json-rpc.js'
import { Arrival, clientOf, type Peer } from './arrival.js'
import { checkBody, readBody, Share } from './body.js'
import { checkAccept, checkContentType } from './media-type.js'
import { dueIn, isInitialize, isModern, received, statusOf } from './message.js'
import { Places, type Endpoint, type PlaceSettings } from './sessions/find.js'
import { refusal, type Refusal } from './refusal.js'
import type { Pace } from './pace.js'
import { nothingOwed, Reply, type Owed } from './reply.js'
import type { Quota } from './sessions/quota.js'
import type { FrontSession } from './sessions/session.js'
import { parseInTurns } from '../frames.js'
import type { Timers } from '../timers.js'

/** Read anew each time: all of it may be replaced while requests are open. */
export interface EndpointSettings extends PlaceSettings {
  readonly limits: FrameLimits
}

/** What the endpoints of a front share. */
export interface Shared {
  readonly settings: () => EndpointSettings
  readonly pace: Pace
  readonly timers: Timers
  /** The memory for bodies. */
  readonly bodies: Quota
  /** The places of processes. */
  readonly processes: Quota
  /** Answers, whether or not the body has been read to its end. @param key the id of the request in it */
  readonly refuse: (request: FrontRequest, response: FrontResponse, reason: Refusal, key?: IdKey) => void
}

const methods = 'GET, POST, DELETE'

/** What comes in at one path, once the gate has let it in: reads it, finds its session, and begins the answer. */
export class EndpointServer {
  readonly places: Places
  readonly #shared: Shared

  constructor(path: string, endpoint: Endpoint, shared: Shared) {
    this.places = new Places(path, endpoint, shared.settings, shared.processes, shared.timers)
    this.#shared = shared
  }

  async handle(request: FrontRequest, response: FrontResponse, peer: Peer): Promise<void> {
    const arrival = new Arrival(request, peer)
    if (request.method === 'GET') return this.#get(request, response, arrival)
    if (request.method === 'DELETE') return this.#delete(request, response, arrival)
    const { settings, bodies, refuse } = this.#shared
    if (request.method !== 'POST') return refuse(request, response, refusal(405, 'This method is not allowed', { allow: methods }))
    const { limits } = settings()
    const refused = checkContentType(request.headers) ?? (this.places.own ? checkAccept('POST', request.headers) : undefined) ?? checkBody(request, limits.messageBytes)
      ?? (request.headers.expect === undefined ? undefined : this.places.checkHead(arrival))
    if (refused) return refuse(request, response, refused)
    const known = this.places.known(arrival)
    if (known?.latch.isClosed === true) await known.latch.passed()
    const share = new Share(bodies, clientOf(peer))
    response.on('close', () => share.end())
    const body = await readBody(request, response, limits.messageBytes, share)
    const hasLeft = () => request.socket.destroyed
    // Whoever left meanwhile will not be told of: there is nobody to begin an answer for.
    if (body === undefined || hasLeft()) return
    if (!Buffer.isBuffer(body)) return refuse(request, response, body)
    const parsed = parseInTurns(body, limits)
    const read = parsed instanceof Promise ? await parsed : parsed
    // Or while it was read.
    if (hasLeft()) return
    const modern = arrival.modern || isModern(read)
    const frame = received(read, this.places.handedOn(arrival), modern)
    const due = dueIn(frame)
    const place = this.places.find(arrival, modern, frame)
    if ('status' in place) return refuse(request, response, place, due.length === 1 ? due[0] : undefined)
    const { session, claims } = place
    const reply = this.#reply(session, response, {
      due,
      statusOf: answers => statusOf(answers, frame, modern),
      settledStatus: frame.message.kind === 'unusable' ? 400 : 202,
    })
    session.post(reply, frame, { arrival, claims, carries: due.length > 0 && !isInitialize(frame) })
    // A process says nothing to what needs no answer.
    if (this.places.own && due.length === 0) reply.finish()
  }

  #get(request: FrontRequest, response: FrontResponse, arrival: Arrival): void {
    const { modern } = arrival
    if (this.places.own && modern) {
      return this.#shared.refuse(request, response, refusal(405, 'This revision has no stream of its own', { allow: 'POST' }))
    }
    const place = checkAccept('GET', request.headers) ?? this.places.find(arrival, modern)
    if ('status' in place) return this.#shared.refuse(request, response, place)
    const { session, claims } = place
    const reply = this.#reply(session, response, nothingOwed)
    if (this.places.own) session.listen(reply, arrival)
    else session.bare(reply, 'GET', this.places.handedOn(arrival), { claims, arrival })
  }

  #delete(request: FrontRequest, response: FrontResponse, arrival: Arrival): void {
    const { modern } = arrival
    if (this.places.own && modern) {
      return this.#shared.refuse(request, response, refusal(405, 'This revision has no session to end', { allow: 'POST' }))
    }
    const place = this.places.find(arrival, modern)
    if ('status' in place) return this.#shared.refuse(request, response, place)
    const { session, claims } = place
    if (this.places.own) {
      session.end('the client ended the session')
      response.writeHead(200, { 'content-length': 0 })
      response.end()
      return
    }
    const reply = this.#reply(session, response, nothingOwed)
    session.bare(reply, 'DELETE', this.places.handedOn(arrival), { claims, arrival })
  }

  #reply(session: FrontSession, response: FrontResponse, owed: Owed): Reply {
    return new Reply(response, owed, !this.places.own, this.#shared.pace, session.id)
  }
}
