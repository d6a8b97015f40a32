import { hash } from 'node:crypto'
import type * as Jose from 'jose'
import { messageOf } from '#errors.js'
import { isObject, isString } from '#protocol/json.js'
import { isArray, member } from '#protocol/unmetered.js'
import type { Authority, Claims, ProtectedResource, Unverified } from '#transport/front/authority.js'
import { documentFailure, fetchJson, isAtPrivateAddress } from '#transport/upstream/document.js'

// Loaded with the first token.
const jose = () => import('jose')
type KeySet = ReturnType<typeof Jose.createLocalJWKSet>

/** What the operator says of the identity provider (docs/configuration.md, `auth`). */
export interface IssuerSettings extends ProtectedResource {
  /** The URL of the keys; undefined: the issuer's metadata names it. */
  readonly jwks: string | undefined
  /** For tokens that are not JWTs (RFC 7662); undefined: they are not valid. */
  readonly introspection:
    { readonly url: string; readonly clientId: string; readonly clientSecret: string } | undefined
}

interface IssuerOptions {
  /** Tells the operator why tokens cannot be checked. */
  readonly warn: (message: string) => void
  readonly now?: () => number
}

/** Signatures with a public key only: `none` and HMAC (HS256) are never accepted (RFC 8725, section 3.1). */
const algorithms = [
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519',
]
/** Clocks may differ by so many seconds. */
const leewaySeconds = 5
/** A token is not checked again for this time, in milliseconds: a revoked one is valid for as long. */
const rememberMs = 60_000
const maxRemembered = 10_000
/** Keys are fetched again after the first time; if that fails, they stay valid until the second. */
const keysMs = 10 * 60_000
const oldKeysMs = 60 * 60_000
/** Least time between two fetches, in milliseconds: tokens with unknown keys must not flood the issuer. */
const betweenMs = 2000

/** Checks the tokens of one issuer: JWTs by its keys (RFC 9068), others by introspection (RFC 7662). */
export class Issuer implements Authority {
  readonly #settings: IssuerSettings
  readonly #warn: (message: string) => void
  readonly #now: () => number
  readonly #keys: Keys
  /** By a hash of the token, the oldest first. */
  readonly #known = new Map<string, { readonly claims: Claims; readonly until: number }>()

  constructor(settings: IssuerSettings, { warn, now = Date.now }: IssuerOptions) {
    this.#settings = settings
    this.#warn = warn
    this.#now = now
    this.#keys = new Keys(settings, now)
  }

  resourceAt(): ProtectedResource {
    return this.#settings
  }

