import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { hostName, isAddress } from '#relay/base/addresses.js'
import { listen } from '#relay/transport/front/listener.js'

interface ListenerOptions {
  /** For messages: `the admin listener`. */
  readonly name: string
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Allowed names in the Host header besides `host`, localhost and IP addresses; without ports. */
  readonly allowHosts: () => readonly string[]
  /** @returns undefined when it writes the response itself */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<PageAnswer | undefined>
}

export interface PageAnswer {
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

/** A small HTTP server for operators and their tools. It is read-only: GET and HEAD. */
export const createAdminListener = ({ name, host, port, allowHosts, answer }: ListenerOptions): Listener => {
  const server = createServer({ headersTimeout: 5000, requestTimeout: 10_000 }, (request, response) => {
    Promise.resolve(judge(request, [host, 'localhost', ...allowHosts()]))
      .then(refused => refused ?? answer(request, response))
      .catch((): PageAnswer => textAnswer(500, 'failed'))
      .then(answered => answered && reply(request, response, answered))
      .catch(() => response.destroy())
  })
  return {
    listen: () => listen(server, { host, port }, name),
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

const judge = ({ method, headers }: IncomingMessage, names: readonly string[]): PageAnswer | undefined => {
  if (!isKnown(headers.host, names)) return textAnswer(403, 'this Host is not allowed here')
  if (method === 'GET' || method === 'HEAD') return undefined
  return { ...textAnswer(405, 'method not allowed'), headers: { allow: 'GET, HEAD' } }
}

/** Against DNS rebinding: a browser sends the page's host. An IP address involves no DNS. */
const isKnown = (header: string | undefined, names: readonly string[]): boolean => {
  const name = hostName(header ?? '')
  return name !== undefined && (isAddress(name) || names.some(known => known.toLowerCase() === name))
}

const reply = (
  { method }: IncomingMessage, response: ServerResponse, { status, type, body, headers }: PageAnswer,
): void => {
  const length = Buffer.byteLength(body)
  response.writeHead(
    status, { 'content-type': type, 'content-length': length, 'cache-control': 'no-store', ...headers },
  )
  response.end(method === 'HEAD' ? undefined : body)
}

export const textAnswer = (status: number, body: string): PageAnswer =>
  ({ status, type: 'text/plain; charset=utf-8', body: `${body}\n` })
