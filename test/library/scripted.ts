import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'

interface Message {
  readonly id?: string | number
  readonly method?: string
}

/**
 * A server at the other end of an in-memory transport, that answers what it was told to and keeps what it
 * got.
 */
export class ScriptedServer {
  readonly received: unknown[] = []
  readonly #transport: Transport
  readonly #answers = new Map<string, object>()

  constructor(transport: Transport) {
    this.#transport = transport
    transport.onmessage = (message: object) => {
      this.received.push(message)
      const { id, method = '' } = message as Message
      const result = this.#answers.get(method)
      if (result !== undefined && id !== undefined)
        void this.#transport.send({ jsonrpc: '2.0', id, result: { ...result } })
    }
  }

  answer(method: string, result: object): void {
    this.#answers.set(method, result)
  }

  answerInitialize(): void {
    this.answer('initialize', {
      protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'scripted', version: '1' },
    })
  }

  /** How often it was asked this. */
  asked(method: string): number {
    return this.received.filter(message => (message as Message).method === method).length
  }
}

/** Lets everything that waits only for its turn take it. */
export const tick = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
