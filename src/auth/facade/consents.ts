import { randomBytes } from 'node:crypto'
import { isArray, isString, type JsonObject, member } from '#protocol/unmetered.js'
import { Quota } from '#transport/front/quota.js'
import type { Page, Visit } from '#transport/front/site.js'
import { scopesIn } from '#transport/http/challenge.js'
import { Refused, type Tokens } from '../client/requests.js'
import { isRepeated, redirect } from './answers.js'
import { clientOf, mayRedirect } from './clients.js'
import type { Going, UpstreamLogin } from './login.js'
import { consentPage, faultPage } from './page.js'
import { digest, type Seals } from './seals.js'

/** What a client wants the user to allow. The form of the consent page brings it back, sealed. */
export interface Wish {
  /** The digest of its id. */
  readonly client: string
  readonly redirectUri: string
  readonly state: string | undefined
  /** The `code_challenge` (S256). */
  readonly challenge: string
  readonly resource: string
  readonly scopes: readonly string[]
  /** A digest of the secret that the user's browser holds. */
  readonly browser: string
}

interface Pending {
  readonly wish: Wish
  readonly going: Going
  readonly until: number
  readonly leave: () => void
}

interface ConsentOptions {
  /** The server's name. */
  readonly name: string
  readonly issuer: string
  /** Of this relay's public URL. */
  readonly origin: string
  /** The path of the endpoint to which the form of the consent goes. */
  readonly action: string
  readonly seals: Seals
  readonly login: UpstreamLogin
  /** @returns the resource that is meant; undefined where it is not ours */
  readonly resourceOf: (named: string | null) => string | undefined
  /** The user has logged in. @returns a code for the client @throws Error where there can be none */
  readonly granted: (wish: Wish, tokens: Tokens, going: Going) => string
  readonly warn: (error: unknown) => undefined
  readonly now: () => number
}

/** Users have so long for the consent, and again for the login at the issuer. */
const loginSeconds = 600
/** Most logins that are under way. */
const maxPending = 1000
/** Longest `state` and `scope` of a client, in characters. */
const longest = 2000

/** The way of a user from a client's request over the consent and the issuer's login back to the client. */
export class Consents {
  readonly #options: ConsentOptions
  /** By the `state` that the issuer brings back. */
  readonly #pending = new Map<string, Pending>()
  readonly #places = new Quota(() => maxPending)

  constructor(options: ConsentOptions) {
    this.#options = options
  }

