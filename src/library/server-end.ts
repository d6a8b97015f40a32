import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isRecord } from '#relay/protocol/unmetered.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import type { ClientEnd, Outgoing } from './client-end.js'
import type { SdkTransport } from './sdk-transport.js'

/** Part of v2's `TransportSendOptions`. */
interface StreamOptions {
  readonly requestSignal?: AbortSignal | undefined
  readonly onRequestStreamEnd?: (() => void) | undefined
}

interface ServerEndEvents {
  error(error: unknown): void
  closed(): void
}

/** The server's end of the session, on top of the SDK's transport. */
export class ServerEnd implements Transport {
  readonly #inner: SdkTransport
  readonly #client: ClientEnd
  readonly #events: ServerEndEvents
  #onEvent: ((event: TransportEvent) => void) | undefined
  #ended = false
  #closing: Promise<void> | undefined

  constructor(inner: SdkTransport, client: ClientEnd, events: ServerEndEvents) {
    this.#inner = inner
    this.#client = client
    this.#events = events
  }

  start(onEvent: (event: TransportEvent) => void): void {
    this.#onEvent = onEvent
    const inner = this.#inner
    // Existing handlers are called too, as the SDKs' own clients do.
    const { onmessage, onerror, onclose } = inner
    inner.onmessage = (message, extra) => {
      onmessage?.call(inner, message, extra)
      this.#received(message, extra)
    }
    inner.onerror = error => {
      onerror?.call(inner, error)
      this.#events.error(error)
    }
    inner.onclose = () => {
      onclose?.call(inner)
      this.end('the server closed the connection')
    }
  }

  send(_exchange: Exchange, frame: Frame): boolean {
    const { message, original } = this.#client.outgoing.open(frame)
    const key = frame.message.kind === 'request' ? frame.message.key : undefined
    if (original) original.taken = true
    this.#send(message, original, key).then(
      () => original?.done(),
      (error: unknown) => this.#failed(error, original, key),
    )
    return true
  }

  pause(): void {}

  resume(): void {}

  /** Called by the session. A failure is reported to `onerror`, and does not reject. */
  close(): Promise<void> {
    return this.#ended
      ? Promise.resolve()
      : this.disconnect().catch((error: unknown) => this.#events.error(error))
  }

  /** Called by the application. @returns rejects as the transport's own `close` does */
  disconnect(): Promise<void> {
    if (!this.#ended) this.#closing ??= this.#shut().finally(() => this.end('the connection was closed'))
    return this.#closing ?? Promise.resolve()
  }

  /** Pending requests get an error first. */
  end(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#onEvent?.({ type: 'ended', reason })
    this.#events.closed()
  }

  // async: a transport that throws rejects.
  async #shut(): Promise<void> {
    await this.#inner.close()
  }

  async #send(message: unknown, original: Outgoing | undefined, key: IdKey | undefined): Promise<void> {
    await this.#inner.send(message, this.#optionsOf(original, key))
  }

  #received(message: unknown, extra: unknown): void {
    try {
      const frame = this.#client.incoming.frameOf({ message, extra })
      this.#onEvent?.({ type: 'frame', exchange: stdioExchange, frame })
    } catch (error) {
      this.#events.error(error)
    }
  }

  /** Adds handlers for the end of a request's stream and for its cancellation (v2 over HTTP). */
  #optionsOf(original: Outgoing | undefined, key: IdKey | undefined): unknown {
    const options = original?.extra
    if (key === undefined) return options
    const given = isRecord(options) ? options : {}
    const { requestSignal: signal, onRequestStreamEnd } = given as StreamOptions
    signal?.addEventListener('abort', () => this.#givenUp(key, 'cancelled'), { once: true })
    return {
      ...given,
      onRequestStreamEnd: () => {
        this.#lost(key, 'the response ended before the answer')
        onRequestStreamEnd?.()
      },
    }
  }

  #failed(error: unknown, original: Outgoing | undefined, key: IdKey | undefined): void {
    const reason = 'the request could not be sent'
    if (!original) {
      // A relay-made request.
      if (key !== undefined) this.#lost(key, reason)
      return
    }
    original.fail(error)
    if (key !== undefined) this.#givenUp(key, reason)
  }

  #lost(key: IdKey, reason: string): void {
    this.#onEvent?.({ type: 'lost', exchange: stdioExchange, key, reason })
  }

  /** Its caller knows already that there will be no response. */
  #givenUp(key: IdKey, reason: string): void {
    this.#client.withoutResponse(key, () => this.#lost(key, reason))
  }
}
