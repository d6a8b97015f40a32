// A server whose streams can be resumed as the specification says: a stream replays its own events only, and goes on. (server-everything
// replays the events of all streams of the session, and sends no later ones.) Serves at PORT until it is ended.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const eventsOfSession = () => {
  const streams = new Map()
  return {
    storeEvent: async (stream, message) => {
      const events = streams.get(stream) ?? []
      streams.set(stream, events)
      events.push(message)
      return `${stream}_${events.length}`
    },
    getStreamIdForEventId: async id => id.slice(0, id.lastIndexOf('_')),
    replayEventsAfter: async (id, { send }) => {
      const at = id.lastIndexOf('_')
      const stream = id.slice(0, at)
      const events = streams.get(stream) ?? []
      for (let index = Number(id.slice(at + 1)); index < events.length; index++) await send(`${stream}_${index + 1}`, events[index])
      return stream
    },
  }
}
const text = words => ({ content: [{ type: 'text', text: words }] })
const begin = () => {
  const server = new Server({ name: 'resumable', version: '1' }, { capabilities: { tools: {} } })
  const inputSchema = { type: 'object' }
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: ['echo', 'trigger-long-running-operation'].map(name => ({ name, inputSchema })) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification }) => {
    const { name, arguments: given, _meta: meta } = params
    if (name === 'echo') return text(`Echo: ${given.message}`)
    for (let progress = 1; progress <= given.steps; progress++) {
      await pause(1000 * given.duration / given.steps)
      const { progressToken } = meta ?? {}
      // A client that is away gets the notification when it resumes.
      if (progressToken !== undefined) await sendNotification({ method: 'notifications/progress', params: { progress, total: given.steps, progressToken } }).catch(() => undefined)
    }
    return text(`Long running operation completed. Duration: ${given.duration} seconds, Steps: ${given.steps}.`)
  })
  return server
}

const sessions = new Map()
createServer(async (request, response) => {
  let transport = sessions.get(request.headers['mcp-session-id'])
  if (transport === undefined) {
    if (request.headers['mcp-session-id'] !== undefined) return response.writeHead(404).end()
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: eventsOfSession(), onsessioninitialized: id => sessions.set(id, transport),
    })
    await begin().connect(transport)
  }
  await transport.handleRequest(request, response)
}).listen(Number(process.env.PORT), '127.0.0.1')
