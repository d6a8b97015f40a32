import { messageOf } from '#errors.js'
import {
  canonical, type Claims, type ProtectedResource, type Unverified,
} from '#transport/front/authority.js'
import type { Page, Site, Visit } from '#transport/front/site.js'
import { issuerPath } from '#transport/http/well-known.js'
import { isFresh, isLasting, type Tokens } from '../client/requests.js'
import { fault, formIn, json } from './answers.js'
import { clientOf, idOf, registerClient, type FacadeClient } from './clients.js'
import { Consents, type Wish } from './consents.js'
import { Grants, type Grant, type Issued } from './grants.js'
import { UpstreamLogin, type Behind, type Going } from './login.js'
import { digest, Seals } from './seals.js'

export interface FacadeOptions {
  readonly name: string
  /** The origin of this relay's public URL. */
  readonly origin: string
  /** Paths of the server's endpoints, such as `/files/mcp`. Clients that name no resource get the first. */
  readonly paths: readonly string[]
  /** The prefix of the paths of the authorization server's own endpoints: empty, or `/files`. */
  readonly prefix: string
  readonly behind: Behind
  /** The key of 32 bytes that seals registrations, from `sealKeyIn`. */
  readonly key: Uint8Array
  readonly warn: (message: string) => void
  readonly now?: (() => number) | undefined
}

type Route = readonly [method: 'GET' | 'POST', answer: (visit: Visit) => Promise<Page>]

/** If the server refuses a younger token, the token is not refreshed: a refresh would not help. */
const newMs = 10_000

/**
 * The authorization server of our clients in front of one server. For the issuer of that server, this relay
 * is a single client. Every client of MCP compares the `resource` of the metadata with the URL that it was
 * given, so metadata and tokens that are passed through cannot work. The relay keeps the issuer's tokens, and
 * gives clients tokens of its own (2026-07-28, authorization; MCP security best practices).
 */
export class Facade implements Site {
  readonly #options: FacadeOptions
  readonly #issuer: string
  readonly #now: () => number
  readonly #seals: Seals
  readonly #grants: Grants
  readonly #login: UpstreamLogin
  readonly #resources: readonly string[]
  readonly #routes: ReadonlyMap<string, Route>

