import type { Exchange } from '#relay/core/vocabulary.js'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'
import type { MergeEffect, MergerOptions } from '#relay/host/merge/machine.js'
import { Merger } from '#relay/host/merge/merger.js'
import { limitsFor } from '#relay/profiles/limits.js'
import { parseFrame } from '#relay/protocol/parse.js'

export type Message = Readonly<Record<string, unknown>>

/** What a server answers by method: a result, an error, or nothing for now. */
export type Answers = Readonly<Record<string, (params: Params, message: Message) => unknown>>
export type Params = Readonly<Record<string, unknown>>

export class RpcError {
  constructor(readonly code: number, readonly message: string) {}
}

export const tool = (name: string, more: object = {}) =>
  ({ name, description: `is ${name}`, inputSchema: { type: 'object' }, ...more })

/** A server that lists these and answers calls with its own name and that of the tool. */
export const serverWith = (name: string, lists: {
  readonly tools?: readonly object[]; readonly prompts?: readonly object[]
  readonly resources?: readonly object[]; readonly templates?: readonly object[]
  readonly capabilities?: object; readonly instructions?: string; readonly isModern?: boolean
} = {}): Answers => {
  const { tools = [], prompts, resources, templates, capabilities, instructions, isModern = false } = lists
  const has = {
    tools: {}, ...(prompts && { prompts: {} }),
    ...((resources ?? templates) && { resources: {} }), ...capabilities,
  }
  return {
    initialize: ({ protocolVersion }) => ({
      protocolVersion, serverInfo: { name, version: '1' }, ...(instructions !== undefined && { instructions }),
      capabilities: has,
    }),
    ...(isModern && { 'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: has }) }),
    'tools/list': () => ({ tools }),
    'prompts/list': () => ({ prompts: prompts ?? [] }),
    'resources/list': () => ({ resources: resources ?? [] }),
    'resources/templates/list': () => ({ resourceTemplates: templates ?? [] }),
    'tools/call': ({ name: called }) => ({ content: [{ type: 'text', text: `${name}: ${String(called)}` }] }),
    'prompts/get': ({ name: asked }) => ({ messages: [], description: `${name}: ${String(asked)}` }),
    'resources/read': ({ uri }) => ({ contents: [{ uri, text: name }] }),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
    'completion/complete': ({ ref }) => ({ completion: { values: [JSON.stringify(ref)] } }),
    'logging/setLevel': () => ({}),
  }
}

const limits = { messageBytes: 16 * 1024 * 1024, depth: 128 }

export const frameOf = (message: Message | string) =>
  parseFrame(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)), limits)

interface SentToLeg {
  readonly leg: string
  readonly exchange: Exchange
  readonly message: Message
}

/** A merger between a client and servers of the test. */
export class Merged {
  readonly merger: Merger
  readonly servers = new Map<string, Answers>()
  /** What the client got, in order. */
  readonly client: Message[] = []
  readonly texts: string[] = []
  readonly sent: SentToLeg[] = []
  readonly effects: MergeEffect[] = []
  readonly #timers = new Map<number, number>()
  now = 0
  #lastId = 0

  constructor(servers: Readonly<Record<string, Answers>>, options: Partial<MergerOptions> = {}) {
    for (const [name, answers] of Object.entries(servers)) this.servers.set(name, answers)
    this.merger = new Merger({
      servers: Object.keys(servers).map(name => ({ name, prefix: name.replace(/[^\w-]/g, '_') })),
      separator: '__', limitsOf: limitsFor([], 'mcp-customs'), listMs: 1000, maxItems: 1000, maxBytes: 1024 * 1024,
      serverInfo: { name: 'mcp-customs', version: '1' }, nonce: 'nonce', isStateless: false, hasExchanges: false,
      translates: true, ...options,
    })
  }

  perform(effects: readonly MergeEffect[]): void {
    for (const effect of effects) {
      this.effects.push(effect)
      switch (effect.type) {
        case 'send':
          this.client.push(JSON.parse(effect.frame.bytes.toString()) as Message)
          this.texts.push(effect.frame.bytes.toString())
          break
        case 'send-to-leg': this.#toLeg(effect.leg, effect.exchange, effect.frame.bytes.toString()); break
        case 'start-timer': this.#timers.set(effect.timer, this.now + effect.ms); break
        case 'stop-timer': this.#timers.delete(effect.timer); break
        case 'open': case 'close': case 'abandon': case 'complete': case 'missing': case 'found': break
      }
    }
  }

