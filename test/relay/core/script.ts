import type {
  Action, Checked, CountAsk, Effect, Entry, Event, Exchange, Named, Operation, SharedAsk, SharedReply, Side,
  Subject,
} from '#relay/core/vocabulary.js'
import type { RelayOptions } from '#relay/core/options.js'
import { Relay } from '#relay/core/relay.js'
import type { FrameLimits } from '#relay/protocol/frame.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { isRuleName, presetPolicy, type RuleName } from '#relay/rules/index.js'
import { exchange as exchangeOf } from '../../exchange.js'
import { judgementOf, type Judging } from '../../judgement.js'

export interface Setting extends Partial<Omit<RelayOptions, 'judgement'>>, Judging {
  readonly actions?: Partial<Record<RuleName, Action>>
  readonly judgedBytes?: number
}

/** What the relay did: frames as parsed JSON, audit entries, timers; in order. */
export type Did = readonly [string, unknown]

/**
 * A relay driven as a script: what is heard goes in, what it does comes out. Checks are answered at once by
 * `type` alone, which is all of JSON Schema that a test of the core needs, unless they are held back by
 * `holdChecks`.
 */
export class Script {
  readonly relay: Relay
  readonly #limits: FrameLimits
  /** The shared state: how it answers a question. */
  shares: (ask: SharedAsk) => SharedReply = () => 'none'
  /** How the replicas count a call. */
  counts: (ask: CountAsk) => SharedReply = () => 'unreachable'
  readonly entries: Entry[] = []
  readonly operations: Operation[] = []
  readonly raw: { to: Side; exchange: string; bytes: string; cause: Side }[] = []
  at = 0
  holdChecks = false
  /** How often the event loop was handed back. */
  turns = 0
  readonly held: { check: number; subjects: readonly Subject[] }[] = []

  constructor({ actions = {}, judgedBytes, ...options }: Setting = {}) {
    this.#limits = { messageBytes: 1 << 24, depth: 128, ...(judgedBytes !== undefined && { judgedBytes }) }
    const policy = presetPolicy('standard', { purpose: 'relay', locked: false })
    for (const [rule, action] of Object.entries(actions))
      if (isRuleName(rule) && action !== undefined) policy.set(rule, action)
    const judgement = judgementOf({ policy, ...options })
    this.relay = new Relay({
      session: 's1', nonce: 'nonce', stateless: false,
      checkNow: subject => (this.holdChecks ? undefined : verdict(subject)), ...options, judgement,
    })
  }

  client(message: unknown, exchange = 'stdio'): Did[] {
    return this.#hear('client', message, exchange)
  }

  server(message: unknown, exchange = 'stdio'): Did[] {
    return this.#hear('server', message, exchange)
  }

  happens(event: Named<Event>): Did[] {
    const happening = 'exchange' in event ? { ...event, exchange: exchangeOf(event.exchange) } : event
    return this.perform(happening)
  }

  perform(event: Event): Did[] {
    return this.#perform(this.relay.handle(event, this.at))
  }

  release(): Did[] {
    this.holdChecks = false
    return this.held.splice(0).flatMap(({ check, subjects }) =>
      this.happens({ type: 'checked', check, results: subjects.map(verdict) }),
    )
  }

  /** A legacy handshake and a list of tools. */
  begin(tools: readonly object[] = [weather], revision = '2025-11-25'): this {
    this.client(initialize(revision))
    this.server({
      jsonrpc: '2.0',
      id: 0,
      result: {
        protocolVersion: revision, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' },
      },
    })
    this.client({ jsonrpc: '2.0', id: 'list', method: 'tools/list' })
    this.server({ jsonrpc: '2.0', id: 'list', result: { tools } })
    this.entries.length = 0
    this.raw.length = 0
    return this
  }

