import { stdioExchange, type Exchange } from '#core/event.js'
import { errorAnswer } from '#core/refusal.js'
import type { Fault, Frame } from '#protocol/frame.js'
import { keysOf, numberOf } from '#protocol/message.js'
import type { Json } from '#protocol/json.js'
import {
  errorCode, type ErrorResponse, type IdKey, type Notification, type Request, type Result,
} from '#protocol/json-rpc.js'
import { realTimers, type Timers } from '../timers.js'
import {
  cancellation, nameIn, namesRevision, renamed, restoredAnswer, restoredNotification, restoredUnusable,
} from './rename.js'
import { Port, type Asked, type Hub } from './port.js'
import { SharedProcess } from './process.js'
import { SharedRequests } from './requests.js'
import type { Transport, TransportEvent } from '../transport.js'

export interface SharedServerOptions {
  /** Makes the server's process, not yet started: for the first request, and for the first after it ended. */
  readonly make: () => Transport
  readonly timers?: Timers
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
  /** From 0 to 1. */
  readonly random?: () => number
}

/** One process for any number of sessions of a revision that knows none (2026-07-28). */
export interface SharedServer {
  /**
   * A session's own end of it: stateless, each exchange with ids of its own. The process ends with the last
   * of them.
   */
  connect(): Transport
  /** False while a process that keeps ending before it has answered anything is not started again. */
  readonly isReady: boolean
  /** Ends the process; resolves when nothing is left of it, nor of those before. */
  close(): Promise<void>
}

/**
 * Sessions that share a process do not hear of each other. Whatever names a request on the wire is renamed on
 * its way there and back, and what names none goes to nobody, unless one exchange alone is waiting.
 */
export const sharedServer = (options: SharedServerOptions): SharedServer => new Shared(options)

/**
 * So long, in milliseconds, the answer to a subscription may follow its cancellation by the server: a polite
 * one sends both.
 */
const lastAnswerMs = 1000

class Shared implements SharedServer, Hub {
  readonly timers: Timers
  readonly now: () => number
  readonly #ports = new Set<Port>()
  readonly #requests = new SharedRequests()
  readonly #process: SharedProcess

