// The server that the official MCP conformance suite asks for, at http://127.0.0.1:$PORT/mcp, for clients of every
// revision. With ONLY=modern or ONLY=legacy it speaks one era: what the suite of the other finds of it is the relay's translation
// (docs/eras.md).
import { createServer } from 'node:http'
import { randomUUID } from 'node:crypto'
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server'
import { NodeStreamableHTTPServerTransport, localhostHostValidation, localhostOriginValidation, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node'
import { fixtureServer } from './fixtures.js'

/** Events of the legacy SSE streams, so that a client can resume one. */
class Events {
  #events = []

  async storeEvent(streamId, message) {
    this.#events.push({ streamId, message })
    return String(this.#events.length - 1)
  }

  async getStreamIdForEventId(eventId) {
    return this.#events[Number(eventId)]?.streamId
  }

  async replayEventsAfter(lastEventId, { send }) {
    const { streamId } = this.#events[Number(lastEventId)] ?? {}
    for (const [index, event] of this.#events.entries()) {
      // A priming event has no message in it: there is nothing to replay.
      if (index > Number(lastEventId) && event.streamId === streamId && event.message.jsonrpc) await send(String(index), event.message)
    }
    return streamId
  }
}

const modern = createMcpHandler(() => fixtureServer(modern.notify), { legacy: 'reject' })
const serveModern = toNodeHandler(modern)

const only = process.env.ONLY
const sessions = new Map()

async function serveLegacy(request, response, body) {
  const known = sessions.get(request.headers['mcp-session-id'])
  if (known !== undefined) return known.handleRequest(request, response, body)
  if (request.headers['mcp-session-id'] !== undefined) {
    const error = { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }
    return response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(error))
  }
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new Events(),
    retryInterval: 100,
    onsessioninitialized: id => void sessions.set(id, transport),
    onsessionclosed: id => void sessions.delete(id),
  })
  const server = fixtureServer({ toolsChanged: () => server.sendToolListChanged(), promptsChanged: () => server.sendPromptListChanged() })
  await server.connect(transport)
  return transport.handleRequest(request, response, body)
}

/** The body as JSON; undefined when there is none, or none that can be read (the handlers answer for that). */
async function bodyOf(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  try {
    return { text, json: JSON.parse(text) }
  } catch {
    return { text }
  }
}

const validHost = localhostHostValidation()
const validOrigin = localhostOriginValidation()

const server = createServer(async (request, response) => {
  if (!validHost(request, response) || !validOrigin(request, response)) return
  if (new URL(request.url, 'http://host').pathname !== '/mcp') return response.writeHead(404).end()
  if (only === 'modern') return serveModern(request, response)
  if (request.method !== 'POST') return serveLegacy(request, response)
  const { json } = await bodyOf(request)
  const legacy = only === 'legacy' || await isLegacyRequest(await toWebRequest(request, json ?? ''), json)
  return legacy ? serveLegacy(request, response, json) : serveModern(request, response, json)
})

server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.error(`conformance server at http://127.0.0.1:${server.address().port}/mcp`)
})

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit())
