import { createPrivateKey } from 'node:crypto'
import type * as OAuth from 'oauth4webapi'
import type { GuardedFetch } from '#relay/transport/upstream/document.js'
import { failureOf, HttpFailure } from '#relay/transport/upstream/pool.js'
import { scopesIn } from '#relay/transport/http/challenge.js'
import type { AuthorizationServer } from './discovery.js'
import { authMethodOf, type RegisteredClient } from './registration.js'

// Loaded with the first request.
const oauth = () => import('oauth4webapi')

/** What an issuer granted. */
export interface Tokens {
  readonly access: string
  readonly type: 'bearer' | 'dpop'
  /** In milliseconds since 1970; undefined: the issuer does not say. */
  readonly expiresAt: number | undefined
  readonly lifetimeMs: number | undefined
  readonly refresh: string | undefined
  /** Undefined: those that were asked for. */
  readonly scopes: readonly string[] | undefined
  /** The `sub` of the `id_token`, where there is one. */
  readonly subject?: string | undefined
}

/** Time before a token's end at which it is renewed, at most a fifth of its lifetime, in milliseconds. */
const marginMs = 60_000

/** Whether a token needs no renewal now. */
export const isFresh = ({ expiresAt, lifetimeMs = Infinity }: Tokens, now: number): boolean =>
  expiresAt === undefined || now < expiresAt - Math.min(marginMs, lifetimeMs / 5)

/** The issuer's name for messages. Its whole URL is not shown, because a server chooses that text. */
export const urlHostOf = (issuer: string): string => new URL(issuer).host

/** The issuer has refused a request. */
export class RefusedGrant extends HttpFailure {
  /** @param error its code, such as `invalid_grant` */
  constructor(issuer: string, readonly error: string) {
    // The issuer's description of the error is left out: it may quote the request.
    super(`${urlHostOf(issuer)} refuses: ${error}`)
  }
}

/** After these errors a refresh token is of no use (RFC 6749, section 5.2). */
export const isLasting = (error: unknown): boolean =>
  isUnknownClient(error) || (error instanceof RefusedGrant && error.error === 'invalid_grant')

/** The issuer no longer knows the client, or refuses it this grant: the client must register again. */
export const isUnknownClient = (error: unknown): boolean =>
  error instanceof RefusedGrant && (error.error === 'invalid_client' || error.error === 'unauthorized_client')

/** One flow of the authorization code grant: what is remembered until the user comes back. */
export interface Begun {
  /** For the user's browser. */
  readonly url: string
  readonly state: string
  readonly verifier: string
  readonly redirectUri: string
}

interface BeginOptions {
  readonly redirectUri: string
  readonly resource: string
  readonly scopes: readonly string[]
  /** Makes the `state`; undefined: a random text. */
  readonly stateFor?: (verifier: string) => Promise<string>
}

interface ClientOptions {
  readonly server: AuthorizationServer
  readonly client: RegisteredClient
  readonly fetch: GuardedFetch
  /** Tokens are bound to this key (RFC 9449). */
  readonly dpop?: CryptoKeyPair | undefined
  readonly now?: (() => number) | undefined
}

interface CryptoKeyPair {
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
}
type CryptoKey = OAuth.CryptoKeyPair['privateKey']

/** What one client asks of one issuer. A request names the resource (RFC 8707). Rejects with HttpFailure. */
export class IssuerClient {
  readonly #options: ClientOptions
  #handle: OAuth.DPoPHandle | undefined

  /** @throws HttpFailure for a client of another issuer: its secrets and tokens are not for this one */
  constructor(options: ClientOptions) {
    const { client, server } = options
    if (client.issuer !== server.issuer) {
      throw new HttpFailure(`the client of ${urlHostOf(client.issuer)} is not sent to ${urlHostOf(server.issuer)}`)
    }
    this.#options = options
  }

  get #client(): OAuth.Client {
    return { client_id: this.#options.client.id }
  }

