import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import { type ChangingList, changingLists } from '#relay/protocol/changing-lists.js'
import { isObject, isString, type JsonObject, member } from '#relay/protocol/json.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { notificationBytes, written } from '#relay/protocol/message.js'
import { madeFrame } from '#relay/protocol/parse.js'
import { inMeta } from '#relay/protocol/revisions/index.js'
import type { AskedRequest, EraAsker, Origin, EraOutgoing } from './exchanges.js'
import { forClient, type Requester, withoutMeta } from './results.js'
import type { EraOptions } from './translator.js'

/** The most resources that a client subscribes to, and the bytes of their URIs. */
const maxUris = 1000
const maxUriBytes = 256 * 1024

/** Waits before a subscription that has ended is asked for again, in milliseconds. */
const firstWaitMs = 1000
const maxWaitMs = 60_000

/** How long the server may take to acknowledge one. */
const acknowledgeMs = 30_000

export interface SubscriptionParts {
  readonly out: EraOutgoing
  readonly options: Pick<EraOptions, 'newId'>
  readonly capabilities: JsonObject
  /** Makes the request of 2026-07-28. */
  readonly requestOf: (id: string, method: string, params: string) => Buffer
  /** To the client's stream for messages that answer no request. */
  readonly deliver: (frame: Frame) => void
}

/** A change that the client waits for: a resource that it wants from now on, or not any more. */
interface Change {
  readonly requester: Requester
  readonly uri: string
  readonly isWanted: boolean
}

interface Listen extends EraAsker {
  asked: AskedRequest
  readonly changes: readonly Change[]
}

/** The timer of a subscription that is not acknowledged yet, or is asked for again. */
export const timer = 'subscriptions'

/**
 * The relay's own `subscriptions/listen`, for a client that hears `list_changed` unasked and sends
 * `resources/subscribe`. Each change makes a new subscription. The old one ends when the new one is
 * acknowledged, so that nothing is lost between them.
 */
export class Subscriptions {
  readonly #parts: SubscriptionParts
  /** Those of the server. */
  readonly #lists: readonly ChangingList[]
  readonly #uris = new Set<string>()
  #bytes = 0
  #current: Listen | undefined
  #next: Listen | undefined
  /** For the subscription after `next`. */
  #waiting: Change[] = []
  #origin: Origin | undefined
  #waitMs = firstWaitMs

  constructor(parts: SubscriptionParts) {
    this.#parts = parts
    this.#lists = changingLists.filter(({ capability }) => this.#offers(capability, 'listChanged'))
  }

