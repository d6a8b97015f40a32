import { reasonOf, visible, wordsText } from '#relay/base/errors.js'
import { NoLogin, type Authorization, type Authorizer } from '#relay/transport/upstream/authorized.js'
import { fetchFor } from '#relay/transport/upstream/document.js'
import { HttpFailure, type HttpReply, type HttpTls } from '#relay/transport/upstream/pool.js'
import { nonceOf, wantedBy, type WantedAccess } from '#relay/transport/http/challenge.js'
import { proofOf } from './dpop.js'
import { Renewal } from './renewal.js'
import { isFresh, type Tokens } from './requests.js'
import type { Holder, LoginSettings, Purpose } from './settings.js'
import type { LoginFile, LoginFolder, Stored } from './store.js'
import { UserLogin, type UserLoginOptions } from './user-login.js'
import { clientLogin } from './without-browser.js'

export interface LoginOptions {
  readonly url: URL
  /** For connections to the server, and to the metadata and endpoints at its origin. */
  readonly tls?: HttpTls | undefined
  readonly settings: LoginSettings
  /**
   * The client whose login it is; undefined: the user of this process. A holder is never asked to log in
   * here: whoever opens the URL logs in with an account, and nothing proves that this person is the holder.
   */
  readonly holder?: Holder | undefined
  readonly folder: LoginFolder
  readonly show: UserLoginOptions['show']
  readonly warn: (message: string) => void
  readonly now?: () => number
}

/** The pause after a login that failed before the user is asked again, in milliseconds. */
const againMs = 30_000
/** Most step-ups to the same scopes within `stepUpsMs` (milliseconds). */
const maxStepUps = 2
const stepUpsMs = 10 * 60_000
/** Sets of scopes whose step-ups are counted: a server names them. */
const maxSets = 100
/** Interval at which a waiting request reports that a login is needed, in milliseconds. */
const tellMs = 1000

type Presented = Authorization & { readonly tokens: Tokens }

interface Asking {
  readonly user: UserLogin | undefined
  readonly done: Promise<Stored | undefined>
  /** Requests that wait. */
  waiting: number
  /** All have waited in vain: the next one begins anew. */
  isLate: boolean
}

/** This program's login at one MCP server: presents the token, and asks the user to log in. */
export class Login implements Authorizer {
  readonly #options: LoginOptions
  readonly #file: LoginFile
  readonly #now: () => number
  readonly #renewal: Renewal
  #asking: Asking | undefined
  /** The access token that the last login brought: if the server refuses it, no further login helps. */
  #newestToken: string | undefined
  #loginFailure: { readonly error: HttpFailure; readonly until: number } | undefined
  /** By scopes: how often they were stepped up to, since when. The oldest first. */
  readonly #stepUps = new Map<string, { readonly times: number; readonly since: number }>()
  readonly #listeners = new Set<(message: string) => void>()
  /** The server's nonce for proofs. */
  #nonce: string | undefined
  #hasWarned = false
  /** A bound token that the server takes as a bearer token: it does not know RFC 9449. */
  #bearer: string | undefined

  constructor(options: LoginOptions) {
    const { url, tls, settings, holder, folder, now = Date.now } = options
    this.#options = options
    this.#now = now
    this.#file = folder.file(url.href, settings, holder)
    this.#renewal = new Renewal({ url, tls, settings, file: this.#file, now })
  }

