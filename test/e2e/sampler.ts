import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

interface Message {
  readonly id?: number | string
  readonly method?: string
}

const info = {
  protocolVersion: '2025-11-25', serverInfo: { name: 's', version: '1' }, capabilities: { tools: {} },
}
const tools = [{ name: 'sample', inputSchema: { type: 'object' } }]
const asked = {
  jsonrpc: '2.0', id: 'sampling', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 },
}

/** An HTTP server whose tool asks for sampling, whatever was declared, and tells the answer. */
export const sampler = async (t: Test) => {
  let sessions = 0
  let told: (answer: string) => void = () => undefined
  const call = async (id: Message['id'], response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const answer = new Promise<string>(resolve => (told = resolve))
    response.write(`data: ${JSON.stringify(asked)}\n\n`)
    const result = { content: [{ type: 'text', text: await answer }] }
    response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
  }
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    let text = ''
    for await (const part of request.setEncoding('utf8')) text += String(part)
    if (request.method !== 'POST') return response.writeHead(request.method === 'GET' ? 405 : 200).end()
    const { id, method } = JSON.parse(text) as Message
    if (method === undefined) told(text)
    if (method === 'tools/call') return call(id, response)
    if (id === undefined || method === undefined) return response.writeHead(202).end()
    if (method === 'initialize') sessions += 1
    response.setHeader('content-type', 'application/json')
    if (method === 'initialize') response.setHeader('mcp-session-id', `session-${sessions}`)
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'initialize' ? info : { tools } }))
  }
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, sessions: () => sessions }
}
