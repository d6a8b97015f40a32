import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import type { Envelope, Frame, FrameLimits } from '#relay/protocol/frame.js'
import { parseJson } from '#relay/protocol/json.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { isCancellation, keyAt } from '#relay/protocol/message.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'

/** An SDK message with its extra data. */
interface SdkMessage {
  readonly message: unknown
  /** `extra` of a received message, `options` of one to send. */
  readonly extra: unknown
}

/**
 * Maps frames back to SDK messages, so that an unchanged message comes out as the same object. The key is the
 * frame's envelope, which the relay keeps on any frame that it makes of this one.
 */
class MessageMap<Kind extends SdkMessage> {
  readonly #limits: FrameLimits
  readonly #sent = new WeakMap<Envelope, { readonly bytes: Buffer; readonly original: Kind }>()

  constructor(limits: FrameLimits) {
    this.#limits = limits
  }

  /** @throws TypeError when the message is no JSON value */
  frameOf(original: Kind): Frame {
    const text: unknown = JSON.stringify(original.message)
    if (typeof text !== 'string') throw new TypeError('the message is no JSON value')
    const envelope = {}
    const bytes = Buffer.from(text)
    this.#sent.set(envelope, { bytes, original })
    return { ...parseFrame(bytes, this.#limits), bytes, envelope }
  }

  /** The message to deliver, and the original that it was made from; undefined for a relay-made message. */
  open(frame: Frame): { readonly message: unknown; readonly original: Kind | undefined } {
    const found = frame.envelope && this.#sent.get(frame.envelope)
    const message: unknown =
      found?.bytes === frame.bytes ? found.original.message : parseJson(frame.bytes.toString())
    return { message, original: found?.original }
  }
}

/** A client message whose `send` promise is pending. */
export interface Outgoing extends SdkMessage {
  /** True once it was handed to the server's transport, which decides the promise. */
  taken: boolean
  readonly done: () => void
  readonly fail: (error: unknown) => void
}

type Deliver = (message: unknown, extra: unknown) => void

/** The client's end of the session: the SDK's client speaks to it. */
export class ClientEnd implements Transport {
  readonly outgoing: MessageMap<Outgoing>
  readonly incoming: MessageMap<SdkMessage>
  readonly #deliver: Deliver
  /** Requests whose `send` promise is pending. */
  readonly #asked = new Map<IdKey, Outgoing>()
  #onEvent: ((event: TransportEvent) => void) | undefined
  /** send() rejected, so do not also deliver our error response for this id. */
  #failing: IdKey | undefined

  constructor(limits: FrameLimits, deliver: Deliver) {
    this.outgoing = new MessageMap(limits)
    this.incoming = new MessageMap(limits)
    this.#deliver = deliver
  }

  start(onEvent: (event: TransportEvent) => void): void {
    this.#onEvent = onEvent
  }

  /** @returns resolves when the message was sent or answered; rejects as the transport's own `send` does */
  submit(message: unknown, options: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#onEvent) throw new Error('the transport is not open')
      const forget = () => {
        if (key !== undefined && this.#asked.get(key) === outgoing) this.#asked.delete(key)
      }
      const outgoing: Outgoing = {
        message, extra: options, taken: false,
        done: () => {
          forget()
          resolve()
        },
        fail: reason => {
          forget()
          // The transport's own reason, of any type.
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
          reject(reason)
        },
      }
      const frame = this.outgoing.frameOf(outgoing)
      const key = frame.message.kind === 'request' ? frame.message.key : undefined
      if (key !== undefined) this.#asked.set(key, outgoing)
      this.#onEvent({ type: 'frame', exchange: stdioExchange, frame })
      // The caller of a cancelled request does not wait.
      const cancelled = isCancellation(frame.message) ? keyAt(frame, ['params', 'requestId']) : undefined
      if (cancelled !== undefined) this.#asked.get(cancelled)?.done()
      // Any message but a request was either handed on by now, or blocked.
      if (frame.message.kind !== 'request' && !outgoing.taken) resolve()
    })
  }

  send(_exchange: Exchange, frame: Frame): boolean {
    const { message, original } = this.incoming.open(frame)
    if (frame.message.kind === 'result' || frame.message.kind === 'error') {
      const { key } = frame.message
      this.#asked.get(key)?.done()
      if (key === this.#failing) return true
    }
    this.#deliver(message, original?.extra)
    return true
  }

  /** Runs an action during which the request of this id gets no response. */
  withoutResponse(key: IdKey, act: () => void): void {
    this.#failing = key
    try {
      act()
    } finally {
      this.#failing = undefined
    }
  }

  pause(): void {}

  resume(): void {}

  close(): Promise<void> {
    this.#onEvent = undefined
    for (const { done } of [...this.#asked.values()]) done()
    return Promise.resolve()
  }
}
