import { once } from 'node:events'
import { createServer, Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

interface Test {
  teardown(end: () => void): unknown
}

/** A port that was free a moment ago, for a server whose address has to be known before it listens. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Listens on loopback until the test ends. @returns the port */
export const portOf = async (t: Test, server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    if (server instanceof HttpServer) server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** Listens on loopback until the test ends. @returns the origin */
export const listen = async (t: Test, server: Server): Promise<string> =>
  `http://127.0.0.1:${await portOf(t, server)}`

export type AnswerBody = (body: string, response: ServerResponse, request: IncomingMessage) => unknown

/** An HTTP server whose handler gets each request with its body. @returns the URL of its MCP endpoint */
export const serveBodies = async (t: Test, answer: AnswerBody): Promise<string> => `${await listen(
  t, createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
      .on('end', () => answer(body, response, request))
  }),
)}/mcp`

export const answerJson = (
  response: ServerResponse, body: unknown, headers: Record<string, string> = {},
): void => void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

export const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string
  return text
}

/** A client's headers of a POST. */
export const postHeaders = {
  'content-type': 'application/json', accept: 'application/json, text/event-stream',
}

export const postTo = (url: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: 'POST', body, headers: { ...postHeaders, ...headers } })
