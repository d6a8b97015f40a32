import type * as Jose from 'jose'
import { isObject, isString } from '#protocol/json.js'
import { isArray, member } from '#protocol/unmetered.js'
import { metadataUrls } from '#transport/http/well-known.js'
import { documentFailure, fetchJson, isAtPrivateAddress } from '#transport/upstream/document.js'

/** Keys are fetched again after the first time; if that fails, they stay valid until the second. */
const keysMs = 10 * 60_000
const oldKeysMs = 60 * 60_000
/** Least time between two fetches, in milliseconds: tokens with unknown keys must not flood the issuer. */
const betweenMs = 2000

type KeySet = ReturnType<typeof Jose.createLocalJWKSet>

interface KeysOptions {
  readonly issuer: string
  /** The URL of the keys; undefined: the issuer's metadata names it. */
  readonly jwks: string | undefined
}

/** Fetches the issuer's keys, and remembers them. */
export class IssuerKeys {
  readonly #options: KeysOptions
  readonly #now: () => number
  #keys: KeySet | undefined
  #fetchedAt = -Infinity
  #triedAt = -Infinity
  #fetching: Promise<void> | undefined

  constructor(options: KeysOptions, now: () => number) {
    this.#options = options
    this.#now = now
  }

  /**
   * Old keys are used while new ones are fetched: an issuer that hangs must not delay the checks.
   * @throws Error where there are none
   */
  async current(): Promise<KeySet> {
    const age = this.#now() - this.#fetchedAt
    if (age > oldKeysMs) await this.#fetch()
    else if (age > keysMs) this.#fetch().catch(() => undefined)
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
    const { jwks } = this.#options
    const [url, mayBePrivate] = jwks === undefined ? await this.#discovered() : [new URL(jwks), true]
    const { status, body } = await fetched(url, { mayBePrivate })
    const keys = isObject(body) ? member(body, 'keys') : undefined
    if (status !== 200 || !isArray(keys)) throw new Error(`${url.href}: holds no keys (HTTP ${status})`)
    const { createLocalJWKSet } = await import('jose')
    this.#keys = createLocalJWKSet({ keys: keys.filter(isJwk) })
    this.#fetchedAt = this.#now()
  }

  /** The URL of the keys, by the issuer's metadata (2026-07-28, authorization server discovery). */
  async #discovered(): Promise<readonly [url: URL, mayBePrivate: boolean]> {
    const { issuer } = this.#options
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

/** Fetches a document of the issuer. @throws Error that tells the operator which one */
export const fetched: typeof fetchJson = async (url, request) => {
  try {
    return await fetchJson(url, request)
  } catch (error) {
    throw new Error(documentFailure(url, error), { cause: error })
  }
}
