import {
  Client as ModernClient, StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ListRootsRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { TransportEvent } from '#relay/transport/transport.js'
import { frameOf, start, type Opened } from './harness.js'

const implementation = { name: 'client', version: '1.0.0' }

const answer = (key: string, result: object) =>
  frameOf(`{"jsonrpc":"2.0","id":${key},"result":${JSON.stringify(result)}}`)
const failure = (key: string, code: number, data?: object) =>
  frameOf(
    `{"jsonrpc":"2.0","id":${key},"error":${JSON.stringify({ code, message: 'no', ...(data && { data }) })}}`,
  )

const tools = [{ name: 'echo', inputSchema: { type: 'object' } }]
const capabilities = { tools: { listChanged: true } }

/**
 * A gateway loop in miniature, in front of a process that speaks both kinds of revisions, or the old ones
 * only.
 */
const server = (modern: boolean) => {
  const roots: Frame[] = []
  const act = (event: TransportEvent, { transport }: Opened): void => {
    if (event.type !== 'frame') return
    const { message } = event.frame
    if (message.kind === 'result') roots.push(event.frame)
    if (message.kind === 'notification' && message.method === 'notifications/initialized') {
      transport.send(stdioExchange, frameOf('{"jsonrpc":"2.0","id":"r","method":"roots/list"}'))
    }
    if (message.kind !== 'request') return
    const { key, method, params } = message
    const reply = (result: object) =>
      transport.send(event.exchange, answer(key, modern ? { resultType: 'complete', ...result } : result))
    switch (method) {
      case 'initialize':
        reply({ protocolVersion: '2025-11-25', capabilities, serverInfo: implementation })
        break
      case 'server/discover':
        if (modern) reply({
          supportedVersions: ['2026-07-28'], capabilities, serverInfo: implementation, ttlMs: 0,
          cacheScope: 'private',
        })
        else transport.send(event.exchange, failure(key, -32601))
        break
      case 'tools/list':
        reply({ tools, ttlMs: 0, cacheScope: 'private' })
        break
      case 'tools/call':
        transport.send(
          event.exchange, frameOf('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'),
        )
        reply({ content: [{ type: 'text', text: JSON.stringify(params?.['arguments'] ?? null) }] })
        break
      case 'ping':
        reply({})
        break
      default:
        transport.send(event.exchange, failure(key, -32601))
    }
  }
  return { act, roots }
}

const limits = { messageBytes: 1 << 20, depth: 64 }
const content = (text: string) => ({ content: [{ type: 'text', text }] })

t.test('the client of SDK 1 works through the front', async t => {
  const { act, roots } = server(false)
  const { url, session } = await start(t, { act, limits })
  const client = new Client(implementation, { capabilities: { roots: {} } })
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///r' }] }))
  const changed = new Promise<void>(resolve =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()))
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`))
  await client.connect(transport)
  t.match(transport.sessionId, /^[0-9a-f-]{36}$/)
  t.match(await client.listTools(), { tools })
  t.match(await client.callTool({ name: 'echo', arguments: { a: 'é' } }), content('{"a":"é"}'))
  await changed
  await t.rejects(client.listPrompts(), { code: -32601 })
  await Promise.all(Array.from({ length: 20 }, () => client.ping()))
  t.match(
    roots[0]?.message, { kind: 'result', result: { roots: [{ uri: 'file:///r' }] } },
    'the server asks, and is answered',
  )
  await transport.terminateSession()
  await client.close()
  t.match(await (await session(0)).until('ended'), { reason: 'the client ended the session' })
})

t.test('the client of SDK 2 works through the front, with and without a handshake', async t => {
  const cases = [
    ['modern by request, a modern server', { pin: '2026-07-28' }, true, ['stateless']],
    ['modern if it can be, a modern server', 'auto', true, ['stateless']],
    ['modern if it can be, a legacy server', 'auto', false, ['stateless', 'own']],
    ['legacy, a legacy server', 'legacy', false, ['own']],
  ] as const
  for (const [name, mode, modern, kinds] of cases) {
    const { act } = server(modern)
    const { url, sessions } = await start(t, { act, limits })
    const client = new ModernClient(implementation, { versionNegotiation: { mode } })
    await client.connect(new ModernTransport(new URL(`${url}/mcp`)))
    t.match(await client.listTools(), { tools }, name)
    t.match(await client.callTool({ name: 'echo', arguments: { a: 1 } }), content('{"a":1}'), name)
    await t.rejects(client.request({
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'x', value: 'y' } },
    }), name)
    await client.close()
    t.same(sessions.map(({ opening }) => opening.kind), kinds, name)
  }
})

t.test('a client learns that its session is gone, and can begin a new one', async t => {
  const { act } = server(false)
  const { url, session } = await start(t, { act, limits })
  const client = new Client(implementation)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  await (await session(0)).transport.close()
  await t.rejects(client.listTools(), /404|no such session/)
  await client.close()
  const next = new Client(implementation)
  await next.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  t.match(await next.listTools(), { tools })
  await next.close()
})