  /** The client is ready for notifications. */
  begin(origin: Origin): void {
    this.#origin = origin
    if (this.#current === undefined && this.#next === undefined && this.#lists.length > 0) this.#listen([])
  }

  /** `resources/subscribe` or `resources/unsubscribe`. */
  change(change: Change, origin: Origin): void {
    const { requester, uri, isWanted } = change
    if (!this.#offers('resources', 'subscribe'))
      return this.#refuse(requester, errorCode.methodNotFound, 'Method not found')
    this.#origin = origin
    if (this.#uris.has(uri) === isWanted) return this.#parts.out.answer(requester, 'result', {})
    const isFull = this.#uris.size >= maxUris || this.#bytes + uri.length > maxUriBytes
    if ((isWanted && isFull) || this.#waiting.length >= maxUris)
      return this.#refuse(requester, errorCode.blocked, 'mcp-customs: there are too many subscriptions')
    this.#set(uri, isWanted)
    if (this.#next !== undefined) this.#waiting.push(change)
    else this.#listen([change])
  }

  /** A notification on stdio, where it names its subscription. @returns false when it names none */
  received(frame: Frame): boolean {
    const id = frame.message.kind === 'notification' ? inMeta(frame.message.params, 'subscriptionId') : undefined
    if (!isString(id)) return false
    ;[this.#next, this.#current].find(one => one?.asked.id === id)?.notified(frame)
    return true
  }

  timerFired(): void {
    const { out } = this.#parts
    if (this.#next !== undefined) {
      out.cancel(this.#next.asked)
      this.#ended(this.#next, errorCode.late, 'mcp-customs: the server did not acknowledge the subscription')
    } else if (this.#current === undefined) this.#listen([], true)
  }

  #offers(name: string, what: string): boolean {
    const capability = member(this.#parts.capabilities, name)
    return isObject(capability) && member(capability, what) === true
  }

  #set(uri: string, isWanted: boolean): void {
    if (this.#uris.has(uri) === isWanted) return
    if (isWanted) this.#uris.add(uri)
    else this.#uris.delete(uri)
    this.#bytes += isWanted ? uri.length : -uri.length
  }

  #refuse(requester: Requester, code: number, message: string): void {
    this.#parts.out.answer(requester, 'error', { code, message })
  }

  /** @param isAgain the client may have missed changes */
  #listen(changes: readonly Change[], isAgain = false): void {
    const { out, options, requestOf } = this.#parts
    if (this.#origin === undefined) return
    if (this.#lists.length === 0 && this.#uris.size === 0) return this.#accepted(undefined, changes)
    const wanted = {
      ...Object.fromEntries(this.#lists.map(({ flag }) => [flag, true])),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    }
    const id = options.newId()
    const listen: Listen = {
      asked: { exchange: stdioExchange, id, key: written(id) },
      changes,
      notified: frame => this.#notified(listen, frame, isAgain),
      answered: ({ message }) => (message.kind === 'error'
        ? this.#ended(listen, message.error.code, message.error.message)
        : this.#ended(listen, errorCode.gone, 'mcp-customs: the server has ended the subscription')),
    }
    this.#next = listen
    out.act({ type: 'start-timer', timer, ms: acknowledgeMs })
    const params = `{"notifications":${JSON.stringify(wanted)}}`
    listen.asked = out.ask(this.#origin, id, requestOf(id, 'subscriptions/listen', params), listen)
  }

  #notified(listen: Listen, frame: Frame, isAgain: boolean): void {
    const { message } = frame
    const method = message.kind === 'notification' ? message.method : ''
    if (method !== 'notifications/subscriptions/acknowledged') {
      if (listen === this.#current)
        this.#parts.deliver(forClient(frame, withoutMeta(frame, 'params', 'subscriptionId')))
    } else if (listen === this.#next) {
      this.#next = undefined
      this.#accepted(listen, listen.changes)
      if (isAgain) this.#tellChanges()
    }
  }

  /** @param listen undefined: nothing is wanted any more */
  #accepted(listen: Listen | undefined, changes: readonly Change[]): void {
    const { out } = this.#parts
    out.act({ type: 'stop-timer', timer })
    if (this.#current !== undefined) out.cancel(this.#current.asked)
    this.#current = listen
    this.#waitMs = firstWaitMs
    for (const { requester } of changes) out.answer(requester, 'result', {})
    this.#listenIfWanted()
  }

  /** The server has ended a subscription, refused it, or lost the stream. */
  #ended(listen: Listen, code: number, reason: string): void {
    const { out } = this.#parts
    if (listen === this.#next) {
      this.#next = undefined
      out.act({ type: 'stop-timer', timer })
      for (const { requester, uri, isWanted } of listen.changes) {
        this.#set(uri, !isWanted)
        this.#refuse(requester, code, reason)
      }
    } else if (listen === this.#current) this.#current = undefined
    this.#listenIfWanted()
    if (this.#next !== undefined || this.#current !== undefined) return
    out.act({ type: 'start-timer', timer, ms: this.#waitMs })
    this.#waitMs = Math.min(2 * this.#waitMs, maxWaitMs)
  }

  #listenIfWanted(): void {
    if (this.#next === undefined && this.#waiting.length > 0) this.#listen(this.#waiting.splice(0))
  }

  /** Once after a break: what has changed meanwhile is not known. */
  #tellChanges(): void {
    for (const { notification } of this.#lists) {
      this.#parts.deliver({ ...madeFrame(notificationBytes(notification)), relayMade: true })
    }
  }
}
