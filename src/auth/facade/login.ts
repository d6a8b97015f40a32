import type { Identity } from '#core/event.js'
import { isString, member } from '#protocol/unmetered.js'
import { unverifiedClaims } from '#transport/http/jwt.js'
import { challengeOf } from '#transport/upstream/authorized.js'
import { fetchFor } from '#transport/upstream/document.js'
import { HttpFailure, type HttpTls } from '#transport/upstream/pool.js'
import { discover, type Discovered } from '../client/discovery.js'
import { givenClient, register, type Client } from '../client/registration.js'
import { IssuerClient, type Begun, type Tokens } from '../client/requests.js'
import type { LoginSettings } from '../client/settings.js'

/** The server behind, at which users log in. */
export interface Behind {
  readonly url: URL
  /** What the operator says of this relay as a client, and which issuer and scopes it asks. */
  readonly settings: Pick<LoginSettings, 'issuer' | 'scopes' | 'client'>
  readonly tls?: HttpTls | undefined
  /** Sent with every request to the server. */
  readonly headers?: ReadonlyMap<string, string> | undefined
}

/** An issuer of tokens for the server: tokens and codes go to no other one. */
export interface Known {
  readonly found: Discovered
  readonly issuer: IssuerClient
  /** Those that the server wants. */
  readonly scopes: readonly string[]
}

/** One login of a user, from here to the issuer and back. */
export interface Going extends Begun {
  readonly known: Known
  readonly scopes: readonly string[]
}

/** The metadata of the server and its issuer counts for so long, in milliseconds. */
const knownMs = 10 * 60_000
/** After a failure, the server is not asked again for so long, in milliseconds. */
const againMs = 5000

/** Logs users in at the issuer of a server, as one client of that issuer. Rejects with HttpFailure. */
export class UpstreamLogin {
  readonly #behind: Behind
  readonly #redirectUri: string
  readonly #now: () => number
  #known: Promise<Known> | undefined
  /** The last metadata that was read. It stays in use while a new attempt to read it fails. */
  #lastKnown: Known | undefined
  #until = 0
  /** By issuer. */
  readonly #clients = new Map<string, Client>()

  constructor(behind: Behind, redirectUri: string, now: () => number = Date.now) {
    this.#behind = behind
    this.#redirectUri = redirectUri
    this.#now = now
  }

  /**
   * The issuer, and what it will be asked for.
   * @param asked the scopes that the client wants; none: those that the server wants
   */
  async plan(
    asked: readonly string[],
  ): Promise<{ readonly issuer: string; readonly scopes: readonly string[] }> {
    const { found: { server }, scopes } = await this.#current()
    const offered = (scope: string): readonly string[] =>
      (server.scopes_supported?.includes(scope) === true ? [scope] : [])
    const { settings } = this.#behind
    // `openid` tells who the user is; without `offline_access` some issuers give no refresh token.
    const own = settings.scopes ?? [...offered('openid'), ...offered('offline_access')]
    return { issuer: server.issuer, scopes: [...new Set([...(asked.length > 0 ? asked : scopes), ...own])] }
  }

  /** @param scopes those that the user has allowed */
  async begin(scopes: readonly string[]): Promise<Going> {
    const known = await this.#current()
    const { resource } = known.found
    const begun = await known.issuer.begin({ redirectUri: this.#redirectUri, resource, scopes })
    return { ...begun, known, scopes }
  }

  /** @param answer the parameters with which the user came back: `state` and `iss` are checked */
  async finish(answer: URLSearchParams, going: Going): Promise<Tokens> {
    const tokens = await going.known.issuer.exchange(answer, going, going.known.found.resource)
    return { ...tokens, scopes: tokens.scopes ?? going.scopes }
  }

  /** The user of these tokens, where the `id_token` or an access token that is a JWT names it. */
  subjectOf({ subject, access }: Tokens, { known: { found } }: Going): Identity | undefined {
    const { issuer } = found.server
    const known = subject ?? subjectIn(access, issuer)
    return known === undefined ? undefined : { issuer, subject: known, scopes: [] }
  }

  #current(): Promise<Known> {
    if (this.#known === undefined || this.#now() > this.#until) {
      this.#until = this.#now() + knownMs
      this.#known = this.#discover().then(known => (this.#lastKnown = known), (error: unknown) => {
        this.#until = this.#now() + againMs
        if (this.#lastKnown === undefined) throw error
        return this.#lastKnown
      })
    }
    return this.#known
  }

  async #discover(): Promise<Known> {
    const { url, settings, tls, headers = new Map<string, string>() } = this.#behind
    const fetch = fetchFor(url, tls)
    const { wanted } = await challengeOf(url, tls, headers)
    const issuer = settings.issuer ?? this.#lastKnown?.found.server.issuer
    const found = await discover(url, { ...wanted, issuer }, fetch)
    if (found === undefined) throw new HttpFailure(`${url.host} names no issuer at which users could log in`)
    const { server } = found
    const known = this.#clients.get(server.issuer)
    const isOver = (known?.secretExpiresAt ?? Infinity) < this.#now() + knownMs
    const client = givenClient(settings.client, server) ?? (isOver ? undefined : known) ?? await register(
      server, { redirectUri: this.#redirectUri, applicationType: kindOf(this.#redirectUri) }, fetch,
    )
    this.#clients.set(server.issuer, client)
    return {
      found, scopes: wanted.scopes ?? found.scopes ?? [],
      issuer: new IssuerClient({ server, client, fetch, now: this.#now }),
    }
  }
}

/** OpenID Connect Registration, section 2: `web` clients have no redirect URI on loopback. */
const kindOf = (redirectUri: string): 'native' | 'web' =>
  (redirectUri.startsWith('https:') ? 'web' : 'native')

/**
 * The `sub` of an access token that is a JWT of the issuer (RFC 9068). The issuer itself has sent the token,
 * over its own connection, so the signature is not checked (OpenID Connect Core, section 3.1.3.7, item 6).
 */
const subjectIn = (token: string, issuer: string): string | undefined => {
  const claims = unverifiedClaims(token)
  if (member(claims, 'iss') !== issuer) return undefined
  const subject = member(claims, 'sub')
  return isString(subject) && subject !== '' ? subject : undefined
}
