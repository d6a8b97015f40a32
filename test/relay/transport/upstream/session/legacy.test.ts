// The deprecated transport is what is tested here.
/* eslint-disable @typescript-eslint/no-deprecated */
import type { ServerResponse } from 'node:http'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import t, { type Test } from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { httpSession } from '#relay/transport/upstream/session/session.js'
import {
  answer, ask, initialize, initialized, json, limits, serve, stream, type Handler,
} from '../harness.js'
import { listen } from '../../listen.js'

const connect = (t: Test, url: URL) => {
  const transport =
    httpSession({
      url, headers: new Map([['x-key', 'k']]), limits, inputSchemaOf: () => undefined, stopMs: 50,
    })
  const events = listen(transport)
  t.teardown(() => transport.close())
  return { ...events, transport }
}

t.test('a server of the official SDK that speaks HTTP+SSE only is spoken to by HTTP+SSE', async t => {
  const transports = new Map<string, SSEServerTransport>()
  const server = await serve(t, (seen, response) => {
    if (seen.method === 'GET' && seen.url === '/mcp') {
      const transport = new SSEServerTransport('/messages', response)
      transports.set(transport.sessionId, transport)
      const mcp = new McpServer({ name: 'old', version: '1' })
      mcp.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'hi' }] }))
      return void mcp.connect(transport)
    }
    const transport = transports.get(new URL(seen.url, server.url).searchParams.get('sessionId') ?? '')
    if (!transport) {
      return void response.writeHead(404, { 'content-type': 'text/html' }).end('Cannot POST /mcp')
    }
    void transport.handleMessage(seen.message).then(() => response.writeHead(202).end('Accepted'))
  })
  const client = connect(t, server.url)
  client.transport.send(stdioExchange, initialize)
  t.match(JSON.parse(await client.line(0)), { id: 0, result: { serverInfo: { name: 'old' } } })
  client.transport.send(stdioExchange, initialized)
  client.transport.send(stdioExchange, ask(1, 'tools/call', { name: 'hello', arguments: {} }))
  t.match(JSON.parse(await client.line(1)), { id: 1, result: { content: [{ text: 'hi' }] } })
  t.equal(server.seen.filter(({ headers }) => headers['x-key'] === 'k').length, server.seen.length)
  await client.transport.close()
  await server.quiet()
})

/** A server of HTTP+SSE that names this endpoint and does with messages what it is told. */
const old = (
  endpoint: string,
  handle: (seen: Parameters<Handler>[0], response: ServerResponse, say: (text: string) => void) => void,
): Handler => {
  let say: (text: string) => void = () => {}
  return (seen, response) => {
    if (seen.url.startsWith('/messages')) return handle(seen, response, text => say(text))
    if (seen.method !== 'GET') return void response.writeHead(405).end()
    const events = stream(response)
    say = text => events.event(text, 'event: message\n')
    events.write(`: welcome\n\nevent: endpoint\ndata: ${endpoint}\n\n`)
  }
}

t.test('an endpoint on another origin is not spoken to', async t => {
  const elsewhere = await serve(t, (_, response) => void response.writeHead(202).end())
  for (const endpoint of [
    `${elsewhere.origin}/messages`, '//127.0.0.1:1/messages', 'https://127.0.0.1/messages', 'http://',
  ]) {
    const server = await serve(t, old(endpoint, () => {}))
    const client = connect(t, server.url)
    client.transport.send(stdioExchange, initialize)
    t.match(await client.first('lost'), { key: '0', reason: 'the server answered HTTP 405' }, endpoint)
  }
  t.same(elsewhere.seen, [])
})

t.test('there is no falling back from a refusal that only a modern server gives', async t => {
  const cases = [[400, -32022], [400, -32020], [400, -32021], [404, -32601]] as const
  for (const [status, code] of cases) {
    const server = await serve(t, ({ message }, response) =>
      json(
        response, JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code, message: 'no' } }), {},
        status,
      ))
    const client = connect(t, server.url)
    client.transport.send(stdioExchange, initialize)
    t.match(JSON.parse(await client.line(0)), { id: 0, error: { code } })
    t.same(server.of('GET'), [])
  }
})

t.test('a refusal stands where there is no HTTP+SSE either', async t => {
  const server = await serve(t, ({ method, message }, response) => {
    if (method === 'GET') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
    json(
      response, JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32000, message: 'no' } }),
      {}, 400,
    )
  })
  const client = connect(t, server.url)
  client.transport.send(stdioExchange, initialize)
  t.match(JSON.parse(await client.line(0)), { id: 0, error: { code: -32000 } })
  t.equal(server.of('GET').length, 1)
})

t.test('a message that is refused is lost, and so is everything when the stream ends', async t => {
  let end = () => {}
  const handler = old('/messages?session=1', ({ message }, response, say) => {
    response.writeHead(message.method === 'refused' ? 400 : 202).end()
    if (message.method === 'initialize') say(answer(0, { protocolVersion: '2024-11-05' }))
  })
  const server = await serve(t, (seen, response) => {
    if (seen.method === 'GET') end = () => response.end()
    handler(seen, response)
  })
  const client = connect(t, server.url)
  client.transport.send(stdioExchange, initialize)
  await client.line(0)
  client.transport.send(stdioExchange, initialized)
  client.transport.send(stdioExchange, ask(1, 'refused'))
  t.match(await client.first('lost'), { key: '1', reason: 'the server answered HTTP 400' })
  client.transport.send(stdioExchange, ask(2, 'held'))
  await server.asked('held')
  end()
  t.match(await client.first('ended'), { reason: 'the server\'s stream ended' })
  t.match(server.of('held')[0]?.url, '/messages?session=1')
})