  /** The id of the list that the relay asked for last. */
  get ownId(): string | number {
    const own = this.raw.findLast(({ to, bytes }) => to === 'server' && bytes.includes('"tools/list"'))
    return (JSON.parse(own?.bytes ?? '{"id":"none"}') as { id: string | number }).id
  }

  /** As `client` and `server`, on an exchange that has more than a name. */
  hears(from: Side, message: unknown, exchange: Exchange): Did[] {
    const frame = parseFrame(Buffer.from(JSON.stringify(message)), this.#limits)
    return this.perform({ type: 'frame-received', from, exchange, frame })
  }

  #hear(from: Side, message: unknown, exchange: string): Did[] {
    const bytes = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message))
    const frame = parseFrame(bytes, this.#limits)
    return this.happens({ type: 'frame-received', from, exchange, frame })
  }

  #perform(effects: readonly Effect[]): Did[] {
    return effects.flatMap((effect): Did[] => {
      switch (effect.type) {
        case 'send':
          this.raw.push({
            to: effect.to, exchange: effect.exchange.name, bytes: effect.frame.bytes.toString(),
            cause: effect.cause,
          })
          return [[`to ${effect.to}`, readable(effect.frame.bytes)]]
        case 'audit':
          this.entries.push(effect.entry)
          return []
        case 'observe':
          this.operations.push(effect.operation)
          return []
        case 'check':
          if (effect.subjects.length === 0) this.turns++
          if (this.holdChecks) {
            this.held.push(effect)
            return []
          }
          return this.happens({ type: 'checked', check: effect.check, results: effect.subjects.map(verdict) })
        case 'start-timer':
          return [['start timer', effect.timer]]
        case 'stop-timer':
          return [['stop timer', effect.timer]]
        case 'share': {
          const { share, ask } = effect
          const reply = ask.kind === 'count' ? this.counts(ask) : this.shares(ask)
          const event = share === undefined ? undefined : { type: 'shared', share, reply } as const
          return [[`share ${ask.kind}`, `${ask.part} ${ask.name}`.trim()], ...(event ? this.happens(event) : [])]
        }
        case 'end':
          return []
        case 'hand':
          return [['hand', effect.event.type]]
        case 'complete':
          return [['complete', effect.exchange.name]]
        case 'failed':
          return [['failed', effect.cause instanceof Error ? effect.cause.message : effect.cause]]
        case 'abandon':
          return [['abandon', effect.key]]
        case 'close':
          return [['close', effect.reason]]
      }
    })
  }
}

const readable = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString()) as unknown
  } catch {
    return bytes.toString()
  }
}

const verdict = (subject: Subject): Checked => {
  if (subject.kind === 'schema') return []
  const { schema, value, path } = subject
  if (schema === false) return [{ kind: 'mismatch', path, message: 'must not be' }]
  if (schema === true) return []
  if (schema.type === 'broken') return [{ kind: 'unchecked', path, message: 'the schema does not compile' }]
  const actual = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
  if (schema.type !== undefined && schema.type !== actual)
    return [{ kind: 'mismatch', path, message: `must be ${JSON.stringify(schema.type)}` }]
  return []
}

export const weather = { name: 'weather', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }

export const initialize = (revision: string, capabilities: object = {}) => ({
  jsonrpc: '2.0', id: 0, method: 'initialize',
  params: { protocolVersion: revision, capabilities, clientInfo: { name: 'test', version: '1' } },
})

export const call = (id: number | string, name: string, args: object = {}) => ({
  jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args },
})

export const answer = (id: number | string, structuredContent: unknown) => ({
  jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'ok' }], structuredContent },
})

export const result = (id: number | string, members: object) => ({ jsonrpc: '2.0', id, result: members })

/** The params of a modern request. */
export const modern = (capabilities: object = { extensions: { 'io.modelcontextprotocol/tasks': {} } }) => ({
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'm', version: '2' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  },
})

export const findingsOf = (script: Script) =>
  script.entries.flatMap(({ findings }) => findings.map(({ rule, path }) => `${rule} ${path}`))
