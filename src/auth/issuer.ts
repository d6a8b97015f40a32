import { hash } from 'node:crypto'
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions, JWTVerifyResult } from 'jose'
import { messageOf } from '#errors.js'
import { isObject, isString } from '#protocol/json.js'
import { member } from '#protocol/unmetered.js'
import type { Authority, Claims, ProtectedResource, Unverified } from '#transport/front/authority.js'
import { scopesIn } from '#transport/http/challenge.js'
import { unverifiedClaims } from '#transport/http/jwt.js'
import { fetched, IssuerKeys } from './issuer-keys.js'

// Loaded with the first token.
const jose = () => import('jose')

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
/** The same for a token that the issuer has said is not valid. */
const refusedMs = 5000
/** Of either kind. */
const maxRemembered = 10_000
/** Most questions to the issuer at a time: made-up tokens must not flood it. */
const maxIntrospections = 32
/** Least time between two warnings, in milliseconds. */
const warnMs = 5000

/** Checks the tokens of one issuer: JWTs by its keys (RFC 9068), others by introspection (RFC 7662). */
export class Issuer implements Authority {
  readonly #settings: IssuerSettings
  readonly #warn: (message: string) => void
  readonly #now: () => number
  readonly #keys: IssuerKeys
  /** By a hash of the token, the oldest first. */
  readonly #known = new Map<string, { readonly claims: Claims; readonly until: number }>()
  /** Those that the issuer has refused, and until when that counts. */
  readonly #refused = new Map<string, number>()
  readonly #checking = new Map<string, Promise<Claims | Unverified>>()
  #introspections = 0
  #warnedAt = -Infinity

  constructor(settings: IssuerSettings, { warn, now = Date.now }: IssuerOptions) {
    this.#settings = settings
    this.#warn = warn
    this.#now = now
    this.#keys = new IssuerKeys(settings, now)
  }

  resourceAt(): ProtectedResource {
    return this.#settings
  }

  check(token: string): Claims | Promise<Claims | Unverified> {
    const key = hash('sha256', token, 'base64url')
    const known = this.#known.get(key)
    if (known !== undefined && this.#now() < known.until) return known.claims
    this.#known.delete(key)
    if (this.#now() < (this.#refused.get(key) ?? 0)) return Promise.resolve('invalid')
    // One check of a token, for all requests that wait for it.
    const checking = this.#checking.get(key)
      ?? this.#verify(token, key).finally(() => this.#checking.delete(key))
    this.#checking.set(key, checking)
    return checking
  }

  async #verify(token: string, key: string): Promise<Claims | Unverified> {
    try {
      const isJwt = unverifiedClaims(token) !== undefined
      const found = isJwt ? await this.#payloadOf(token) : await this.#introspected(token)
      const claims = found && claimsOf(found, this.#settings.issuer)
      if (found === undefined || claims === undefined) {
        // A JWT may be valid in a moment, with a new key.
        if (!isJwt) remember(this.#refused, key, this.#now() + refusedMs)
        return 'invalid'
      }
      const expires = found.get('exp')
      const expiry = typeof expires === 'number' ? expires * 1000 : Infinity
      remember(this.#known, key, { claims, until: Math.min(this.#now() + rememberMs, expiry) })
      return claims
    } catch (error) {
      if (this.#now() - this.#warnedAt >= warnMs) {
        this.#warnedAt = this.#now()
        this.#warn(`auth: no token can be checked: ${messageOf(error)}`)
      }
      return 'unavailable'
    }
  }

  /** @returns undefined for a token that is not valid @throws Error where the keys cannot be fetched */
  async #payloadOf(token: string): Promise<Payload | undefined> {
    const { issuer } = this.#settings
    const { errors } = await jose()
    const options = {
      algorithms, issuer, clockTolerance: leewaySeconds, requiredClaims: ['exp', 'aud', 'sub'],
      currentDate: new Date(this.#now()),
    }
    const verify = async (): Promise<Payload | 'unknown key' | undefined> => {
      const keys = await this.#keys.current()
      try {
        return new Map(Object.entries(await verified(token, keys, options)))
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
    if (this.#introspections >= maxIntrospections) throw new Error('too many tokens are being checked')
    this.#introspections += 1
    try {
      return await this.#asked(token, introspection)
    } finally {
      this.#introspections -= 1
    }
  }

  async #asked(
    token: string, { url, clientId, clientSecret }: NonNullable<IssuerSettings['introspection']>,
  ): Promise<Payload | undefined> {
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

const remember = <Value>(known: Map<string, Value>, key: string, value: Value): void => {
  if (known.size >= maxRemembered) known.delete(known.keys().next().value ?? '')
  known.set(key, value)
}

/** Types of access tokens (RFC 9068, section 2.1; most issuers write `JWT`), in lower case. */
const accessTypes: readonly unknown[] = [undefined, 'jwt', 'at+jwt', 'application/at+jwt']

/**
 * An ID token has the issuer's signature too, and is for the client to read. It is told by its hashes of
 * other tokens (OpenID Connect Core, sections 3.1.3.6 and 3.3.2.11), or by the type that Keycloak writes.
 * @throws TypeError for a token that is no access token
 */
const payloadOf = ({ payload, protectedHeader: { typ } }: JWTVerifyResult): JWTPayload => {
  const { at_hash: tokenHash, c_hash: codeHash, typ: kind } = payload
  const isForClient = tokenHash !== undefined || codeHash !== undefined || kind === 'ID'
  if (isForClient || !accessTypes.includes(typ?.toLowerCase())) throw new TypeError('no access token')
  return payload
}

/** @throws JOSEError or TypeError for a token that is not valid */
const verified = async (
  token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions,
): Promise<JWTPayload> => {
  const { errors, jwtVerify } = await jose()
  try {
    return payloadOf(await jwtVerify(token, keys, options))
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    // The token names no key: each that it may be signed with is tried.
    for await (const key of error) {
      try {
        return payloadOf(await jwtVerify(token, key, options))
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

/** The claims of a token, by their names. */
type Payload = ReadonlyMap<string, unknown>

const claimNames = ['iss', 'sub', 'aud', 'exp', 'client_id', 'azp', 'scope', 'scp', 'cnf']

/** Most scopes of a token that count. */
const maxScopes = 200

/** @returns undefined for a token that names nobody, or that is bound to a key */
const claimsOf = (payload: Payload, issuer: string): Claims | undefined => {
  const text = (name: string): string | undefined => {
    const value = payload.get(name)
    return isString(value) && value !== '' ? value : undefined
  }
  const [subject, client] = [text('sub'), text('client_id') ?? text('azp')]
  // A `sub` of another kind would make one subject of many users.
  if (subject === undefined && (payload.get('sub') !== undefined || client === undefined)) return undefined
  // Whoever sends such a token as a bearer token has no proof of the key (RFC 9449, section 7.1).
  const confirmation = payload.get('cnf')
  if (isObject(confirmation) && member(confirmation, 'jkt') !== undefined) return undefined
  const [audience, scopes, older] = ['aud', 'scope', 'scp'].map(name => payload.get(name))
  return {
    // `scp` is what Microsoft's and Okta's issuers write in place of `scope`.
    subject: { issuer, subject, client, scopes: [...words(scopes), ...words(older)].slice(0, maxScopes) },
    audience: isString(audience) ? [audience] : Array.isArray(audience) ? audience.filter(isString) : [],
  }
}

const words = (value: unknown): readonly string[] =>
  (isString(value) ? scopesIn(value) ?? [] : Array.isArray(value) ? value.filter(isString) : [])
