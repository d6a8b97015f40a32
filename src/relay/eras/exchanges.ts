import type { Exchange, HttpEvent } from '#relay/core/vocabulary.js'
import { ChurnMap } from '#relay/core/memory.js'
import { stdioExchange } from '#relay/core/event.js'
import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Envelope, Frame, FrameLimits } from '#relay/protocol/frame.js'
import type { Id, IdKey } from '#relay/protocol/json-rpc.js'
import { notificationBytes, responseBytes, written } from '#relay/protocol/message.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { firstModern, type Revision } from '#relay/protocol/revisions/index.js'
import type { TransportEvent } from '#relay/transport/transport.js'
import { type EraAction, OwnExchange } from './translator.js'

/** Gets the answer to a request of ours, and what the server sends on its stream. */
export interface EraAsker {
  /** @param head of an HTTP error that the client has to see: its body is no JSON-RPC error of the server */
  answered(frame: Frame, head: HttpEvent | undefined): void
  /** A notification on the exchange of the request; on stdio those go to nobody in particular. */
  notified(frame: Frame): void
}

/** The client's HTTP request that a frame goes back to, or stdio. */
export interface Origin {
  readonly exchange: Exchange
  readonly envelope: Envelope | undefined
  /** The client's id of the request, where it goes to the relay under another. */
  readonly clientId?: Id
  /** Another request of the client has this id. */
  readonly isRepeated?: boolean
}

const nothing: readonly EraAction[] = []

/** A request that the relay has, and that was not answered yet. */
export interface AskedRequest {
  readonly exchange: Exchange
  readonly key: IdKey
  readonly id: Id
}

interface Open extends AskedRequest {
  readonly asker: EraAsker
}

/**
 * What the translator sends to the relay in the client's name. Over HTTP each request has an exchange of its
 * own: its end closes the server's stream, and the end of the client's request does not.
 */
export class EraOutgoing {
  readonly #limits: FrameLimits
  readonly #open = new ChurnMap<Exchange | IdKey, Open>()
  /** The exchanges of ours that are not over, with the head of an HTTP error that was not passed on. */
  readonly #own = new ChurnMap<Exchange, { head: HttpEvent | undefined; isStream: boolean }>()
  #last = 0
  #actions: EraAction[] = []
  /** The client's revision, for records. */
  translatedFrom: Revision | undefined

  constructor(limits: FrameLimits) {
    this.#limits = limits
  }

