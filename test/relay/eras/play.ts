import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { legacyClient } from '#relay/eras/legacy-client.js'
import type { EraAction, EraEvent, EraOptions, Translator } from '#relay/eras/translator.js'
import { parseFrame } from '#relay/protocol/parse.js'

export const limits = { messageBytes: 8 * 1024 * 1024, depth: 128 }

/** A message, as far as tests read it. */
export interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Record<string, unknown> & { readonly _meta?: Record<string, unknown> }
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

interface Sent {
  readonly exchange: Exchange
  readonly message: Message
}

export const frameOf = (message: object) => parseFrame(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })), limits)

/** A translator between a client and a server that a test plays. */
export class Play {
  readonly #translator: Translator
  /** What was not taken yet. */
  toServer: Sent[] = []
  toClient: Sent[] = []
  readonly actions: EraAction[] = []
  readonly timers = new Set<string>()

  constructor(options: Partial<EraOptions> = {}, make = legacyClient) {
    let last = 0
    this.#translator = make({
      server: 'configured', limits, newId: () => `ours-${++last}`, isShared: false, outputSchemaOf: () => undefined,
      ...options,
    })
  }

  client(message: object, exchange: Exchange = stdioExchange): this {
    return this.#play({ from: 'client', event: { type: 'frame', exchange, frame: frameOf(message) } })
  }

  event(event: EraEvent): this {
    return this.#play(event)
  }

  server(message: object, exchange: Exchange = stdioExchange): this {
    return this.#play({ from: 'relay', type: 'frame', exchange, frame: frameOf(message) })
  }

  fire(timer: string): this {
    this.timers.delete(timer)
    return this.#play({ from: 'timer', timer })
  }

  /** What the server gets, once. */
  taken(): readonly Message[] {
    return this.toServer.splice(0).map(({ message }) => message)
  }

  /** What the client gets, once. */
  got(): readonly Message[] {
    return this.toClient.splice(0).map(({ message }) => message)
  }

  #play(event: EraEvent): this {
    const actions = this.#translator.handle(event) ?? [passed(event)]
    for (const action of actions) {
      this.actions.push(action)
      if (action.type === 'start-timer') this.timers.add(action.timer)
      if (action.type === 'stop-timer') this.timers.delete(action.timer)
      if (action.type === 'send') this.toClient.push(read(action))
      if (action.type === 'report' && action.event.type === 'frame') this.toServer.push(read(action.event))
    }
    return this
  }
}

const read = ({ exchange, frame }: { exchange: Exchange; frame: { readonly bytes: Buffer } }): Sent => {
  const message = JSON.parse(frame.bytes.toString()) as Message & { jsonrpc?: string }
  delete message.jsonrpc
  return { exchange, message }
}

const passed = (event: EraEvent): EraAction => {
  if (event.from === 'client') return { type: 'report', event: event.event }
  if (event.from !== 'relay') throw new Error('it passes nowhere')
  if (event.type === 'hand') return { type: 'hand', event: event.event }
  if (event.type === 'complete') return { type: 'complete', exchange: event.exchange }
  return { type: 'send', exchange: event.exchange, frame: event.frame }
}

export const initialize = {
  id: 0, method: 'initialize', params: {
    protocolVersion: '2025-11-25', capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    clientInfo: { name: 'old', version: '1', title: 'Old' },
  },
}

export const refused = (id: string | number = 0) =>
  ({ id, error: { code: -32022, message: 'no', data: { supported: ['2026-07-28'], requested: '2025-11-25' } } })

export const discovered = (id: string | number | undefined, more: object = {}) => ({
  id, result: {
    resultType: 'complete', supportedVersions: ['2026-07-28'], ttlMs: 0, cacheScope: 'private',
    capabilities: {
      tools: { listChanged: true }, resources: { subscribe: true }, logging: {}, experimental: { x: {} },
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'new', version: '2' } }, ...more,
  },
})

/** A translated session after the handshake; the subscription of the client is acknowledged. */
export const begun = (options: Partial<EraOptions> = {}): Play => {
  const play = new Play(options)
  play.client(initialize).server(refused())
  const discover = play.taken().at(-1)
  play.server(discovered(discover?.id))
  play.client({ method: 'notifications/initialized' })
  const listen = play.taken().at(-1)
  play.server({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': listen?.id } },
  })
  play.got()
  return play
}
