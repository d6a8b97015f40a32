import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { answerJson, serveBodies } from '#test/kit/http.js'
import { auditOf, cli, scratch } from './bridge.js'
import { serve } from './http-bridges.js'

t.jobs = 2

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly name?: string }
}

/** Accepts each request and answers on the GET stream of the session, as @ivotoby/openapi-mcp-server does. */
const answersOnGet = (t: Test): Promise<string> => {
  let get: ServerResponse | undefined
  const pending: string[] = []
  const push = (): void => {
    for (const event of get === undefined ? [] : pending.splice(0)) get?.write(`data: ${event}\n\n`)
  }
  return serveBodies(t, (body, response, request) => {
    const stream = { 'content-type': 'text/event-stream', 'mcp-session-id': 's' }
    if (request.method === 'GET') {
      get = response.writeHead(200, stream)
      get.flushHeaders()
      return push()
    }
    if (request.method === 'DELETE') return response.writeHead(204).end()
    const { id, method, params } = JSON.parse(body) as Message
    if (method === 'initialize') {
      const result =
        { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
      return answerJson(response, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': 's' })
    }
    if (params?.name === 'empty') response.writeHead(200, stream).end()
    else response.writeHead(202).end()
    if (id === undefined) return
    const tools = ['accepted', 'empty'].map(name => ({ name, inputSchema: { type: 'object' } }))
    const result =
      method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: `${params?.name} done` }] }
    // After the response to the POST has left, as a slow tool answers.
    response.on('finish', () => setImmediate(() => {
      pending.push(JSON.stringify({ jsonrpc: '2.0', id, result }))
      push()
    }))
  })
}

for (const command of ['wrap', 'serve'] as const) {
  for (const policy of ['observe', 'standard'] as const) {
    t.test(`${command} URL, ${policy}: answers on the GET stream reach their calls, and the log says so`, async t => {
      const url = await answersOnGet(t)
      const audit = join(scratch(t), 'audit.ndjson')
      const options = ['--policy', policy, '--audit', audit, url]
      const client = new Client({ name: 'official', version: '1.0.0' })
      if (command === 'wrap') {
        const args = [cli, 'wrap', ...options]
        await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }))
      } else {
        const relay = await serve(t, options)
        await client.connect(new StreamableHTTPClientTransport(new URL(`${relay.url}/mcp`)))
        t.teardown(() => relay.relay.child.kill('SIGTERM'))
      }
      for (const name of ['accepted', 'empty'])
        t.match(await client.callTool({ name }), { content: [{ text: `${name} done` }] })
      await client.close()
      const found = auditOf(audit).filter(({ event }) => event === 'tools/call')
      t.same(found.map(({ verdict, findings }) => [verdict, ...findings.map(({ rule }) => rule)]), [
        ['log', 'wire/http'], ['log', 'wire/http'],
      ])
    })
  }
}
