import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Test } from '../../e2e/bridge.js'
import { bodyOf, listen } from '#test/kit/http.js'

export interface Request {
  readonly path: string
  readonly method: string
  readonly body: URLSearchParams
  readonly headers: IncomingMessage['headers']
}

type Json = (status: number, body: object, headers?: Record<string, string>) => void

interface Options {
  /** The issuers that the server names. */
  issuers?: readonly string[]
  /** Issuers whose metadata cannot be read. */
  down?: ReadonlySet<string>
  /** The server's own answer. */
  call?: (request: Request, json: Json) => void
  token?: (request: Request, json: Json) => void
}

/** A server with the URL `/mcp`, and its issuers `/a` and `/b`. The test decides what they answer. */
export const severalIssuers = async (t: Test, options: Options = {}) => {
  const log: Request[] = []
  let clients = 0
  const answer = (request: Request, response: ServerResponse): void => {
    const json: Json = (status, body, headers = {}) =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    const { path } = request
    const { issuers = ['a'], call, token } = options
    const [, named = ''] = /^\/\.well-known\/oauth-authorization-server\/(\w)$/.exec(path) ?? []
    const at = `${origin}/${named}`
    if (path.startsWith('/.well-known/oauth-protected-resource')) {
      json(200, { resource: `${origin}/mcp`, authorization_servers: issuers.map(one => `${origin}/${one}`) })
    } else if (named !== '' && options.down?.has(named) !== true) {
      json(200, {
        issuer: at, authorization_endpoint: `${at}/authorize`, token_endpoint: `${at}/token`,
        registration_endpoint: `${at}/register`, revocation_endpoint: `${at}/revoke`,
        device_authorization_endpoint: `${at}/device`,
        code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: ['none'],
      })
    } else if (path.endsWith('/register')) {
      json(201, { client_id: `client-${clients += 1}`, token_endpoint_auth_method: 'none' })
    } else if (path.endsWith('/device')) {
      json(200, {
        device_code: 'device', user_code: 'user', verification_uri: `${origin}/device`, expires_in: 60, interval: 0.01,
      })
    } else if (path.endsWith('/token')) {
      const n = log.length
      const granted = { access_token: `access-${n}`, token_type: 'Bearer', expires_in: 3600, refresh_token: `refresh-${n}` }
      if (token === undefined) json(200, granted)
      else token(request, json)
    } else if (path === '/mcp') {
      if (call === undefined) json(401, {}, { 'www-authenticate': 'Bearer' })
      else call(request, json)
    } else json(404, {})
  }
  const origin: string = await listen(t, createServer((request, response) => {
    void bodyOf(request).then(text => {
      const { url: path = '', method = '', headers } = request
      const one = { path, method, headers, body: new URLSearchParams(text) }
      log.push(one)
      answer(one, response)
    })
  }))
  return {
    origin, log, options, url: new URL('/mcp', origin),
    /** Bodies of the requests to a token endpoint. */
    tokens: (issuer: string) => log.filter(({ path }) => path === `/${issuer}/token`).map(({ body }) => Object.fromEntries(body)),
  }
}

/** Opens the start page of a login and comes back from the issuer, as the user's browser does. */
export const comeBack = async (start: string): Promise<void> => {
  const { headers } = await fetch(start, { redirect: 'manual' })
  const asked = new URL(headers.get('location') ?? '').searchParams
  const back = new URL(asked.get('redirect_uri') ?? '')
  back.search = new URLSearchParams({ code: 'a-code', state: asked.get('state') ?? '' }).toString()
  await fetch(back)
}
