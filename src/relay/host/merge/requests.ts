import type { Exchange } from '#relay/core/vocabulary.js'
import { ChurnMap } from '#relay/core/memory.js'
import { implementation, type Implementation } from '#relay/core/terms.js'
import { errorFrame } from '#relay/core/refusal.js'
import { textWithout } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { member } from '#relay/protocol/json.js'
import { errorCode, type IdKey } from '#relay/protocol/json-rpc.js'
import { keyAt } from '#relay/protocol/message.js'
import { quote } from '#relay/protocol/quote.js'
import { inMeta } from '#relay/protocol/revisions/index.js'
import type { ListLimits } from '#relay/profiles/limits.js'
import { isModernRequest } from '#relay/transport/http/headers.js'
import { type Names, renamedNames } from '#relay/transport/one-process/rename.js'
import { failedCall, type NotificationFrame, type RequestFrame } from './frames.js'
import type { Host } from './machine.js'

/** A client's request that is not answered yet. */
export interface MergedRequest {
  readonly exchange: Exchange
  readonly frame: RequestFrame
  readonly names: Names
  readonly asking: Asking
  /** Called when the client does not wait any more. @param told the client's cancellation */
  cancel: (told: NotificationFrame | undefined) => void
  /** Called when a legacy client's HTTP request has ended. @returns cancels what is at the server */
  leave: () => Cancelling | undefined
}

type Cancelling = (told: NotificationFrame) => void

/** What a list is asked for with. */
export interface Asking {
  /** JSON text of the `_meta` of a modern client's request. */
  readonly meta: string | undefined
  readonly isModern: boolean
  /** What the client takes of lists. */
  readonly limits: ListLimits
  /** Of the request: a server's relay judges by the scopes of the client that asks, and of no other. */
  readonly envelope: Frame['envelope']
}

/** Servers that cannot answer, and why. */
export type MissingServers = readonly (readonly [server: string, reason: string])[]

/** Most requests that are remembered after their client's HTTP requests have ended. */
const maxLeft = 1000

/** The client's requests that are not answered yet: each gets one answer, or none once it is cancelled. */
export class OpenRequests {
  readonly #host: Host
  readonly #open = new ChurnMap<string, MergedRequest>()
  /** Requests at servers, whose client's HTTP requests have ended: it may still cancel them. */
  readonly #left = new ChurnMap<string, Cancelling>()
  /** The legacy client, as it calls itself. */
  #client: Implementation | undefined

  constructor(host: Host) {
    this.#host = host
  }

  get size(): number {
    return this.#open.size
  }

  /** @returns undefined when a request with its id is open, which the client is told */
  begin(exchange: Exchange, frame: RequestFrame): MergedRequest | undefined {
    const { message } = frame
    const isModern = isModernRequest(frame)
    const { params } = message
    if (message.method === 'initialize') this.#client = implementation(member(params, 'clientInfo'))
    const client = isModern ? implementation(inMeta(params, 'clientInfo')) : this.#client
    const asking: Asking = {
      isModern, meta: isModern ? metaOf(frame) : undefined, envelope: frame.envelope,
      limits: this.#host.options.limitsOf(client),
    }
    const asked = {
      exchange, frame, names: renamedNames(frame, message), asking,
      cancel: () => undefined, leave: () => undefined,
    }
    const name = this.#nameOf(exchange, message.key)
    if (this.#open.has(name)) {
      const twice = errorFrame(message, errorCode.invalidRequest, 'A request with this id is open')
      this.#host.emit({ type: 'send', exchange, frame: twice })
      return undefined
    }
    this.#left.delete(name)
    this.#open.set(name, asked)
    return asked
  }

  #nameOf({ name }: Exchange, key: IdKey): string {
    return this.#host.options.isStateless ? `${name} ${key}` : key
  }

  /** Whether the client waits for it: another request may have its id by now. */
  isOpen(asked: MergedRequest): boolean {
    return this.#open.get(this.#nameOf(asked.exchange, asked.frame.message.key)) === asked
  }

  finish(asked: MergedRequest, frame: Frame): void {
    if (!this.isOpen(asked)) return
    this.#open.delete(this.#nameOf(asked.exchange, asked.frame.message.key))
    this.#host.emit({ type: 'send', exchange: asked.exchange, frame })
  }

  refuse(asked: MergedRequest, code: number, text: string): void {
    this.finish(asked, errorFrame(asked.frame.message, code, text))
  }

  /** Answers for servers that cannot. A model gets a tool result, because it can act on that. */
  down(asked: MergedRequest, missing: MissingServers): void {
    const { frame: { message }, asking: { isModern } } = asked
    const text = missing.map(([server, reason]) => `The server ${quote(server)} is not available: ${reason}`)
    if (message.method !== 'tools/call') return this.refuse(asked, errorCode.gone, text.join('; '))
    this.finish(asked, failedCall(message, `${text.join('; ')}.`, isModern))
  }

  /** @param frame the client's `notifications/cancelled` */
  cancelled(exchange: Exchange, frame: NotificationFrame): void {
    const key = keyAt(frame, ['params', 'requestId'])
    if (key === undefined) return
    const name = this.#nameOf(exchange, key)
    this.#left.get(name)?.(frame)
    this.#left.delete(name)
    const asked = this.#open.get(name)
    if (asked === undefined) return
    this.#drop(asked, frame)
    this.#host.emit({ type: 'complete', exchange: asked.exchange })
  }

  /**
   * The client's HTTP request has ended: it has left, or was cut off. What was not sent yet is not sent. A
   * modern client cancels by that (2026-07-28, cancellation).
   */
  left(exchange: Exchange): void {
    for (const asked of this.#open.values()) {
      if (asked.exchange !== exchange) continue
      if (this.#host.options.isStateless) this.#drop(asked)
      else this.#leave(asked)
    }
  }

  #leave(asked: MergedRequest): void {
    const name = this.#nameOf(asked.exchange, asked.frame.message.key)
    this.#open.delete(name)
    const cancel = asked.leave()
    if (cancel === undefined) return
    this.#left.set(name, cancel)
    const [oldest] = this.#left.size > maxLeft ? this.#left.keys() : []
    if (oldest !== undefined) this.#left.delete(oldest)
  }

  #drop(asked: MergedRequest, told?: NotificationFrame): void {
    this.#open.delete(this.#nameOf(asked.exchange, asked.frame.message.key))
    asked.cancel(told)
  }
}

/** The `_meta` of a modern request, without the progress token, which is for the whole list only. */
const metaOf = (frame: Frame): string | undefined => textWithout(frame, ['params', '_meta'], ['progressToken'])