  constructor(options: FacadeOptions) {
    const { name, origin, prefix, paths, behind, now = Date.now } = options
    this.#options = options
    this.#now = now
    this.#issuer = origin + prefix
    this.#resources = paths.map(path => origin + path)
    this.#seals = new Seals(options.key, this.#issuer)
    this.#grants = new Grants(now)
    this.#login = new UpstreamLogin(behind, `${this.#issuer}/callback`, now)
    const consents = new Consents({
      name, origin, issuer: this.#issuer, action: `${prefix}/consent`, seals: this.#seals, login: this.#login,
      resourceOf: named => this.#resourceOf(named), granted: (...login) => this.#granted(...login),
      warn: error => this.#warn(error), now,
    })
    this.#routes = new Map<string, Route>([
      [issuerPath + prefix, ['GET', () => Promise.resolve(this.#metadata())]],
      [`${prefix}/register`, ['POST', visit => this.#register(visit)]],
      [`${prefix}/authorize`, ['GET', visit => consents.authorize(visit)]],
      [`${prefix}/consent`, ['POST', visit => consents.consent(visit)]],
      [`${prefix}/callback`, ['GET', visit => consents.callback(visit)]],
      [`${prefix}/token`, ['POST', visit => this.#token(visit)]],
      [`${prefix}/revoke`, ['POST', visit => this.#revoke(visit)]],
    ])
  }

  has(path: string): boolean {
    return this.#routes.has(path)
  }

  answer(visit: Visit): Promise<Page> {
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
  check(token: string): Claims | Promise<Claims | Unverified> {
    const grant = this.#grants.ofAccess(token)
    if (grant === undefined) return Promise.resolve('invalid')
    return this.#isDue(grant)
      ? this.#renewed(grant).then(is => (is === 'renewed' ? this.#claimsOf(grant) : is))
      : this.#claimsOf(grant)
  }

  #claimsOf(grant: Grant): Claims {
    const { upstream: { access, scopes = [] }, subject, resource } = grant
    return {
      // A refresh may have granted fewer scopes than the login.
      subject: { ...subject, scopes }, audience: [resource, ...this.#resources],
      upstream: { header: `Bearer ${access}`, refused: () => this.#refused(grant, access) },
    }
  }

  #refused(grant: Grant, access: string): void {
    if (grant.upstream.access === access && this.#now() - grant.upstreamAt > newMs) grant.isRefused = true
  }

  #isDue({ isRefused, upstream }: Grant): boolean {
    return isRefused || !isFresh(upstream, this.#now())
  }

  /** Refreshes the issuer's token. Requests that wait share one refresh. */
  async #renewed(grant: Grant): Promise<'renewed' | Unverified> {
    const { upstream: { refresh, expiresAt = Infinity }, isRefused } = grant
    if (refresh === undefined) {
      if (!isRefused && this.#now() < expiresAt) return 'renewed'
      this.#grants.revoke(grant)
      return 'invalid'
    }
    grant.refreshing ??= this.#refresh(grant, refresh).finally(() => (grant.refreshing = undefined))
    try {
      return (await grant.refreshing) && this.#grants.isKept(grant) ? 'renewed' : 'invalid'
    } catch (error) {
      if (!isRefused && this.#now() < expiresAt) return 'renewed'
      this.#warn(error)
      return 'unavailable'
    }
  }

  /** @returns false when the issuer has ended the grant */
  async #refresh(grant: Grant, token: string): Promise<boolean> {
    try {
      const { issuer, found } = grant.known
      const tokens = await issuer.refresh(token, found.resource)
      const { refresh = token, scopes = grant.upstream.scopes } = tokens
      return this.#grants.renew(grant, { ...tokens, refresh, scopes })
    } catch (error) {
      if (!isLasting(error)) throw error
      this.#grants.revoke(grant)
      return false
    }
  }

  /** Authorization server metadata (RFC 8414). */
  #metadata(): Page {
    const at = (path: string): string => this.#issuer + path
    return json(200, {
      issuer: this.#issuer,
      authorization_endpoint: at('/authorize'), token_endpoint: at('/token'),
      registration_endpoint: at('/register'), revocation_endpoint: at('/revoke'),
      response_types_supported: ['code'], response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'], revocation_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
    }, { 'access-control-allow-origin': '*', 'cache-control': 'max-age=300' })
  }

  async #register({ body, headers }: Visit): Promise<Page> {
    const isJson = /^application\/json\b/i.test(headers['content-type'] ?? '')
    if (!isJson) return fault('invalid_client_metadata')
    const answer = await registerClient(body, this.#seals)
    return json('error' in answer ? 400 : 201, { ...answer })
  }

  /** @returns a code for the client @throws Error when no code can be given */
  #granted(wish: Wish, upstream: Tokens, going: Going): string {
    if (upstream.type !== 'bearer') throw new Error('the issuer has bound its token to a key')
    const { client, resource } = wish
    const known = this.#login.subjectOf(upstream, going)
    const subject = known && { ...known, client, scopes: upstream.scopes ?? [] }
    const begun = { client, resource, known: going.known, upstream, ...(subject && { subject }) }
    return this.#grants.begin(begun, wish, this.#issuer)
  }

  /** Gives tokens for a code or a refresh token (OAuth 2.1, section 3.2). */
  async #token({ body, headers }: Visit): Promise<Page> {
    const form = formIn(body, headers['content-type'])
    if (form === undefined) return fault('invalid_request')
    const client = await clientOf(form.get('client_id') ?? '', this.#seals)
    if (client === undefined) return fault('invalid_client', 401)
    if (this.#resourceOf(form.get('resource')) === undefined) return fault('invalid_target')
    const grant = form.get('grant_type')
    if (grant === 'authorization_code') return this.#redeem(client, form)
    return grant === 'refresh_token' ? this.#rotate(client, form) : fault('unsupported_grant_type')
  }

  #redeem({ id }: FacadeClient, form: URLSearchParams): Page {
    const verifier = form.get('code_verifier') ?? ''
    if (!/^[\w.~-]{43,128}$/.test(verifier)) return fault('invalid_grant')
    const redirectUri = form.get('redirect_uri') ?? undefined
    const terms = { client: id, redirectUri, challenge: digest(verifier) }
    const grant = this.#grants.redeem(form.get('code') ?? '', terms)
    return grant === undefined ? fault('invalid_grant') : granted(this.#grants.issue(grant), grant)
  }

  async #rotate({ id }: FacadeClient, form: URLSearchParams): Promise<Page> {
    const token = form.get('refresh_token') ?? ''
    const grant = this.#grants.ofRefresh(token, id)
    if (grant === undefined) return fault('invalid_grant')
    // The refresh token is used up at once: another request with it is a replay, even while the first waits.
    const issued = this.#grants.issue(grant)
    const renewed = this.#isDue(grant) ? await this.#renewed(grant) : 'renewed'
    if (renewed === 'invalid' || !this.#grants.isKept(grant)) return fault('invalid_grant')
    // If the issuer cannot be reached, the client keeps its grant, and its next request gets the error.
    return granted(issued, grant)
  }

  /** Ends a grant (RFC 7009). An unknown token counts as revoked. */
  async #revoke({ body, headers }: Visit): Promise<Page> {
    const form = formIn(body, headers['content-type'])
    if (form === undefined) return fault('invalid_request')
    const grant = this.#grants.find(form.get('token') ?? '')
    if (grant?.client === idOf(form.get('client_id') ?? '')) {
      this.#grants.revoke(grant)
      const { access, refresh = access } = grant.upstream
      await grant.known.issuer.revoke(refresh).catch((error: unknown) => this.#warn(error))
    }
    return json(200, {})
  }

  /** The resource that the client names; the first if it names none, or the relay as a whole. */
  #resourceOf(named: string | null): string | undefined {
    const [first] = this.#resources
    if (named === null) return first
    const plain = canonical(named)
    if (this.#resources.includes(plain)) return plain
    return plain === this.#issuer || plain === this.#options.origin ? first : undefined
  }

  #warn(error: unknown): undefined {
    this.#options.warn(`auth.facade: ${this.#options.name}: ${messageOf(error)}`)
  }
}

const granted = ({ access, refresh, seconds }: Issued, { upstream: { scopes = [] } }: Grant): Page =>
  json(200, {
    access_token: access, token_type: 'Bearer', expires_in: seconds,
    ...(refresh !== undefined && { refresh_token: refresh }), scope: scopes.join(' '),
  })