  #toLeg(leg: string, exchange: Exchange, text: string): void {
    const message = JSON.parse(text) as Message
    this.sent.push({ leg, exchange, message })
    const answer = this.servers.get(leg)?.[String(message['method'])]
    if (message['id'] === undefined || message['method'] === undefined || this.servers.get(leg) === undefined) return
    const result = answer === undefined
      ? new RpcError(-32601, 'Method not found')
      : answer((message['params'] ?? {}) as Params, message)
    if (result !== undefined) this.answer(leg, message['id'], result)
  }

  answer(leg: string, id: unknown, result: unknown): void {
    const isError = result instanceof RpcError
    const what = isError ? { error: { code: result.code, message: result.message } } : { result }
    this.fromServer(leg, { jsonrpc: '2.0', id, ...what })
  }

  fromServer(leg: string, message: Message | string): void {
    this.perform(this.merger.handle({ type: 'leg-frame', leg, frame: frameOf(message) }, this.now))
  }

  ended(leg: string, reason = 'it has ended'): void {
    this.perform(this.merger.handle({ type: 'leg-ended', leg, reason }, this.now))
  }

  fromClient(message: Message | string, exchange: Exchange = stdioExchange): void {
    this.perform(this.merger.handle({ type: 'client-frame', exchange, frame: frameOf(message) }, this.now))
  }

  left(exchange: Exchange): void {
    this.perform(this.merger.handle({ type: 'exchange-ended', exchange }, this.now))
  }

  /** The configuration was replaced. */
  replace(changed: Partial<MergerOptions>): void {
    const settings = { ...this.merger.options, ...changed }
    this.perform(this.merger.handle({ type: 'settings-changed', settings }, this.now))
  }

  /** Sends a request. @returns its response, as far as it has come */
  ask(method: string, params?: object, id: unknown = `q${(this.#lastId += 1)}`): Message | undefined {
    this.fromClient({ jsonrpc: '2.0', id, method, ...(params && { params }) })
    return this.responseTo(id)
  }

  /** A modern client's request, on an exchange of its own. */
  askModern(method: string, params: object = {}, id: unknown = `q${(this.#lastId += 1)}`): Message | undefined {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    this.fromClient({ jsonrpc: '2.0', id, method, params: { _meta, ...params } }, exchangeNamed(`http-${String(id)}`))
    return this.responseTo(id)
  }

  responseTo(id: unknown): Message | undefined {
    return this.client.find(message => message['id'] === id && message['method'] === undefined)
  }

  begin(): this {
    this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }, 'init')
    this.advance(1000)
    this.fromClient({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return this
  }

  /** Lets time pass, and timers fire. */
  advance(ms: number): void {
    const end = this.now + ms
    for (;;) {
      const [next] = [...this.#timers].filter(([, at]) => at <= end).sort(([, one], [, other]) => one - other)
      if (next === undefined) break
      const [timer, at] = next
      this.#timers.delete(timer)
      this.now = Math.max(this.now, at)
      this.perform(this.merger.handle({ type: 'timer-fired', timer }, this.now))
    }
    this.now = end
  }

  /** The names in a list's response. */
  names(method: string, key: string, name = 'name'): readonly string[] {
    const list = (this.ask(method)?.['result'] as Record<string, readonly Record<string, string>[]> | undefined)?.[key]
    return list?.map(one => one[name] ?? '') ?? []
  }

  /** What was found about merged lists. */
  get found() {
    return this.effects.flatMap(effect => (effect.type === 'found' ? effect.found : []))
  }

  notices(method: string): number {
    return this.client.filter(message => message['method'] === method).length
  }
}

export const textIn = (response: Message | undefined): string =>
  (response?.['result'] as { content?: { text: string }[] } | undefined)?.content?.[0]?.text ?? JSON.stringify(response)
