import { stdioExchange, type Exchange } from '../core/event.js'
import type { Frame } from '../protocol/frame.js'
import { isObject } from '../protocol/unmetered.js'
import type { IdKey } from '../protocol/json-rpc.js'
import type { Transport, TransportEvent } from '../transport/transport.js'
import type { ClientEnd, Outgoing } from './client-end.js'
import type { SdkTransport } from './sdk-transport.js'

/** Of v2's `TransportSendOptions`. */
interface StreamOptions {
  readonly requestSignal?: AbortSignal | undefined
  readonly onRequestStreamEnd?: (() => void) | undefined
}

export interface Told {
  error(error: unknown): void
  closed(): void
}

/** The server's end of the session: it speaks through the SDK's transport. */
export class ServerEnd implements Transport {
  readonly #inner: SdkTransport
  readonly #client: ClientEnd
  readonly #told: Told
  #hear: ((event: TransportEvent) => void) | undefined
  #ended = false
  #closing: Promise<void> | undefined

  constructor(inner: SdkTransport, client: ClientEnd, told: Told) {
    this.#inner = inner
    this.#client = client
    this.#told = told
  }

  start(hear: (event: TransportEvent) => void): void {
    this.#hear = hear
    const inner = this.#inner
    // Whoever listened before goes on listening, as with the SDKs' own clients.
    const { onmessage, onerror, onclose } = inner
    inner.onmessage = (message, extra) => {
      onmessage?.call(inner, message, extra)
      this.#received(message, extra)
    }
    inner.onerror = error => {
      onerror?.call(inner, error)
      this.#told.error(error)
    }
    inner.onclose = () => {
      onclose?.call(inner)
      this.end('the server closed the connection')
    }
  }

  send(_exchange: Exchange, frame: Frame): boolean {
    const { message, parcel } = this.#client.outgoing.open(frame)
    const key = frame.message.kind === 'request' ? frame.message.key : undefined
    if (parcel) parcel.taken = true
    this.#send(message, parcel, key).then(
      () => parcel?.done(),
      (error: unknown) => this.#failed(error, parcel, key),
    )
    return true
  }

  pause(): void {}

  resume(): void {}

  /** As the session asks for it: that the transport cannot close is told, and holds up nothing. */
  close(): Promise<void> {
    return this.#ended ? Promise.resolve() : this.disconnect().catch((error: unknown) => this.#told.error(error))
  }

  /** As the caller asks for it. @returns rejects as the transport's own `close` does */
  disconnect(): Promise<void> {
    if (!this.#ended) this.#closing ??= this.#shut().finally(() => this.end('the connection was closed'))
    return this.#closing ?? Promise.resolve()
  }

  /** Everything that waits is answered first. */
  end(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#hear?.({ type: 'ended', reason })
    this.#told.closed()
  }

  // A transport that throws at once is as good as one that rejects.
  async #shut(): Promise<void> {
    await this.#inner.close()
  }

  async #send(message: unknown, parcel: Outgoing | undefined, key: IdKey | undefined): Promise<void> {
    await this.#inner.send(message, this.#optionsOf(parcel, key))
  }

  #received(message: unknown, extra: unknown): void {
    try {
      const frame = this.#client.incoming.frameOf({ message, extra })
      this.#hear?.({ type: 'frame', exchange: stdioExchange, frame })
    } catch (error) {
      this.#told.error(error)
    }
  }

  /** Of a request, the end of its stream is of interest, and that its caller gave it up (v2 over HTTP). */
  #optionsOf(parcel: Outgoing | undefined, key: IdKey | undefined): unknown {
    const options = parcel?.extra
    if (key === undefined) return options
    const given = isObject(options) ? options : {}
    const { requestSignal: signal, onRequestStreamEnd: told } = given as StreamOptions
    signal?.addEventListener('abort', () => this.#givenUp(key, 'cancelled'), { once: true })
    return {
      ...given,
      onRequestStreamEnd: () => {
        this.#lost(key, 'the response ended before the answer')
        told?.()
      },
    }
  }

  #failed(error: unknown, parcel: Outgoing | undefined, key: IdKey | undefined): void {
    const reason = 'the request could not be sent'
    if (!parcel) {
      // The relay's own.
      if (key !== undefined) this.#lost(key, reason)
      return
    }
    parcel.fail(error)
    if (key !== undefined) this.#givenUp(key, reason)
  }

  #lost(key: IdKey, reason: string): void {
    this.#hear?.({ type: 'lost', exchange: stdioExchange, key, reason })
  }

  /** Its caller knows by other means that there will be no answer. */
  #givenUp(key: IdKey, reason: string): void {
    this.#client.without(key, () => this.#lost(key, reason))
  }
}
