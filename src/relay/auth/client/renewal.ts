import type { Claim } from '#relay/base/claim.js'
import { reasonOf } from '#relay/base/errors.js'
import { fetchFor } from '#relay/transport/upstream/document.js'
import { HttpFailure, type HttpTls } from '#relay/transport/upstream/pool.js'
import { keyPairOf } from './dpop.js'
import { IssuerClient, isFresh, isLasting, isUnknownClient, RefusedGrant, type Tokens } from './requests.js'
import { withSecrets, type LoginSettings } from './settings.js'
import { withoutRegistration, type LoginFile, type Stored } from './store.js'

interface RenewalOptions {
  /** The MCP server. */
  readonly url: URL
  readonly tls?: HttpTls | undefined
  readonly settings: LoginSettings
  readonly file: LoginFile
  readonly now: () => number
}

/** The pause after a renewal that failed, in milliseconds. */
const retryMs = 5000
/** Time between two looks at the file, in milliseconds: `login` or `logout` may have changed the file. */
const lookMs = 2000

/** Keeps the tokens of one login valid. All processes of a user share one file; one at a time renews. */
export class Renewal {
  readonly #options: RenewalOptions
  #stored: Stored | undefined
  /** Of the file, when it was looked at last. */
  #stamp: string | undefined
  #lookedAt = -Infinity
  #renewing: Promise<Tokens | undefined> | undefined
  /** Why the token could not be renewed; until `until`, it is not tried again. */
  #failure: { readonly error: HttpFailure; readonly until: number } | undefined

  constructor(options: RenewalOptions) {
    this.#options = options
  }

  /** The login that this process knows; `logout` reaches it within two seconds. */
  get stored(): Stored | undefined {
    this.#look()
    return this.#stored
  }

  /** @returns a token that is valid now; a promise where it is being renewed */
  current(): Tokens | undefined | Promise<Tokens | undefined> {
    const { stored } = this
    const tokens = stored?.tokens
    if (stored === undefined || tokens === undefined) return undefined
    const isGood = isFresh(tokens, this.#options.now()) || (this.#isValid(tokens) && !this.#canRenew(stored))
    return isGood ? tokens : this.renewed()
  }

  /**
   * Renews the token.
   * @param refused a token that the server has refused, even if it has not expired
   * @returns a valid token that was not refused; undefined when there is none
   */
  renewed(refused?: string): Promise<Tokens | undefined> {
    this.#renewing ??= this.#renew(refused).catch((error: unknown) => {
      const reason = error instanceof HttpFailure ? error.message : reasonOf(error)
      this.#defer(new HttpFailure(`the login could not be renewed: ${reason}`))
      return this.#validExcept(refused)
    }).finally(() => (this.#renewing = undefined))
    return this.#renewing.then(tokens => (tokens?.access === refused ? undefined : tokens))
  }

  /**
   * The error of a renewal that failed less than `retryMs` ago and left a refresh token. While there is one,
   * the user is not asked to log in, because the login would meet the same issuer.
   */
  get failure(): HttpFailure | undefined {
    const isOpen = this.#failure !== undefined && this.#options.now() < this.#failure.until
    return isOpen && this.#stored?.tokens?.refresh !== undefined ? this.#failure?.error : undefined
  }

  /** Takes over a login that has already been written to the file. */
  take(stored: Stored): void {
    this.#stored = stored
  }

  async keep(stored: Stored): Promise<Tokens | undefined> {
    this.#stored = stored
    await this.#options.file.write(stored)
    return stored.tokens
  }

  /** Resolves when no renewal is under way. */
  async close(): Promise<void> {
    await this.#renewing
  }

  #look(): void {
    const { now, file } = this.#options
    if (this.#renewing !== undefined || Math.abs(now() - this.#lookedAt) < lookMs) return
    this.#lookedAt = now()
    try {
      const stamp = file.stamp()
      if (stamp !== this.#stamp) this.#stored = file.read()
      this.#stamp = stamp
    } catch {
      // It cannot be read now: what is known stays.
    }
  }

  #isValid({ expiresAt }: Tokens): boolean {
    return expiresAt === undefined || this.#options.now() < expiresAt
  }

  /** The stored token, if it is valid and is not the refused one. */
  #validExcept(refused: string | undefined): Tokens | undefined {
    const tokens = this.#stored?.tokens
    return tokens !== undefined && tokens.access !== refused && this.#isValid(tokens) ? tokens : undefined
  }

