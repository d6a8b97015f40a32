import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { exchangeNamed } from '#relay/core/event.js'
import { Ledger } from '#relay/core/memory.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { metaPrefix, type Revision } from '#relay/protocol/revisions/index.js'
import { call, result, Script, type Setting } from './script.js'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

const heap = (): number => {
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const text = (length: number): string => 'x'.repeat(length)

/** A relay that keeps nothing of what it does, so that the growth of the heap is what the relay keeps. */
class Quiet extends Script {
  /** A message of the server with an event id, so that the client may ask for it again. */
  resumable(message: object): void {
    const frame = parseFrame(Buffer.from(JSON.stringify(message)), { messageBytes: 1 << 24, depth: 64 })
    const event = `id: ${JSON.stringify(message).length}`
    this.perform({
      type: 'frame-received', from: 'server', exchange: exchangeNamed('post'), frame: { ...frame, envelope: { event } },
    })
  }

  override perform(event: Parameters<Script['perform']>[0]): ReturnType<Script['perform']> {
    const did = super.perform(event)
    this.raw.length = 0
    this.entries.length = 0
    return did
  }
}

/** Each fills one door. */
const doors: Readonly<
  Record<
    string,
    {
      readonly setting?: Setting
      readonly revision?: Revision
      readonly times: number
      readonly fill: (script: Quiet, index: number) => void
    }
  >
> = {
  'small requests in flight': {
    times: 4000, fill: (script, index) => script.client({ jsonrpc: '2.0', id: index, method: 'ping' }),
  },
  'calls in flight': {
    times: 4000, fill: (script, index) => script.client(call(index, 'weather', { text: text(1000) })),
  },
  'calls that are held': {
    setting: { actions: { 'call/arguments': 'block' } },
    times: 400,
    fill: (script, index) =>
      script.client(
        call(index, 'weather', { list: Array.from({ length: 2000 }, () => ({})) }), `post-${index}`,
      ),
  },
  'notifications behind a call that is held': {
    setting: { actions: { 'call/arguments': 'block' } },
    times: 200,
    fill: (script, index) => {
      if (index === 1_000_000) script.client(call(index, 'weather', {}))
      script.client({
        jsonrpc: '2.0', method: 'notifications/progress',
        params: { progressToken: index, list: Array.from({ length: 2000 }, () => ({})) },
      })
    },
  },
  'batches with a call that is held': {
    setting: { actions: { 'call/arguments': 'block' } },
    revision: '2025-03-26',
    times: 200,
    fill: (script, index) => {
      const told = {
        jsonrpc: '2.0', method: 'notifications/progress',
        params: { progressToken: index, list: Array.from({ length: 2000 }, () => ({})) },
      }
      script.client([call(index, 'weather', {}), told], `post-${index}`)
    },
  },
  'answers that wait for the rest of their batch': {
    revision: '2025-03-26',
    times: 200,
    fill: (script, index) => {
      script.client(
        [
          { jsonrpc: '2.0', id: `a${index}`, method: 'ping' },
          { jsonrpc: '2.0', id: `b${index}`, method: 'ping' },
        ],
        `post-${index}`,
      )
      script.server(result(`a${index}`, { list: Array.from({ length: 5000 }, () => ({})) }), `post-${index}`)
    },
  },
  'requests of the server': {
    times: 900,
    fill: (script, index) => script.server({ jsonrpc: '2.0', id: `${text(900)}${index}`, method: 'ping' }),
  },
  'modern requests with large capabilities': {
    times: 300,
    fill: (script, index) => {
      const experimental = Object.fromEntries(Array.from({ length: 500 }, (_, member) => [`m${member}`, {}]))
      const meta = {
        [`${metaPrefix}protocolVersion`]: '2026-07-28', [`${metaPrefix}clientCapabilities`]: { experimental },
        [`${metaPrefix}clientInfo`]: { name: 'c', version: '1' },
      }
      script.client({ jsonrpc: '2.0', id: index, method: 'resources/list', params: { _meta: meta } })
    },
  },
  tasks: {
    times: 3000,
    fill: (script, index) => {
      script.client({
        jsonrpc: '2.0', id: index, method: 'tools/call', params: { name: 'weather', arguments: {}, task: {} },
      })
      script.server(
        result(index, {
          task: {
            taskId: `${text(300)}${index}`, status: 'working', createdAt: '2026-01-01T00:00:00Z',
            lastUpdatedAt: '2026-01-01T00:00:00Z', ttl: null,
          },
        }),
      )
    },
  },
  'results that may be replayed': {
    times: 60,
    fill: (script, index) => {
      script.client(call(index, 'weather', { text: text(1000) }))
      script.resumable(result(index, { content: [{ type: 'text', text: text(500_000) }], structuredContent: {} }))
    },
  },
  'results that may be replayed, of tools that change': {
    times: 60,
    fill: (script, index) => {
      script.client({ jsonrpc: '2.0', id: `l${index}`, method: 'tools/list' })
      const outputSchema = { type: 'object', properties: { a: { description: text(100_000) + String(index) } } }
      script.resumable(result(`l${index}`, { tools: [{ name: 'a', inputSchema: { type: 'object' }, outputSchema }] }))
      script.client(call(index, 'a'))
      script.resumable(result(index, { content: [], structuredContent: {} }))
      script.server({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    },
  },
  tools: {
    times: 1,
    fill: (script, index) => {
      script.client({ jsonrpc: '2.0', id: index, method: 'tools/list' })
      const tools = Array.from({ length: 2000 }, (_, tool) => ({
        name: `tool-${index}-${tool}`, description: text(400),
        inputSchema: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } } },
      }))
      script.server(result(index, { tools }))
    },
  },
  'lists that do not end': {
    times: 16,
    fill: (script, index) => {
      script.client({ jsonrpc: '2.0', id: index, method: 'tools/list' })
      script.server(result(index, { tools: [], nextCursor: `${text(100_000)}${index}` }))
    },
  },
}

