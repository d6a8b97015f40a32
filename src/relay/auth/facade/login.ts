import { randomUUID } from 'node:crypto'
import { isString } from '#relay/protocol/json.js'
import { challengeOf } from '#relay/transport/upstream/authorized.js'
import { fetchFor, type GuardedFetch } from '#relay/transport/upstream/document.js'
import { HttpFailure, type HttpTls } from '#relay/transport/upstream/pool.js'
import { discover, issuerMetadata, type AuthorizationServer } from '../client/discovery.js'
import { givenClient, register, type RegisteredClient } from '../client/registration.js'
import { IssuerClient, isUnknownClient, type Tokens } from '../client/requests.js'
import { withoutSecrets, withSecrets, type LoginSettings } from '../client/settings.js'
import { unverifiedPayload } from '../issuer.js'
import type { Answered, Grant, Via } from './seals.js'

/** The server behind, at which users log in. */
export interface Behind {
  readonly url: URL
  /** What the operator says of this relay as a client, and which issuer and scopes it asks. */
  readonly settings: LoginSettings
  readonly tls?: HttpTls | undefined
  /** Sent with every request to the server. */
  readonly headers?: ReadonlyMap<string, string> | undefined
}

/** Where users log in now. */
interface Known {
  readonly server: AuthorizationServer
  readonly via: Via
  /** Those that the server wants. */
  readonly scopes: readonly string[]
}

/** The time that users have for the login at the issuer, in milliseconds. */
export const loginMs = 600_000
/** How long the metadata of the server and its issuer counts, in milliseconds. */
const knownMs = 10 * 60_000
/** The pause after a failure before the server is asked again, in milliseconds. */
const againMs = 5000

/** Logs users in at the issuer of a server, as one client of that issuer. Rejects with HttpFailure. */
export class UpstreamLogin {
  readonly #behind: Behind
  readonly #redirectUri: string
  readonly #now: () => number
  readonly #fetch: GuardedFetch
  #known: Promise<Known> | undefined
  /** The last metadata that was read. It stays in use while a new attempt to read it fails. */
  #lastKnown: Known | undefined
  #until = 0
  /** The client that this process has registered, and whether the issuer may have forgotten it. */
  #registered: RegisteredClient | undefined
  #isForgotten = false
  /** When the first login of those was begun of which no user has come back yet. */
  #begunAt: number | undefined

  constructor(behind: Behind, redirectUri: string, now: () => number) {
    this.#behind = behind
    this.#redirectUri = redirectUri
    this.#now = now
    this.#fetch = fetchFor(behind.url, behind.tls)
  }

  /**
   * Begins a login of a user.
   * @param asked the scopes that the client wants; none: those that the server wants
   * @param stateFor makes the `state` that the issuer brings back
   * @returns the issuer's URL for the user
   */
  async begin(
    asked: readonly string[],
    stateFor: (begun: Pick<Answered, 'via' | 'scopes' | 'verifier'>) => Promise<string>,
  ): Promise<string> {
    // An issuer that has forgotten its client shows an error and sends nobody back.
    if (this.#now() > (this.#begunAt ?? Infinity) + loginMs) this.#registerAgain()
    this.#begunAt ??= this.#now()
    const { server, via, scopes: wanted } = await this.#current()
    const offered = (scope: string): readonly string[] =>
      (server.scopes_supported?.includes(scope) === true ? [scope] : [])
    // `openid` tells who the user is; without `offline_access` some issuers give no refresh token.
    const own = this.#behind.settings.scopes ?? [...offered('openid'), ...offered('offline_access')]
    const scopes = [...new Set([...(asked.length > 0 ? asked : wanted), ...own])]
    const { url } = await (await this.#clientOf(via)).begin({
      redirectUri: this.#redirectUri, resource: via.resource, scopes,
      stateFor: verifier => stateFor({ via, scopes, verifier }),
    })
    return url
  }

