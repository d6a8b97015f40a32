import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { CustomsError } from '../errors.js'
import type { Exposition } from '../telemetry/prometheus.js'

export interface AdminOptions {
  /** The address to listen on: one of its own, apart from that of the clients. */
  readonly host: string
  /** 0 picks one. */
  readonly port: number
  /** Names by which it may be called, besides `host`, those of loopback, and addresses; without ports. */
  readonly allowHosts?: () => readonly string[]
  readonly state: AdminState
  /** Longest wait for `state.ready`, in milliseconds (5000); a state that is not known by then is not ready. */
  readonly readyMs?: number
}

/** What the listener tells about. */
export interface AdminState {
  /** Whether each server, by its name in the configuration, can be reached. */
  ready(): Promise<ReadonlyMap<string, boolean>>
  readonly exposition: Exposition
}

export interface AdminServer {
  /**
   * @returns where it listens: `http://HOST:PORT`
   * @throws CustomsError CANNOT_START
   */
  listen(): Promise<string>
  close(): Promise<void>
}

interface Page {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** Tells operators and their tools how the relay is: `/healthz`, `/readyz` and `/metrics`. Nothing secret, nothing to change. */
export const adminServer = ({ host, port, allowHosts = () => [], state, readyMs = 5000 }: AdminOptions): AdminServer => {
  const server = createServer({ headersTimeout: 5000, requestTimeout: 10_000 }, (request, response) => {
    const known = isKnown(request.headers.host, [host, 'localhost', ...allowHosts()])
    ;(known ? pageFor(request, state, readyMs) : Promise.resolve(text(403, 'this Host is not allowed here')))
      .catch((): Page => text(500, 'failed'))
      .then(page => reply(request, response, page), () => response.destroy())
  })
  return {
    async listen() {
      try {
        server.listen({ host, port })
        await once(server, 'listening')
      } catch (cause) {
        throw new CustomsError('CANNOT_START', `the admin listener cannot listen on ${host}:${port}`, { cause })
      }
      return `http://${host.includes(':') ? `[${host}]` : host}:${boundPort(server, port)}`
    },
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Against DNS rebinding: a page's browser names the page's host. An address was not looked up, so that nobody can have rebound it. */
const isKnown = (header: string | undefined, names: readonly string[]): boolean => {
  const name = /^(\[[0-9a-f:.]+\]|[^\s:[\]/@,]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1]?.toLowerCase()
  return name !== undefined && (name.startsWith('[') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) || names.some(known => known.toLowerCase() === name))
}

const pageFor = async ({ method, url = '' }: IncomingMessage, state: AdminState, readyMs: number): Promise<Page> => {
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'method not allowed')
  const [path = ''] = url.split('?', 1)
  switch (path) {
    case '/healthz':
      return text(200, 'ok')
    case '/readyz':
      return readiness(state, readyMs)
    case '/metrics':
      return { status: 200, type: state.exposition.contentType, body: await state.exposition.text() }
    default:
      return text(404, 'not found')
  }
}

const readiness = async (state: AdminState, readyMs: number): Promise<Page> => {
  const servers = await within(readyMs, state.ready())
  const ready = servers !== undefined && [...servers.values()].every(Boolean)
  const body = { ready, servers: Object.fromEntries(servers ?? []) }
  return { status: ready ? 200 : 503, type: 'application/json', body: `${JSON.stringify(body)}\n` }
}

/** @returns undefined when it takes longer, or fails */
const within = <Value>(ms: number, value: Promise<Value>): Promise<Value | undefined> =>
  new Promise(resolve => {
    const timer = setTimeout(() => resolve(undefined), ms)
    value
      .then(resolve, () => resolve(undefined))
      .finally(() => clearTimeout(timer))
  })

const reply = ({ method }: IncomingMessage, response: ServerResponse, { status, type, body }: Page): void => {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...(status === 405 && { allow: 'GET, HEAD' }),
  })
  response.end(method === 'HEAD' ? undefined : body)
}

const text = (status: number, body: string): Page => ({ status, type: 'text/plain; charset=utf-8', body: `${body}\n` })

const boundPort = (server: Server, port: number): number => {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : port
}