  check(token: string): Claims | Promise<Claims | Unverified> {
    const key = hash('sha256', token, 'base64url')
    const known = this.#known.get(key)
    if (known !== undefined && this.#now() < known.until) return known.claims
    this.#known.delete(key)
    return this.#verify(token, key)
  }

  async #verify(token: string, key: string): Promise<Claims | Unverified> {
    try {
      const found = isJwt(token) ? await this.#payloadOf(token) : await this.#introspected(token)
      if (found === undefined) return 'invalid'
      const claims = claimsOf(found, this.#settings.issuer)
      const expires = found.get('exp')
      const expiry = typeof expires === 'number' ? expires * 1000 : Infinity
      const until = Math.min(this.#now() + rememberMs, expiry)
      if (this.#known.size >= maxRemembered) this.#known.delete(this.#known.keys().next().value ?? '')
      this.#known.set(key, { claims, until })
      return claims
    } catch (error) {
      this.#warn(`auth: no token can be checked: ${messageOf(error)}`)
      return 'unavailable'
    }
  }

  /** @returns undefined for a token that is not valid @throws Error where the keys cannot be fetched */
  async #payloadOf(token: string): Promise<Payload | undefined> {
    const { issuer } = this.#settings
    const { errors, jwtVerify } = await jose()
    const verify = async (): Promise<Payload | 'unknown key' | undefined> => {
      const options = {
        algorithms, issuer, clockTolerance: leewaySeconds, requiredClaims: ['exp', 'aud', 'sub'],
        currentDate: new Date(this.#now()),
      }
      try {
        const { payload } = await jwtVerify(token, await this.#keys.current(), options)
        return new Map(Object.entries(payload))
      } catch (error) {
        if (error instanceof errors.JWKSNoMatchingKey) return 'unknown key'
        if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
        throw error
      }
    }
    const first = await verify()
    if (first !== 'unknown key') return first
    // The issuer may have a new key.
    const second = (await this.#keys.renew()) ? await verify() : undefined
    return second === 'unknown key' ? undefined : second
  }

  async #introspected(token: string): Promise<Payload | undefined> {
    const { introspection } = this.#settings
    if (introspection === undefined) return undefined
    const { url, clientId, clientSecret } = introspection
    const user = [clientId, clientSecret].map(encodeURIComponent).join(':')
    const { status, body } = await fetched(new URL(url), {
      mayBePrivate: true,
      form: new URLSearchParams({ token, token_type_hint: 'access_token' }),
      authorization: `Basic ${Buffer.from(user).toString('base64')}`,
    })
    if (status !== 200 || !isObject(body)) throw new Error(`${url}: answers with HTTP ${status}`)
    if (member(body, 'active') !== true) return undefined
    const issuer = member(body, 'iss')
    if (issuer !== undefined && issuer !== this.#settings.issuer) return undefined
    const expires = member(body, 'exp')
    if (typeof expires === 'number' && expires * 1000 <= this.#now()) return undefined
    return new Map(claimNames.map(name => [name, member(body, name)]))
  }
}

/** Fetches the issuer's keys, and remembers them. */
class Keys {
  readonly #settings: IssuerSettings
  readonly #now: () => number
  #keys: KeySet | undefined
  #fetchedAt = -Infinity
  #triedAt = -Infinity
  #fetching: Promise<void> | undefined

  constructor(settings: IssuerSettings, now: () => number) {
    this.#settings = settings
    this.#now = now
  }

  /** @throws Error where there are none */
  async current(): Promise<KeySet> {
    const age = this.#now() - this.#fetchedAt
    if (age > keysMs) {
      try {
        await this.#fetch()
      } catch (error) {
        if (age > oldKeysMs) throw error
      }
    }
    if (this.#keys === undefined) throw new Error('the issuer\'s keys are not known')
    return this.#keys
  }

  /** @returns false when it is too early to fetch them again */
  async renew(): Promise<boolean> {
    if (this.#fetching === undefined && this.#now() - this.#triedAt < betweenMs) return false
    await this.#fetch()
    return true
  }

  /** One fetch at a time, for all who wait. */
  #fetch(): Promise<void> {
    if (this.#fetching === undefined && this.#now() - this.#triedAt < betweenMs) {
      return Promise.reject(new Error('the issuer\'s keys could not be fetched a moment ago'))
    }
    this.#triedAt = this.#now()
    this.#fetching ??= this.#load().finally(() => (this.#fetching = undefined))
    return this.#fetching
  }

  async #load(): Promise<void> {
    const { jwks } = this.#settings
    const [url, mayBePrivate] = jwks === undefined ? await this.#discovered() : [new URL(jwks), true]
    const { status, body } = await fetched(url, { mayBePrivate })
    const keys = isObject(body) ? member(body, 'keys') : undefined
    if (status !== 200 || !isArray(keys)) throw new Error(`${url.href}: holds no keys (HTTP ${status})`)
    this.#keys = (await jose()).createLocalJWKSet({ keys: keys.filter(isJwk) })
    this.#fetchedAt = this.#now()
  }

  /** The URL of the keys, by the issuer's metadata (2026-07-28, authorization server discovery). */
  async #discovered(): Promise<readonly [url: URL, mayBePrivate: boolean]> {
    const { issuer } = this.#settings
    for (const url of metadataUrls(new URL(issuer))) {
      const { status, body } = await fetched(url, { mayBePrivate: true })
      if (status !== 200 || !isObject(body)) continue
      // A document of another issuer (RFC 8414, section 3.3).
      if (member(body, 'issuer') !== issuer) throw new Error(`${url.href}: is of another issuer`)
      const named = member(body, 'jwks_uri')
      if (!isString(named) || !URL.canParse(named)) throw new Error(`${url.href}: names no jwks_uri`)
      const keys = new URL(named)
      return [keys, keys.host === url.host || (await isAtPrivateAddress(url))]
    }
    throw new Error(`${issuer}: has no metadata at its well-known paths`)
  }
}

const isJwk = (value: unknown): value is Jose.JWK => isObject(value) && isString(member(value, 'kty'))

/** The claims of a token, by their names. */
type Payload = ReadonlyMap<string, unknown>

const claimNames = ['iss', 'sub', 'aud', 'exp', 'client_id', 'azp', 'scope', 'scp']

/** Most scopes of a token that count. */
const maxScopes = 200

const claimsOf = (payload: Payload, issuer: string): Claims => {
  const text = (name: string): string | undefined => {
    const value = payload.get(name)
    return isString(value) && value !== '' ? value : undefined
  }
  const [audience, scopes, older] = ['aud', 'scope', 'scp'].map(name => payload.get(name))
  return {
    // `scp` is what Microsoft's and Okta's issuers write in place of `scope`.
    subject: {
      issuer, subject: text('sub'), client: text('client_id') ?? text('azp'),
      scopes: [...words(scopes), ...words(older)].slice(0, maxScopes),
    },
    audience: isString(audience) ? [audience] : Array.isArray(audience) ? audience.filter(isString) : [],
  }
}

const words = (value: unknown): readonly string[] => {
  if (isString(value)) return value.split(' ').filter(word => word !== '')
  return Array.isArray(value) ? value.filter(isString) : []
}

export const metadataUrls = ({ origin, pathname }: URL): readonly URL[] => {
  const path = pathname.replace(/\/$/, '')
  const [oauth, openid] = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
  const paths = path === '' ? [oauth, openid] : [oauth + path, openid + path, path + openid]
  return paths.map(one => new URL(one, origin))
}

const fetched: typeof fetchJson = async (url, request) => {
  try {
    return await fetchJson(url, request)
  } catch (error) {
    throw new Error(documentFailure(url, error), { cause: error })
  }
}

/** A JWT in compact form has three parts (RFC 7515, section 7.1); any other token is opaque. */
const isJwt = (token: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)
