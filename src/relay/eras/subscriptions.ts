import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isObject, type JsonObject, member } from '#relay/protocol/json.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { written } from '#relay/protocol/message.js'
import { inMeta } from '#relay/protocol/revisions/index.js'
import type { Asked, Asker, Origin, Outgoing } from './exchanges.js'
import { forClient, type Requester, withoutMeta } from './results.js'
import type { EraOptions } from './translator.js'

/** The kinds of lists: the server's capability, the member of a subscription, the notification. */
const lists = [
  ['tools', 'toolsListChanged'], ['prompts', 'promptsListChanged'], ['resources', 'resourcesListChanged'],
] as const

/** The most resources that a client subscribes to, and the bytes of their URIs. */
const maxUris = 1000
const maxUriBytes = 256 * 1024

/** Waits before a subscription that has ended is asked for again, in milliseconds. */
const firstWaitMs = 1000
const maxWaitMs = 60_000

export interface SubscriptionParts {
  readonly out: Outgoing
  readonly options: Pick<EraOptions, 'newId'>
  readonly capabilities: JsonObject
  /** Makes the request of 2026-07-28. */
  readonly requestOf: (id: string, method: string, params: string) => Buffer
  /** To the client's stream for messages that answer no request. */
  readonly deliver: (frame: Frame) => void
}

/**
 * The relay's own `subscriptions/listen`, for a client that hears `list_changed` unasked and sends
 * `resources/subscribe`. Each change makes a new subscription. The old one ends when the new one is
 * acknowledged, so that nothing is lost between them.
 */
export class Subscriptions {
  readonly #parts: SubscriptionParts
  readonly #kinds: readonly string[]
  readonly #uris = new Set<string>()
  #bytes = 0
  #current: Listen | undefined
  #next: Listen | undefined
  /** Requests that wait for the subscription after `next`. */
  #waiting: Requester[] = []
  #origin: Origin | undefined
  #waitMs = firstWaitMs

  constructor(parts: SubscriptionParts) {
    this.#parts = parts
    const { capabilities } = parts
    this.#kinds = lists.flatMap(([name, kind]) => {
      const capability = member(capabilities, name)
      return isObject(capability) && member(capability, 'listChanged') === true ? [kind] : []
    })
  }

  /** The client is ready for notifications. */
  begin(origin: Origin): void {
    this.#origin = origin
    if (this.#current === undefined && this.#next === undefined && this.#kinds.length > 0) this.#listen([])
  }

  /** `resources/subscribe` or `resources/unsubscribe`. */
  change(requester: Requester, origin: Origin, uri: string, isWanted: boolean): void {
    const resources = member(this.#parts.capabilities, 'resources')
    if (!isObject(resources) || member(resources, 'subscribe') !== true)
      return this.#refuse(requester, errorCode.methodNotFound, 'Method not found')
    this.#origin = origin
    if (this.#uris.has(uri) === isWanted) return this.#parts.out.answer(requester, 'result', {})
    if (isWanted && (this.#uris.size >= maxUris || this.#bytes + uri.length > maxUriBytes))
      return this.#refuse(requester, errorCode.blocked, 'mcp-customs: there are too many subscriptions')
    if (isWanted) this.#uris.add(uri)
    else this.#uris.delete(uri)
    this.#bytes += isWanted ? uri.length : -uri.length
    if (this.#next !== undefined) this.#waiting.push(requester)
    else this.#listen([requester])
  }

  /** A notification on stdio, where it names its subscription. @returns false when it names none */
  received(frame: Frame): boolean {
    const id = frame.message.kind === 'notification' ? inMeta(frame.message.params, 'subscriptionId') : undefined
    if (typeof id !== 'string') return false
    const listen = [this.#next, this.#current].find(one => one?.asked.id === id)
    if (listen !== undefined) listen.notified(frame)
    return true
  }

  timerFired(): void {
    if (this.#next === undefined && this.#current === undefined) this.#listen([], true)
  }

  #refuse(requester: Requester, code: number, message: string): void {
    this.#parts.out.answer(requester, 'error', { code, message })
  }

  /** @param isAgain the client may have missed changes */
  #listen(requesters: readonly Requester[], isAgain = false): void {
    const { out, options, requestOf, deliver } = this.#parts
    const old = this.#current
    const origin = this.#origin
    if (origin === undefined) return
    out.act({ type: 'stop-timer', timer })
    if (this.#kinds.length === 0 && this.#uris.size === 0) {
      this.#current = undefined
      if (old !== undefined) out.cancel(old.asked)
      for (const one of requesters) out.answer(one, 'result', {})
      return
    }
    const wanted = {
      ...Object.fromEntries(this.#kinds.map(kind => [kind, true])),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    }
    const id = options.newId()
    const listen: Listen = {
      asked: { exchange: stdioExchange, id, key: written(id) },
      notified: frame => {
        const { message } = frame
        if (message.kind === 'notification' && message.method === 'notifications/subscriptions/acknowledged')
          this.#acknowledged(listen, requesters, isAgain)
        else if (listen === this.#current)
          deliver(forClient(frame, withoutMeta(frame, 'params', 'subscriptionId')))
      },
      answered: frame => this.#ended(listen, frame, requesters),
    }
    this.#next = listen
    const params = `{"notifications":${JSON.stringify(wanted)}}`
    listen.asked = out.ask(origin, id, requestOf(id, 'subscriptions/listen', params), listen)
  }

  #acknowledged(listen: Listen, requesters: readonly Requester[], isAgain: boolean): void {
    if (listen !== this.#next) return
    const { out } = this.#parts
    if (this.#current !== undefined) out.cancel(this.#current.asked)
    this.#current = listen
    this.#next = undefined
    this.#waitMs = firstWaitMs
    for (const one of requesters) out.answer(one, 'result', {})
    if (isAgain) this.#tellChanges()
    this.#nextIfWanted()
  }

  /** The server has ended a subscription, refused it, or lost the stream. */
  #ended(listen: Listen, { message }: Frame, requesters: readonly Requester[]): void {
    const wasNext = listen === this.#next
    if (wasNext) {
      this.#next = undefined
      const { code, message: text } = message.kind === 'error'
        ? message.error : { code: errorCode.gone, message: 'mcp-customs: the server has ended the subscription' }
      for (const one of requesters) this.#refuse(one, code, text)
    } else if (listen === this.#current) this.#current = undefined
    this.#nextIfWanted()
    if (this.#next !== undefined || this.#current !== undefined) return
    this.#parts.out.act({ type: 'start-timer', timer, ms: this.#waitMs })
    this.#waitMs = Math.min(2 * this.#waitMs, maxWaitMs)
  }

  #nextIfWanted(): void {
    if (this.#waiting.length > 0) this.#listen(this.#waiting.splice(0))
  }

  /** Once after a break: what has changed meanwhile is not known. */
  #tellChanges(): void {
    for (const [name, kind] of lists) {
      if (!this.#kinds.includes(kind)) continue
      const method = `notifications/${name}/list_changed`
      this.#parts.deliver({
        bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', method })),
        message: { kind: 'notification', method, params: undefined }, faults: [], relayMade: true,
      })
    }
  }
}

/** The timer after which a subscription is asked for again. */
export const timer = 'subscriptions'

interface Listen extends Asker {
  asked: Asked
}
