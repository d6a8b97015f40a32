import fc from 'fast-check'
import t from 'tap'
import type { Checked, Effect, Entry, Exchange, Side, Subject } from '#relay/core/vocabulary.js'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'
import { Relay } from '#relay/core/relay.js'
import { traced } from '#relay/session/hooks.js'
import type { Trace } from '#relay/protocol/frame.js'
import { idKeysOf } from '#relay/protocol/message.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { type Preset, presetPolicy } from '#relay/rules/index.js'
import { judgementOf } from '../../judgement.js'

/** How often: `MCP_CUSTOMS_FUZZ=10000` for a long look. */
const runs = Number(process.env['MCP_CUSTOMS_FUZZ'] ?? 300)

const id = fc.constantFrom<unknown>(0, 1, 2, '1', '2', 'a', 1.5, null, 1e30)
const names = fc.constantFrom('a', 'b', 'unlisted', 'denied', '')
const schema = fc.constantFrom<unknown>({ type: 'object' }, { type: 'string' }, {}, true, null)
const tool = fc.record(
  {
    name: names,
    inputSchema: schema,
    outputSchema: schema,
    icons: fc.constant([{ src: 'http://x' }]),
    annotations: fc.constant({ readOnlyHint: true }),
  },
  { requiredKeys: [] },
)
const block = fc.constantFrom<unknown>(
  { type: 'text', text: 'x' }, { type: 'text', text: '{"a":1}' }, { type: 'image', data: '!', mimeType: 'x' },
  7, {},
)
const callResult = fc.record(
  {
    content: fc.array(block, { maxLength: 3 }), structuredContent: fc.constantFrom<unknown>({}, 'x', null),
    isError: fc.boolean(), _meta: fc.constant({ a: 1 }),
  },
  { requiredKeys: [] },
)
const inputRequests = fc.constant({ a: { method: 'sampling/createMessage', params: {} } })
const anyResult = fc.oneof(
  callResult,
  fc.record(
    {
      tools: fc.oneof(fc.array(fc.oneof(tool, fc.constant(1)), { maxLength: 4 }), fc.constant(1)),
      nextCursor: fc.constantFrom('p', 'q', '', null), ttlMs: fc.constantFrom(0, 1, 'x'),
    },
    { requiredKeys: [] },
  ),
  fc.record(
    {
      resultType: fc.constantFrom('input_required', 'task', 'complete'), taskId: fc.constant('t'),
      inputRequests, result: callResult, status: fc.constant('working'),
    },
    { requiredKeys: [] },
  ),
  fc.constant({ protocolVersion: '2025-03-26' }),
  fc.constant({ task: { taskId: 't' } }),
)
const modern = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
}
const params = fc.record(
  {
    name: names, arguments: fc.constantFrom<unknown>({}, 'x', { a: 1 }), cursor: fc.constantFrom('p', 'q'),
    taskId: fc.constant('t'), task: fc.constant({}), _meta: fc.constant(modern), requestId: id,
    protocolVersion: fc.constantFrom('2025-11-25', '2025-03-26'), capabilities: fc.constant({ sampling: {} }),
    result: callResult, inputRequests,
  },
  { requiredKeys: [] },
)
const method = fc.constantFrom(
  'tools/call', 'tools/call', 'tools/call', 'tools/list', 'initialize', 'ping', 'tasks/get', 'tasks/result',
  'resources/read', 'sampling/createMessage', 'notifications/cancelled', 'notifications/tools/list_changed',
  'notifications/tasks', 'x/y',
)
const message = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record(
      { jsonrpc: fc.constant('2.0'), id, method, params }, { requiredKeys: ['jsonrpc', 'method'] },
    ),
  },
  {
    weight: 6,
    arbitrary: fc.record(
      { jsonrpc: fc.constant('2.0'), id, result: anyResult }, { requiredKeys: ['jsonrpc', 'result'] },
    ),
  },
  fc.record(
    { jsonrpc: fc.constant('2.0'), id, error: fc.constant({ code: -1, message: 'm' }), result: callResult },
    { requiredKeys: ['jsonrpc', 'error'] },
  ),
)
const text = fc.oneof(
  { weight: 10, arbitrary: message.map(one => JSON.stringify(one)) },
  fc.array(message, { maxLength: 4 }).map(many => JSON.stringify(many)),
  message.map(one => JSON.stringify(one).replace(/^{/, '{"id":1,')),
  fc.tuple(message, fc.nat(60)).map(([one, cut]) => JSON.stringify(one).slice(0, cut)),
)

const exchange = fc.constantFrom(exchangeNamed('x'), exchangeNamed('y'))

/** Which of what is outstanding goes on: answers of the server to what it got, checks, timers. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('client' as const), text, exchange }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('server' as const), text, exchange }) },
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant('answer' as const), which: fc.nat(5), with: anyResult }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('check' as const), which: fc.nat(5) }) },
  fc.record({ does: fc.constant('timer' as const), which: fc.nat(5) }),
  fc.record({ does: fc.constant('leave' as const), exchange }),
)

interface Owed {
  readonly key: string
  readonly exchange: Exchange
}

const verdict = (subject: Subject): Checked =>
  subject.kind === 'value'
  && typeof subject.schema === 'object'
  && subject.schema.type !== undefined
  && subject.schema.type !== typeof subject.value
    ? [{ kind: 'mismatch', path: subject.path, message: 'must not be' }]
    : []

/** Plays both sides, and keeps account of what is owed. */
class Play {
  readonly entries: Entry[] = []
  readonly relay: Relay
  readonly #stateless: boolean
  readonly #asked: { key: string; exchange: Exchange }[] = []
  readonly #checks: { check: number; subjects: readonly Subject[] }[] = []
  readonly #timers = new Set<string>()
  /** Requests of the client's without an answer. */
  readonly owed: Owed[] = []
  /** Requests of an id, less the answers to them. */
  readonly balance = new Map<string, number>()
  /** How often each request's end was told, and those that went to the server. */
  readonly #followed = new Map<Trace | undefined, number>()
  readonly #forwarded: Trace[] = []
  now = 0

  constructor(stateless: boolean, preset: Preset, sync: boolean) {
    this.#stateless = stateless
    const policy = presetPolicy(preset, { purpose: 'relay', locked: false })
    // Where ids may mean anything, nobody can keep account of who is answered.
    policy.set('wire/id', 'block')
    this.relay = new Relay({
      session: 's',
      nonce: 'n',
      stateless,
      judgement: judgementOf({
        server: 's', policy, trusted: false, listMs: 10, requestMs: 10, maxTools: 3, intent: true,
        tools: new Map([['denied', { denied: true, outputSchema: undefined, annotations: undefined }]]),
      }),
      observed: true,
      checkNow: subject => (sync ? verdict(subject) : undefined),
    })
  }

  step(one: typeof step extends fc.Arbitrary<infer Step> ? Step : never): void {
    this.now++
    const exchange = (wanted: Exchange) => (this.#stateless ? wanted : stdioExchange)
    switch (one.does) {
      case 'client':
        return this.#hear('client', exchange(one.exchange), one.text)
      case 'server':
        return this.#hear('server', exchange(one.exchange), one.text)
      case 'answer': {
        const [asked] = this.#asked.splice(one.which, 1)
        if (asked !== undefined)
          this.#hear(
            'server', asked.exchange,
            `{"jsonrpc":"2.0","id":${asked.key},"result":${JSON.stringify(one.with)}}`,
          )
        return
      }
      case 'check': {
        const [check] = this.#checks.splice(one.which, 1)
        if (check !== undefined)
          this.#do(
            this.relay.handle(
              { type: 'checked', check: check.check, results: check.subjects.map(verdict) }, this.now,
            ),
          )
        return
      }
      case 'timer': {
        const timer = [...this.#timers][one.which]
        if (timer === undefined) return
        this.#timers.delete(timer)
        return this.#do(this.relay.handle({ type: 'timer-fired', timer }, this.now))
      }
      case 'leave':
        if (!this.#stateless) return
        for (const [index, { exchange: on }] of [...this.owed.entries()].reverse())
          if (on === one.exchange) this.owed.splice(index, 1)
        return this.#do(this.relay.handle({ type: 'exchange-ended', exchange: one.exchange }, this.now))
    }
  }

  /** The server answers all that it got, whose answers are judged. @returns how many still wait */
  settle(): number {
    while (this.#asked.length > 0 || this.#checks.length > 0) {
      this.step({ does: 'check', which: 0 })
      this.step({ does: 'answer', which: 0, with: { content: [] } })
    }
    return this.owed.length
  }

  /** Whether each request that was followed came to one end. */
  get followsToTheEnd(): boolean {
    return (
      [...this.#followed.values()].every(times => times === 1)
      && this.#forwarded.every(trace => this.#followed.has(trace))
    )
  }

  /** The server goes, and what is being judged is judged. */
  end(): void {
    this.#do(this.relay.handle({ type: 'server-gone', reason: 'gone' }, this.now))
    while (this.#checks.length > 0) this.step({ does: 'check', which: 0 })
    this.#do(this.relay.handle({ type: 'session-ended', reason: 'over' }, this.now))
  }

  #hear(from: Side, exchange: Exchange, line: string): void {
    const parsed = parseFrame(Buffer.from(line), { messageBytes: 1 << 20, depth: 64 })
    const frame = from === 'client' ? traced(parsed, () => ({ headers: () => new Map() })) : parsed
    const members = frame.message.kind === 'batch' ? frame.message.members : [frame]
    for (const one of from === 'client' ? members : []) {
      const { message } = one
      // What cannot be used may have been a request: it may be answered, and need not.
      for (const key of message.kind === 'result' || message.kind === 'error' ? [] : idKeysOf(one))
        this.#count(exchange, key, 1)
      if (message.kind !== 'request' || !faultless(one.faults) || !faultless(frame.faults)) continue
      // Of two requests with one id in flight a lenient policy lets the second pass, and only one answer is
      // to be had.
      const { key } = message
      if (!this.owed.some(owed => owed.key === key && (owed.exchange === exchange || !this.#stateless)))
        this.owed.push({ key, exchange })
    }
    if (from === 'client') this.#cancelled(exchange, members.map(({ message }) => message))
    this.#do(this.relay.handle({ type: 'frame-received', from, exchange, frame }, this.now))
  }

  #count(exchange: Exchange, key: string, by: number): void {
    const scope = `${this.#stateless ? exchange.name : ''} ${key}`
    this.balance.set(scope, (this.balance.get(scope) ?? 0) + by)
  }

  /** Who cancels does not wait. */
  #cancelled(
    exchange: Exchange, messages: readonly { kind: string; method?: string; params?: object | undefined }[],
  ): void {
    for (const { kind, method, params } of messages) {
      if (
        kind !== 'notification'
        || method !== 'notifications/cancelled'
        || params === undefined
        || !('requestId' in params)
      )
        continue
      this.#forgive(exchange, JSON.stringify(params.requestId))
    }
  }

  #forgive(exchange: Exchange, key: string): void {
    for (const [index, owed] of [...this.owed.entries()].reverse())
      if (owed.key === key && owed.exchange === exchange) this.owed.splice(index, 1)
  }

  #do(effects: readonly Effect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case 'send':
          for (const { message, envelope } of effect.frame.message.kind === 'batch'
            ? effect.frame.message.members
            : [effect.frame]) {
            if (envelope?.trace !== undefined && effect.to === 'server') this.#forwarded.push(envelope.trace)
            if (effect.to === 'server' && message.kind === 'request')
              this.#asked.push({ key: message.key, exchange: effect.exchange })
            if (effect.to === 'server' || message.kind === 'request' || message.kind === 'notification')
              continue
            for (const answered of message.kind === 'unusable'
              ? message.keys
              : 'key' in message && message.key !== undefined
                ? [message.key]
                : []) {
              this.#count(effect.exchange, answered, -1)
              const index = this.owed.findIndex(
                ({ key, exchange }) => key === answered && (exchange === effect.exchange || !this.#stateless),
              )
              if (index >= 0) this.owed.splice(index, 1)
            }
          }
          break
        case 'check':
          this.#checks.push(effect)
          break
        case 'audit':
          this.entries.push(effect.entry)
          break
        case 'observe':
          this.#followed.set(
            effect.operation.entry.trace, (this.#followed.get(effect.operation.entry.trace) ?? 0) + 1,
          )
          break
        case 'start-timer':
          this.#timers.add(effect.timer)
          break
        case 'stop-timer':
          this.#timers.delete(effect.timer)
          break
        case 'close':
          throw new Error(effect.reason)
        case 'failed':
          throw effect.cause
        case 'share':
        case 'hand':
        case 'end':
        case 'complete':
        case 'abandon':
      }
    }
  }
}

const faultless = (faults: readonly unknown[]): boolean => faults.length === 0

for (const preset of ['observe', 'standard', 'strict'] as const) {
  t.test(
    `whatever two sides send in any order, each request is answered and recorded, and nothing fails (${preset})`,
    t => {
      fc.assert(
        fc.property(
          fc.boolean(),
          fc.boolean(),
          fc.array(step, { maxLength: 60, size: 'max' }),
          (stateless, sync, steps) => {
            const play = new Play(stateless, preset, sync)
            for (const one of steps) play.step(one)
            const unanswered = play.settle()
            play.end()
            const last = play.entries.at(-1)
            const tooMany = preset !== 'observe' && [...play.balance.values()].some(left => left < 0)
            return (
              unanswered === 0
              && play.owed.length === 0
              && !tooMany
              && last?.event === 'session/end'
              && !play.relay.hasQueuedFrames
              && play.followsToTheEnd
            )
          },
        ),
        { numRuns: runs },
      )
      t.end()
    },
  )
}
