import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { CustomsError } from '../errors.js'

export interface ListenerOptions {
  /** What it is, for a message: `the admin listener`. */
  readonly name: string
  readonly host: string
  /** 0 picks one. */
  readonly port: number
  /** Names by which it may be called, besides `host`, those of loopback, and addresses; without ports. */
  readonly allowHosts: () => readonly string[]
  /** @returns what is to be answered; undefined when it was, or will be */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<Answer | undefined>
}

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Listener {
  /**
   * @returns where it listens: `http://HOST:PORT`
   * @throws CustomsError CANNOT_START
   */
  listen(): Promise<string>
  close(): Promise<void>
}

/** A small HTTP server for people and their tools: it is asked, and changes nothing. */
export const createListener = ({ name, host, port, allowHosts, answer }: ListenerOptions): Listener => {
  const server = createServer({ headersTimeout: 5000, requestTimeout: 10_000 }, (request, response) => {
    Promise.resolve(judge(request, [host, 'localhost', ...allowHosts()]))
      .then(refused => refused ?? answer(request, response))
      .catch((): Answer => text(500, 'failed'))
      .then(answered => answered && reply(request, response, answered))
      .catch(() => response.destroy())
  })
  return {
    async listen() {
      try {
        server.listen({ host, port })
        await once(server, 'listening')
      } catch (cause) {
        throw new CustomsError('CANNOT_START', `${name} cannot listen on ${host}:${port}`, { cause })
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

const judge = ({ method, headers }: IncomingMessage, names: readonly string[]): Answer | undefined => {
  if (!isKnown(headers.host, names)) return text(403, 'this Host is not allowed here')
  return method === 'GET' || method === 'HEAD' ? undefined : { ...text(405, 'method not allowed'), headers: { allow: 'GET, HEAD' } }
}

/** Against DNS rebinding: a page's browser names the page's host. An address was not looked up, so that nobody can have rebound it. */
const isKnown = (header: string | undefined, names: readonly string[]): boolean => {
  const name = /^(\[[0-9a-f:.]+\]|[^\s:[\]/@,]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1]?.toLowerCase()
  return name !== undefined && (name.startsWith('[') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) || names.some(known => known.toLowerCase() === name))
}

const reply = ({ method }: IncomingMessage, response: ServerResponse, { status, type, body, headers }: Answer): void => {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store', ...headers })
  response.end(method === 'HEAD' ? undefined : body)
}

export const text = (status: number, body: string): Answer => ({ status, type: 'text/plain; charset=utf-8', body: `${body}\n` })

const boundPort = (server: Server, port: number): number => {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : port
}
