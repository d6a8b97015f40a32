import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { postTo } from '#test/kit/http.js'
import { auditOf, scratch } from './bridge.js'
import { serve } from './http-bridges.js'

/** Says that its list has changed while it lists, and logs during each call. */
const server = `
const [subscriptions, waiting] = [[], []]
let changes = 1
const say = message => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
require('readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  if (method === 'subscriptions/listen') subscriptions.push(id)
  if (method === 'x/subscribed') waiting.push(id)
  if (subscriptions.length === 2) for (const one of waiting.splice(0)) say({ id: one, result: { resultType: 'complete' } })
  if (method === 'tools/list') {
    if (changes-- > 0) for (const one of subscriptions)
      say({ method: 'notifications/tools/list_changed', params: { _meta: { 'io.modelcontextprotocol/subscriptionId': one } } })
    say({ id, result: { resultType: 'complete', tools: [{ name: 'a', inputSchema: { type: 'object' } }] } })
  }
  if (method === 'tools/call') {
    say({ method: 'notifications/message', params: { level: 'info', data: 'working' } })
    say({ id, result: { resultType: 'complete', content: [] } })
  }
})`

t.test('clients of a shared process that subscribe get each list_changed, and logs of their own calls', async t => {
  const directory = scratch(t)
  const [file, audit] = [join(directory, 'server.cjs'), join(directory, 'audit.ndjson')]
  writeFileSync(file, server)
  const { url, relay } = await serve(t, ['--audit', audit, '--', process.execPath, file])
  const ask = (id: number, method: string, params: object = {}, more: object = {}) => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {}, ...more,
    }
    const name = method === 'tools/call' ? { 'mcp-name': 'a' } : {}
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } })
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...name }
    return postTo(`${url}/mcp`, body, headers)
  }
  /** The first text of a stream with these words in it. */
  const first = async (response: Promise<Response>, words: string) => {
    const reader = (await response).body?.getReader()
    let text = ''
    while (!text.includes(words)) {
      const piece = await reader?.read()
      if (piece?.done !== false) break
      text += Buffer.from(piece.value).toString()
    }
    await reader?.cancel()
    return text
  }
  const listen = { notifications: { toolsListChanged: true } }
  const changes = [1, 2].map(() => first(ask(1, 'subscriptions/listen', listen), 'list_changed'))
  await (await ask(8, 'x/subscribed')).text()
  const called = (await ask(2, 'tools/call', { name: 'a' }, { 'io.modelcontextprotocol/logLevel': 'debug' })).text()
  for (const change of await Promise.all(changes)) t.match(change, /list_changed.*subscriptionId":1/)
  t.match(await called, /working[^]*"id":2/)
  await relay.stop()
  t.ok(auditOf(audit).some(({ event }) => event === 'tools/call'))
})
