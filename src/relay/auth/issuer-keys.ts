import type { createRemoteJWKSet } from 'jose'
import { isList, isRecord, isString, field, parseData } from '#relay/protocol/unmetered.js'
import { metadataUrls } from '#relay/transport/http/well-known.js'
import { documentFailure, guardedFetch, isAtPrivateAddress } from '#relay/transport/upstream/document.js'
import type { Json } from '#relay/protocol/json.js'

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
    const { status, body } = await documentAt(url, mayBePrivate)
    const keys = isRecord(body) ? field(body, 'keys') : undefined
    if (status !== 200 || !isList(keys)) throw new Error(`${url.href}: holds no keys (HTTP ${status})`)
    return Response.json({ keys: keys.filter(key => isRecord(key) && isString(field(key, 'kty'))) })
  }

  /** The URL of the keys, by the issuer's metadata (2026-07-28, authorization server discovery). */
  async #discovered(): Promise<readonly [url: URL, mayBePrivate: boolean]> {
    const { issuer } = this.#options
    for (const url of metadataUrls(new URL(issuer))) {
      const { status, body } = await documentAt(url, true)
      if (status !== 200 || !isRecord(body)) continue
      // A document of another issuer (RFC 8414, section 3.3).
      if (field(body, 'issuer') !== issuer) throw new Error(`${url.href}: is of another issuer`)
      const named = field(body, 'jwks_uri')
      if (!isString(named) || !URL.canParse(named)) throw new Error(`${url.href}: names no jwks_uri`)
      const keys = new URL(named)
      return [keys, keys.host === url.host || (await isAtPrivateAddress(url))]
    }
    throw new Error(`${issuer}: has no metadata at its well-known paths`)
  }
}

/** @param mayBePrivate the operator has named the URL, or its owner is there @throws Error that names it */
const documentAt = async (
  url: URL, mayBePrivate: boolean,
): Promise<{ readonly status: number; readonly body: Json | undefined }> => {
  try {
    const fetch = guardedFetch({ mayBePrivate })
    const response = await fetch(url.href, { method: 'GET', headers: { accept: 'application/json' } })
    return { status: response.status, body: parseData(await response.text()) }
  } catch (error) {
    throw new Error(documentFailure(url, error), { cause: error })
  }
}
