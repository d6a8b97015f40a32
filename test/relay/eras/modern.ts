import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { ModernClient } from '#relay/eras/modern-client.js'
import type { EraEvent } from '#relay/eras/translator.js'
import type { Frame } from '#relay/protocol/frame.js'
import { parseFrame } from '#relay/protocol/parse.js'

export interface Message {
  readonly jsonrpc?: '2.0'
  readonly id?: string | number
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export interface Sent {
  readonly exchange: Exchange
  readonly message: Message
}

const limits = { messageBytes: 16 * 1024 * 1024, depth: 128 }
const prefix = 'io.modelcontextprotocol/'

export const terms = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  [`${prefix}protocolVersion`]: '2026-07-28', [`${prefix}clientInfo`]: { name: 'new', version: '1' },
  [`${prefix}clientCapabilities`]: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }, ...more,
})

/** A request of a modern client. */
export const asks = (
  id: string | number, method: string, params: Record<string, unknown> = {},
  meta: Record<string, unknown> = {},
): Message => ({ id, method, params: { ...params, _meta: terms(meta) } })

export const initialized = {
  protocolVersion: '2025-11-25', serverInfo: { name: 'old', version: '2' }, instructions: 'Ask.',
  capabilities: {
    tools: { listChanged: true }, prompts: {}, logging: {}, resources: { subscribe: true, listChanged: true },
    tasks: {}, experimental: { x: {} },
  },
}

/** A translator for modern clients, between a client and a server that the test plays. */
export class Bench {
  readonly translator: ModernClient
  readonly #timers = new Map<string, number>()
  #ids = 0
  /** What came since it was last asked for. */
  #toServer: Sent[] = []
  #toClient: Sent[] = []
  readonly others: string[] = []

  constructor() {
    this.translator =
      new ModernClient({
        server: 'old', limits, newId: () => `made-${++this.#ids}`, isShared: false, outputSchemaOf: () => undefined,
      })
  }

  client(message: Message, exchange: Exchange = stdioExchange): this {
    return this.#handle({ from: 'client', event: { type: 'frame', exchange, frame: frameOf(message) } })
  }

  server(message: Message, exchange: Exchange = stdioExchange): this {
    return this.#handle({ from: 'relay', type: 'frame', exchange, frame: frameOf(message) })
  }

  /** The relay refused a request of the server. */
  refused(message: Message, exchange: Exchange = stdioExchange): this {
    const { message: request } = frameOf(message)
    return request.kind === 'request' ? this.#handle({ from: 'refusal', exchange, request }) : this
  }

  leaves(exchange: Exchange): this {
    return this.#handle({ from: 'client', event: { type: 'exchange-ended', exchange } })
  }

  ends(): this {
    return this.#handle({ from: 'client', event: { type: 'ended', reason: 'over' } })
  }

  /** Lets so much time pass. */
  pass(ms: number): this {
    for (const [timer, at] of [...this.#timers]) {
      if (at > ms || !this.#timers.delete(timer)) continue
      this.#handle({ from: 'timer', timer })
    }
    return this
  }

  /** Everything passes, whatever it is. */
  get isSameEra(): boolean {
    return this.translator.handle({ from: 'timer', timer: 'none' }) === undefined
  }

  get timers(): number {
    return this.#timers.size
  }

  /** Handshake with a legacy server. */
  open(exchange: Exchange = stdioExchange, meta: Record<string, unknown> = {}): this {
    this.client(asks('discover', 'server/discover', {}, meta), exchange)
    this.server({ id: 'discover', error: { code: -32601, message: 'Method not found' } }, exchange)
    const [first] = this.toServer.slice(-1)
    this.server({ id: first?.message.id ?? '', result: initialized })
    this.toServer.splice(0)
    this.#toClient = []
    return this
  }

  get toServer(): Sent[] {
    return this.#toServer
  }

  /** What the server got since this was last asked for. */
  atServer(): readonly Message[] {
    return this.#toServer.splice(0).map(({ message }) => message)
  }

  /** What the client got since this was last asked for. */
  atClient(): readonly Message[] {
    return this.#toClient.splice(0).map(({ message }) => message)
  }

  fromServer(): readonly Sent[] {
    return this.#toClient.splice(0)
  }

  atClientOn(exchange: Exchange): readonly Message[] {
    return this.#toClient.filter(one => one.exchange === exchange).map(({ message }) => message)
  }

  #handle(event: EraEvent): this {
    const actions = this.translator.handle(event)
    for (const action of actions ?? asIs(event)) {
      switch (action.type) {
        case 'report':
          if (action.event.type === 'frame') this.#toServer.push(sentOf(action.event))
          else this.others.push(action.event.type)
          break
        case 'send':
          this.#toClient.push(sentOf(action))
          break
        case 'start-timer':
          this.#timers.set(action.timer, action.ms)
          break
        case 'stop-timer':
          this.#timers.delete(action.timer)
          break
        case 'hand':
          this.others.push(action.event.type)
          break
        case 'complete':
        case 'began':
        case 'left-out':
          this.others.push(action.type)
          break
        default:
          action satisfies never
      }
    }
    return this
  }
}

const asIs = (event: EraEvent) => {
  if (event.from === 'client') return [{ type: 'report', event: event.event }] as const
  return event.from === 'relay' && event.type === 'frame'
    ? [{ type: 'send', exchange: event.exchange, frame: event.frame }] as const
    : []
}

const sentOf = ({ exchange, frame }: { readonly exchange: Exchange; readonly frame: Frame }): Sent =>
  ({ exchange, message: JSON.parse(frame.bytes.toString()) as Message })

export const frameOf = (message: Message): Frame =>
  parseFrame(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })), limits)