  /** @throws HttpFailure where the issuer does not say that it supports PKCE with S256 */
  async begin({ redirectUri, resource, scopes, stateFor }: BeginOptions): Promise<Begun> {
    const { server, client } = this.#options
    const { issuer, authorization_endpoint: endpoint } = server
    if (server.code_challenge_methods_supported?.includes('S256') !== true) {
      throw new HttpFailure(`${urlHostOf(issuer)} does not say that it supports PKCE ` +
        '(code_challenge_methods_supported: S256)')
    }
    if (endpoint === undefined) throw new HttpFailure(`${urlHostOf(issuer)} names no authorization_endpoint`)
    const { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } = await oauth()
    const verifier = generateRandomCodeVerifier()
    const state = await stateFor?.(verifier) ?? generateRandomState()
    const url = new URL(endpoint)
    // A browser will open this URL: it must not lead where this process itself may not connect.
    const fault = await this.#options.fetch.faultOf(url)
    if (fault !== undefined) {
      throw new HttpFailure(`the authorization_endpoint of ${urlHostOf(issuer)}: ${fault}`)
    }
    const parameters = {
      response_type: 'code', client_id: client.id, redirect_uri: redirectUri, state, resource,
      code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      // OpenID Connect Core, section 11: without consent, offline_access is ignored.
      ...(scopes.includes('offline_access') && { prompt: 'consent' }),
      ...(this.#options.dpop && { dpop_jkt: await (await this.#dpop())?.calculateThumbprint() ?? '' }),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return { url: url.href, state, verifier, redirectUri }
  }

  /** Checks an authorization response alone. @throws Refused with the issuer's error */
  check(answer: URLSearchParams, state: string): Promise<void> {
    return this.#asking(({ validateAuthResponse }) =>
      Promise.resolve(void validateAuthResponse(this.#options.server, this.#client, answer, state)))
  }

  /**
   * Exchanges the code of an authorization response. Its `state` and `iss` are checked before anything of it
   * is used (RFC 9207).
   * @param answer the parameters of the URL to which the user came back
   */
  async exchange(
    answer: URLSearchParams, { state, verifier, redirectUri }: Omit<Begun, 'url'>, resource: string,
  ): Promise<Tokens> {
    const { server } = this.#options
    return this.#grant(async ({ validateAuthResponse, authorizationCodeGrantRequest }, auth, options) => {
      const parameters = validateAuthResponse(server, this.#client, answer, state)
      return authorizationCodeGrantRequest(server, this.#client, auth, parameters, redirectUri, verifier, {
        ...options, additionalParameters: { resource },
      })
    }, ({ processAuthorizationCodeResponse }, response) =>
      processAuthorizationCodeResponse(server, this.#client, response))
  }

  refresh(token: string, resource: string): Promise<Tokens> {
    const { server } = this.#options
    return this.#grant(({ refreshTokenGrantRequest }, auth, options) => refreshTokenGrantRequest(
      server, this.#client, auth, token, { ...options, additionalParameters: { resource } },
    ), ({ processRefreshTokenResponse }, response) =>
      processRefreshTokenResponse(server, this.#client, response))
  }

  /** The client's own token (RFC 6749, section 4.4). */
  credentials(resource: string, scopes: readonly string[]): Promise<Tokens> {
    const { server } = this.#options
    const parameters = { resource, ...(scopes.length > 0 && { scope: scopes.join(' ') }) }
    return this.#grant(({ clientCredentialsGrantRequest }, auth, options) =>
      clientCredentialsGrantRequest(server, this.#client, auth, parameters, options),
    ({ processClientCredentialsResponse }, response) =>
      processClientCredentialsResponse(server, this.#client, response))
  }

  /** Begins the device flow (RFC 8628). */
  async device(resource: string, scopes: readonly string[]): Promise<OAuth.DeviceAuthorizationResponse> {
    const { server } = this.#options
    const parameters = { resource, ...(scopes.length > 0 && { scope: scopes.join(' ') }) }
    return this.#asking(async (module, auth, options) => module.processDeviceAuthorizationResponse(
      server, this.#client,
      await module.deviceAuthorizationRequest(server, this.#client, auth, parameters, options),
    ))
  }

  /** @throws Refused `authorization_pending` or `slow_down` while the user has not decided */
  deviceTokens(code: string, resource: string): Promise<Tokens> {
    const { server } = this.#options
    return this.#grant(({ deviceCodeGrantRequest }, auth, options) => deviceCodeGrantRequest(
      server, this.#client, auth, code, { ...options, additionalParameters: { resource } },
    ), ({ processDeviceCodeResponse }, response) => processDeviceCodeResponse(server, this.#client, response))
  }

  /** Asks about a token of another client (RFC 7662). */
  introspect(token: string): Promise<OAuth.IntrospectionResponse> {
    const { server } = this.#options
    return this.#asking(async (module, auth, options) => module.processIntrospectionResponse(
      server, this.#client, await module.introspectionRequest(server, this.#client, auth, token, {
        ...options, additionalParameters: { token_type_hint: 'access_token' },
      }),
    ))
  }

  /** Revokes a token, where the issuer can (RFC 7009). @returns whether it did */
  async revoke(token: string): Promise<boolean> {
    const { server } = this.#options
    if (server.revocation_endpoint === undefined) return false
    await this.#asking(async (module, auth, options) => module.processRevocationResponse(
      await module.revocationRequest(server, this.#client, auth, token, options),
    ))
    return true
  }

