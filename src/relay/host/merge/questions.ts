import { stdioExchange } from '#relay/core/event.js'
import { ChurnMap } from '#relay/core/memory.js'
import { errorFrame } from '#relay/core/refusal.js'
import { errorCode, type IdKey } from '#relay/protocol/json-rpc.js'
import { idOf, keyAt } from '#relay/protocol/message.js'
import { quote } from '#relay/protocol/quote.js'
import { slice } from '#relay/protocol/scan.js'
import {
  answerUnder, changedNotification, changedRequest, type MemberChange, notification, type NotificationFrame,
  type RequestFrame, type ResponseFrame, responseOf, tokenPath,
} from './frames.js'
import type { Leg } from './leg.js'
import type { Legs } from './legs.js'
import { type Host, maxOpen } from './machine.js'

/** A server's request to the client. */
interface Question {
  readonly leg: Leg
  readonly id: Buffer
  readonly token: Buffer | undefined
}

/** Longest id and progress token of a server's request, together. */
const maxIdBytes = 1024

/** The servers' requests to the client that it has not answered. Several servers may ask with one id. */
export class ServerQuestions {
  readonly #host: Host
  readonly #legs: Legs
  /** By the id that the client knows. */
  readonly #open = new ChurnMap<IdKey, Question>()
  /** By server and its own id: the id that the client knows. */
  readonly #keys = new Map<Leg, ChurnMap<IdKey, IdKey>>()
  #last = 0

  constructor(host: Host, legs: Legs) {
    this.#host = host
    this.#legs = legs
  }

  ask(leg: Leg, frame: RequestFrame): void {
    const { message } = frame
    // Copies: a part of the frame would keep all of it.
    const id = Buffer.from(message.key)
    if (message.method === 'ping') return this.#legs.requests.notify(leg, responseOf(message, {}))
    const written = slice(frame, ['params', ...tokenPath])
    const isLong = id.length + (written?.length ?? 0) > maxIdBytes
    const keys = this.#keys.get(leg) ?? new ChurnMap()
    const before = keys.get(message.key)
    if (before !== undefined) this.#withdraw(before, `the server ${quote(leg.name)} asks anew under its id`)
    // Each server has an equal share, so that none takes the room of others.
    if (isLong || keys.size >= maxOpen / this.#legs.all().length) {
      const text = isLong ? 'The id is too long' : 'Too many requests of the server are open'
      return this.#legs.requests.notify(leg, errorFrame(message, errorCode.blocked, text))
    }
    const number = (this.#last += 1)
    const token = written && Buffer.from(written)
    this.#open.set(String(number), { leg, id, token })
    keys.set(message.key, String(number))
    this.#keys.set(leg, keys)
    const changes: MemberChange[] = [{ path: ['_meta', 'mcp-customs/server'], value: leg.name }]
    if (token !== undefined) changes.push({ path: tokenPath, value: number })
    this.#host.emit({ type: 'send', exchange: stdioExchange, frame: changedRequest(frame, number, changes) })
  }

  /** The client has answered one. */
  answered(frame: ResponseFrame): void {
    const found = this.#take(frame.message.key)
    if (found?.leg.state === 'ready') this.#legs.requests.notify(found.leg, answerUnder(frame, found.id))
  }

  #take(key: IdKey): Question | undefined {
    const found = this.#open.get(key)
    if (found === undefined) return undefined
    this.#open.delete(key)
    const [keys, own] = [this.#keys.get(found.leg), found.id.toString()]
    if (keys?.get(own) === key) keys.delete(own)
    if (keys?.size === 0) this.#keys.delete(found.leg)
    return found
  }

  /** The client works on one. */
  progress(frame: NotificationFrame): void {
    const found = this.#open.get(keyAt(frame, ['params', 'progressToken']) ?? '')
    if (found?.token === undefined) return
    const { leg, token } = found
    this.#legs.requests.notify(leg, changedNotification(frame, [
      { path: ['progressToken'], value: idOf(token.toString()), text: token },
    ]))
  }

  /** A server does not wait for the client's answer any more. */
  withdrawn(leg: Leg, frame: NotificationFrame): void {
    const key = this.#keys.get(leg)?.get(keyAt(frame, ['params', 'requestId']) ?? '')
    if (key === undefined) return
    this.#take(key)
    this.#host.emit({
      type: 'send', exchange: stdioExchange,
      frame: changedNotification(frame, [{ path: ['requestId'], value: Number(key) }]),
    })
  }

  /** The server has gone, and does not know its questions any more. */
  departed(leg: Leg): void {
    for (const key of this.#keys.get(leg)?.values() ?? []) {
      this.#withdraw(key, `the server ${quote(leg.name)} has ended`)
    }
  }

  #withdraw(key: IdKey, reason: string): void {
    this.#take(key)
    const frame = notification('notifications/cancelled', { requestId: Number(key), reason })
    this.#host.emit({ type: 'send', exchange: stdioExchange, frame })
  }
}
