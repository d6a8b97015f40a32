import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions, JWTVerifyResult } from 'jose'
import { messageOf } from '#relay/base/errors.js'
import { isString } from '#relay/protocol/json.js'
import { quote } from '#relay/protocol/quote.js'
import type { Authority, Claims, ProtectedResource, Unverified } from '#relay/transport/front/authority.js'
import { Quota } from '#relay/transport/front/quota.js'
import { scopesIn } from '#relay/transport/http/challenge.js'
import { guardedFetch } from '#relay/transport/upstream/document.js'
import { IssuerClient } from './client/requests.js'
import { IssuerKeys } from './issuer-keys.js'

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
  /** Tells the operator why a token was refused. */
  readonly told?: (message: string) => void
  readonly now?: () => number
}

/** Signatures with a public key only: `none` and HMAC (HS256) are never accepted (RFC 8725, section 3.1). */
const algorithms = [
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519',
]
/** The longest difference between two clocks that is accepted. */
const leewaySeconds = 5
/** A token is not checked again for this time, in milliseconds: a revoked one is valid for as long. */
const rememberMs = 60_000
/** The same for a token that the issuer has said is not valid. */
const refusedMs = 5000
/** Of either kind. */
const maxRemembered = 10_000
/** Most questions to the issuer at a time: made-up tokens must not flood it, nor take all places. */
const maxIntrospections = 32
/** A token waits for a place, in milliseconds. */
const longestWaitMs = 3000
const waitMs = 20
/** Least time between two warnings, in milliseconds. */
const warnMs = 5000

/** @property until the issuer is asked again after it, in milliseconds; @property expires the token's end */
interface Known {
  readonly claims: Claims
  readonly until: number
  readonly expires: number
}

/** Checks the tokens of one issuer: JWTs by its keys (RFC 9068), others by introspection (RFC 7662). */
export class Issuer implements Authority {
  readonly #settings: IssuerSettings
  readonly #warn: (message: string) => void
  readonly #told: (message: string) => void
  readonly #now: () => number
  readonly #keys: IssuerKeys
  /** By a hash of the token, the oldest first. */
  readonly #known = new Map<string, Known>()
  /** Those that the issuer has refused, and until when that counts. */
  readonly #refused = new Map<string, number>()
  readonly #checking = new Map<string, Promise<Claims | Unverified>>()
  readonly #places = new Quota(() => maxIntrospections)
  /** For tokens that were valid before: strangers cannot take these. */
  readonly #placesOfKnown = new Quota(() => maxIntrospections)
  #warnedAt = -Infinity

  constructor(settings: IssuerSettings, { warn, told = () => undefined, now = Date.now }: IssuerOptions) {
    this.#settings = settings
    this.#warn = warn
    this.#told = told
    this.#now = now
    this.#keys = new IssuerKeys(settings, now)
  }

  resourceAt(): ProtectedResource {
    return this.#settings
  }