  /** Asks the user, where the client may ask at all (RFC 6749, section 4.1.1; OAuth 2.1, section 4.1.1). */
  async authorize({ query, headers }: Visit): Promise<Page> {
    const { seals, login, resourceOf, name, action, warn } = this.#options
    const client = await clientOf(query.get('client_id') ?? '', seals)
    const redirectUri = query.get('redirect_uri') ?? ''
    if (client === undefined) return faultPage('The program is not registered here. Start its login again.')
    if (!mayRedirect(client, redirectUri)) {
      return faultPage('The program has not registered the address to which it wants the answer.')
    }
    const state = query.get('state') ?? undefined
    // A stranger may have registered the URL, and the user has not agreed to go there (RFC 9700, section
    // 4.11.2): only a program on the user's own machine hears of an error now.
    const refused = (error: string): Page => (new URL(redirectUri).protocol === 'https:'
      ? faultPage(`The program asks in a way that cannot be answered (${error}).`)
      : this.#back({ redirectUri, state }, { error }))
    if (isRepeated(query)) return refused('invalid_request')
    if (query.get('response_type') !== 'code') return refused('unsupported_response_type')
    const challenge = query.get('code_challenge') ?? ''
    if (query.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge)) {
      return refused('invalid_request')
    }
    const resource = resourceOf(query.get('resource'))
    if (resource === undefined) return refused('invalid_target')
    const scope = query.get('scope') ?? ''
    if (scope.length > longest || (state ?? '').length > longest) return refused('invalid_request')
    const plan = await login.plan(scopesIn(scope) ?? []).catch(warn)
    if (plan === undefined) return refused('temporarily_unavailable')
    const { scopes } = plan
    const secret = this.#secretIn(headers.cookie) ?? randomBytes(32).toString('base64url')
    const wish: JsonObject = {
      client: client.id, redirectUri, ...(state !== undefined && { state }), challenge, resource, scopes,
      browser: digest(secret),
    }
    const request = await seals.seal('wish', wish, loginSeconds)
    const { host } = new URL(plan.issuer)
    const consent = { server: name, issuer: host, client: client.name, redirectUri, scopes, action, request }
    return consentPage(consent, this.#cookie(secret))
  }

  /** The user has decided: begins the login at the issuer, or goes back. */
  async consent({ body, headers, client: visitor }: Visit): Promise<Page> {
    const { seals, login, origin: own, warn, now } = this.#options
    const form = new URLSearchParams(body)
    const wish = wishIn(await seals.open('wish', form.get('request') ?? ''))
    const { origin = own, cookie, 'sec-fetch-site': site = 'same-origin' } = headers
    if (wish === undefined || origin !== own || site !== 'same-origin' || !this.#isOf(wish, cookie)) {
      return faultPage(begin)
    }
    if (form.get('answer') !== 'allow') return this.#back(wish, { error: 'access_denied' })
    this.#sweep()
    if (!this.#places.reserve(visitor)) return this.#back(wish, { error: 'temporarily_unavailable' })
    const leave = () => this.#places.release(visitor)
    try {
      const going = await login.begin(wish.scopes)
      this.#pending.set(going.state, { wish, going, until: now() + loginSeconds * 1000, leave })
      return redirect(going.url)
    } catch (error) {
      leave()
      warn(error)
      return this.#back(wish, { error: 'temporarily_unavailable' })
    }
  }

  /** The user comes back from the issuer. */
  async callback({ query, headers }: Visit): Promise<Page> {
    const { login, granted, warn } = this.#options
    this.#sweep()
    const state = query.get('state') ?? ''
    const pending = this.#pending.get(state)
    // Another browser than the one that gave the consent: somebody else's login (RFC 6749, section 10.12).
    if (pending === undefined || !this.#isOf(pending.wish, headers.cookie)) return faultPage(begin)
    this.#pending.delete(state)
    pending.leave()
    const { wish, going } = pending
    try {
      return this.#back(wish, { code: granted(wish, await login.finish(query, going), going) })
    } catch (error) {
      const isDenied = error instanceof Refused && error.error === 'access_denied'
      if (!isDenied) warn(error)
      return this.#back(wish, { error: isDenied ? 'access_denied' : 'server_error' })
    }
  }

  /** Sends the user back to the client. The `iss` beside the answer is our issuer URL (RFC 9207). */
  #back(
    { redirectUri, state }: Pick<Wish, 'redirectUri' | 'state'>, answer: Readonly<Record<string, string>>,
  ): Page {
    const url = new URL(redirectUri)
    const parameters = { ...answer, ...(state !== undefined && { state }), iss: this.#options.issuer }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return redirect(url.href)
  }

  #sweep(): void {
    for (const [state, { until, leave }] of this.#pending) {
      if (this.#options.now() < until) break
      this.#pending.delete(state)
      leave()
    }
  }

  #isOf({ browser }: Wish, cookie: string | undefined): boolean {
    const secret = this.#secretIn(cookie)
    return secret !== undefined && digest(secret) === browser
  }

  get #isSecure(): boolean {
    return this.#options.origin.startsWith('https:')
  }

  /** A cookie with the prefix `__Host-` is for this host alone, and comes by https alone. */
  get #cookieName(): string {
    return `${this.#isSecure ? '__Host-' : ''}mcp-customs-login`
  }

  #secretIn(cookie = ''): string | undefined {
    const name = `${this.#cookieName}=`
    const [value, ...others] = cookie.split('; ').filter(pair => pair.startsWith(name))
    const secret = value?.slice(name.length)
    return others.length === 0 && secret !== undefined && /^[\w-]{43}$/.test(secret) ? secret : undefined
  }

  #cookie(secret: string): string {
    const terms = `Path=/; Max-Age=${loginSeconds * 2}; HttpOnly; SameSite=Lax`
    return `${this.#cookieName}=${secret}; ${terms}${this.#isSecure ? '; Secure' : ''}`
  }
}

const begin = 'It was begun in another browser, or too long ago. Start the login again in your program.'

/** A wish as it was sealed. */
const wishIn = (content: JsonObject | undefined): Wish | undefined => {
  const text = (name: string): string | undefined => {
    const value = member(content, name)
    return isString(value) ? value : undefined
  }
  const names = ['client', 'redirectUri', 'challenge', 'resource', 'browser']
  const [client, redirectUri, challenge, resource, browser] = names.map(text)
  if (client === undefined || redirectUri === undefined || challenge === undefined) return undefined
  if (resource === undefined || browser === undefined) return undefined
  const scopes = member(content, 'scopes')
  return {
    client, redirectUri, state: text('state'), challenge, resource, browser,
    scopes: isArray(scopes) ? scopes.filter(isString) : [],
  }
}
