import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport, type ProtocolError } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { postTo } from '#test/kit/http.js'
import { auditOf, scratch, scripted } from './bridge.js'
import type { Started } from './harness.js'
import { serve } from './http-bridges.js'

const sharedServer = fileURLToPath(new URL('../../test/fixtures/shared/server.mjs', import.meta.url))
const everything =
  createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')

/** Resolves when the server has noted something. */
const noted = (relay: Started, fits: RegExp): Promise<void> =>
  new Promise(resolve => {
    const look = () => {
      if (!fits.test(relay.stderr())) return
      relay.child.stderr?.off('data', look)
      resolve()
    }
    relay.child.stderr?.on('data', look)
    look()
  })

const starts = (relay: Started): number => relay.stderr().match(/^started /gm)?.length ?? 0

const open = async (t: Test, ...command: readonly string[]) => {
  const { relay, url } = await serve(t, ['--audit', 'none', '--', process.execPath, ...command])
  const connect = async (mode: 'auto' | 'legacy' = 'auto') => {
    const client = new Client({ name: 'client', version: '1.0.0' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
    t.teardown(() => client.close())
    return client
  }
  return { relay, connect, url: `${url}/mcp` }
}

const call = (client: Client, name: string, given: Record<string, unknown> = {}, options = {}) =>
  client.callTool({ name, arguments: given }, options)

const textOf = ({ content }: Awaited<ReturnType<typeof call>>): string =>
  content.map(block => (block.type === 'text' ? block.text : '')).join()

/** The process that answers. */
const pidOf = async (client: Client): Promise<unknown> => {
  const said: unknown = JSON.parse(textOf(await call(client, 'echo')))
  return typeof said === 'object' && said !== null && 'pid' in said ? said.pid : undefined
}

t.test('two clients that ask with the same ids at the same time get each their own, progress too', async t => {
  const { relay, connect } = await open(t, sharedServer)
  const [a, b, other] = await Promise.all([connect(), connect(), connect()])
  const seen: string[] = []
  const held = [a, b].map((client, index) =>
    call(client, 'hold', { name: `call ${index}` }, { onprogress: ({
      progress, message,
    }: { progress: number; message?: string }) => seen.push(`${index}: ${progress} of ${message}`) }))
  await Promise.all([noted(relay, /holds call 0/), noted(relay, /holds call 1/)])
  await call(other, 'progress', { of: 'call 1', value: 1 })
  await call(other, 'progress', { of: 'call 0', value: 2 })
  await call(other, 'release', { of: 'call 1' })
  await call(other, 'release', { of: 'call 0' })
  t.same((await Promise.all(held)).map(textOf), ['call 0', 'call 1'])
  t.same(seen, ['1: 1 of call 1', '0: 2 of call 0'])
  t.equal(starts(relay), 1)
})

t.test('who disconnects has cancelled: the process is told of that call, and of no other', async t => {
  const { relay, connect } = await open(t, sharedServer)
  const [a, b, other] = await Promise.all([connect(), connect(), connect()])
  const stop = new AbortController()
  const gone = call(a, 'hold', { name: 'one' }, { signal: stop.signal })
  const stays = call(b, 'hold', { name: 'two' })
  await Promise.all([noted(relay, /holds one/), noted(relay, /holds two/)])
  stop.abort()
  await t.rejects(gone)
  await noted(relay, /cancelled one/)
  await call(other, 'release', { of: 'one' })
  await call(other, 'release', { of: 'two' })
  t.equal(textOf(await stays), 'two')
  t.notMatch(relay.stderr(), /cancelled two/)
})

t.test('each listener gets what it asked for, under the id that it chose, until it stops', async t => {
  const { connect } = await open(t, sharedServer)
  const [a, b, other] = await Promise.all([connect(), connect(), connect()])
  const heard: string[] = []
  let wake = (): void => undefined
  const listen = (client: Client, name: string) => {
    const hear = (what: string) => {
      heard.push(`${name}: ${what}`)
      wake()
    }
    client.setNotificationHandler('notifications/tools/list_changed', () => hear('tools'))
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => hear(params.uri))
  }
  const until = async (count: number) => {
    while (heard.length < count) await new Promise<void>(resolve => (wake = resolve))
  }
  listen(a, 'a')
  listen(b, 'b')
  listen(other, 'other')
  const first = await a.listen({ toolsListChanged: true })
  await b.listen({ resourceSubscriptions: ['x:1'] })
  for (const what of ['tools', 'x:1', 'x:2']) await call(other, 'change', { what })
  await until(2)
  t.same([...heard].sort(), ['a: tools', 'b: x:1'])
  await b.listen({ toolsListChanged: true })
  await first.close()
  await call(other, 'change', { what: 'tools' })
  await until(3)
  t.equal(heard[2], 'b: tools')
})

t.test('what a process logs goes to the one call that asked for it, though another client waits', async t => {
  const { relay, connect, url } = await open(t, sharedServer)
  const [a, other] = await Promise.all([connect(), connect()])
  const held = call(a, 'hold', { name: 'one' })
  await noted(relay, /holds one/)
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/logLevel': 'debug',
  }
  const log = async () => {
    const params = { name: 'log', arguments: { words: 'for one' }, _meta: meta }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'log' }
    return (await postTo(url, body, headers)).text()
  }
  t.match(await log(), /for one/)
  await call(other, 'release', { of: 'one' })
  await held
  t.match(await log(), /for one/, 'and when nobody else waits')
})