  constructor({
    make, timers = realTimers, now = () => performance.now(), random = Math.random,
  }: SharedServerOptions) {
    this.#process = new SharedProcess({
      make, now, random, heard: event => this.#guarded(event),
      isHeld: () => [...this.#ports].some(({ holds }) => holds),
    })
    this.timers = timers
    this.now = now
  }

  connect(): Transport {
    const port = new Port(this)
    this.#ports.add(port)
    return port
  }

  get isReady(): boolean {
    return this.#process.waitMs === 0
  }

  async close(): Promise<void> {
    if (this.#process.letGo()) this.#ended('the server is let go')
    await this.#process.gone()
  }

  hurry(urgency: number): void {
    this.#process.hurry(urgency)
  }

  send(port: Port, exchange: Exchange, frame: Frame): boolean {
    const { message } = frame
    switch (message.kind) {
      case 'request':
        return this.#ask(port, exchange, frame, message)
      case 'notification':
        // By HTTP nothing is taken back by id (clients all use the same ones): `shut` and `abandon` tell the
        // server.
        if (message.method === 'notifications/cancelled' || !namesRevision(message)) return true
        return this.#sent(port, this.#process.running()?.send(stdioExchange, frame) ?? true)
      case 'batch':
        return message.members.map(one => this.send(port, exchange, one)).every(free => free)
      case 'result':
      case 'error':
      case 'unusable':
      case 'page':
        // The server asks nothing of clients that it cannot tell apart; and what cannot be read is not for
        // all their ears.
        return true
    }
  }

  giveUp(asked: Asked): void {
    this.#requests.giveUp(asked)
    this.#process.child?.send(stdioExchange, cancellation(asked.number, asked.request))
  }

  held(): void {
    this.#process.held()
  }

  async leave(port: Port): Promise<void> {
    this.#ports.delete(port)
    for (const asked of port.all()) this.giveUp(asked)
    if (this.#ports.size === 0) await this.close()
  }

  #ask(port: Port, exchange: Exchange, frame: Frame, request: Request): boolean {
    if (!namesRevision(request)) {
      process.nextTick(() =>
        port.tell({
          type: 'frame', exchange, frame: errorAnswer(request, errorCode.invalidParams, noRevision),
        }))
      return true
    }
    const child = this.#process.running()
    if (child === undefined) {
      const reason =
        `the server keeps ending before it answers; it is started again in ${Math.ceil(this.#process.waitMs / 1000)} s`
      process.nextTick(() => port.tell({ type: 'lost', exchange, key: request.key, reason }))
      return true
    }
    const { names, number } = this.#requests.open(port, exchange, frame, request)
    return this.#sent(port, child.send(stdioExchange, renamed(frame, request, names, number)))
  }

  #sent(port: Port, free: boolean): boolean {
    port.full ||= !free
    return free
  }

  /** The net: a message on which this fails costs only the requests that it names. */
  #guarded(event: TransportEvent): void {
    try {
      this.#heard(event)
    } catch {
      const keys = event.type === 'frame' ? keysOf(event.frame) : []
      for (const key of keys) {
        this.#lose(this.#requests.find(numberOf(key)), 'the relay failed on the answer of the server')
      }
    }
  }

  #heard(event: TransportEvent): void {
    switch (event.type) {
      case 'frame':
        return this.#said(event.frame)
      case 'drained':
        return this.#drained()
      case 'lost':
        return this.#lose(this.#requests.find(numberOf(event.key)), event.reason)
      case 'ended':
        return this.#ended(event.reason)
      // A process says none of these.
      case 'head':
      case 'between':
      case 'stream-ended':
      case 'bare-request':
      case 'undelivered':
      case 'exchange-ended':
        return
      default:
        event satisfies never
    }
  }

  #said(frame: Frame): void {
    const { message } = frame
    switch (message.kind) {
      case 'result':
      case 'error':
        return this.#answered(frame, message)
      case 'notification':
        return this.#notified(frame, message)
      case 'unusable':
        return this.#unusable(frame, message.keys)
      // No process says such a thing.
      case 'page':
        return
      case 'request':
        this.#process.child?.send(
          stdioExchange,
          errorAnswer(message, errorCode.methodNotFound, 'This revision has no requests of the server'),
        )
        return this.#witness(withFault(frame, 'a request of the server, which many clients share'))
      case 'batch':
        for (const one of message.members) this.#said({ ...one, faults: [...one.faults, noBatch] })
    }
  }

  #answered(frame: Frame, message: Result | ErrorResponse): void {
    const number = numberOf(message.key)
    const asked = this.#requests.find(number)
    const exact = message.key === String(number)
    if (asked !== undefined) this.#process.answered()
    this.#blame(frame, (frame.otherKeys ?? []).filter(key => numberOf(key) !== number))
    if (exact) this.#requests.hasRead(number)
    if (asked === undefined) {
      // Late, for nobody waits any more: that is nothing to be found fault with, once.
      if (!exact || !this.#requests.isLate(number)) this.#witness(frame)
      return
    }
    if (exact) this.#requests.close(asked)
    tell(asked, restoredAnswer(frame, message, asked.names, number))
  }

  #notified(frame: Frame, message: Notification): void {
    const name = nameIn(message)
    const asked = this.#namedBy(message, name)
    const to = asked ?? (name === undefined ? this.#requests.only() : undefined)
    if (asked) {
      this.#requests.hasRead(asked.number)
      tell(asked, restoredNotification(frame, message, asked.names, asked.number))
      if (message.method === 'notifications/cancelled') this.#takenBack(asked)
    } else if (to) tell(to, frame)
    // Each session keeps a list of its own, and only one of them has heard.
    if (message.method === 'notifications/tools/list_changed') this.#witness(
      frame, [...this.#ports].filter(port => port !== to?.port),
    )
    else if (!to) this.#witness(frame)
  }

  #namedBy({ method }: Notification, name: Json | undefined): Asked | undefined {
    const asked = typeof name === 'number' ? this.#requests.find(name) : undefined
    const wanted = method !== 'notifications/progress' || asked?.names.token !== undefined
    return wanted ? asked : undefined
  }

  /** The server ends a subscription, with an answer to it or without one. */
  #takenBack({ number }: Asked): void {
    this.timers.after(lastAnswerMs, () =>
      this.#lose(this.#requests.find(number), 'the server ended the subscription'))
  }

  #unusable(frame: Frame, keys: readonly IdKey[]): void {
    if (this.#blame(frame, keys)) return
    const only = this.#requests.only()
    if (only) tell(only, withoutKeys(frame))
    else this.#witness(withoutKeys(frame))
  }

  /** Tells those whose answer a frame might be, if it were one. @returns whether there is anybody */
  #blame(frame: Frame, keys: readonly IdKey[]): boolean {
    const meant =
      new Set(keys.map(key => this.#requests.find(numberOf(key))).filter(asked => asked !== undefined))
    for (const asked of meant) tell(asked, restoredUnusable(frame, asked.names))
    return meant.size > 0
  }

  /** For the relays and their records: one is enough. No client has the exchange by which they hear of it. */
  #witness(frame: Frame, ports: readonly Port[] = [...this.#ports].slice(0, 1)): void {
    for (const port of ports) port.tell({ type: 'frame', exchange: stdioExchange, frame })
  }

  #lose(asked: Asked | undefined, reason: string): void {
    if (asked === undefined) return
    this.#requests.close(asked)
    asked.port.tell({ type: 'lost', exchange: asked.exchange, key: asked.names.key, reason })
  }

  #drained(): void {
    for (const port of [...this.#ports]) {
      if (!port.full) continue
      port.full = false
      port.tell({ type: 'drained', exchange: stdioExchange })
    }
  }

  /** A server without a memory can be started again; what it was asked cannot be asked twice. */
  #ended(reason: string): void {
    this.#requests.forget()
    for (const asked of this.#requests.all()) this.#lose(asked, reason)
    this.#drained()
  }
}

const tell = ({ port, exchange }: Asked, frame: Frame): void => port.tell({ type: 'frame', exchange, frame })

const noRevision =
  'Invalid params: _meta does not name the revision (io.modelcontextprotocol/protocolVersion)'

const noBatch: Fault = {
  kind: 'json-rpc', path: '', message: 'a batch, to clients of a revision that has none',
}

/** Ids that are of no client's: they could be taken for one. */
const withoutKeys =
  ({ bytes, faults }: Frame): Frame => ({ bytes, message: { kind: 'unusable', keys: [] }, faults })

const withFault = (frame: Frame, message: string): Frame =>
  withoutKeys({ ...frame, faults: [...frame.faults, { kind: 'json-rpc', path: '', message }] })