  /** Checks the `state` and `iss` with which the user came back. @throws Refused with the issuer's error */
  async check({ via }: Pick<Answered, 'via'>, answer: URLSearchParams, state: string): Promise<void> {
    this.#begunAt = undefined
    await (await this.#clientOf(via)).check(answer, state)
  }

  async exchange({ via, verifier, scopes, code, iss }: Answered): Promise<Tokens> {
    // The real `state` was checked when the user came back.
    const state = 'checked'
    const answer = new URLSearchParams({ code, state, ...(iss !== undefined && { iss }) })
    const tokens = await this.#asking(via, issuer =>
      issuer.exchange(answer, { state, verifier, redirectUri: this.#redirectUri }, via.resource))
    return { ...tokens, scopes: tokens.scopes ?? scopes }
  }

  async refresh({ via, token, scopes }: Grant): Promise<Tokens> {
    const tokens = await this.#asking(via, issuer => issuer.refresh(token, via.resource))
    return { ...tokens, scopes: tokens.scopes ?? scopes }
  }

  async revoke({ via, token }: Grant): Promise<void> {
    await this.#asking(via, issuer => issuer.revoke(token))
  }

  /** The user of these tokens. If neither token names one, this login is a subject of its own. */
  async subjectOf({ subject, access }: Tokens, { issuer }: Via): Promise<Grant['subject']> {
    return { issuer, subject: subject ?? await subjectIn(access, issuer) ?? randomUUID() }
  }

  async #asking<Answer>(via: Via, ask: (issuer: IssuerClient) => Promise<Answer>): Promise<Answer> {
    try {
      return await ask(await this.#clientOf(via))
    } catch (error) {
      if (isUnknownClient(error) && this.#registered?.id === via.client.id) this.#registerAgain()
      throw error
    }
  }

  /** The next login registers this relay again. */
  #registerAgain(): void {
    this.#isForgotten = true
    this.#begunAt = undefined
    this.#until = 0
  }

  async #clientOf({ issuer, client }: Via): Promise<IssuerClient> {
    const last = this.#lastKnown?.server
    const server = last?.issuer === issuer ? last : await issuerMetadata(issuer, this.#fetch)
    if (server === undefined) throw new HttpFailure(`the issuer ${issuer} has no metadata`)
    const { settings } = this.#behind
    return new IssuerClient({
      server, client: withSecrets(client, settings), fetch: this.#fetch, now: this.#now,
    })
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
    const { wanted } = await challengeOf(url, tls, headers)
    // The first issuer is kept: a server cannot send users and their codes to another one later.
    const issuer = settings.issuer ?? this.#lastKnown?.server.issuer
    const found = await discover(url, { ...wanted, issuer }, this.#fetch)
    if (found === undefined) throw new HttpFailure(`${url.host} names no issuer at which users could log in`)
    const { server, resource } = found
    const client = givenClient(settings.client, server) ?? await this.#ownClient(server)
    return {
      server, via: { issuer: server.issuer, resource, client: withoutSecrets(client, settings) },
      scopes: wanted.scopes ?? found.scopes ?? [],
    }
  }

  async #ownClient(server: AuthorizationServer): Promise<RegisteredClient> {
    const { secretExpiresAt = Infinity } = this.#registered ?? {}
    if (this.#registered === undefined || this.#isForgotten || secretExpiresAt < this.#now() + knownMs) {
      const redirectUri = this.#redirectUri
      // OpenID Connect Registration, section 2: `web` clients have no redirect URI on loopback.
      const applicationType = redirectUri.startsWith('https:') ? 'web' : 'native'
      this.#registered = await register(server, { redirectUri, applicationType }, this.#fetch)
      this.#isForgotten = false
    }
    return this.#registered
  }
}

/**
 * The `sub` of an access token that is a JWT of the issuer (RFC 9068). The issuer itself has sent the token,
 * over its own connection, so the signature is not checked (OpenID Connect Core, section 3.1.3.7, item 6).
 */
const subjectIn = async (token: string, issuer: string): Promise<string | undefined> => {
  const { iss, sub } = await unverifiedPayload(token) ?? {}
  return iss === issuer && isString(sub) && sub !== '' ? sub : undefined
}
