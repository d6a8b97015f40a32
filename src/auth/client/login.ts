import { reasonOf } from '#errors.js'
import { NoLogin, type Authorizer, type Given } from '#transport/upstream/authorized.js'
import { guardedFetch, hasPrivateAddress, type GuardedFetch } from '#transport/upstream/document.js'
import { HttpFailure, type HttpReply } from '#transport/upstream/pool.js'
import { nonceOf, wantedBy, type Wanted } from '#transport/http/challenge.js'
import { keyPairOf, proofOf } from './dpop.js'
import { IssuerClient, Refused, type Tokens } from './requests.js'
import type { LoginFile, LoginFolder, Stored } from './store.js'
import {
  clientLogin, UserLogin, withSecrets, type LoginSettings, type Purpose, type UserLoginOptions,
} from './user-login.js'

export interface LoginOptions {
  readonly url: URL
  readonly settings: LoginSettings
  readonly folder: LoginFolder
  /** Whose login it is, where a server has several; undefined: this user's. */
  readonly subject?: string | undefined
  /** Shows the URL of a login to the person. */
  readonly show: (url: string, isNew: boolean) => void
  readonly warn: (message: string) => void
  readonly now?: () => number
}

/** A token is renewed so long before its end, in milliseconds, or a fifth of its lifetime if that is less. */
const marginMs = 60_000
/** After a refresh that failed, the token that is still valid is used for so long, in milliseconds. */
const retryMs = 5000
/** After a login that failed, the user is not asked again for so long, in milliseconds. */
const againMs = 30_000
/** Step-ups for the same scopes. */
const maxStepUps = 2
/** How often those who wait hear that a login is awaited, in milliseconds. */
const tellMs = 1000

type Shown = Given & { readonly tokens: Tokens }

interface Asking {
  readonly user: UserLogin | undefined
  readonly done: Promise<Stored | undefined>
}

/**
 * This program's login at one MCP server: shows the token with each request, renews it in time, and asks the
 * user to log in when the server wants it. All processes of a user share one file; one of them at a time
 * renews.
 */
export class Login implements Authorizer {
  readonly #options: LoginOptions
  readonly #file: LoginFile
  readonly #now: () => number
  #stored: Stored | undefined
  #fetch: Promise<GuardedFetch> | undefined
  #renewing: Promise<Tokens | undefined> | undefined
  #asking: Asking | undefined
  /** The access token that the last login brought: if the server refuses it, no further login helps. */
  #brought: string | undefined
  /** Why a token that has a successor could not be renewed; until `until`, it is not tried again. */
  #fault: { readonly error: HttpFailure; readonly until: number } | undefined
  #failure: { readonly error: HttpFailure; readonly until: number } | undefined
  /** How often each set of scopes was stepped up to. */
  readonly #stepUps = new Map<string, number>()
  readonly #listeners = new Set<(message: string) => void>()
  /** The server's nonce for proofs. */
  #nonce: string | undefined
  /** The server takes bound tokens as bearer tokens: it does not know RFC 9449. */
  #asBearer = false

  constructor(options: LoginOptions) {
    const { url, settings, folder, subject, now = Date.now } = options
    this.#options = options
    this.#now = now
    this.#file = folder.file(url.href, whoOf(settings, subject))
    this.#stored = this.#file.read()
  }

  given(method: string, url: URL): Shown | undefined | Promise<Shown | undefined> {
    const stored = this.#stored
    const tokens = stored?.tokens
    if (stored === undefined || tokens === undefined) return undefined
    if (this.#isFresh(tokens) || (this.#isValid(tokens) && !this.#canRenew(stored))) {
      return this.#shown(tokens, method, url)
    }
    return this.#renewed().then(found => found && this.#shown(found, method, url))
  }