  /**
   * True if the valid token should be renewed now. A refresh token that may be used up is sent only when the
   * access token has ended.
   */
  #canRenew({ tokens, sentAt }: Stored): boolean {
    if (this.#options.now() < (this.#failure?.until ?? 0)) return false
    if (this.#options.settings.grant === 'client') return true
    return tokens?.refresh !== undefined && sentAt === undefined
  }

  #renew(refused: string | undefined): Promise<Tokens | undefined> {
    const { file } = this.#options
    const fresh = (): Tokens | undefined => {
      this.#stored = file.read()
      const tokens = this.#validExcept(refused)
      return tokens !== undefined && isFresh(tokens, this.#options.now()) ? tokens : undefined
    }
    let isFirst = true
    return file.claimed(held => fresh() ?? this.#renewUnderClaim(held, refused), () => {
      const found = fresh()
      // `claimed` calls this before each try for the claim. From the second call on, another process has the
      // claim and renews: a token that is still valid is used meanwhile.
      const valid = isFirst || refused !== undefined ? undefined : this.#validExcept(refused)
      isFirst = false
      return found ?? valid
    })
  }

  /** Called by the one process that has the claim. */
  async #renewUnderClaim(held: Claim, refused: string | undefined): Promise<Tokens | undefined> {
    const stored = this.#stored
    const tokens = stored?.tokens
    if (stored === undefined || tokens === undefined) return undefined
    const valid = this.#validExcept(refused)
    if (valid !== undefined && !this.#canRenew(stored)) return valid
    const { url, tls, settings, file, now } = this.#options
    const { server, client, resource, dpop, requested } = stored
    const issuer = new IssuerClient({
      server, client: withSecrets(client, settings), fetch: fetchFor(url, tls), now,
      dpop: dpop && await keyPairOf(dpop),
    })
    if (settings.grant === 'client') {
      return this.keep({ ...stored, tokens: await issuer.credentials(resource, requested) })
    }
    const { refresh } = tokens
    if (refresh === undefined) return valid
    // A process that stood still may have lost its claim: then its successor sends the refresh token.
    const lost = held.renew()
    if (lost !== undefined) throw new HttpFailure(lost)
    // Written first: if this process is killed, its successor must know that the token may be used up.
    await this.keep({ ...stored, sentAt: now() })
    try {
      const granted = await issuer.refresh(refresh, resource)
      this.#failure = undefined
      const renewed = {
        ...stored, sentAt: undefined,
        tokens: { ...granted, refresh: granted.refresh ?? refresh, scopes: granted.scopes ?? tokens.scopes },
      }
      if (held.renew() === undefined) return await this.keep(renewed)
      // The process was stopped meanwhile: what its successor got since then stays.
      this.#stored = await file.change(now => (now?.tokens?.refresh === refresh ? renewed : now ?? renewed))
      return this.#validExcept(refused)
    } catch (error) {
      if (!(error instanceof RefusedGrant)) throw error
      this.#defer(error)
      // The access token is kept: it may stay valid.
      const left = { ...stored, tokens: isLasting(error) ? { ...tokens, refresh: undefined } : tokens }
      await this.keep({ ...(isUnknownClient(error) ? withoutRegistration(left) : left), sentAt: undefined })
      return valid
    }
  }

  #defer(error: HttpFailure): void {
    this.#failure = { error, until: this.#options.now() + retryMs }
  }
}
