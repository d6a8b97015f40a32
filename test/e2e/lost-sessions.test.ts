import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { answerJson, serveBodies } from '#test/kit/http.js'
import { auditOf, cli, scratch } from './bridge.js'
import { start } from './harness.js'

// `wrap URL` before servers that restart, and say in their own way that they do not know the session.

t.jobs = 3

type Id = number | string

interface Message {
  readonly id?: Id
  readonly method?: string
}

type Refuse = (response: ServerResponse, id: Id | undefined) => void

const error = (id: unknown, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })

const said = (status: number, body: string, type = 'application/json'): Refuse => response =>
  void response.writeHead(status, { 'content-type': type }).end(body)

const lost: readonly (readonly [name: string, refuse: Refuse])[] = [
  ['404 with a page', said(404, '<h1>Not Found</h1>', 'text/html')],
  ['410', said(410, '')],
  ['400 in plain text', said(400, 'Invalid session', 'text/plain')],
  ['400 of the official SDK', said(400, error(null, -32000, 'Bad Request: No valid session ID provided'))],
  ['401 without a challenge', said(401, error(null, -32001, 'Session expired'))],
  ['409', said(409, JSON.stringify({ error: 'session_not_found' }))],
  ['422', said(422, JSON.stringify({ detail: 'Unknown session' }))],
  ['500', said(500, error(null, -32603, 'Session not found'))],
  ['503', said(503, error(null, -32001, 'MCP session is unknown on this API instance'))],
  ['200', (response, id) => {
    said(200, error(id, -32600, 'Unknown session id \'abc\'; client should reinitialize'))(response, id)
  }],
  ['503 twice, and then 404', (() => {
    let left = 2
    return (response, id) => {
      left -= 1
      if (left >= 0) said(503, 'restarting', 'text/plain')(response, id)
      else said(404, '')(response, id)
    }
  })()],
]

const saidTo = (status: number, code: number, message: string): Refuse => (response, id) => {
  said(status, error(id, code, message))(response, id)
}

const others: readonly (readonly [name: string, code: number, refuse: Refuse])[] = [
  ['400 about arguments', -32602, saidTo(400, -32602, 'Invalid params')],
  ['429', -32000, said(429, error(null, -32000, 'Too many sessions'))],
  ['500', -32603, said(500, error(null, -32603, 'The database of the session store is down'))],
  ['200 of the tool', -32602, saidTo(200, -32602, 'Session not found')],
]

const restarting = async (t: Test) => {
  let [begun, runs] = [0, 0]
  let refuse: Refuse | undefined
  let always: Refuse | undefined
  const url = await serveBodies(t, (body, response, request) => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method } = JSON.parse(body) as Message
    const json = { 'mcp-session-id': `s${begun + 1}` }
    if (method === 'initialize') {
      begun += 1
      const serverInfo = { name: 's', version: '1' }
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
      return answerJson(response, { jsonrpc: '2.0', id, result }, json)
    }
    if (id !== undefined && always !== undefined) return always(response, id)
    if (request.headers['mcp-session-id'] !== `s${begun}`) return refuse?.(response, id)
    if (id === undefined) return response.writeHead(202).end()
    const tools = [{ name: 'a', inputSchema: { type: 'object' } }]
    if (method === 'tools/call') runs += 1
    const content = [{ type: 'text', text: String(runs) }]
    const result = method === 'tools/list' ? { tools } : { content }
    return answerJson(response, { jsonrpc: '2.0', id, result })
  })
  return {
    url,
    counts: () => ({ begun, runs }),
    restart(how: Refuse) {
      begun += 1
      refuse = how
    },
    refuseAlways(how: Refuse | undefined) {
      always = how
    },
  }
}

for (const policy of ['observe', 'standard', 'compat'])
  t.test(`wrap URL, ${policy}: a lost session begins anew unseen, and no other refusal does that`, async t => {
    const server = await restarting(t)
    const audit = join(scratch(t), 'audit.ndjson')
    const relay = start(t, process.execPath, [
      cli, 'wrap', '--policy', policy, '--audit', audit, '--header', 'X-Test: a=b', server.url,
    ])
    const send = (id: Id | undefined, method: string, params: object = {}) => {
      relay.send(JSON.stringify({ jsonrpc: '2.0', ...(id !== undefined && { id }), method, params }))
    }
    const call = async (id: number): Promise<unknown> => {
      send(id, 'tools/call', { name: 'a', arguments: {} })
      return JSON.parse(await relay.responseTo(String(id)))
    }
    send('hello', 'initialize', {
      protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' },
    })
    await relay.responseTo('"hello"')
    send(undefined, 'notifications/initialized')
    t.match(await call(0), { result: { content: [{ text: '1' }] } })
    let id = 0
    for (const [name, refuse] of lost) {
      const before = server.counts()
      server.restart(refuse)
      const text = String(before.runs + 1)
      t.match(await call(++id), { result: { content: [{ text }] } }, name)
      t.same(server.counts(), { begun: before.begun + 2, runs: before.runs + 1 }, `${name}: once`)
    }
    const { begun } = server.counts()
    for (const [name, code, refuse] of others) {
      server.refuseAlways(refuse)
      t.match(await call(++id), { error: { code } }, name)
    }
    server.refuseAlways(undefined)
    t.equal(server.counts().begun, begun, 'no session began')
    await relay.end()
    t.strictSame(relay.untaken, [], 'the client saw nothing else')
    t.ok(auditOf(audit).every(({ verdict }) => verdict !== 'block'))
  })