t.test('the heap of a session grows by no more than its ledger says', t => {
  for (const [door, { setting, revision, times, fill }] of Object.entries(doors)) {
    const process = new Ledger(Infinity)
    const script = new Quiet({ ...setting, ledger: process }).begin(undefined, revision)
    if (door.includes('held')) script.holdChecks = true
    // The first brings code and shapes with it.
    fill(script, 1_000_000)
    const [before, kept] = [heap(), process.kept]
    for (let index = 1; index <= times; index++) fill(script, index)
    script.held.length = 0
    const [grown, told] = [heap() - before, process.kept - kept]
    t.comment(`${door}: ${Math.round(grown / 1024)} KB of heap, ${Math.round(told / 1024)} KB in the ledger`)
    t.ok(grown < 1.25 * told + 512 * 1024, `${door}: ${grown} bytes of heap, ${told} in the ledger`)
    script.happens({ type: 'session-ended', reason: 'over' })
    t.equal(process.kept, 0, `${door}: nothing is kept of a session that is over`)
  }
  t.end()
})

t.test('a session and a process have a bound, and one request alone always passes', t => {
  const process = new Ledger(1 << 20)
  const one = new Script({ ledger: process }).begin()
  const other = new Script({ ledger: process }).begin()
  const large = { text: text(400_000) }
  t.match(one.client(call(1, 'weather', large)), [['to server', { id: 1 }]])
  t.match(
    one.client(call(2, 'weather', large)),
    [['to client', { id: 2, error: { code: -31000, message: /wire\/size/ } }]], 'the process has no room',
  )
  t.match(
    other.client(call(1, 'weather', large)), [['to server', { id: 1 }]], 'another session still has its one',
  )
  one.server(result(1, { content: [] }))
  t.end()
})
