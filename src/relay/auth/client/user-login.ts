import { setTimeout as pause } from 'node:timers/promises'
import { codeOf } from '#relay/base/errors.js'
import { openCallback, type Callback } from '#relay/transport/callback.js'
import type { GuardedFetch } from '#relay/transport/upstream/document.js'
import { HttpFailure } from '#relay/transport/upstream/pool.js'
import { discover, type Discovered } from './discovery.js'
import { keyPairOf, newKey } from './dpop.js'
import { givenClient, register, type RegisteredClient } from './registration.js'
import { IssuerClient, isUnknownClient, type Begun, type Tokens } from './requests.js'
import {
  issuerFor, scopesFor, withSecrets, withoutSecrets, type LoginSettings, type Purpose,
} from './settings.js'
import { withoutRegistration, type LoginFile, type PendingLogin, type Stored } from './store.js'

export interface UserLoginOptions {
  readonly url: URL
  readonly settings: LoginSettings
  readonly file: LoginFile
  readonly fetch: GuardedFetch
  /**
   * Shows the person where the login begins.
   * @param start the page on this machine that leads there, once
   * @param isNew false for a login that a browser has opened a moment ago
   * @param url the issuer's, for a browser on another machine: whoever reads it can finish the login
   */
  readonly show: (start: string, isNew: boolean, url: string) => void
  readonly now: () => number
  /** False: one user may log in in two processes at once, each with a flow of its own. */
  readonly alone: boolean
}

/** Greatest age of a login that is resumed, in milliseconds: issuers forget older ones. */
const pendingMs = 10 * 60_000
/** A resumed login is opened in the browser again only if it was begun longer ago, in milliseconds. */
const reopenMs = 10_000
/** How often the login of another process is looked for. */
const pollMs = 500

/** A login that waits for the user. */
type Flow = Stored & { readonly pending: PendingLogin }

type Exchange = (answer: URLSearchParams) => Promise<Tokens>

/**
 * Asks the user to log in (authorization code grant with PKCE). Of all processes one asks, and the others
 * wait for its tokens. If that process ends, another finishes the same flow: some MCP clients start a relay
 * twice within a second, and end the first one.
 */