  /** What was done since the last call. */
  take(): readonly EraAction[] {
    if (this.#actions.length === 0) return nothing
    const actions = this.#actions
    this.#actions = []
    return actions
  }

  act(action: EraAction): void {
    this.#actions.push(action)
  }

  report(event: TransportEvent): void {
    this.act({ type: 'report', event })
  }

  send(exchange: Exchange, frame: Frame): void {
    this.act({ type: 'send', exchange, frame })
  }

  /** A message of ours to the client. */
  say(exchange: Exchange, bytes: Buffer, envelope?: Envelope): void {
    const frame = parseFrame(bytes, this.#limits)
    this.send(exchange, { ...frame, relayMade: true, ...(envelope && { envelope }) })
  }

  answer(
    to: Pick<AskedRequest, 'exchange' | 'key'>, member: 'result' | 'error', value: object | string, envelope?: Envelope,
  ): void {
    this.say(to.exchange, responseBytes(to.key, member, value), envelope)
  }

  /** Sends a request. @param bytes a request of 2026-07-28 with this id */
  ask(origin: Origin, id: Id, bytes: Buffer, asker: EraAsker): AskedRequest {
    const { exchange, envelope } = this.#place(origin)
    const key = written(id)
    const open = { exchange, key, id, asker }
    this.#open.set(exchange === stdioExchange ? key : exchange, open)
    this.report({ type: 'frame', exchange, frame: this.#frameOf(bytes, envelope) })
    return open
  }

  /** Sends a message that gets no answer. */
  tell(origin: Origin, bytes: Buffer): void {
    const { exchange, envelope } = this.#place(origin)
    this.report({ type: 'frame', exchange, frame: this.#frameOf(bytes, envelope) })
  }

  /**
   * Gives up a request. A stdio server gets a notification; for an HTTP server the end of the stream says it
   * (2026-07-28, Cancellation).
   */
  cancel({ exchange, id, key }: AskedRequest): void {
    if (!this.#open.delete(exchange === stdioExchange ? key : exchange)) return
    const params = { requestId: id, reason: 'the client has cancelled it' }
    const frame = this.#frameOf(notificationBytes('notifications/cancelled', params), {})
    this.report({ type: 'frame', exchange, frame: { ...frame, relayMade: true } })
    this.over(exchange)
  }

  /** Whether the exchange is ours; the relay's frames on one that is over go nowhere. */
  isOwn(exchange: Exchange): boolean {
    return exchange instanceof OwnExchange
  }

  /** The request of ours that a frame of the relay belongs to, by its exchange, or on stdio by its id. */
  find(exchange: Exchange, key: IdKey | undefined): EraAsker | undefined {
    return this.#open.get(exchange === stdioExchange ? key ?? '' : exchange)?.asker
  }

  /** A frame of the relay that answers a request of ours. @returns false when it answers none */
  answered(exchange: Exchange, frame: Frame, key: IdKey | undefined): boolean {
    const place = exchange === stdioExchange ? key ?? '' : exchange
    const open = this.#open.get(place)
    if (open === undefined) return this.isOwn(exchange)
    this.#open.delete(place)
    const own = this.#own.get(exchange)
    const isError = frame.message.kind === 'error' && frame.relayMade !== true
    const head = isError ? undefined : own?.head
    if (own !== undefined) own.head = undefined
    if (own?.isStream !== true) this.over(exchange)
    open.asker.answered(frame, head)
    return true
  }

  /** A part of the server's HTTP response. @returns false when it is of no exchange of ours */
  handed(event: HttpEvent): boolean {
    const own = this.#own.get(event.exchange)
    if (own === undefined) return this.isOwn(event.exchange)
    if (event.type === 'head') {
      if (event.status >= 400) own.head = event
      else own.isStream = true
    } else if (event.type === 'stream-ended') this.over(event.exchange)
    return true
  }

  /** The relay needs this exchange of ours no more. */
  over(exchange: Exchange): void {
    if (this.#own.delete(exchange)) this.report({ type: 'exchange-ended', exchange })
  }

  #place({ exchange, envelope, clientId, isRepeated }: Origin): Origin {
    const { headers, scopes, client, trace } = envelope ?? {}
    const made = { scopes, client, trace, clientId, isRepeated, translatedFrom: this.translatedFrom }
    if (exchange === stdioExchange) return { exchange, envelope: made }
    const own = new OwnExchange(`${exchange.name} translated ${++this.#last}`, exchange.context)
    this.#own.set(own, { head: undefined, isStream: false })
    return { exchange: own, envelope: { ...made, ...(headers && { headers: modernHeaders(headers) }) } }
  }

  #frameOf(bytes: Buffer, envelope: Envelope | undefined): Frame {
    // The client's own frame was within the limit.
    const frame = parseFrame(bytes, { ...this.#limits, messageBytes: this.#limits.messageBytes + maxAdded })
    return { ...frame, ...(envelope && { envelope }) }
  }
}

/** The most that a translation adds to a message, in bytes: terms, answers and the server's state. */
const maxAdded = 64 * 1024 * 1024

/** The headers of a legacy request without those that name its session and describe its body. */
const modernHeaders = (headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([
    ...[...headers].filter(([name]) => !name.startsWith('mcp-') && name !== 'last-event-id'),
    ['mcp-protocol-version', firstModern],
  ])

/** The bytes of a frame with another id and other changes. */
export const frameWithId = ({ bytes }: Frame, id: Id, edits: readonly Edit[] = []): Buffer =>
  edit(bytes, [{ path: ['id'], replace: written(id) }, ...edits])
