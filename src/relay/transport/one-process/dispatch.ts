import { stdioExchange } from '#relay/core/event.js'
import { errorFrame } from '#relay/core/refusal.js'
import type { Fault, Frame } from '#relay/protocol/frame.js'
import { type Json, member } from '#relay/protocol/json.js'
import {
  errorCode, type ErrorResponse, type IdKey, type Notification, type Result,
} from '#relay/protocol/json-rpc.js'
import { idOf, isBadRequest, numberOf } from '#relay/protocol/message.js'
import type { Timers } from '../timers.js'
import type { SentRequest, Port } from './port.js'
import type { SharedProcess } from './process.js'
import { nameIn, restoredResponse, restoredNotification, restoredUnusable } from './rename.js'
import type { ProcessRequests } from './requests.js'

/** How long, in milliseconds, the response to a subscription may follow the server's cancellation of it. */
const lastResponseMs = 1000

/** Finds the session that each message of a shared server belongs to. */
export class Dispatcher {
  constructor(
    private readonly ports: ReadonlySet<Port>,
    private readonly requests: ProcessRequests,
    private readonly process: SharedProcess,
    private readonly timers: Timers,
  ) {}

  dispatch(frame: Frame): void {
    const { message } = frame
    switch (message.kind) {
      case 'result':
      case 'error':
        return this.#answered(frame, message)
      case 'notification':
        return this.#notified(frame, message)
      case 'unusable':
        return this.#unusable(frame, message.keys)
      // An HTTP page comes from an HTTP server only.
      case 'page':
        return
      case 'request':
        this.process.child?.send(
          stdioExchange,
          errorFrame(message, errorCode.methodNotFound, 'This revision has no requests of the server'),
        )
        return this.#record(withFault(frame, 'a request of the server, which many clients share'))
      case 'batch':
        for (const one of message.members) this.dispatch({ ...one, faults: [...one.faults, noBatch] })
    }
  }

  /** Ends a request without a response. */
  lose(sentRequest: SentRequest | undefined, reason: string): void {
    if (sentRequest === undefined) return
    this.requests.close(sentRequest)
    const { port, exchange, names: { key } } = sentRequest
    port.report({ type: 'lost', exchange, key, reason })
  }

  #answered(frame: Frame, message: Result | ErrorResponse): void {
    const number = numberOf(message.key)
    const sentRequest = this.requests.find(number)
    const exact = message.key === String(number)
    if (sentRequest !== undefined) this.process.answered()
    this.#sendUnusable(frame, (frame.otherKeys ?? []).filter(key => numberOf(key) !== number))
    if (exact) this.requests.hasRead(number)
    if (sentRequest === undefined) {
      // The first response to a cancelled request is only late: no finding.
      if (exact && this.requests.isLate(number)) return
      // An answer to a request that is over is no answer to another one, which may be another client's.
      const only = this.requests.wasSent(number) ? undefined : this.requests.only()
      if (only === undefined) return this.#record(frame)
      // The client may use the same number: the relay must not take the response for that to its request.
      return report(only, { ...frame, message: { ...message, id: noId, key: JSON.stringify(noId) } })
    }
    if (exact) this.requests.close(sentRequest)
    report(sentRequest, restoredResponse(frame, message, sentRequest.names, number))
  }

  #notified(frame: Frame, message: Notification): void {
    const name = nameIn(message)
    const sentRequest = this.#namedBy(message, name)
    const to = sentRequest ?? (name === undefined ? this.#unnamed(message) : undefined)
    if (sentRequest) {
      this.requests.hasRead(sentRequest.number)
      report(sentRequest, restoredNotification(frame, message, sentRequest.names, sentRequest.number))
      if (message.method === 'notifications/cancelled') this.#subscriptionEnded(sentRequest)
    } else if (to) report(to, frame)
    // Each session has a catalogue of its own, which this notification makes out of date.
    if (message.method === 'notifications/tools/list_changed') {
      this.#record(frame, [...this.ports].filter(port => port !== to?.port))
    } else if (!to && name === undefined) this.#record({ ...frame, faults: [...frame.faults, toNobody] })
    else if (!to) this.#record(frame)
  }

  #unnamed({ method, params }: Notification): SentRequest | undefined {
    if (method === 'notifications/message') return this.requests.ofLog(member(params, 'level'))
    return this.requests.only()
  }

  /** The request that a notification names by id or token. Progress counts only where it was asked for. */
  #namedBy({ method }: Notification, name: Json | undefined): SentRequest | undefined {
    const sentRequest = typeof name === 'number' ? this.requests.find(name) : undefined
    const wanted = method !== 'notifications/progress' || sentRequest?.names.token !== undefined
    return wanted ? sentRequest : undefined
  }

  /** The server has cancelled a subscription; its response may follow, or not. */
  #subscriptionEnded({ number }: SentRequest): void {
    this.timers.after(lastResponseMs, () =>
      this.lose(this.requests.find(number), 'the server ended the subscription'))
  }

  #unusable(frame: Frame, keys: readonly IdKey[]): void {
    const [key] = isBadRequest(frame) ? keys : []
    if (key !== undefined) {
      this.process.child?.send(
        stdioExchange, errorFrame({ id: idOf(key), key }, errorCode.invalidRequest, 'Invalid request'),
      )
      return this.#record(withoutKeys(frame))
    }
    if (this.#sendUnusable(frame, keys)) return
    const only = this.requests.only()
    if (only) report(only, withoutKeys(frame))
    else this.#record(withoutKeys(frame))
  }

  /** Sends an unusable frame to each client whose request it names. @returns whether it names one */
  #sendUnusable(frame: Frame, keys: readonly IdKey[]): boolean {
    const found = keys.map(key => this.requests.find(numberOf(key)))
    const meant = new Set(found.filter(sentRequest => sentRequest !== undefined))
    for (const sentRequest of meant) report(sentRequest, restoredUnusable(frame, sentRequest.names))
    return meant.size > 0
  }

  /**
   * Hands a frame that belongs to no request to the relay of one session, for the audit log. No client gets
   * the frame, because clients of a shared server have no stdio exchange.
   */
  #record(frame: Frame, ports: readonly Port[] = [...this.ports].slice(0, 1)): void {
    for (const port of ports) port.report({ type: 'frame', exchange: stdioExchange, frame })
  }
}

const report = ({ port, exchange }: SentRequest, frame: Frame): void =>
  port.report({ type: 'frame', exchange, frame })

/** In the place of an id that no request of the process has. */
const noId = 'of no request'

const toNobody: Fault = {
  kind: 'json-rpc', path: '', isMinor: true,
  message: 'no client gets this message: it names no request, and it may belong to several',
}

const noBatch: Fault = {
  kind: 'json-rpc', path: '', message: 'a batch, to clients of a revision that has none',
}

/** Removes the frame's ids: they are the relay's numbers, and a client may use the same numbers. */
const withoutKeys =
  ({ bytes, faults }: Frame): Frame => ({ bytes, message: { kind: 'unusable', keys: [] }, faults })

const withFault = (frame: Frame, message: string): Frame =>
  withoutKeys({ ...frame, faults: [...frame.faults, { kind: 'json-rpc', path: '', message }] })