  authorizationFor(method: string, url: URL): Presented | undefined | Promise<Presented | undefined> {
    const tokens = this.#renewal.current()
    if (tokens === undefined) return undefined
    return tokens instanceof Promise
      ? tokens.then(found => found && this.#presented(found, method, url))
      : this.#presented(tokens, method, url)
  }

  async refused(reply: HttpReply, given: Authorization | undefined, tries: number): Promise<boolean> {
    const wanted = wantedBy(reply.headers)
    const tokens = given !== undefined && 'tokens' in given ? (given as Presented).tokens : undefined
    if (reply.status === 403) return wanted.error === 'insufficient_scope' && this.#steppedUp(wanted, tokens)
    if (tokens !== undefined && this.#changedProof(reply, wanted, tokens)) return true
    if (tokens?.access === this.#newestToken) this.#throwIfFailed()
    // A token that has expired by now may have been refused for that alone.
    const hasExpired = (tokens?.expiresAt ?? Infinity) <= this.#now()
    if (tokens !== undefined && (tries === 0 || hasExpired)) {
      if ((await this.#renewal.renewed(tokens.access)) !== undefined) return true
    } else if (tokens !== undefined && tokens.access === this.#newestToken) {
      // Only a second refusal in one request is final. At the first, the server may have revoked a token
      // that it accepted before.
      const message = `${this.#options.url.host} refuses the token that its issuer has given for it`
      this.#loginFailure = { error: new HttpFailure(message), until: this.#now() + againMs }
      this.#options.warn(message)
      return false
    }
    const { failure } = this.#renewal
    if (failure !== undefined) throw failure
    return this.#loggedIn({ wanted, refused: tokens?.access, scopes: [] })
  }

  waiting(told: (message: string) => void): () => void {
    this.#listeners.add(told)
    return () => this.#listeners.delete(told)
  }

  async close(): Promise<void> {
    await Promise.all([this.#asking?.user?.close(), this.#renewal.close()])
  }

  #presented(tokens: Tokens, method: string, url: URL): Presented | Promise<Presented> {
    const key = this.#renewal.stored?.dpop
    const bound = tokens.type === 'dpop' && tokens.access !== this.#bearer ? key : undefined
    if (bound === undefined) return { headers: [['authorization', `Bearer ${tokens.access}`]], tokens }
    const token = tokens.access
    return proofOf({ key: bound, method, url, token, nonce: this.#nonce, now: this.#now() })
      .then(proof => ({ headers: [['authorization', `DPoP ${token}`], ['dpop', proof]], tokens }))
  }

  /** Whether the same token is to be presented in another way. */
  #changedProof({ headers }: HttpReply, { error, schemes }: WantedAccess, { type, access }: Tokens): boolean {
    if (type !== 'dpop') return false
    const nonce = nonceOf(headers)
    if (error === 'use_dpop_nonce' && nonce !== undefined && nonce !== this.#nonce) {
      this.#nonce = nonce
      return true
    }
    const isBearer = access === this.#bearer
    const knowsProofs = schemes.includes('dpop')
    if (knowsProofs) this.#bearer = undefined
    else if (schemes.includes('bearer') && error === undefined) this.#bearer = access
    return isBearer ? knowsProofs : access === this.#bearer
  }

  async #steppedUp(wanted: WantedAccess, tokens: Tokens | undefined): Promise<boolean> {
    const { scopes } = wanted
    if (scopes === undefined || scopes.length === 0) return false
    const known = this.#renewal.stored?.tokens
    // Another request has stepped up meanwhile.
    if (known?.access !== tokens?.access && scopes.every(scope => known?.scopes?.includes(scope))) return true
    if (this.#asking === undefined && !this.#countsStepUp(scopes)) return false
    return this.#loggedIn({ wanted, refused: tokens?.access, scopes: known?.scopes ?? [] })
  }

  /** @returns false after too many step-ups to the same scopes */
  #countsStepUp(scopes: readonly string[]): boolean {
    const key = [...scopes].sort().join(' ')
    const found = this.#stepUps.get(key)
    const { times, since } = found !== undefined && this.#now() - found.since < stepUpsMs
      ? found : { times: 0, since: this.#now() }
    if (times >= maxStepUps) return false
    this.#stepUps.delete(key)
    this.#stepUps.set(key, { times: times + 1, since })
    if (this.#stepUps.size > maxSets) this.#stepUps.delete(this.#stepUps.keys().next().value ?? '')
    return true
  }

  #throwIfFailed(): void {
    const { error, until = 0 } = this.#loginFailure ?? {}
    if (error !== undefined && this.#now() < until) throw error
  }

  /** @throws HttpFailure when nobody logs in in time, or the login fails */
  async #loggedIn(purpose: Purpose): Promise<boolean> {
    this.#throwIfFailed()
    const { holder } = this.#options
    // Nothing shows which user the client is: it hears what the server says.
    if (holder?.name === '' && holder.issuer === '') {
      if (!this.#hasWarned && purpose.wanted.schemes.length > 0) this.#options.warn(unnamed)
      this.#hasWarned ||= purpose.wanted.schemes.length > 0
      return false
    }
    if (holder !== undefined) throw new HttpFailure(unasked(holder, purpose))
    if (this.#asking?.isLate === true && this.#options.settings.client === undefined) {
      const { user } = this.#asking
      this.#asking = undefined
      await user?.close()
    }
    const asking = (this.#asking ??= this.#ask(purpose))
    asking.waiting += 1
    let timer: NodeJS.Timeout | undefined
    const late = (asking.user?.shown ?? Promise.resolve()).then(() => new Promise<'late'>(resolve => {
      timer = setTimeout(() => resolve('late'), this.#options.settings.loginMs)
    }))
    const reminder = setInterval(() => this.#remind(), tellMs)
    this.#remind()
    try {
      const stored = await Promise.race([asking.done, late])
      if (stored === 'late') {
        asking.isLate = asking.waiting === 1 && asking.user?.late() === true
        throw this.#timedOut(asking.user)
      }
      if (stored === undefined) return false
      this.#renewal.take(stored)
      this.#newestToken = stored.tokens?.access
      return true
    } finally {
      asking.waiting -= 1
      clearTimeout(timer)
      clearInterval(reminder)
    }
  }

  #ask(purpose: Purpose): Asking {
    const { url, tls, settings, show } = this.#options
    const options: UserLoginOptions = {
      url, settings, file: this.#file, fetch: fetchFor(url, tls), show, now: this.#now, alone: true,
    }
    const user = settings.grant === 'user' ? new UserLogin(options) : undefined
    const login = user?.run(purpose) ?? this.#asClient(options, purpose)
    const done = login.catch((error: unknown) => {
      // A login that was begun anew has taken its place.
      if (this.#asking !== asking) throw error
      const reason = error instanceof HttpFailure ? error.message : reasonOf(error)
      const message = `the server asks for a login (HTTP 401), which failed: ${reason}`
      const isUnasked = user !== undefined && user.startUrl === undefined
      const failure = isUnasked
        ? new NoLogin(`${message}; credentials can be given by --header Authorization=VALUE`)
        : new HttpFailure(message)
      if (isUnasked) this.#options.warn(`${url.host}: ${message}`)
      this.#loginFailure = { error: failure, until: this.#now() + againMs }
      throw failure
    }).finally(() => {
      if (this.#asking === asking) this.#asking = undefined
    })
    const asking: Asking = { user, done, waiting: 0, isLate: false }
    // Perhaps no request waits any longer: without this, Node would report an unhandled rejection.
    done.catch(() => undefined)
    return asking
  }

  /** One process at a time: the others take its token. */
  #asClient(options: UserLoginOptions, purpose: Purpose): Promise<Stored | undefined> {
    return this.#file.claimed(async () => {
      const stored = await clientLogin(options, purpose)
      if (stored !== undefined) await this.#renewal.keep(stored)
      return stored
    }, () => {
      const stored = this.#file.read()
      const tokens = stored?.tokens
      const isNew = tokens !== undefined && tokens.access !== purpose.refused && isFresh(tokens, this.#now())
      return isNew && purpose.scopes.length === 0 ? stored : undefined
    })
  }

  #timedOut(user: UserLogin | undefined): HttpFailure {
    const { url, settings: { loginMs } } = this.#options
    const start = user?.startUrl
    const seconds = loginMs / 1000
    return new HttpFailure(`the server asks for a login, and nobody has logged in within ${seconds} s: ` +
      (start === undefined ? '' : `open ${start} in a browser, or `) +
      `run mcp-customs login ${url.origin}${url.pathname}`)
  }

  #remind(): void {
    for (const told of this.#listeners) told('waiting for a login in the browser')
  }
}

const unnamed = 'the server asks for a login, and nothing shows which user the clients are: let them show one ' +
  'token (auth.tokens, --token-file), listen on a socket of mode 600, or write auth: { shared: true } for it'

const unasked = ({ issuer, name }: Holder, { wanted: { error, scopes = [] } }: Purpose): string => {
  if (name === '') return 'the server asks for a login, and the client\'s token names no subject'
  const lacks = error === 'insufficient_scope' ? ` with auth.scopes ${JSON.stringify(scopes)}` : ''
  return `the server asks for a login of ${visible(name)}: where this relay runs, run mcp-customs login ` +
    `--config FILE --server NAME ${issuer === '' ? '--token-name' : '--subject'} ${wordsText([name])}${lacks}`
}
