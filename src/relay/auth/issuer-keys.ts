import type { createRemoteJWKSet } from 'jose'
import { isList, isRecord, isString, field } from '#relay/protocol/unmetered.js'
import { guardedFetch, isAtPrivateAddress } from '#relay/transport/upstream/document.js'
import { documentAt, issuerMetadata } from './client/discovery.js'

/** Keys are fetched again after the first time; if that fails, they stay valid until the second. */
const keysMs = 10 * 60_000
const oldKeysMs = 60 * 60_000
/** Least time between two fetches, in milliseconds: tokens with unknown keys must not flood the issuer. */
const betweenMs = 2000
/** Longest time for all documents, each of which has its own limit, in milliseconds. */
const timeoutMs = 20_000

type KeySet = ReturnType<typeof createRemoteJWKSet>

interface KeysOptions {
  readonly issuer: string
  /** The URL of the keys; undefined: the issuer's metadata names it. */
  readonly jwks: string | undefined
}

/** The issuer's keys, which jose fetches, and remembers, through the guards of this relay. */
export class IssuerKeys {
  readonly #options: KeysOptions
  readonly #now: () => number
  #keys: KeySet | undefined
  #triedAt = -Infinity

  constructor(options: KeysOptions, now: () => number) {
    this.#options = options
    this.#now = now
  }

  /** Old keys are used while new ones are fetched: an issuer that hangs must not delay the checks. */
  async current(): Promise<KeySet> {
    const { createRemoteJWKSet, customFetch } = await import('jose')
    this.#keys ??= createRemoteJWKSet(new URL(this.#options.issuer), {
      cacheMaxAge: oldKeysMs, cooldownDuration: betweenMs, timeoutDuration: timeoutMs,
      [customFetch]: () => this.#fetch(),
    })
    const isOld = this.#keys.jwks() !== undefined && this.#now() - this.#triedAt > keysMs
    if (isOld) this.#keys.reload().catch(() => undefined)
    return this.#keys
  }

  async #fetch(): Promise<Response> {
    if (this.#now() - this.#triedAt < betweenMs) {
      throw new Error('the issuer\'s keys could not be fetched a moment ago')
    }
    this.#triedAt = this.#now()
    const { jwks } = this.#options
    const [url, mayBePrivate] = jwks === undefined ? await this.#discovered() : [new URL(jwks), true]
    const document = await documentAt(url, guardedFetch({ mayBePrivate }), true)
    const keys = document && field(document, 'keys')
    if (!isList(keys)) throw new Error(`${url.href}: holds no keys`)
    return Response.json({ keys: keys.filter(key => isRecord(key) && isString(field(key, 'kty'))) })
  }

  /** The URL of the keys, by the issuer's metadata. */
  async #discovered(): Promise<readonly [url: URL, mayBePrivate: boolean]> {
    const url = new URL(this.#options.issuer)
    const server = await issuerMetadata(this.#options.issuer, guardedFetch({ mayBePrivate: true }))
    if (server?.jwks_uri === undefined) throw new Error(`${url.href}: has no metadata that names a jwks_uri`)
    const keys = new URL(server.jwks_uri)
    return [keys, keys.host === url.host || (await isAtPrivateAddress(url))]
  }
}