export class UserLogin {
  readonly #options: UserLoginOptions
  readonly #over = new AbortController()
  #callback: Callback | undefined
  #begun: Begun | undefined
  /** Notes in the file of the login how far it is. */
  #note: (change: Partial<PendingLogin>) => void = () => undefined
  #noted = Promise.resolve()
  #running: Promise<Stored | undefined> | undefined
  #tellShown: () => void = () => undefined
  /** Resolves when the user has been asked, by this process or another one. */
  readonly shown = new Promise<void>(resolve => (this.#tellShown = resolve))
  /** An answer has come back; further ones are of no use. */
  #isAnswered = false
  #takeParameters: (answer: URLSearchParams) => void = () => undefined
  readonly #answer = new Promise<URLSearchParams>(resolve => (this.#takeParameters = resolve))
  #takeExchange: (exchange: Exchange) => void = () => undefined
  readonly #exchange = new Promise<Exchange>(resolve => (this.#takeExchange = resolve))
  readonly #tokens = Promise.all([this.#answer, this.#exchange])
    .then(([answer, exchange]) => exchange(answer))

  constructor(options: UserLoginOptions) {
    this.#options = options
    // `run` tells of a failure.
    this.#tokens.catch(() => undefined)
  }

  /** The local URL that leads a browser to the login; undefined before a login has begun. */
  get startUrl(): string | undefined {
    if (this.#callback !== undefined) return this.#callback.startUrl
    const { redirectUri, path } = this.#options.file.begun.read()?.pending ?? {}
    return redirectUri === undefined || path === undefined ? undefined : new URL(path, redirectUri).href
  }

  /**
   * @returns the login that there is now; undefined when the server names no issuer
   * @throws HttpFailure when the login fails, or is refused
   */
  run(purpose: Purpose): Promise<Stored | undefined> {
    return (this.#running ??= this.#options.alone ? this.#askOnce(purpose) : this.#ask(purpose))
      .finally(() => this.#callback?.close())
  }

  /** Of all processes of the user, one asks. */
  #askOnce(purpose: Purpose): Promise<Stored | undefined> {
    let isFirst = true
    return this.#options.file.claimedForLogin(() => this.#usable(purpose) ?? this.#ask(purpose), () => {
      if (!isFirst) this.#tellShown()
      isFirst = false
      this.#throwIfOver()
      return this.#usable(purpose)
    })
  }

  /**
   * Takes the URL to which a browser on another machine was sent.
   * @returns false when it is not the answer to this login
   */
  take(pasted: string): boolean {
    if (!URL.canParse(pasted)) return false
    const page = this.#answered(new URL(pasted).searchParams)
    // `run` tells of a failure.
    page?.catch(() => undefined)
    return page !== undefined
  }

  /** A request has waited in vain. @returns false where the user has come back all the same */
  late(): boolean {
    if (!this.#isAnswered) this.#note({ isLate: true })
    return !this.#isAnswered
  }

  /** Gives up. If the user has already come back, waits until the tokens are kept: a code works once. */
  async close(): Promise<void> {
    this.#over.abort()
    this.#callback?.close()
    await this.#noted
    if (this.#isAnswered) await this.#running?.catch(() => undefined)
  }

  #throwIfOver(): void {
    if (this.#over.signal.aborted) throw new HttpFailure('the login was given up')
  }

  #usable({ refused, wanted, scopes }: Purpose): Stored | undefined {
    const stored = this.#options.file.read()
    const tokens = stored?.tokens
    if (tokens === undefined || tokens.access === refused) return undefined
    const granted = tokens.scopes ?? stored?.requested ?? []
    const isLate = tokens.expiresAt !== undefined && tokens.expiresAt <= this.#options.now()
    if (isLate) return undefined
    // A step-up wants scopes; any other login takes what another process has been granted.
    const challenged = wanted.error === undefined ? [] : wanted.scopes ?? []
    const needed = refused === undefined ? [] : [...challenged, ...scopes]
    return needed.every(scope => granted.includes(scope)) ? stored : undefined
  }

  async #ask(purpose: Purpose): Promise<Stored | undefined> {
    const { url, settings, file, fetch, show, now, alone } = this.#options
    const { resourceMetadata } = purpose.wanted
    const [login, begun] = [file.read(), file.begun.read()]
    const found = await discover(url, { resourceMetadata, issuer: issuerFor(settings, login) }, fetch)
    if (found === undefined) return undefined
    // A login that is only begun is no reason to keep its issuer.
    const former = begun?.server.issuer === found.server.issuer ? begun : undefined
    const requested = scopesFor(found, purpose, settings, login?.requested)
    // An issuer that has forgotten a client shows an error, and sends nobody back: a login that nobody has
    // finished is no reason to use its client once more, and neither is one that the user begins by command.
    const { isReused = false, isLate = false, startedAt = 0 } = former?.pending ?? {}
    const isDoubtful = isReused && (isLate || now() - startedAt > reopenMs)
    const resumed = alone && !isDoubtful ? await this.#resumed(former, requested) : undefined
    const doubtful = isDoubtful ? former?.client.id : undefined
    const known = [login, former].filter(one => alone && one?.client.id !== doubtful)
    const flow = resumed ?? await this.#begin(found, requested, known)
    const { pending, ...stored } = flow
    const start = this.#callback?.startUrl ?? ''
    let progress: PendingLogin = { ...pending, path: new URL(start).pathname }
    // The stored login stays in its file until the new tokens arrive.
    if (alone) await file.begun.write({ ...flow, pending: progress })
    this.#note = change => {
      progress = { ...progress, ...change }
      const write = () => file.begun.write({ ...flow, pending: progress })
      if (alone) this.#noted = this.#noted.then(write).catch(() => undefined)
    }
    const issuer = await this.#issuerOf(flow)
    this.#takeExchange(answer => issuer.exchange(answer, pending, flow.resource))
    const granted = this.#granted(purpose)
    this.#tellShown()
    show(start, resumed === undefined || now() - pending.startedAt > reopenMs, pending.url)
    const got = await granted.catch(async (error: unknown) => {
      await this.#noted
      if (isUnknownClient(error)) {
        file.begun.remove()
        if (login?.client.id === flow.client.id) {
          await file.change(current => withoutRegistration(current ?? login))
        }
      } else if (alone && !this.#over.signal.aborted) await file.begun.write(stored)
      throw error
    })
    const kept = 'url' in got ? got : await file.change(() => ({ ...stored, tokens: got }))
    await this.#noted
    if (alone) file.begun.remove()
    return kept
  }

  /** Resolves with the tokens of this flow, or with what another process has got meanwhile. */
  async #granted(purpose: Purpose): Promise<Tokens | Stored> {
    const { signal } = this.#over
    this.#throwIfOver()
    const ended = new AbortController()
    const others = async (): Promise<Stored> => {
      for (;;) {
        await pause(pollMs, undefined, { signal: ended.signal, ref: false })
        const stored = this.#usable(purpose)
        if (stored !== undefined) return stored
      }
    }
    const over = new Promise<never>((_, reject) => signal.addEventListener('abort', () => {
      if (!this.#isAnswered) reject(new HttpFailure('the login was given up'))
    }, { signal: ended.signal }))
    try {
      const own = Promise.race([this.#tokens, over])
      // A file that cannot be read for a moment does not end the login.
      return await (this.#options.alone ? Promise.race([own, others().catch(() => own)]) : own)
    } finally {
      ended.abort()
    }
  }

  #answered(parameters: URLSearchParams): Promise<string> | undefined {
    // The flow is found by its state; its issuer is compared before anything else of the answer is read.
    if (this.#begun === undefined || parameters.get('state') !== this.#begun.state) return undefined
    if (this.#isAnswered) return undefined
    this.#isAnswered = true
    this.#takeParameters(parameters)
    return this.#tokens.then(() => 'You are logged in. You can close this page.')
  }

  /** Goes on with the flow of a process that has ended: its browser comes back to the same port. */
  async #resumed(former: Stored | undefined, requested: readonly string[]): Promise<Flow | undefined> {
    const pending = former?.pending
    if (former === undefined || pending === undefined) return undefined
    if (this.#options.now() - pending.startedAt > pendingMs) return undefined
    if (!requested.every(scope => former.requested.includes(scope))) return undefined
    this.#begun = pending
    const redirectUri = await this.#listen(portOf(pending.redirectUri), pending.path)
    return redirectUri === undefined ? undefined : { ...former, pending }
  }

  /** @param known of the same issuer */
  async #begin(
    { server, resource }: Discovered, requested: readonly string[], known: readonly (Stored | undefined)[],
  ): Promise<Flow> {
    const { url, now } = this.#options
    const isBound = server.dpop_signing_alg_values_supported?.includes('ES256') === true
    const dpop = isBound ? known.find(one => one?.dpop)?.dpop ?? await newKey() : undefined
    const [client, redirectUri] = await this.#client(server, known.flatMap(one => one?.client ?? []))
    const stored: Stored = { url: url.href, resource, server, client, requested, ...(dpop && { dpop }) }
    const begun = await (await this.#issuerOf(stored)).begin({ redirectUri, resource, scopes: requested })
    this.#begun = begun
    const isReused = known.some(one => one?.client.id === client.id)
    return { ...stored, pending: { ...begun, isReused, startedAt: now() } }
  }

  async #issuerOf({ server, client, dpop }: Stored): Promise<IssuerClient> {
    const { settings, fetch, now } = this.#options
    return new IssuerClient({
      server, fetch, now, client: withSecrets(client, settings), dpop: dpop && await keyPairOf(dpop),
    })
  }

  /** The client, and its redirect URI, at which this process listens. */
  async #client(
    server: Discovered['server'], known: readonly RegisteredClient[],
  ): Promise<readonly [client: RegisteredClient, redirectUri: string]> {
    const { settings, fetch, now } = this.#options
    const given = givenClient(settings.client, server)
    // Issuers compare the port, too: the registered one is used again, if it is free.
    for (const client of given === undefined ? known : []) {
      const { redirectUri, secretExpiresAt = Infinity } = client
      if (redirectUri === undefined || secretExpiresAt <= now()) continue
      if ((await this.#listen(portOf(redirectUri))) !== undefined) return [client, redirectUri]
    }
    const { callbackPort = 0 } = settings
    const redirectUri = await this.#listen(callbackPort)
    if (redirectUri === undefined) {
      throw new HttpFailure(`port ${callbackPort} of auth.callbackPort is in use`)
    }
    return [
      given === undefined ? await register(server, { redirectUri }, fetch) : withoutSecrets(given, settings),
      redirectUri,
    ]
  }

  /** @returns the redirect URI; undefined when the port is in use */
  async #listen(port: number, path?: string): Promise<string | undefined> {
    try {
      this.#callback = await openCallback({
        port, path, start: () => this.#begun?.url, opened: () => this.#note({ path: undefined }),
        answered: parameters => this.#answered(parameters),
      })
      return this.#callback.redirectUri
    } catch (error) {
      if (codeOf(error) === 'EADDRINUSE') return undefined
      throw new HttpFailure(`cannot listen on 127.0.0.1 for the login (${codeOf(error)})`)
    }
  }
}

const portOf = (redirectUri: string): number => Number(new URL(redirectUri).port)