  check(token: string, _: string, client = ''): Claims | Promise<Claims | Unverified> {
    const key = hash('sha256', token, 'base64url')
    const known = this.#known.get(key)
    if (known !== undefined && this.#now() < known.until) return known.claims
    // Whether the issuer can be reached or not.
    if (known !== undefined && known.expires <= this.#now()) return Promise.resolve('invalid')
    if (this.#now() < (this.#refused.get(key) ?? 0)) return Promise.resolve('invalid')
    // One check of a token, for all requests that wait for it.
    const checking = this.#checking.get(key)
      ?? this.#verify(token, key, client, known !== undefined).finally(() => this.#checking.delete(key))
    this.#checking.set(key, checking)
    return checking
  }

  /** The audience that was expected and given. */
  refused({ audience: given, subject: { subject = '' } }: Claims, expected: readonly string[]): void {
    const [ours, theirs] = [expected, given].map(list => list.map(quote).join(', '))
    this.#told(`auth: a token of ${quote(subject)} was refused: its audience is ${theirs}, not ${ours}`)
  }

  async #verify(token: string, key: string, client: string, isKnown: boolean): Promise<Claims | Unverified> {
    const unverified = await unverifiedPayload(token)
    try {
      const found = await (unverified ? this.#payloadOf(token) : this.#introspected(token, client, isKnown))
      const claims = claimsOf(found, this.#settings.issuer)
      const [now, exp] = [this.#now(), found.get('exp')]
      const expires = typeof exp === 'number' ? exp * 1000 : Infinity
      this.#known.delete(key)
      remember(this.#known, key, { claims, until: Math.min(now + rememberMs, expires), expires })
      return claims
    } catch (error) {
      if (error instanceof Refusal) {
        const issuer = unverified?.iss
        this.#told(`auth: a token was refused: ${error.message} (issuer ${quote(this.#settings.issuer)}` +
          `${isString(issuer) ? `, the token says ${quote(issuer)}` : ''})`)
        this.#known.delete(key)
        // A JWT may be valid in a moment, with a new key.
        if (unverified === undefined) remember(this.#refused, key, this.#now() + refusedMs)
        return 'invalid'
      }
      if (this.#now() - this.#warnedAt >= warnMs) {
        this.#warnedAt = this.#now()
        this.#warn(`auth: no token can be checked: ${messageOf(error)}`)
      }
      return 'unavailable'
    }
  }

  /** @throws Refusal for a token that is not valid, Error where the keys cannot be fetched */
  async #payloadOf(token: string): Promise<Payload> {
    const { issuer } = this.#settings
    const { errors } = await jose()
    const keys = await this.#keys.current()
    try {
      return new Map(Object.entries(await verified(token, keys, {
        algorithms, issuer, clockTolerance: leewaySeconds, requiredClaims: ['exp', 'aud', 'sub'],
        currentDate: new Date(this.#now()),
      })))
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) throw new Refusal(error.message)
      throw error
    }
  }

  /** @throws as `#payloadOf` */
  async #introspected(token: string, client: string, isKnown: boolean): Promise<Payload> {
    const { introspection, issuer } = this.#settings
    if (introspection === undefined) throw new Refusal('it is no JWT, and auth.introspection is not set')
    // A place becomes free soon: each question to the issuer has an end.
    const places = isKnown ? this.#placesOfKnown : this.#places
    for (let waited = 0; !places.reserve(client); waited += waitMs) {
      if (waited >= longestWaitMs) throw new Error('too many tokens are being checked')
      await pause(waitMs)
    }
    try {
      const { url, clientId: id, clientSecret: secret } = introspection
      const body = await new IssuerClient({
        server: { issuer, introspection_endpoint: url }, client: { issuer, id, secret },
        fetch: guardedFetch({ mayBePrivate: true }),
      }).introspect(token)
      if (!body.active) throw new Refusal('the issuer says that it is not active')
      if (body.iss !== undefined && body.iss !== issuer) throw new Refusal('it is of another issuer')
      if (body.exp !== undefined && body.exp * 1000 <= this.#now()) throw new Refusal('it has expired')
      return new Map(Object.entries(body))
    } finally {
      places.release(client)
    }
  }
}

/** @returns undefined for a token that is no JWT */
export const unverifiedPayload = async (token: string): Promise<JWTPayload | undefined> => {
  const { decodeJwt } = await jose()
  let payload: JWTPayload | undefined
  try {
    payload = decodeJwt(token)
  } catch {
    // It is opaque.
  }
  return payload
}

/** Why a token is not valid. */
class Refusal extends Error {}

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

/** Most scopes of a token that count. */
const maxScopes = 200

/** @throws Refusal for a token that names nobody, or that is bound to a key */
const claimsOf = (payload: Payload, issuer: string): Claims => {
  const text = (name: string): string | undefined => {
    const value = payload.get(name)
    return isString(value) && value !== '' ? value : undefined
  }
  const [subject, client] = [text('sub'), text('client_id') ?? text('azp')]
  // A `sub` of another kind would make one subject of many users.
  if (subject === undefined && (payload.get('sub') !== undefined || client === undefined)) {
    throw new Refusal('it names nobody (sub, client_id)')
  }
  // Whoever sends such a token as a bearer token has shown no proof of its key or certificate (RFC 7800, RFC
  // 8705, RFC 9449, section 7.1).
  if (payload.get('cnf') !== undefined) throw new Refusal('it is bound to a key (cnf), and no proof came')
  const [audience, scopes, older] = ['aud', 'scope', 'scp'].map(name => payload.get(name))
  return {
    // `scp` is what Microsoft's and Okta's issuers write in place of `scope`.
    subject: { issuer, subject, client, scopes: [...words(scopes), ...words(older)].slice(0, maxScopes) },
    audience: isString(audience) ? [audience] : Array.isArray(audience) ? audience.filter(isString) : [],
  }
}

const words = (value: unknown): readonly string[] =>
  (isString(value) ? scopesIn(value) ?? [] : Array.isArray(value) ? value.filter(isString) : [])