  async refused(reply: HttpReply, given: Given | undefined, tries: number): Promise<boolean> {
    const wanted = wantedBy(reply.headers)
    const tokens = given !== undefined && 'tokens' in given ? (given as Shown).tokens : undefined
    if (reply.status === 403) return wanted.error === 'insufficient_scope' && this.#steppedUp(wanted, tokens)
    if (tokens !== undefined && this.#changedProof(reply, wanted, tokens)) return true
    if (tokens !== undefined && tries === 0 && (await this.#renewed(tokens.access)) !== undefined) return true
    // A token that was accepted before may have been revoked since: that is another try of another request.
    if (tokens !== undefined && tries > 0 && tokens.access === this.#brought) {
      this.#options.warn(`${this.#options.url.host} refuses the token that its issuer has given for it`)
      return false
    }
    const { until = 0, error } = this.#fault ?? {}
    // The issuer cannot be reached: a user who logs in could not either.
    if (error !== undefined && until > this.#now() && this.#stored?.tokens?.refresh !== undefined) throw error
    return this.#loggedIn({ wanted, refused: tokens?.access, scopes: [] })
  }

  waiting(told: (message: string) => void): () => void {
    this.#listeners.add(told)
    return () => this.#listeners.delete(told)
  }

  async close(): Promise<void> {
    this.#asking?.user?.close()
    await this.#renewing?.catch(() => undefined)
  }

  #isValid({ expiresAt }: Tokens): boolean {
    return expiresAt === undefined || this.#now() < expiresAt
  }

  #isFresh({ expiresAt, lifetimeMs = Infinity }: Tokens): boolean {
    return expiresAt === undefined || this.#now() < expiresAt - Math.min(marginMs, lifetimeMs / 5)
  }

  /** Whether a new token is worth asking for while this one is valid. */
  #canRenew({ tokens, sentAt }: Stored): boolean {
    if (this.#now() < (this.#fault?.until ?? 0)) return false
    // A refresh token that may be used up is tried when there is nothing to lose.
    return this.#options.settings.grant === 'client' || (tokens?.refresh !== undefined && sentAt === undefined)
  }

  #shown(tokens: Tokens, method: string, url: URL): Shown | Promise<Shown> {
    const key = this.#stored?.dpop
    const bound = tokens.type === 'dpop' && key !== undefined && !this.#asBearer ? key : undefined
    if (bound === undefined) return { headers: [['authorization', `Bearer ${tokens.access}`]], tokens }
    const token = tokens.access
    return proofOf({ key: bound, method, url, token, nonce: this.#nonce, now: this.#now() })
      .then(proof => ({ headers: [['authorization', `DPoP ${token}`], ['dpop', proof]], tokens }))
  }

  /** Whether the same token is to be shown in another way. */
  #changedProof({ headers }: HttpReply, { error, schemes }: Wanted, { type }: Tokens): boolean {
    if (type !== 'dpop' || this.#asBearer) return false
    const nonce = nonceOf(headers)
    if (error === 'use_dpop_nonce' && nonce !== undefined && nonce !== this.#nonce) {
      this.#nonce = nonce
      return true
    }
    this.#asBearer = !schemes.includes('dpop') && error === undefined
    return this.#asBearer
  }

  /** @param refused a token that the server has refused, whatever its time says @returns a valid one */
  #renewed(refused?: string): Promise<Tokens | undefined> {
    this.#renewing ??= this.#renew(refused).catch((error: unknown) => {
      const reason = error instanceof HttpFailure ? error.message : reasonOf(error)
      this.#hold(new HttpFailure(`the login could not be renewed: ${reason}`))
      return undefined
    }).finally(() => (this.#renewing = undefined))
    return this.#renewing.then(tokens => (tokens?.access === refused ? undefined : tokens))
  }

  async #renew(refused: string | undefined): Promise<Tokens | undefined> {
    const fresh = (): Tokens | undefined => {
      const tokens = (this.#stored = this.#file.read())?.tokens
      return tokens !== undefined && tokens.access !== refused && this.#isFresh(tokens) ? tokens : undefined
    }
    let isFirst = true
    const held = await this.#file.claimed(() => {
      const found = fresh()
      // Another process renews: a token that is still valid is used meanwhile.
      const tokens = isFirst || refused !== undefined ? undefined : this.#stored?.tokens
      isFirst = false
      return found ?? (tokens !== undefined && this.#isValid(tokens) ? tokens : undefined)
    })
    if ('instead' in held) return held.instead
    try {
      return fresh() ?? (await this.#renewAlone(refused))
    } finally {
      held.release()
    }
  }

  /** Called by the one process that has the claim. */
  async #renewAlone(refused: string | undefined): Promise<Tokens | undefined> {
    const stored = this.#stored
    const tokens = stored?.tokens
    if (stored === undefined || tokens === undefined) return undefined
    const valid = tokens.access !== refused && this.#isValid(tokens) ? tokens : undefined
    if (valid !== undefined && !this.#canRenew(stored)) return valid
    const { settings } = this.#options
    const { server, client, resource, dpop, requested } = stored
    const issuer = new IssuerClient({
      server, client: withSecrets(client, settings), fetch: await this.#guarded(), now: this.#now,
      dpop: dpop && await keyPairOf(dpop),
    })
    if (settings.grant === 'client') {
      return this.#keep({ ...stored, tokens: await issuer.credentials(resource, requested) })
    }
    const { refresh } = tokens
    if (refresh === undefined) return valid
    // On disk before the token is sent: whoever takes over from a process that was killed knows of it.
    await this.#keep({ ...stored, sentAt: this.#now() })
    try {
      const granted = await issuer.refresh(refresh, resource)
      this.#fault = undefined
      return await this.#keep({
        ...stored, sentAt: undefined,
        tokens: { ...granted, refresh: granted.refresh ?? refresh, scopes: granted.scopes ?? tokens.scopes },
      })
    } catch (error) {
      if (!(error instanceof Refused)) {
        if (valid === undefined) throw error
        this.#hold(new HttpFailure('the login could not be renewed'))
        return valid
      }
      // The access token stays: it may be valid for long.
      const isOver = lasting.has(error.error)
      this.#hold(error)
      const left = isOver ? { ...tokens, refresh: undefined } : tokens
      await this.#keep({ ...stored, sentAt: undefined, tokens: left })
      return valid
    }
  }

