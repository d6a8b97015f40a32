import type { GuardedFetch } from '#relay/transport/upstream/document.js'
import type { SitePage, Visit } from '#relay/transport/front/site.js'
import { scopesIn } from '#relay/transport/http/challenge.js'
import { RefusedGrant } from '../client/requests.js'
import { isRepeated, redirect } from './answers.js'
import { clientOf, mayRedirect } from './clients.js'
import { loginMs, type UpstreamLogin } from './login.js'
import { consentPage, faultPage } from './page.js'
import type { Answered, Seals, Wish } from './seals.js'

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
  /** For documents of clients. */
  readonly fetch: GuardedFetch
  /** @returns the resource that is meant; undefined where it is not ours */
  readonly resourceOf: (named: string | null) => string | undefined
  readonly warn: (error: unknown) => undefined
  readonly now: () => number
}

/** The time in which a client must redeem its code, in milliseconds. The issuer's code may end sooner. */
const codeMs = 60_000
/** Longest `state` and `scope` of a client, in characters. */
const longest = 2000

/**
 * The way of a user from a client's request over the issuer's login and the consent back to the client. The
 * consent is asked last, so that whoever has logged in is who consents. Before it, an error is shown on a
 * page, and sends nobody to a URL that a stranger may have registered (RFC 9700, section 4.11.2).
 */
export class Consents {
  readonly #options: ConsentOptions

  constructor(options: ConsentOptions) {
    this.#options = options
  }

  /** Sends the user to the issuer, where the client may ask at all (OAuth 2.1, section 4.1.1). */
  async authorize({ query, mayCost }: Visit): Promise<SitePage> {
    if (!mayCost()) return faultPage('Too many logins were begun. Try again in a minute.', 429)
    const { seals, login, resourceOf, fetch, warn, now } = this.#options
    const client = await clientOf(query.get('client_id') ?? '', seals, fetch)
    if (client === undefined) return faultPage('The program is not registered here. Start its login again.')
    const redirectUri = query.get('redirect_uri') ?? ''
    if (!mayRedirect(client, redirectUri)) {
      return faultPage('The program has not registered the address to which it wants the answer.')
    }
    const [challenge, scope] = [query.get('code_challenge') ?? '', query.get('scope') ?? '']
    const [resource, state] = [resourceOf(query.get('resource')), query.get('state') ?? undefined]
    const isPlain = query.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge)
    const isLong = scope.length > longest || (state ?? '').length > longest
    if (query.get('response_type') !== 'code') return refused('unsupported_response_type')
    if (isRepeated(query) || isPlain || isLong) return refused('invalid_request')
    if (resource === undefined) return refused('invalid_target')
    const { id, name, host } = client
    try {
      return redirect(await login.begin(scopesIn(scope) ?? [], begun => seals.seal('state', {
        client: id, name, host, redirectUri, state, challenge, resource, ...begun,
      }, now() + loginMs)))
    } catch (error) {
      warn(error)
      return faultPage('The server behind, or its login, cannot be reached. Try again later.')
    }
  }

  /** The user comes back from the issuer: asks for the consent. */
  async callback({ query }: Visit): Promise<SitePage> {
    const { seals, login, name: server, action, warn, now } = this.#options
    const sealed = query.get('state') ?? ''
    const wish = await seals.open('state', sealed)
    if (wish === undefined || isRepeated(query)) return faultPage(begin)
    try {
      await login.check(wish, query, sealed)
    } catch (error) {
      const isDenied = error instanceof RefusedGrant && error.error === 'access_denied'
      if (isDenied) return faultPage('You have not allowed it.')
      warn(error)
      return faultPage('The answer of the login cannot be used.')
    }
    const code = query.get('code') ?? ''
    if (code === '') return faultPage('The answer of the login holds no code.')
    const answered = { ...wish, code, iss: query.get('iss') ?? undefined }
    const request = await seals.seal('consent', answered, now() + loginMs)
    return consentPage({ ...wish, server, action, request, issuer: new URL(wish.via.issuer).host })
  }

  /** The user has decided: goes back to the client, with our code. */
  async consent({ body, headers }: Visit): Promise<SitePage> {
    const { seals, origin: own, now } = this.#options
    const form = new URLSearchParams(body)
    const answered = await seals.open('consent', form.get('request') ?? '')
    const { origin = own, 'sec-fetch-site': site = 'same-origin' } = headers
    if (answered === undefined || origin !== own || site !== 'same-origin') return faultPage(begin)
    return form.get('answer') === 'allow'
      ? this.#back(answered, { code: await seals.seal('code', answered, now() + codeMs) })
      : this.#back(answered, { error: 'access_denied' })
  }

  /** Sends the user back to the client. The `iss` beside the answer is our issuer URL (RFC 9207). */
  #back({ redirectUri, state }: Wish | Answered, answer: Readonly<Record<string, string>>): SitePage {
    const url = new URL(redirectUri)
    const parameters = { ...answer, ...(state !== undefined && { state }), iss: this.#options.issuer }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return redirect(url.href)
  }
}

const refused = (error: string): SitePage =>
  faultPage(`The program asks in a way that cannot be answered (${error}).`)

const begin = 'It was begun elsewhere, or too long ago. Start the login again in your program.'
