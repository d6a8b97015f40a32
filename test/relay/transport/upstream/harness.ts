import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import type { Frame } from '#relay/protocol/frame.js'
import { parseFrame } from '#relay/protocol/parse.js'
import type { HttpRequest, Transport } from '#relay/transport/transport.js'
import { waiter } from '../listen.js'
import { exchange } from '#test/exchange.js'

export const limits = { messageBytes: 100_000, depth: 64 }

/** A client's or a server's message. */
export const frame = (message: unknown): Frame =>
  parseFrame(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)), limits)

export const ask = (id: number | string, method = 'ping', params?: object): Frame =>
  frame({ jsonrpc: '2.0', id, method, ...(params && { params }) })

export const notify = (method: string, params?: object): Frame =>
  frame({ jsonrpc: '2.0', method, ...(params && { params }) })

export const answer = (id: number | string, result: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result })

/** One HTTP request as the server saw it. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly message: {
    readonly id?: number | string; readonly method?: string; readonly params?: Record<string, unknown>
  }
  readonly response: ServerResponse
  /** Resolves when the response is over, or its connection. */
  readonly closed: Promise<void>
}

export type Handler = (seen: Seen, response: ServerResponse) => void

interface Teardown {
  teardown: (done: () => Promise<void> | void) => void
}

/** A loopback HTTP server that answers as it is told, and remembers what it was asked. */
export const serve = async (t: Teardown, handle: Handler, port = 0) => {
  const seen: Seen[] = []
  const sockets = new Set<Socket>()
  const { wake, until } = waiter()
  const server = createServer((request, response) => void answerOne(request, response))
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      wake()
    })
  })
  const answerOne = async (request: IncomingMessage, response: ServerResponse) => {
    const closed = once(response, 'close').then(() => undefined)
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk)
    } catch {
      return
    }
    const body = Buffer.concat(chunks).toString()
    const one: Seen = {
      method: request.method ?? '', url: request.url ?? '', headers: request.headers, body, response, closed,
      message: body === '' ? {} : (JSON.parse(body) as Seen['message']),
    }
    seen.push(one)
    handle(one, response)
    wake()
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  t.teardown(stop)
  const at = server.address() as AddressInfo
  return {
    url: new URL(`http://127.0.0.1:${at.port}/mcp`),
    origin: `http://127.0.0.1:${at.port}`,
    seen,
    sockets,
    stop,
    /** The requests of a method, of HTTP or of JSON-RPC. */
    of: (method: string) => seen.filter(one => one.method === method || one.message.method === method),
    /** The request of that number, of a method. */
    asked: (method: string, count = 1) =>
      until(() => seen.filter(one => one.method === method || one.message.method === method)[count - 1]),
    until,
    /** Every connection is closed. */
    quiet: () => until(() => (sockets.size === 0 ? true : undefined)),
  }
}

export const json = (
  response: ServerResponse, body: string | Buffer, headers: Record<string, string> = {}, status = 200,
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}

/** An event stream that has begun. */
export const stream = (response: ServerResponse, headers: Record<string, string> = {}) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
  response.flushHeaders()
  return {
    event: (data: string, dressing = '') => response.write(`${dressing}data: ${data}\n\n`),
    write: (text: string) => response.write(text),
    end: () => response.end(),
    /** What was written arrives; the end of the response does not. */
    cut: () => setImmediate(() => response.socket?.destroySoon()),
  }
}

/** Answers the handshake, and every other request by its own handler. */
export const session = (handle: Handler, { id = 'session-1', version = '2025-11-25' } = {}): Handler =>
  (seen, response) => {
    if (seen.method === 'DELETE') return void response.writeHead(204).end()
    if (seen.method === 'GET' && seen.headers['last-event-id'] === undefined) {
      return void response.writeHead(405).end()
    }
    if (seen.message.method === 'initialize') {
      return json(response, answer(
        seen.message.id ?? 0,
        { protocolVersion: version, capabilities: {}, serverInfo: { name: 's', version: '1' } },
      ), id === '' ? {} : { 'mcp-session-id': id })
    }
    if (seen.message.method === 'notifications/initialized') return void response.writeHead(202).end()
    handle(seen, response)
  }

export const initialize = ask(
  0, 'initialize',
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
)
export const initialized = notify('notifications/initialized')

/** A request of revision 2026-07-28. */
export const modern = (id: number | string, method: string, params: object = {}): Frame =>
  ask(id, method, {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  })

/** Opens an exchange as the client's transport would. */
export const post = (
  transport: Transport, name: string, sent: Frame, headers: Record<string, string> = {},
): void => {
  const on = exchange(name)
  transport.open?.(
    on,
    { method: 'POST', headers: new Map(Object.entries({ ...clientHeaders, ...headers })), body: sent.bytes },
  )
  transport.send(on, sent)
}

export const bare = (
  transport: Transport, name: string, method: HttpRequest['method'], headers: Record<string, string> = {},
): void => {
  transport.open?.(
    exchange(name), { method, headers: new Map(Object.entries({ accept: 'text/event-stream', ...headers })) },
  )
}

const clientHeaders = {
  accept: 'application/json, text/event-stream', 'content-type': 'application/json',
  host: 'relay.example:7400',
}