  async #keep(stored: Stored): Promise<Tokens | undefined> {
    this.#stored = stored
    await this.#file.write(stored)
    return stored.tokens
  }

  #hold(error: HttpFailure): void {
    this.#fault = { error, until: this.#now() + retryMs }
  }

  async #steppedUp(wanted: Wanted, tokens: Tokens | undefined): Promise<boolean> {
    if (wanted.scopes === undefined || wanted.scopes.length === 0) return false
    const key = [...wanted.scopes].sort().join(' ')
    const times = (this.#stepUps.get(key) ?? 0) + 1
    if (times > maxStepUps) return false
    this.#stepUps.set(key, times)
    return this.#loggedIn({ wanted, refused: tokens?.access, scopes: this.#stored?.tokens?.scopes ?? [] })
  }

  /** @throws HttpFailure when nobody logs in in time, or the login fails */
  async #loggedIn(purpose: Purpose): Promise<boolean> {
    const { loginMs } = this.#options.settings
    if (this.#failure !== undefined && this.#now() < this.#failure.until) throw this.#failure.error
    const fetch = await this.#guarded()
    const asking = (this.#asking ??= this.#ask(purpose, fetch))
    let timer: NodeJS.Timeout | undefined
    const late = (asking.user?.shown ?? Promise.resolve()).then(() => new Promise<'late'>(resolve => {
      timer = setTimeout(() => resolve('late'), loginMs)
    }))
    const reminder = setInterval(() => this.#remind(), tellMs)
    this.#remind()
    try {
      const stored = await Promise.race([asking.done, late])
      if (stored === 'late') throw this.#nobody(asking.user)
      if (stored === undefined) return false
      this.#stored = stored
      this.#brought = stored.tokens?.access
      return true
    } finally {
      clearTimeout(timer)
      clearInterval(reminder)
    }
  }

  #ask(purpose: Purpose, fetch: GuardedFetch): Asking {
    const { url, settings, show } = this.#options
    const options: UserLoginOptions = {
      url, settings, file: this.#file, fetch, show, now: this.#now, alone: true,
    }
    const user = settings.grant === 'user' ? new UserLogin(options) : undefined
    const login = user?.run(purpose) ?? this.#asClient(options, purpose)
    const done = login.catch((error: unknown) => {
      const reason = error instanceof HttpFailure ? error.message : reasonOf(error)
      const message = `the server asks for a login (HTTP 401), which failed: ${reason}`
      const isUnasked = user !== undefined && user.startUrl === undefined
      const failure = isUnasked
        ? new NoLogin(`${message}; credentials can be given by --header Authorization=VALUE`)
        : new HttpFailure(message)
      if (isUnasked) this.#options.warn(`${url.host}: ${message}`)
      this.#failure = { error: failure, until: this.#now() + againMs }
      throw failure
    }).finally(() => (this.#asking = undefined))
    // Those who waited may have gone.
    done.catch(() => undefined)
    return { user, done }
  }

  /** One process at a time: the others take its token. */
  async #asClient(options: UserLoginOptions, purpose: Purpose): Promise<Stored | undefined> {
    const held = await this.#file.claimed(() => {
      const stored = this.#file.read()
      const tokens = stored?.tokens
      const isNew = tokens !== undefined && tokens.access !== purpose.refused && this.#isFresh(tokens)
      return isNew && purpose.scopes.length === 0 ? stored : undefined
    })
    if ('instead' in held) return held.instead
    try {
      const stored = await clientLogin(options, purpose)
      if (stored !== undefined) await this.#keep(stored)
      return stored
    } finally {
      held.release()
    }
  }

  #nobody(user: UserLogin | undefined): HttpFailure {
    const { url, settings: { loginMs } } = this.#options
    const start = user?.startUrl
    return new HttpFailure(`the server asks for a login, and nobody has logged in within ${loginMs / 1000} s: ` +
      `${start === undefined ? '' : `open ${start} in a browser, or `}run mcp-customs login ${url.origin}${url.pathname}`)
  }

  #remind(): void {
    for (const told of this.#listeners) told('waiting for a login in the browser')
  }

  #guarded(): Promise<GuardedFetch> {
    return (this.#fetch ??= reachOf(this.#options.url))
  }
}

/** Errors after which a refresh token is of no use (RFC 6749, section 5.2). */
const lasting: ReadonlySet<string> = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client'])

/** Private addresses may be asked where the operator's own URL is at one. */
export const reachOf = async (url: URL): Promise<GuardedFetch> =>
  guardedFetch({ mayBePrivate: await hasPrivateAddress(url) })

/** Distinguishes several logins at one server. */
export const whoOf = ({ clientId, clientMetadataUrl }: LoginSettings, subject = ''): string =>
  JSON.stringify([clientId ?? clientMetadataUrl ?? '', subject])
