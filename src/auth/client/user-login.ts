import { setTimeout as pause } from 'node:timers/promises'
import { asError, codeOf } from '#errors.js'
import { openCallback, type Callback } from '#transport/callback.js'
import type { GuardedFetch } from '#transport/upstream/document.js'
import { HttpFailure } from '#transport/upstream/pool.js'
import type { Wanted } from '#transport/http/challenge.js'
import { discover, type Discovered } from './discovery.js'
import { keyPairOf, newKey } from './dpop.js'
import { givenClient, register, type Client, type ClientSettings } from './registration.js'
import { hostOf, IssuerClient, Refused, type Begun, type Tokens } from './requests.js'
import type { LoginFile, Pending, Stored } from './store.js'

/** What the operator says of logins at one server (docs/auth.md). */
export interface LoginSettings extends ClientSettings {
  /** Whose tokens these are: the user's, who logs in, or the client's own. */
  readonly grant: 'user' | 'client'
  readonly issuer?: string | undefined
  readonly scopes?: readonly string[] | undefined
  /** The port of the redirect URI, for issuers that know it; undefined: any. */
  readonly callbackPort?: number | undefined
  /** How long a request waits for the user, in milliseconds. */
  readonly loginMs: number
}

export interface UserLoginOptions {
  readonly url: URL
  readonly settings: LoginSettings
  readonly file: LoginFile
  readonly fetch: GuardedFetch
  /** Shows the person the URL. @param isNew false for one that a browser has opened a moment ago */
  readonly show: (url: string, isNew: boolean) => void
  readonly now: () => number
  /** False: one user may log in in two processes at once, each with a flow of its own. */
  readonly alone: boolean
}

/** What a login is for. */
export interface Purpose {
  readonly wanted: Wanted
  /** The access token that the server has refused. */
  readonly refused: string | undefined
  /** Besides those that the challenge names. */
  readonly scopes: readonly string[]
}

/** A login that was begun so recently is gone on with, in milliseconds: issuers forget them. */
const pendingMs = 10 * 60_000
/** The browser that a former process opened is opened again after this time. */
const reopenMs = 10_000
/** How often the login of another process is looked for. */
const pollMs = 500

/**
 * Asks the user to log in (authorization code grant with PKCE). Of all processes one asks, the others wait
 * for its tokens. If it ends meanwhile, its successor finishes the same flow: clients start a server twice
 * within a second, and end the first.
 */
