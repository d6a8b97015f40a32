import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import { madeFrame } from '#relay/protocol/parse.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'

/**
 * What a relay sends may have been edited: its bytes count, and not what was read before. Over a wire they
 * are read anew as well.
 */
const reread = (frame: Frame): Frame => {
  const { message, faults } = madeFrame(frame.bytes)
  return { ...frame, message, faults }
}

/** One end of a connection within this process. */
class End implements Transport {
  #onEvent: ((event: TransportEvent) => void) | undefined
  #other: End | undefined
  /** Events from before `start`, and from while it is paused. */
  readonly #held: TransportEvent[] = []
  #isPaused = false
  #isClosed = false
  readonly #closing: () => Promise<unknown>
  readonly #readsBytes: boolean

  /**
   * @param closing resolves when what stands behind the other end has ended
   * @param readsBytes what it sends is read anew
   */
  constructor(closing: () => Promise<unknown>, readsBytes: boolean) {
    this.#closing = closing
    this.#readsBytes = readsBytes
  }

  join(other: End): void {
    this.#other = other
  }

  start(onEvent: (event: TransportEvent) => void): void {
    this.#onEvent = onEvent
    this.#deliver()
  }

  report(event: TransportEvent): void {
    if (this.#isClosed) return
    this.#held.push(event)
    if (!this.#isPaused) this.#deliver()
  }

  #deliver(): void {
    if (this.#onEvent === undefined) return
    for (let event = this.#held.shift(); event !== undefined; event = this.#held.shift()) this.#onEvent(event)
  }

  send(exchange: Exchange, frame: Frame): boolean {
    this.#other?.report({ type: 'frame', exchange, frame: this.#readsBytes ? reread(frame) : frame })
    return this.#other?.isFull !== true
  }

  get isFull(): boolean {
    return this.#isPaused && this.#held.length > 0
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    const wasFull = this.isFull
    this.#isPaused = false
    this.#deliver()
    if (wasFull) this.#other?.report({ type: 'drained', exchange: stdioExchange })
  }

  async close(): Promise<void> {
    if (!this.#isClosed) this.#other?.report({ type: 'ended', reason: 'the client has ended' })
    this.#isClosed = true
    await this.#closing()
  }
}

/** A connection within this process. */
export interface Pipe {
  /** The client, as the server's session sees it. */
  readonly client: Transport
  /** The server, as its client sees it. */
  readonly server: Transport
  /** The server's session has ended. */
  readonly end: (reason: string) => void
}

/** @param ended resolves when the server's session has ended */
export const pipeOf = (ended: () => Promise<unknown>): Pipe => {
  const client = new End(() => Promise.resolve(), true)
  const server = new End(ended, false)
  client.join(server)
  server.join(client)
  return { client: quiet(client), server, end: reason => server.report({ type: 'ended', reason }) }
}

/** The session's own end closes it before its outcome is known, which is reported instead. */
const quiet = (client: End): Transport => ({
  start: onEvent => client.start(onEvent),
  send: (exchange, frame) => client.send(exchange, frame),
  pause: () => client.pause(),
  resume: () => client.resume(),
  close: () => Promise.resolve(),
})
