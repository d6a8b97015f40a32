import { randomUUID } from 'node:crypto'
import { isLoopback } from '#relay/base/addresses.js'
import { messageOf } from '#relay/base/errors.js'
import {
  canonicalResource, type Claims, type ProtectedResource, type Unverified,
} from '#relay/transport/front/authority.js'
import type { SitePage, Site, Visit } from '#relay/transport/front/site.js'
import { issuerPath } from '#relay/transport/http/well-known.js'
import { guardedFetch } from '#relay/transport/upstream/document.js'
import { isResourceOf } from '../client/discovery.js'
import { RefusedGrant, type Tokens } from '../client/requests.js'
import { fault, formIn, jsonAnswer } from './answers.js'
import { clientIdOf, isClientId, registerClient } from './clients.js'
import { Consents } from './consents.js'
import { UpstreamLogin, type Behind } from './login.js'
import { digest, type Grant, Seals } from './seals.js'

export interface FacadeOptions {
  readonly name: string
  /** The origin of this relay's public URL. */
  readonly origin: string
  /** Paths of the server's endpoints, such as `/files/mcp`. Clients that name no resource get the first. */
  readonly paths: readonly string[]
  /** The prefix of the paths of the authorization server's own endpoints: empty, or `/files`. */
  readonly prefix: string
  readonly behind: Behind
  /** The key of 32 bytes that seals what is handed out, from `sealKeyOf` or `sealKeyIn`. */
  readonly key: Uint8Array
  /** Logins of which a token was revoked here. The issuer is told, too. Kept over reloads. */
  readonly revoked: Set<string>
  readonly warn: (message: string) => void
  readonly now?: (() => number) | undefined
}

type Route = readonly [method: 'GET' | 'POST', answer: (visit: Visit) => Promise<SitePage>]

/** Logins that are remembered as revoked. */
const maxRevoked = 10_000
/** Longest token of ours that a client can send in a header, in characters. */
const longestToken = 12 * 1024

/**
 * The authorization server of our clients in front of one server. For the issuer of that server, this relay
 * is a single client. Every client of MCP compares the `resource` of the metadata with the URL that it was
 * given, so metadata and tokens that are passed through cannot work (2026-07-28, authorization; MCP security
 * best practices). Codes and tokens of ours are those of the issuer, sealed: the issuer decides that a code
 * counts once, how long a token lives, and what a stolen refresh token ends. Only revoked logins
 * are kept here.
 */
export class Facade implements Site {
  readonly #options: FacadeOptions
  readonly #issuer: string
  readonly #seals: Seals
  readonly #login: UpstreamLogin
  readonly #resources: readonly string[]
  readonly #routes: ReadonlyMap<string, Route>