export class UserLogin {
  readonly #options: UserLoginOptions
  readonly #over = new AbortController()
  #callback: Callback | undefined
  #begun: Begun | undefined
  #tellShown: () => void = () => undefined
  /** Resolves when the user has been asked, by this process or another one. */
  readonly shown = new Promise<void>(resolve => (this.#tellShown = resolve))
  /** The answer that came back; further ones are of no use. */
  #answer: ((parameters: URLSearchParams) => Promise<void>) | undefined

  constructor(options: UserLoginOptions) {
    this.#options = options
  }

  /** Opens the login in a browser; undefined before there is one. */
  get startUrl(): string | undefined {
    if (this.#callback !== undefined) return this.#callback.startUrl
    const { redirectUri } = this.#options.file.read()?.pending ?? {}
    return redirectUri === undefined ? undefined : new URL('/', redirectUri).href
  }

  /**
   * @returns the login that there is now; undefined when the server names no issuer
   * @throws HttpFailure when the login fails, or is refused
   */
  async run(purpose: Purpose): Promise<Stored | undefined> {
    const { file, alone } = this.#options
    let isFirst = true
    const instead = () => {
      if (!isFirst) this.#tellShown()
      isFirst = false
      if (this.#over.signal.aborted) throw new HttpFailure('the login was given up')
      return this.#usable(purpose)
    }
    const held = alone ? await file.claimedForLogin(instead) : undefined
    if (held !== undefined && 'instead' in held) return held.instead
    try {
      return this.#usable(purpose) ?? (await this.#ask(purpose))
    } finally {
      this.#callback?.close()
      held?.release()
    }
  }

  /**
   * Takes the URL to which a browser on another machine was sent.
   * @returns false when it is not the answer to this login
   */
  take(pasted: string): boolean {
    if (!URL.canParse(pasted)) return false
    return this.#answered(new URL(pasted).searchParams) !== undefined
  }

  close(): void {
    this.#over.abort()
    this.#callback?.close()
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
    const found = await discover(url, { resourceMetadata, issuer: settings.issuer }, fetch)
    if (found === undefined) return undefined
    const { server, resource } = found
    const before = file.read()
    // Clients and tokens belong to the issuer that gave them.
    const known = before?.server.issuer === server.issuer ? before : undefined
    const requested = scopesFor(found, purpose, settings, known)
    const resumed = alone ? await this.#resumed(known?.pending, requested, known) : undefined
    const dpop = server.dpop_signing_alg_values_supported?.includes('ES256') === true
      ? (known?.dpop ?? await newKey()) : undefined
    const client = resumed === undefined ? await this.#client(server, known?.client) : known?.client ?? { id: '' }
    const issuer = new IssuerClient({
      server, fetch, now, client: withSecrets(client, settings), dpop: dpop && await keyPairOf(dpop),
    })
    const begun = resumed ?? await issuer.begin({
      redirectUri: this.#callback?.redirectUri ?? '', resource, scopes: requested,
    })
    this.#begun = begun
    const stored: Stored = { url: url.href, resource, server, client, requested, ...(dpop && { dpop }) }
    const pending = { ...begun, startedAt: resumed?.startedAt ?? now() }
    if (alone) await file.change(current => ({ ...current, ...stored, tokens: current?.tokens, pending }))
    const granted = this.#granted(answer => issuer.exchange(answer, begun, resource), purpose)
    this.#tellShown()
    show(begun.url, resumed === undefined || now() - resumed.startedAt > reopenMs)
    const tokens = await granted.catch(async (error: unknown) => {
      // A new login takes a new flow, and a new client if this one is unknown by now.
      if (!this.#over.signal.aborted && alone) {
        await file.change(current => ({ ...(current ?? stored), pending: undefined }))
      }
      throw error
    })
    if ('url' in tokens) return tokens
    return file.change(() => ({ ...stored, tokens }))
  }

  /** Resolves with the tokens of this flow, or with what another process has got meanwhile. */
  async #granted(
    exchange: (answer: URLSearchParams) => Promise<Tokens>, purpose: Purpose,
  ): Promise<Tokens | Stored> {
    const { signal } = this.#over
    const ended = new AbortController()
    const others = async (): Promise<Stored> => {
      for (;;) {
        await pause(pollMs, undefined, { signal: AbortSignal.any([signal, ended.signal]), ref: false })
        const stored = this.#usable(purpose)
        if (stored !== undefined) return stored
      }
    }
    const own = new Promise<Tokens>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new HttpFailure('the login was given up')))
      this.#answer = async answer => {
        this.#answer = undefined
        try {
          resolve(await exchange(answer))
        } catch (error) {
          reject(asError(error))
          throw error
        }
      }
    })
    try {
      return await Promise.race([own, others().catch(() => own)])
    } finally {
      ended.abort()
    }
  }

  #answered(parameters: URLSearchParams): Promise<string> | undefined {
    // The flow is found by its state; its issuer is compared before anything else of the answer is read.
    if (this.#begun === undefined || parameters.get('state') !== this.#begun.state) return undefined
    return this.#answer?.(parameters).then(() => 'You are logged in. You can close this page.')
  }

  /** Goes on with the flow of a process that has ended: its browser comes back to the same port. */
  async #resumed(
    pending: Pending | undefined, requested: readonly string[], known: Stored | undefined,
  ): Promise<Pending | undefined> {
    const { now } = this.#options
    if (pending === undefined || now() - pending.startedAt > pendingMs) return undefined
    if (!requested.every(scope => known?.requested.includes(scope))) return undefined
    return (await this.#listen(portOf(pending.redirectUri))) ? pending : undefined
  }

  /** The client, and the listener at its redirect URI. */
  async #client(server: Discovered['server'], known: Client | undefined): Promise<Client> {
    const { settings, fetch, now } = this.#options
    const given = givenClient(settings, server)
    if (given !== undefined) {
      if (!(await this.#listen(settings.callbackPort ?? 0))) {
        throw new HttpFailure(`port ${settings.callbackPort} of auth.callbackPort is in use`)
      }
      return { id: given.id }
    }
    // Issuers compare the port, too: the registered one is used again, if it is free.
    const { redirectUri, secretExpiresAt = Infinity } = known ?? {}
    if (known !== undefined && redirectUri !== undefined && secretExpiresAt > now()
      && (await this.#listen(portOf(redirectUri)))) return known
    await this.#listen(settings.callbackPort ?? 0)
    return register(server, { redirectUri: this.#callback?.redirectUri ?? '' }, fetch)
  }

  /** @returns false when the port is in use */
  async #listen(port: number): Promise<boolean> {
    try {
      this.#callback = await openCallback({
        port, start: () => this.#begun?.url, answered: parameters => this.#answered(parameters),
      })
      return true
    } catch (error) {
      if (codeOf(error) === 'EADDRINUSE') return false
      throw new HttpFailure(`cannot listen on 127.0.0.1 for the login (${codeOf(error)})`)
    }
  }
}

const portOf = (redirectUri: string): number => Number(new URL(redirectUri).port)

/** The operator's secrets are in the configuration, not in the file of the login. */
export const withSecrets = (
  client: Client, { clientId, clientSecret, privateKey, clientMetadataUrl }: ClientSettings,
): Client => {
  if (client.id === clientId) return { ...client, secret: clientSecret, privateKey }
  return client.id === clientMetadataUrl ? { ...client, privateKey } : client
}

/**
 * The scopes to ask for: those of the challenge, else of the resource; with the operator's, and in a step-up
 * those that were asked for before (2026-07-28, scope selection strategy).
 */
const scopesFor = (
  { server, scopes }: Discovered, { wanted, scopes: more }: Purpose, settings: LoginSettings,
  known: Stored | undefined,
): readonly string[] => {
  const challenged = wanted.scopes ?? (settings.scopes === undefined ? scopes : undefined) ?? []
  const before = wanted.error === 'insufficient_scope' ? known?.requested ?? [] : []
  const all = new Set([...before, ...(settings.scopes ?? []), ...challenged, ...more])
  const isOffered = server.scopes_supported?.includes('offline_access') === true
  if (settings.grant === 'user' && isOffered) all.add('offline_access')
  return [...all]
}

/** A login of the client itself: nobody is asked (RFC 6749, section 4.4). */
export const clientLogin = async (
  { url, settings, file, fetch, now }: Omit<UserLoginOptions, 'show' | 'alone'>, purpose: Purpose,
): Promise<Stored | undefined> => {
  const { resourceMetadata } = purpose.wanted
  const before = file.read()
  // The secret goes to one issuer: the operator's, or the first that the server has named.
  const bound = settings.issuer ?? before?.server.issuer
  const found = await discover(url, { resourceMetadata, issuer: bound }, fetch)
  if (found === undefined) return undefined
  const { server, resource } = found
  const client = givenClient(settings, server)
  if (client === undefined) throw new HttpFailure('auth.clientId is missing')
  const requested = scopesFor(found, purpose, settings, before)
  const tokens = await new IssuerClient({ server, client, fetch, now }).credentials(resource, requested)
  return { url: url.href, resource, server, client: { id: client.id }, requested, tokens }
}

/** Waits until the user has entered a code on another device (RFC 8628). */
export const deviceLogin = async (
  { url, settings, file, fetch, now }: Omit<UserLoginOptions, 'show' | 'alone'>, purpose: Purpose,
  show: (url: string, code: string) => void,
): Promise<Stored | undefined> => {
  const { resourceMetadata } = purpose.wanted
  const found = await discover(url, { resourceMetadata, issuer: settings.issuer }, fetch)
  if (found === undefined) return undefined
  const { server, resource } = found
  if (server.device_authorization_endpoint === undefined) {
    throw new HttpFailure(`${hostOf(server.issuer)} has no device flow: use login --no-browser`)
  }
  const requested = scopesFor(found, purpose, settings, undefined)
  const client = givenClient(settings, server)
    ?? await register(server, { redirectUri: 'http://127.0.0.1/callback', grants: [deviceGrant] }, fetch)
  const issuer = new IssuerClient({ server, client, fetch, now })
  const device = await issuer.device(resource, requested)
  show(device.verification_uri_complete ?? device.verification_uri, device.user_code)
  const until = now() + device.expires_in * 1000
  for (let seconds = device.interval ?? 5; now() < until;) {
    await pause(seconds * 1000)
    try {
      const tokens = await issuer.deviceTokens(device.device_code, resource)
      const kept = withoutSecrets(client, settings)
      return await file.change(() => ({ url: url.href, resource, server, client: kept, requested, tokens }))
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      if (error.error === 'slow_down') seconds += 5
      else if (error.error !== 'authorization_pending') throw error
    }
  }
  throw new HttpFailure(`nobody has entered the code within ${device.expires_in} s`)
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

const withoutSecrets = (client: Client, { clientId, clientMetadataUrl }: ClientSettings): Client =>
  client.id === clientId || client.id === clientMetadataUrl ? { id: client.id } : client
