import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Provider, type Configuration } from 'oidc-provider'
import { bodyOf, listen } from '#test/kit/http.js'
import type { Test } from '../../e2e/bridge.js'

/** A real issuer with one user, who agrees to everything, and the MCP server that it protects. */
export interface Protected {
  readonly issuer: string
  /** The MCP server's URL. */
  readonly url: string
  readonly provider: Provider
  /** Paths that were asked of the issuer, with the method, in order. */
  readonly asked: string[]
  /** Every secret that was sent or given: it must not be written anywhere. */
  readonly secrets: Set<string>
  /** Scopes that each request needs, and those that a call of the tool `admin` needs. */
  scopes: readonly string[]
  /** The metadata of the resource; tests change it. */
  metadata: Record<string, unknown>
}

interface Options {
  readonly configuration?: Configuration
  readonly accessTokenSeconds?: number
  /** What the server does with a request that it lets in. */
  readonly answer?: (body: string, response: ServerResponse) => void
  readonly scopes?: string
}

const idOf = (body: string): unknown => (JSON.parse(body) as { id?: unknown }).id

/** Answers as an MCP server with one tool, `honest`. */
export const answerAsServer = (body: string, response: ServerResponse): void => {
  const { method, params } = JSON.parse(body) as { method?: string; params?: { protocolVersion?: string } }
  if (idOf(body) === undefined) return void response.writeHead(202).end()
  const result = method === 'initialize'
    ? { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
    : method === 'tools/list'
      ? { tools: [{ name: 'honest', inputSchema: { type: 'object' } }, { name: 'admin', inputSchema: { type: 'object' } }] }
      : { content: [{ type: 'text', text: 'done' }] }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: idOf(body), result }))
}

export const openProtected = async (
  t: Test, { configuration, accessTokenSeconds = 3600, answer = answerAsServer, scopes = 'mcp admin' }: Options = {},
): Promise<Protected> => {
  const [issuerServer, server] = [createServer(), createServer()]
  const [issuer, origin] = [await listen(t, issuerServer), await listen(t, server)]
  const url = `${origin}/mcp`
  const provider = new Provider(issuer, {
    scopes: ['openid', 'offline_access', ...scopes.split(' ')],
    clients: [{
      client_id: 'robot', client_secret: 'robot-secret', grant_types: ['client_credentials'],
      redirect_uris: [], response_types: [],
    }, {
      client_id: 'desktop', token_endpoint_auth_method: 'none', application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    }],
    cookies: { keys: ['a key of the tests'] },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    rotateRefreshToken: true,
    ttl: {
      AccessToken: accessTokenSeconds, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 3600,
    },
    ...configuration,
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => '',
        getResourceServerInfo: (_, audience) => ({ audience, scope: scopes, accessTokenFormat: 'opaque' }),
        useGrantedResource: () => true,
      },
      ...configuration?.features,
    },
  })
  const one: Protected = {
    issuer, url, provider, asked: [], secrets: new Set(), scopes: [],
    metadata: { resource: url, authorization_servers: [issuer], scopes_supported: ['mcp'] },
  }
  const handle = provider.callback()
  issuerServer.on('request', (request, response) => {
    one.asked.push(`${request.method} ${(request.url ?? '').split('?')[0]}`)
    if (request.url?.startsWith('/interaction/') === true) void agree(provider, request, response)
    else void handle(request, response)
  })
  for (const event of ['access_token.saved', 'access_token.issued', 'refresh_token.saved', 'authorization_code.saved']) {
    provider.on(event as 'access_token.saved', token => one.secrets.add(token.jti))
  }
  server.on('request', (request, response) => void serve(one, request, response, answer))
  return one
}

/** The user logs in, and agrees to whatever is asked. */
const agree = async (
  provider: Provider, request: IncomingMessage, response: ServerResponse,
): Promise<void> => {
  const { prompt, params, session } = await provider.interactionDetails(request, response)
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'alice' } })
  }
  const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params['client_id']) })
  const scopes = typeof params['scope'] === 'string' ? params['scope'] : ''
  grant.addOIDCScope(scopes)
  if (typeof params['resource'] === 'string') grant.addResourceScope(params['resource'], scopes)
  const consent = { grantId: await grant.save() }
  await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true })
}

const serve = async (
  one: Protected, request: IncomingMessage, response: ServerResponse, answer: NonNullable<Options['answer']>,
): Promise<void> => {
  const origin = new URL(one.url).origin
  const metadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`
  if (request.url === '/.well-known/oauth-protected-resource/mcp') {
    response.writeHead(200, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify(one.metadata))
  }
  if (request.url !== '/mcp') return void response.writeHead(404).end()
  const body = await bodyOf(request)
  const [, , token = ''] = /^(bearer|dpop) (.*)$/i.exec(request.headers.authorization ?? '') ?? []
  const found = token === '' ? undefined : await one.provider.AccessToken.find(token)
    ?? await one.provider.ClientCredentials.find(token)
  if (found?.isValid !== true || ![found.aud].flat().includes(one.url)) {
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadataUrl}"` })
    return void response.end()
  }
  const needed = [...one.scopes, ...(body.includes('"name":"admin"') ? ['admin'] : [])]
  if (!needed.every(scope => found.scopes.has(scope))) {
    response.writeHead(403, {
      'www-authenticate': `Bearer error="insufficient_scope", scope="${needed.join(' ')}", resource_metadata="${metadataUrl}"`,
    })
    return void response.end()
  }
  if (request.method === 'POST') answer(body, response)
  else response.writeHead(405).end()
}

/** Plays the user's browser: follows redirects with cookies. @returns the last URL */
export const browse = async (start: string, stopAt?: (url: URL) => boolean): Promise<URL> => {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  for (let steps = 0; steps < 20; steps++) {
    if (stopAt?.(url) === true) return url
    const cookie = [...cookies].map(pair => pair.join('=')).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    await response.arrayBuffer()
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) return url
    url = new URL(location, url)
  }
  throw new Error('the browser is sent round and round')
}
