import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { resultDigits } from '#relay/lock/digits.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import {
  errorCode, type ErrorResponse, type Id, type Request, type Result,
} from '#relay/protocol/json-rpc.js'
import { written } from '#relay/protocol/message.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { type DataObject, unmetered } from '#relay/protocol/unmetered.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'

/** @property size of the message, in bytes */
export type ServerResponse = ((Omit<Result, 'result'> & { readonly result: DataObject })
  | ErrorResponse) & { readonly size: number }

interface Waiting {
  readonly settle: (response: ServerResponse) => void
  readonly timer: NodeJS.Timeout
}

/**
 * An MCP client in this process, as the client's end of a session: its requests and their responses pass the
 * relay like any other. It declares no capabilities.
 */
export class InspectClient implements Transport {
  readonly #waiting = new Map<Id, Waiting>()
  #onEvent: (event: TransportEvent) => void = () => {}
  #lastId = 0
  #closed = false

  /** @param exact numbers that a double does not hold are marked strings in results, with all their digits */
  constructor(private readonly limits: FrameLimits, private readonly exact = false) {}

  start(onEvent: (event: TransportEvent) => void): void {
    this.#onEvent = onEvent
  }

  /**
   * Sends a request; the response may be the relay's own.
   * @param ms longest wait
   * @returns undefined when there was no response in that time
   */
  request(method: string, params: DataObject, ms: number): Promise<ServerResponse | undefined> {
    const id = ++this.#lastId
    if (this.#closed) return Promise.resolve(gone(id))
    return new Promise(resolve => {
      const settle = (response?: ServerResponse) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        resolve(response)
      }
      const timer = setTimeout(settle, ms)
      this.#waiting.set(id, { settle, timer })
      this.#say({ jsonrpc: '2.0', id, method, params })
    })
  }

  /** The server waits for a user, who has to log in: the longest wait begins anew. */
  bePatient(): void {
    for (const { timer } of this.#waiting.values()) timer.refresh()
  }

  notify(method: string): void {
    this.#say({ jsonrpc: '2.0', method })
  }

  send(_exchange: Exchange, { message, bytes }: Frame): boolean {
    switch (message.kind) {
      case 'result':
      case 'error':
        this.#waiting.get(message.id)?.settle({
          ...unmeteredIn(this.exact ? exactly(message, bytes) : message), size: bytes.length,
        })
        break
      case 'request':
        this.#answer(message)
        break
      case 'batch':
        for (const one of message.members) this.send(stdioExchange, one)
        break
      case 'notification':
      case 'page':
      case 'unusable':
        break
    }
    return true
  }

  pause(): void {}

  resume(): void {}

  close(): Promise<void> {
    this.#closed = true
    for (const [id, { settle }] of this.#waiting) settle(gone(id))
    return Promise.resolve()
  }

  /** Answers ping; no other request of the server is supported. */
  #answer({ id, method }: Request): void {
    const error = { code: errorCode.methodNotFound, message: 'Method not found' }
    this.#say(method === 'ping' ? { jsonrpc: '2.0', id, result: {} } : { jsonrpc: '2.0', id, error })
  }

  #say(message: DataObject): void {
    const frame = parseFrame(Buffer.from(JSON.stringify(message)), this.limits)
    this.#onEvent({ type: 'frame', exchange: stdioExchange, frame })
  }
}

const exactly = (message: Result | ErrorResponse, bytes: Buffer): Result | ErrorResponse => {
  const result = message.kind === 'result' ? resultDigits(bytes) : undefined
  return message.kind === 'result' && result !== undefined ? { ...message, result } : message
}

const gone = (id: Id): ServerResponse => ({
  kind: 'error', size: 0, id, key: written(id),
  error: { code: errorCode.gone, message: 'the connection is closed' },
})

const unmeteredIn = (message: Result | ErrorResponse) =>
  (message.kind === 'result' ? { ...message, result: unmetered(message.result) } : message)
