import { randomBytes } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { Test } from '../../e2e/bridge.js'
import { bodyOf, listen } from '#test/kit/http.js'
import { answerAsServer } from './protected.js'

const prm = '/.well-known/oauth-protected-resource'

/** A family of tokens: one login. */
interface Family {
  /** The refresh token that is valid now. */
  refresh: string
  revoked: boolean
  scopes: string
}

/**
 * An issuer and the MCP server that it protects, on one origin. A refresh token is valid once; whoever uses
 * it twice revokes the family, as OAuth 2.1 wants it.
 */
export class RotatingIssuer {
  origin = ''
  readonly counts = { logins: 0, refreshes: 0, reuses: 0, registrations: 0, revocations: 0, calls: 0 }
  accessSeconds = 3600
  /** Called before a refresh is answered; it may answer itself. `answer(true)` uses up the token. */
  onRefresh: ((response: ServerResponse, answer: (isLost?: boolean) => void) => void) | undefined
  /** In place of the usual answer of the MCP server to a request with this access token. */
  onCall: ((token: string | undefined, response: ServerResponse, body: string) => boolean) | undefined
  /** More of the issuer's metadata. */
  metadata: Record<string, unknown> = {}
  /** The `iss` of authorization responses; undefined: its own. */
  iss: string | undefined
  /** Clients that it does not know any more: `/authorize` shows an error and sends nobody back. */
  readonly forgotten = new Set<string>()
  readonly secrets = new Set<string>()
  readonly asked: { path: string; parameters: URLSearchParams }[] = []
  readonly #families = new Map<string, Family>()
  readonly #used = new Map<string, Family>()
  readonly #access = new Map<string, { family: Family; until: number }>()
  readonly #codes = new Map<string, { scopes: string }>()

  get url(): string {
    return `${this.origin}/mcp`
  }

  static async open(t: Test): Promise<RotatingIssuer> {
    const one = new RotatingIssuer()
    one.origin = await listen(t, createServer((request, response) => {
      void bodyOf(request).then(body => one.#answer(new URL(request.url ?? '', one.origin), request.headers.authorization, body, response))
    }))
    return one
  }

  /** Access tokens are refused from now on; refresh tokens stay. */
  expire(): void {
    for (const access of this.#access.values()) access.until = 0
  }

  /** Nothing that was granted is valid any more. */
  revokeAll(): void {
    this.expire()
    for (const family of this.#families.values()) family.revoked = true
  }

  #secret(): string {
    const secret = randomBytes(24).toString('base64url')
    this.secrets.add(secret)
    return secret
  }

  grant(scopes = 'mcp', family?: Family): Record<string, unknown> {
    const refresh = this.#secret()
    const access = this.#secret()
    const one = family ?? { refresh, revoked: false, scopes }
    if (family !== undefined) {
      this.#families.delete(family.refresh)
      this.#used.set(family.refresh, family)
    }
    one.refresh = refresh
    this.#families.set(refresh, one)
    this.#access.set(access, { family: one, until: Date.now() + this.accessSeconds * 1000 })
    return { access_token: access, token_type: 'Bearer', expires_in: this.accessSeconds, refresh_token: refresh, scope: one.scopes }
  }

  #answer(url: URL, authorization: string | undefined, body: string, response: ServerResponse): void {
    const json = (status: number, value: object, headers: Record<string, string> = {}) =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
    const parameters = new URLSearchParams(url.pathname === '/authorize' ? url.search : body)
    if (!url.pathname.startsWith('/mcp')) this.asked.push({ path: url.pathname, parameters })
    if (url.pathname.startsWith(`${prm}/mcp`)) {
      const resource = this.origin + url.pathname.slice(prm.length)
      return json(200, { resource, authorization_servers: [this.origin], scopes_supported: ['mcp'] })
    }
    if (url.pathname.startsWith('/mcp')) return this.#call(url.pathname, authorization, body, json, response)
    switch (url.pathname) {
      case '/.well-known/oauth-authorization-server':
        return json(200, {
          issuer: this.origin, authorization_endpoint: `${this.origin}/authorize`, token_endpoint: `${this.origin}/token`,
          registration_endpoint: `${this.origin}/register`, revocation_endpoint: `${this.origin}/revoke`,
          code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: ['none'],
          authorization_response_iss_parameter_supported: true, ...this.metadata,
        })
      case '/register':
        this.counts.registrations += 1
        return json(201, { ...JSON.parse(body) as object, client_id: `client-${this.counts.registrations}` })
      case '/authorize': {
        if (this.forgotten.has(parameters.get('client_id') ?? '')) return void response.writeHead(400).end('unknown client')
        const code = this.#secret()
        this.#codes.set(code, { scopes: parameters.get('scope') ?? 'mcp' })
        const back = new URL(parameters.get('redirect_uri') ?? '')
        const answer = { code, state: parameters.get('state') ?? '', iss: this.iss ?? this.origin }
        for (const [name, value] of Object.entries(answer)) back.searchParams.set(name, value)
        return void response.writeHead(302, { location: back.href }).end()
      }
      case '/revoke':
        this.counts.revocations += 1
        return void response.writeHead(200).end()
      case '/token':
        return this.#token(parameters, json, response)
      default:
        return json(404, {})
    }
  }

  #token(
    parameters: URLSearchParams, json: (status: number, value: object) => void, response: ServerResponse,
  ): void {
    if (parameters.get('grant_type') === 'authorization_code') {
      const code = parameters.get('code') ?? ''
      const found = this.#codes.get(code)
      if (found === undefined || !this.#codes.delete(code)) return json(400, { error: 'invalid_grant' })
      this.counts.logins += 1
      return json(200, this.grant(found.scopes))
    }
    const token = parameters.get('refresh_token') ?? ''
    const answer = (isLost = false): void => {
      const reused = this.#used.get(token)
      if (reused !== undefined) {
        this.counts.reuses += 1
        reused.revoked = true
      }
      const family = this.#families.get(token)
      if (family?.revoked !== false) return json(400, { error: 'invalid_grant' })
      this.counts.refreshes += 1
      const granted = this.grant(family.scopes, family)
      if (!isLost) json(200, granted)
    }
    if (this.onRefresh === undefined) answer()
    else this.onRefresh(response, answer)
  }

  #call(
    path: string, authorization: string | undefined, body: string,
    json: (status: number, value: object, headers?: Record<string, string>) => void, response: ServerResponse,
  ): void {
    const token = /^Bearer (.+)$/.exec(authorization ?? '')?.[1]
    if (this.onCall?.(token, response, body) === true) return
    const access = this.#access.get(token ?? '')
    if (access === undefined || access.until < Date.now() || access.family.revoked) {
      const metadata = this.origin + prm + path
      return json(401, {}, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` })
    }
    this.counts.calls += 1
    if (body === '') return void response.writeHead(405).end()
    answerAsServer(body, response)
  }
}