  #grant(
    ask: (module: typeof OAuth, auth: OAuth.ClientAuth, options: RequestOptions) => Promise<Response>,
    read: (module: typeof OAuth, response: Response) => Promise<OAuth.TokenEndpointResponse>,
  ): Promise<Tokens> {
    return this.#asking(async (module, auth, options) => {
      const asked = this.#now()
      const DPoP = await this.#dpop()
      const once = async () => read(module, await ask(module, auth, { ...options, ...(DPoP && { DPoP }) }))
      const granted = await once().catch((error: unknown) => {
        // The issuer wants its nonce in the proof (RFC 9449, section 8).
        if (DPoP === undefined || !module.isDPoPNonceError(error)) throw error
        return once()
      })
      const { access_token: access, token_type: type, expires_in: seconds, refresh_token: refresh } = granted
      const lifetimeMs = seconds === undefined ? undefined : seconds * 1000
      return {
        access, type: type === 'dpop' ? 'dpop' : 'bearer', refresh, lifetimeMs,
        expiresAt: lifetimeMs === undefined ? undefined : asked + lifetimeMs, scopes: scopesIn(granted.scope),
        subject: module.getValidatedIdTokenClaims(granted)?.sub,
      }
    })
  }

  async #asking<Answer>(
    ask: (module: typeof OAuth, auth: OAuth.ClientAuth, options: RequestOptions) => Promise<Answer>,
  ): Promise<Answer> {
    const { server, client, fetch } = this.#options
    const module = await oauth()
    const auth = await authentication(module, client, authMethodOf(client, server))
    const options: RequestOptions = {
      // `fetch` allows http on loopback only.
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      [module.allowInsecureRequests]: true,
      [module.customFetch]: (url, request) => fetch(url, request),
    }
    try {
      return await ask(module, auth, options)
    } catch (error) {
      throw failed(server.issuer, error, module)
    }
  }

  async #dpop(): Promise<OAuth.DPoPHandle | undefined> {
    const { dpop } = this.#options
    return dpop && (this.#handle ??= (await oauth()).DPoP(this.#client, dpop))
  }

  #now(): number {
    return (this.#options.now ?? Date.now)()
  }
}

type RequestOptions = OAuth.HttpRequestOptions<'POST', URLSearchParams> & OAuth.DPoPRequestOptions

const authentication = async (
  module: typeof OAuth, { secret = '', privateKey }: RegisteredClient, method: ReturnType<typeof authMethodOf>,
): Promise<OAuth.ClientAuth> => {
  switch (method) {
    case 'none': return module.None()
    case 'client_secret_basic': return basic(secret)
    case 'client_secret_post': return module.ClientSecretPost(secret)
    case 'private_key_jwt': return module.PrivateKeyJwt(await importKey(privateKey ?? ''))
    default: return method satisfies never
  }
}

/**
 * RFC 6749, section 2.3.1. The library's own escapes `-`, `.` and `_` as well, which form encoding leaves as
 * they are: issuers that compare the id of a client without decoding it do not know it then.
 */
const basic = (secret: string): OAuth.ClientAuth => (_server, { client_id: id }, _body, headers) => {
  const pair = [id, secret].map(text => new URLSearchParams({ '': text }).toString().slice(1)).join(':')
  headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`)
}

const curves: ReadonlyMap<string, readonly [algorithm: string, curve: string]> = new Map([
  ['prime256v1', ['ES256', 'P-256']], ['secp384r1', ['ES384', 'P-384']], ['secp521r1', ['ES512', 'P-521']],
])

/** @throws HttpFailure; quotes nothing of the key */
const importKey = async (pem: string): Promise<CryptoKey> => {
  try {
    const key = createPrivateKey(pem)
    const { importPKCS8 } = await import('jose')
    const text = key.export({ type: 'pkcs8', format: 'pem' }).toString()
    const [algorithm] = curves.get(key.asymmetricKeyDetails?.namedCurve ?? '') ?? []
    const usual = key.asymmetricKeyType === 'ed25519' ? 'Ed25519' : 'RS256'
    return await importPKCS8(text, algorithm ?? usual)
  } catch {
    throw new HttpFailure('the private key of this client is not a PEM with an RSA, EC or Ed25519 key')
  }
}

/** What went wrong, without anything that could be a secret. */
const failed = (issuer: string, error: unknown, module: typeof OAuth): HttpFailure => {
  if (error instanceof module.ResponseBodyError || error instanceof module.AuthorizationResponseError) {
    return new RefusedGrant(issuer, /^\w{1,40}$/.test(error.error) ? error.error : 'an error without a name')
  }
  if (error instanceof module.WWWAuthenticateChallengeError) return new RefusedGrant(issuer, 'invalid_client')
  if (error instanceof module.OperationProcessingError || error instanceof module.UnsupportedOperationError) {
    return new HttpFailure(`${urlHostOf(issuer)}: ${error.message.replace(/[^ -~]/g, '').slice(0, 120)}`)
  }
  return new HttpFailure(`${urlHostOf(issuer)}: ${failureOf(error)}`)
}