t.test('a process that dies fails the calls that it had, and the next call starts another', async t => {
  const { relay, connect } = await open(t, sharedServer)
  const [a, b] = await Promise.all([connect(), connect()])
  const held = call(a, 'hold', { name: 'one' })
  const subscription = await b.listen({ toolsListChanged: true })
  await noted(relay, /holds one/)
  const before = await pidOf(b)
  const gone = (error: ProtocolError) => t.match(error, { code: -31001, message: /ended by SIGKILL/ })
  await Promise.all([call(b, 'die').catch(gone), held.catch(gone)])
  t.equal(await subscription.closed, 'remote')
  t.not(await pidOf(b), before)
  t.equal(starts(relay), 2)
})

t.test('fifty clients at once are one process', async t => {
  const { relay, connect } = await open(t, sharedServer)
  const clients = await Promise.all(Array.from({ length: 50 }, () => connect()))
  const answers = await Promise.all(clients.map(async (client, index) => {
    const [{ tools }, said] =
      await Promise.all([client.listTools(), call(client, 'echo', { index }), call(client, 'echo')])
    return `${tools.length} ${textOf(said).replace(/,"pid".*/, '')}`
  }))
  t.same(answers, clients.map((_, index) => `7 {"given":{"index":${index}}`))
  t.equal(starts(relay), 1)
  t.match(await relay.stop(), { code: 0 })
  t.equal(relay.stderr().match(/^ended /gm)?.length, 1, 'and it ends with the relay')
})

t.test('clients of both kinds have what they need: a probe spoils nobody\'s process', async t => {
  const { relay, connect, url } = await open(t, sharedServer)
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
  for (const body of [
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  ]) {
    const { status } = await postTo(url, body, headers)
    t.equal(status, body.includes('id') ? 400 : 202)
  }
  const [legacy, modern, another] = [await connect('legacy'), await connect(), await connect('legacy')]
  t.same(
    [legacy, modern, another].map(client => client.getNegotiatedProtocolVersion()),
    ['2025-11-25', '2026-07-28', '2025-11-25'],
  )
  t.equal(new Set(await Promise.all([legacy, modern, another].map(pidOf))).size, 3)
  t.equal(starts(relay), 3)
})

t.test('a client that would be modern falls back to a handshake in front of a legacy server', async t => {
  const { connect } = await open(t, everything, 'stdio')
  const [a, b] = await Promise.all([connect(), connect()])
  t.same([a, b].map(client => client.getNegotiatedProtocolVersion()), ['2025-11-25', '2025-11-25'])
  t.equal(textOf(await call(a, 'echo', { message: 'hi' })), 'Echo: hi')
})

t.test('to the byte, only ids change; and an answer to nothing is on record, and nowhere else', async t => {
  const directory = scratch(t)
  const audit = join(directory, 'audit.ndjson')
  const result =
    '{ "content":[ {"type":"text", "text":"caf\\u00e9 \\/ <&>"} ],"big":12345678901234567890,"f":1.0,"resultType":"complete" , "x":null}'
  const { command, received } = scripted(directory, [
    {
      when: 'tools/list',
      say: [
        '{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"a","inputSchema":{"type":"object"}}]}}',
      ],
    },
    {
      when: 'tools/call',
      say: ['{"jsonrpc":"2.0","id":4711,"result":{}}', `{"result":${result}\t, "id" : $ID ,"jsonrpc":"2.0"}`],
    },
  ])
  const { url } = await serve(t, ['--audit', audit, '--', ...command])
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'a' }
  const meta =
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
  const ids = ['1', '1', '"1"', '"\\u0061"', '12345678901234567890', '0', '""']
  const bodyOf = (id: string) =>
    `{"id" : ${id} , "params":{"name":"a","arguments":{"n":1.0}, ${meta}},"jsonrpc":"2.0","method":"tools/call"}`
  const answers = await Promise.all(
    ids.map(async id => (await postTo(`${url}/mcp`, bodyOf(id), headers)).text()),
  )
  t.same(answers, ids.map(id => `{"result":${result}\t, "id" : ${id} ,"jsonrpc":"2.0"}`))
  const calls = received().filter(line => line.includes('tools/call'))
  t.equal(calls.length, ids.length)
  const numbers = calls.map(line => /^\{"id" : (\d+) ,/.exec(line)?.[1] ?? '')
  t.equal(new Set(numbers).size, ids.length)
  t.same(calls, numbers.map(bodyOf))
  t.equal(
    auditOf(audit).filter(({ findings }) => findings.some(({ rule }) => rule === 'wire/id')).length,
    ids.length,
  )
})