  constructor(options: FacadeOptions) {
    const { name, origin, prefix, paths, behind, key, now = Date.now } = options
    this.#options = options
    this.#issuer = origin + prefix
    this.#resources = paths.map(path => origin + path)
    this.#seals = new Seals(key, this.#issuer, now)
    this.#login = new UpstreamLogin(behind, `${this.#issuer}/callback`, now)
    const consents = new Consents({
      name, origin, issuer: this.#issuer, action: `${prefix}/consent`, seals: this.#seals, login: this.#login,
      // Programs of this machine may describe themselves there only to a relay that serves this machine.
      fetch: guardedFetch({ mayBePrivate: isLoopback(new URL(origin).hostname) }),
      resourceOf: named => this.#resourceOf(named), warn: error => this.#warn(error), now,
    })
    this.#routes = new Map<string, Route>([
      [issuerPath + prefix, ['GET', () => Promise.resolve(this.#metadata())]],
      [`${prefix}/register`, ['POST', visit => this.#register(visit)]],
      [`${prefix}/authorize`, ['GET', visit => consents.authorize(visit)]],
      [`${prefix}/callback`, ['GET', visit => consents.callback(visit)]],
      [`${prefix}/consent`, ['POST', visit => consents.consent(visit)]],
      [`${prefix}/token`, ['POST', visit => this.#token(visit)]],
      [`${prefix}/revoke`, ['POST', visit => this.#revoke(visit)]],
    ])
  }

  has(path: string): boolean {
    return this.#routes.has(path)
  }

  answer(visit: Visit): Promise<SitePage> {
    const [method, answer] = this.#routes.get(visit.path) ?? []
    if (answer === undefined || method === undefined) {
      return Promise.resolve({ status: 404, headers: {}, body: '' })
    }
    return visit.method === method || (visit.method === 'HEAD' && method === 'GET')
      ? answer(visit) : Promise.resolve({ status: 405, headers: { allow: method }, body: '' })
  }

  get resource(): ProtectedResource {
    return { issuer: this.#issuer, audience: this.#options.origin, scopes: [] }
  }

  /** @returns the user of an access token of ours, and the issuer's token for the server */
  async check(token: string): Promise<Claims | Unverified> {
    const grant = await this.#seals.open('access', token)
    return grant === undefined || this.#isOfOther(grant) || this.#options.revoked.has(grant.login) ? 'invalid' : {
      subject: { ...grant.subject, client: grant.client, scopes: grant.scopes },
      audience: [grant.resource, ...this.#resources], upstream: { header: `Bearer ${grant.token}` },
    }
  }

  /** Authorization server metadata (RFC 8414). */
  #metadata(): SitePage {
    const at = (path: string): string => this.#issuer + path
    return jsonAnswer(200, {
      issuer: this.#issuer,
      authorization_endpoint: at('/authorize'), token_endpoint: at('/token'),
      registration_endpoint: at('/register'), revocation_endpoint: at('/revoke'),
      response_types_supported: ['code'], response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'], revocation_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true, client_id_metadata_document_supported: true,
    }, { 'access-control-allow-origin': '*', 'cache-control': 'max-age=300' })
  }

  async #register({ body, headers }: Visit): Promise<SitePage> {
    const isJson = /^application\/json\b/i.test(headers['content-type'] ?? '')
    if (!isJson) return fault('invalid_client_metadata')
    const answer = await registerClient(body, this.#seals)
    return jsonAnswer('error' in answer ? 400 : 201, { ...answer })
  }

  /** Gives tokens for a code or a refresh token (OAuth 2.1, section 3.2). */
  async #token({ body, headers }: Visit): Promise<SitePage> {
    const form = formIn(body, headers['content-type'])
    if (form === undefined) return fault('invalid_request')
    const client = form.get('client_id') ?? ''
    if (!(await isClientId(client, this.#seals))) return fault('invalid_client', 401)
    if (this.#resourceOf(form.get('resource')) === undefined) return fault('invalid_target')
    const grant = form.get('grant_type')
    try {
      if (grant === 'authorization_code') return await this.#redeem(clientIdOf(client), form)
      return grant === 'refresh_token'
        ? await this.#refresh(clientIdOf(client), form) : fault('unsupported_grant_type')
    } catch (error) {
      if (error instanceof RefusedGrant && error.error === 'invalid_grant') return fault('invalid_grant')
      this.#warn(error)
      // The relay's own quarrel with the issuer: the client keeps what it has.
      return fault('temporarily_unavailable', 503)
    }
  }

  /** The operator has replaced the server of the login, or its issuer: no other server gets its tokens. */
  #isOfOther({ via }: Pick<Grant, 'via'>): boolean {
    const { url, settings: { issuer = via.issuer } } = this.#options.behind
    return !isResourceOf(via.resource, url) || via.issuer !== issuer
  }

  async #redeem(client: string, form: URLSearchParams): Promise<SitePage> {
    const answered = await this.#seals.open('code', form.get('code') ?? '')
    const [verifier, redirectUri] = [form.get('code_verifier') ?? '', form.get('redirect_uri')]
    // A client of OAuth 2.1 does not send the redirect URI again: the challenge binds it (section 10.2).
    const isTheirs = answered?.client === client && digest(verifier) === answered.challenge
      && (redirectUri === null || redirectUri === answered.redirectUri)
    if (!isTheirs || this.#isOfOther(answered) || !/^[\w.~-]{43,128}$/.test(verifier)) return fault('invalid_grant')
    const tokens = await this.#login.exchange(answered)
    const { resource, via } = answered
    const subject = await this.#login.subjectOf(tokens, via)
    return this.#granted(tokens, { client, resource, via, subject, login: randomUUID() })
  }

  async #refresh(client: string, form: URLSearchParams): Promise<SitePage> {
    const grant = await this.#seals.open('refresh', form.get('refresh_token') ?? '')
    if (grant?.client !== client || this.#isOfOther(grant)) return fault('invalid_grant')
    return this.#granted(await this.#login.refresh(grant), grant)
  }

  async #granted(
    { access, refresh, type, expiresAt, lifetimeMs, scopes = [] }: Tokens,
    { client, resource, via, subject, login }: Omit<Grant, 'scopes' | 'token'>,
  ): Promise<SitePage> {
    if (this.#options.revoked.has(login)) return fault('invalid_grant')
    if (type !== 'bearer') throw new Error('the issuer has bound its token to a key')
    const sealed = (kind: 'access' | 'refresh', token: string, until?: number): Promise<string> =>
      this.#seals.seal(kind, { client, resource, via, subject, login, scopes, token }, until)
    const token = await sealed('access', access, expiresAt)
    if (token.length > longestToken) throw new Error('the issuer\'s token is too long')
    return jsonAnswer(200, {
      access_token: token, token_type: 'Bearer', scope: scopes.join(' '),
      ...(lifetimeMs !== undefined && { expires_in: Math.floor(lifetimeMs / 1000) }),
      ...(refresh !== undefined && { refresh_token: await sealed('refresh', refresh) }),
    })
  }

  /** Revokes a token, and the login that it is of (RFC 7009). An unknown token counts as revoked. */
  async #revoke({ body, headers }: Visit): Promise<SitePage> {
    const form = formIn(body, headers['content-type'])
    if (form === undefined) return fault('invalid_request')
    const token = form.get('token') ?? ''
    const grant = await this.#seals.open('refresh', token) ?? await this.#seals.open('access', token)
    if (grant?.client === clientIdOf(form.get('client_id') ?? '')) {
      const { revoked } = this.#options
      const [oldest = ''] = revoked
      if (revoked.size >= maxRevoked) revoked.delete(oldest)
      revoked.add(grant.login)
      await this.#login.revoke(grant).catch((error: unknown) => this.#warn(error))
    }
    return jsonAnswer(200, {})
  }

  /** The resource that the client names; the first if it names none, or the relay as a whole. */
  #resourceOf(named: string | null): string | undefined {
    const [first] = this.#resources
    if (named === null) return first
    const plain = canonicalResource(named)
    if (this.#resources.includes(plain)) return plain
    return plain === this.#issuer || plain === this.#options.origin ? first : undefined
  }

  #warn(error: unknown): undefined {
    this.#options.warn(`auth.facade: ${this.#options.name}: ${messageOf(error)}`)
  }
}
