import t from 'tap'
import {
  createRelay, createSchemaChecker, parseFrame, type Effect, type Entry, type Event, type Relay,
  type RelayOptions, type SchemaChecker,
} from '#index.js'

/** Performs effects as an embedding program does, and keeps what would be sent. */
class Embedding {
  readonly sent: { readonly to: string; readonly message: unknown }[] = []
  readonly entries: Entry[] = []
  readonly relay: Relay
  readonly #checker: SchemaChecker = createSchemaChecker()

  constructor(options?: RelayOptions) {
    this.relay = createRelay(options)
  }

  async hear(from: 'client' | 'server', message: object): Promise<void> {
    await this.handle({
      type: 'frame-received', from, exchange: 'stdio',
      frame: parseFrame(Buffer.from(JSON.stringify(message))),
    })
  }

  async handle(event: Event): Promise<void> {
    for (const effect of this.relay.handle(event, 0)) await this.#perform(effect)
  }

  async #perform(effect: Effect): Promise<void> {
    if (effect.type === 'send')
      this.sent.push({ to: effect.to, message: JSON.parse(effect.frame.bytes.toString()) })
    if (effect.type === 'audit') this.entries.push(effect.entry)
    if (effect.type === 'check') {
      const results = await Promise.all(effect.subjects.map(async subject => this.#checker.check(subject)))
      await this.handle({ type: 'checked', check: effect.check, results })
    }
  }

  close(): Promise<void> {
    return this.#checker.close()
  }
}

const weather = {
  name: 'weather',
  inputSchema: { type: 'object' },
  outputSchema: {
    type: 'object', properties: { temperature: { type: 'number' } }, required: ['temperature'],
  },
}

t.test('one call gives a relay with every rule, by the standard policy', async t => {
  const embedding = new Embedding()
  t.teardown(() => embedding.close())
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  await embedding.hear('client', list)
  t.strictSame(embedding.sent, [{ to: 'server', message: list }])
  await embedding.hear('server', { jsonrpc: '2.0', id: 1, result: { tools: [weather, { name: 'bad' }] } })
  t.strictSame(embedding.sent[1], {
    to: 'client', message: { jsonrpc: '2.0', id: 1, result: { tools: [weather] } },
  })
  await embedding.hear('client', {
    jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'weather', arguments: {} },
  })
  await embedding.hear('server', {
    jsonrpc: '2.0', id: 2, result: { content: [], structuredContent: { temperature: 'hot' } },
  })
  t.match(embedding.sent[3], { to: 'client', message: { id: 2, result: { isError: true } } })
  t.match(embedding.entries.at(-1), {
    event: 'tools/call', server: 'server', tool: 'weather', verdict: 'block',
    findings: [{ rule: 'result/schema' }],
  })
})

t.test('a policy, and rules over it', async t => {
  const embedding = new Embedding({
    policy: 'observe', rules: { 'tool/definition': 'block' }, server: 'weather', session: 's1',
  })
  t.teardown(() => embedding.close())
  await embedding.hear('client', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
  await embedding.hear('server', {
    jsonrpc: '2.0', id: 1, result: { tools: [{ ...weather, annotations: {} }, { name: 'bad' }] },
  })
  t.strictSame(embedding.sent[1]?.message, {
    jsonrpc: '2.0', id: 1, result: { tools: [{ ...weather, annotations: {} }] },
  })
  t.match(embedding.entries.at(-1), { server: 'weather', session: 's1' })
})

t.test('a call of an unknown tool is queued', async t => {
  const embedding = new Embedding()
  t.teardown(() => embedding.close())
  t.equal(embedding.relay.holding, false)
  await embedding.hear('client', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather' } })
  t.equal(embedding.relay.holding, true)
  t.match(embedding.sent, [{ to: 'server', message: { method: 'tools/list' } }])
})

t.test('without a session, each exchange has ids of its own', async t => {
  const relay = createRelay({ stateless: true })
  const ping = parseFrame(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'))
  for (const exchange of ['a', 'b']) {
    const effects = relay.handle({ type: 'frame-received', from: 'client', exchange, frame: ping }, 0)
    t.match(effects.filter(({ type }) => type === 'send'), [{ to: 'server', exchange, frame: ping }])
  }
})

t.test('limits apply to parsing', t => {
  const long = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'x'.repeat(2000) }))
  t.match(parseFrame(long, { messageBytes: 1024 }).faults, [{ kind: 'size' }])
  t.strictSame(parseFrame(long).faults, [])
  t.throws(() => parseFrame(long, { messageBytes: 0 }), { code: 'BAD_CONFIG' })
  t.end()
})

t.test('parseFrame never throws for invalid bytes', t => {
  for (const bytes of ['', '\0', '{', '[]', 'null', '"\ud800"', '{"jsonrpc":"2.0","id":{}}']) {
    const { message, faults } = parseFrame(Buffer.from(bytes))
    t.equal(message.kind, 'unusable', JSON.stringify(bytes))
    t.ok(faults.length > 0)
  }
  t.end()
})
