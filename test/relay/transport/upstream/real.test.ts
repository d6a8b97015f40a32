import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  StreamableHTTPServerTransport, type EventStore,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import t, { type Test } from 'tap'
import { freePort } from '#test/kit/http.js'
import { stdioExchange } from '#relay/core/event.js'
import { httpServer } from '#relay/transport/upstream/forward.js'
import { httpSession } from '#relay/transport/upstream/session/session.js'
import { HttpUpstream } from '#relay/transport/upstream/pool.js'
import { ask, bare, initialize, initialized, limits, notify, post, serve } from './harness.js'
import { listen } from '../listen.js'

/** Starts server-everything, as it is published, and waits until it listens. */
const everything = async (t: Test): Promise<URL> => {
  const port = await freePort()
  const script = fileURLToPath(new URL(
    '../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url,
  ))
  const child = spawn(process.execPath, [script, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) }, stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await new Promise<void>((resolve, reject) => {
    child.on('exit', () => reject(new Error('server-everything did not start')))
    for (const output of [child.stdout, child.stderr]) {
      output.on('data', (text: Buffer) => {
        if (text.includes('listening on port')) resolve()
      })
    }
  })
  return new URL(`http://127.0.0.1:${port}/mcp`)
}

t.test('server-everything over a session of ours', async t => {
  const url = await everything(t)
  const transport = httpSession({
    url, headers: new Map(), limits: { messageBytes: 1_000_000, depth: 64 }, inputSchemaOf: () => undefined,
  })
  const { line, lines, all } = listen(transport)
  const answered = async (id: number) => {
    for (let index = 0; ; index++) {
      const message = JSON.parse(await line(index)) as { id?: number; result?: Record<string, unknown> }
      if (message.id === id && message.result !== undefined) return message.result
    }
  }
  transport.send(stdioExchange, initialize)
  t.match(await answered(0), { protocolVersion: '2025-11-25', serverInfo: {} })
  transport.send(stdioExchange, initialized)
  transport.send(stdioExchange, ask(1, 'tools/list'))
  const { tools } = await answered(1) as { tools: { name: string }[] }
  t.ok(tools.some(({ name }) => name === 'echo'))
  for (let id = 100; id < 150; id++) {
    transport.send(stdioExchange, ask(id, 'tools/call', { name: 'echo', arguments: { message: `m${id}` } }))
  }
  for (let id = 100; id < 150; id++) {
    t.match(await answered(id), { content: [{ type: 'text', text: `Echo: m${id}` }] })
  }
  transport.send(stdioExchange, ask(2, 'tools/call', {
    name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 },
    _meta: { progressToken: 'p' },
  }))
  await answered(2)
  t.equal(lines().filter(text => text.includes('notifications/progress')).length, 2)
  t.same(all('lost'), [])
  await transport.close()
})

t.test('server-everything for clients that have sessions of their own', async t => {
  const url = await everything(t)
  const upstream = new HttpUpstream(url)
  const transport = httpServer({
    upstream, headers: new Map(), limits: { messageBytes: 1_000_000, depth: 64 },
    inputSchemaOf: () => undefined,
  })
  t.teardown(() => upstream.close())
  const { of, all } = listen(transport)
  post(transport, 'initialize', initialize)
  const id = (await of('head', 'initialize')).headers.get('mcp-session-id')?.[0] ?? ''
  t.ok(id)
  const own = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
  t.match(
    await of('frame', 'initialize'),
    { frame: { message: { kind: 'result' }, envelope: { event: /^(?:event|id): / } } },
  )
  post(transport, 'initialized', initialized, own)
  t.match(await of('head', 'initialized'), { status: 202 })
  bare(transport, 'stream', 'GET', own)
  t.match(await of('head', 'stream'), { status: 200 })
  bare(transport, 'second stream', 'GET', own)
  t.match(await of('head', 'second stream'), { status: 409 })
  post(transport, 'call', ask(1, 'tools/call', { name: 'get-sum', arguments: { a: 1, b: 2 } }), own)
  t.match(await of('frame', 'call'), { frame: { message: { kind: 'result', key: '1' } } })
  bare(transport, 'delete', 'DELETE', own)
  t.match(await of('head', 'delete'), { status: 200 })
  t.same(all('lost'), [])
  await transport.close()
})

/** Keeps every event, so that a stream can be taken up again. */
const eventStore = (): EventStore => {
  const events: {
    readonly id: string; readonly stream: string; readonly message: Parameters<EventStore['storeEvent']>[1]
  }[] = []
  return {
    async storeEvent(stream, message) {
      events.push({ id: String(events.length + 1), stream, message })
      return String(events.length)
    },
    async replayEventsAfter(last, { send }) {
      const stream = events[Number(last) - 1]?.stream ?? ''
      for (const event of events.slice(Number(last))) {
        if (event.stream === stream) await send(event.id, event.message)
      }
      return stream
    },
  }
}

t.test('a call to the official SDK survives the cutting of its stream', async t => {
  let release: () => void = () => {}
  const released = new Promise<void>(resolve => (release = resolve))
  const mcp = new McpServer({ name: 's', version: '1' })
  mcp.registerTool('slow', {}, async ({ sendNotification }) => {
    await sendNotification({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
    await released
    return { content: [{ type: 'text', text: 'done' }] }
  })
  const sdk = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => 'one', eventStore: eventStore(), retryInterval: 10,
  })
  await mcp.connect(sdk)
  const server = await serve(t, ({ response, message, body }) => {
    void sdk.handleRequest(response.req, response, body === '' ? undefined : message)
  })
  const transport =
    httpSession({ url: server.url, headers: new Map(), limits, inputSchemaOf: () => undefined, stopMs: 50 })
  t.teardown(() => transport.close())
  const { line, until, lines, all } = listen(transport)
  transport.send(stdioExchange, initialize)
  await line(0)
  transport.send(stdioExchange, initialized)
  transport.send(stdioExchange, ask(1, 'tools/call', { name: 'slow', arguments: {} }))
  const called = await server.asked('tools/call')
  await until(() => lines().find(text => text.includes('notifications/progress')))
  called.response.destroy()
  await server.until(() =>
    server.seen.find(({ method, headers }) => method === 'GET' && headers['last-event-id'] !== undefined))
  release()
  await until(() => lines().find(text => text.includes('"done"')))
  t.equal(lines().length, 3, 'every message once')
  transport.send(stdioExchange, notify('notifications/last'))
  await server.asked('notifications/last')
  t.same(all('lost'), [])
})
