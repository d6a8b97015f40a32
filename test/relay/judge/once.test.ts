import tap from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { openSession } from '#relay/session/open.js'
import { instantiate, type Module } from '#relay/judge/module.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { byteValidator } from '#relay/protocol/read-fast.js'
import { field } from '#relay/protocol/unmetered.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { parseInTurns } from '#relay/transport/frames.js'
import type { Expected, TransportEvent } from '#relay/transport/transport.js'
import { limits as schemaLimits } from '../schema/ask.js'
import { judgementOf } from '../../judgement.js'

/** Node has it, though its types do not. */
const wasm =
  Reflect.get(globalThis, 'WebAssembly') as { Instance: new (module: object) => { readonly exports: object } }

const rows = Array.from({ length: 9000 }, (_, id) => ({ id, name: 'Ada Lovelace', email: `u${id}@example.org` }))
const schema = {
  type: 'object',
  properties: {
    rows: {
      items: {
        type: 'object',
        properties: {
          id: { type: 'integer' }, name: { type: 'string' }, email: { type: 'string', format: 'email' },
        },
        required: ['id', 'name', 'email'],
      },
    },
  },
}
const structuredContent = { rows }

/** Counts the texts that the byte validator reads. */
const countReadings = (t: Pick<typeof tap, 'teardown'>): { readings: number } => {
  instantiate()
  const { Instance } = wasm
  t.teardown(() => (wasm.Instance = Instance))
  const count = { readings: 0 }
  wasm.Instance = class {
    readonly exports: object
    constructor(module: object) {
      const own = new Instance(module).exports as Module
      const read = (...given: Parameters<Module['read']>): number => (count.readings++, own.read(...given))
      this.exports = { ...own, read }
    }
  }
  // A failure makes the byte validator of this process take a new instance.
  Reflect.apply(byteValidator.readResult.bind(byteValidator), undefined, [])
  return count
}

tap.test('many results that arrive at once are read once each, although they wait for their turns', async t => {
  const count = countReadings(t)
  const checker = createSchemaChecker(schemaLimits)
  t.teardown(() => checker.close())
  const result = { content: [], structuredContent }
  const limits = {
    messageBytes: 1 << 24, depth: 128,
    expected: (_: IdKey, length: number) => checker.tableOf?.(schema, length),
  }
  const results = Array.from({ length: 12 }, (_, id) => ({ jsonrpc: '2.0', id, result }))
  let turns = 0
  let isOver = false
  const countTurns = (): void => {
    turns++
    if (!isOver) setImmediate(countTurns)
  }
  countTurns()
  const checked = await Promise.all(results.map(async result => {
    // Each arrives in an event of its own, as from a socket.
    await new Promise(setImmediate)
    const bytes = Buffer.from(JSON.stringify(result))
    const { message } = await parseInTurns(bytes, limits)
    const value = message.kind === 'result' ? field(message.result, 'structuredContent') : undefined
    if (value === undefined) throw new Error('no result')
    return checker.check({ kind: 'value', schema, value, path: '' })
  }))
  isOver = true
  t.same(checked, results.map(() => []))
  t.equal(count.readings, results.length)
  t.ok(turns >= 3, `${turns} turns of the event loop`)
})

/** An end of a session: what it was started with. */
class End {
  report: (event: TransportEvent) => void = () => undefined
  expected: Expected | undefined
  onSend = (): void => undefined

  start(onEvent: (event: TransportEvent) => void, expected?: Expected): void {
    this.report = onEvent
    this.expected = expected
  }

  send(): boolean {
    this.onSend()
    return true
  }

  pause(): void {}

  resume(): void {}

  close(): Promise<void> {
    return Promise.resolve()
  }
}

tap.test('a session tells the schema of a result before it is read, so that it is read once', async t => {
  const count = countReadings(t)
  const checker = createSchemaChecker(schemaLimits)
  t.teardown(() => checker.close())
  const [client, server] = [new End(), new End()]
  const session = openSession({
    judgement: judgementOf({ trusted: false, listMs: 10_000 }), checker, audit: () => undefined,
  }, client, () => server)
  session.start()
  const limits = {
    messageBytes: 1 << 24, depth: 128,
    expected: (key: IdKey, length: number) => server.expected?.(stdioExchange, key, length),
  }
  /** Reports a message, and waits until the session has sent it on. */
  const pass = (from: End, to: End, message: object): Promise<void> => new Promise(resolve => {
    to.onSend = resolve
    const frame = parseFrame(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })), limits)
    from.report({ type: 'frame', exchange: stdioExchange, frame })
  })
  const revision = { protocolVersion: '2025-11-25' }
  const info = { name: 'x', version: '1' }
  await pass(client, server, {
    id: 0, method: 'initialize', params: { ...revision, capabilities: {}, clientInfo: info },
  })
  const agreed = { ...revision, capabilities: { tools: {} }, serverInfo: info }
  await pass(server, client, { id: 0, result: agreed })
  await pass(client, server, { id: 1, method: 'tools/list' })
  const tool = { name: 'rows', inputSchema: { type: 'object' }, outputSchema: schema }
  await pass(server, client, { id: 1, result: { tools: [tool] } })
  const before = count.readings
  await pass(client, server, { id: 2, method: 'tools/call', params: { name: 'rows', arguments: {} } })
  await pass(server, client, { id: 2, result: { content: [], structuredContent } })
  t.equal(count.readings - before, 1)
})
