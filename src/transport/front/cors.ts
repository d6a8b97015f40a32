import type { IncomingMessage, ServerResponse } from 'node:http'

/** Lets a page of this origin read what it is answered. */
export const shareWith = (origin: string, response: ServerResponse): void => {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate')
  response.setHeader('vary', 'Origin')
}

export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

/** Preflights carry no credentials, and are answered before any are asked for. */
export const preflight = ({ headers }: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, POST, DELETE',
    // `Mcp-Param-*` headers are the tools' own: no list of ours could hold them.
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
    'access-control-max-age': '600',
  })
  response.end()
}
