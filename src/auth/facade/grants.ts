import { randomBytes, randomUUID } from 'node:crypto'
import type { Identity } from '#core/event.js'
import type { Tokens } from '../client/requests.js'
import type { Known } from './login.js'
import { digest } from './seals.js'

/** What a user has granted to one client of ours, and the tokens of the server's issuer behind it. */
export interface Grant {
  readonly id: string
  /** The digest of the client id. */
  readonly client: string
  /** The endpoint's URL, for which our tokens are. */
  readonly resource: string
  readonly subject: Identity
  /** The issuer of `upstream`. */
  readonly known: Known
  /** Replaced by each refresh; never handed out. */
  upstream: Tokens
  /** When `upstream` was got, in milliseconds since 1970. */
  upstreamAt: number
  /** The server has refused the access token. */
  isRefused: boolean
  /** The one refresh that is under way. */
  refreshing: Promise<boolean> | undefined
}

type Begun = Pick<Grant, 'client' | 'resource' | 'known' | 'upstream'> & { readonly subject?: Identity }

/** What an authorization code is bound to. */
export interface CodeTerms {
  readonly client: string
  readonly redirectUri: string
  /** The `code_challenge` (S256). */
  readonly challenge: string
}

/** A client of OAuth 2.1 does not send the redirect URI again: the challenge binds it (section 10.2). */
type RedeemTerms = Omit<CodeTerms, 'redirectUri'> & { readonly redirectUri: string | undefined }

export interface Issued {
  readonly access: string
  /** Undefined where the issuer behind gives none: the grant ends with its access token. */
  readonly refresh: string | undefined
  readonly seconds: number
}

interface Held {
  readonly grant: Grant
  /** Digests of its access tokens, and when each ends; the oldest first. */
  readonly access: Map<string, number>
  /** Digests of its refresh tokens; the last one is valid, an earlier one is a sign of theft. */
  readonly refresh: string[]
  usedAt: number
  /** The client has its newest tokens: it has used one. */
  isReceived: boolean
  /** Its part of the memory. */
  bytes: number
}

interface Code extends CodeTerms {
  readonly grant: string
  readonly until: number
  isUsed: boolean
}

const accessSeconds = 3600
const codeMs = 60_000
/** A used code is remembered for so long: its replay ends the grant. */
const usedCodeMs = 10 * 60_000
/** A grant that nobody uses ends after this time. */
const idleMs = 30 * 24 * 3600_000
/** Bounds, beyond which the oldest goes. */
const maxGrants = 10_000
const maxOfSubject = 100
const maxBytes = 64 * 1024 * 1024
const maxAccess = 16
const maxRefresh = 100
const maxCodes = 10_000
/** Longest token of an issuer that is kept, in characters. */
const longestToken = 32 * 1024

const secret = (): string => randomBytes(32).toString('base64url')

/** The grants of one facade. Of our own tokens only digests are kept. */
export class Grants {
  readonly #now: () => number
  /** The one that was used longest ago first. */
  readonly #held = new Map<string, Held>()
  /** By a token's digest: the id of its grant. */
  readonly #tokens = new Map<string, string>()
  readonly #codes = new Map<string, Code>()
  #bytes = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  get size(): number {
    return this.#held.size
  }

  /**
   * @param issuer our issuer URL, for the subject of a user whom the upstream tokens do not name
   * @returns the code that the client gets
   * @throws Error when the tokens are too long to keep
   */
  begin(about: Begun, terms: CodeTerms, issuer: string): string {
    if (isLong(about.upstream)) throw new Error('the issuer\'s token is too long')
    const id = randomUUID()
    const scopes = about.upstream.scopes ?? []
    const subject = about.subject ?? { issuer, subject: id, client: about.client, scopes }
    const now = this.#now()
    const grant: Grant =
      { ...about, id, subject, upstreamAt: now, isRefused: false, refreshing: undefined }
    this.#sweep()
    const held: Held = { grant, access: new Map(), refresh: [], usedAt: now, isReceived: false, bytes: 0 }
    this.#held.set(id, held)
    this.#weigh(held)
    this.#makeRoom(grant)
    const code = secret()
    const { client, redirectUri, challenge } = terms
    this.#codes.set(
      digest(code), { client, redirectUri, challenge, grant: id, until: now + codeMs, isUsed: false },
    )
    return code
  }

  /** A grant ends with its code, if nobody has redeemed that. */
  #sweep(): void {
    for (const [key, { grant, until, isUsed }] of this.#codes) {
      if (this.#codes.size < maxCodes && this.#now() < until) break
      if (!isUsed) this.revoke({ id: grant })
      const isForgotten = this.#codes.size >= maxCodes || this.#now() >= until + usedCodeMs
      if (!isUsed || isForgotten) this.#codes.delete(key)
    }
  }

  /** Exchanges a code, once: one that comes again was stolen, and the grant ends (OAuth 2.1, 4.1.3). */
  redeem(code: string, terms: RedeemTerms): Grant | undefined {
    const found = this.#codes.get(digest(code))
    const held = this.#held.get(found?.grant ?? '')
    if (found === undefined || held === undefined) return undefined
    if (found.isUsed) this.revoke(held.grant)
    if (found.isUsed || this.#now() > found.until) return undefined
    const { client, redirectUri = found.redirectUri, challenge } = terms
    if (client !== found.client || redirectUri !== found.redirectUri) return undefined
    if (challenge !== found.challenge) return undefined
    found.isUsed = true
    return held.grant
  }

  /** Gives the client new tokens; with a refresh token, those before are used up. */
  issue(grant: Grant): Issued {
    const held = this.#held.get(grant.id)
    const { refresh: theirs, expiresAt = Infinity } = grant.upstream
    const left = theirs === undefined ? Math.floor((expiresAt - this.#now()) / 1000) : accessSeconds
    const seconds = Math.max(1, Math.min(accessSeconds, left))
    const [access, refresh] = [secret(), theirs === undefined ? undefined : secret()]
    if (held !== undefined) {
      held.access.set(digest(access), this.#now() + seconds * 1000)
      held.isReceived = false
      if (refresh !== undefined) held.refresh.push(digest(refresh))
      for (const token of [digest(access), ...(refresh === undefined ? [] : [digest(refresh)])]) {
        this.#tokens.set(token, grant.id)
      }
      for (const [token] of held.access) {
        if (held.access.size <= maxAccess) break
        held.access.delete(token)
        this.#tokens.delete(token)
      }
      for (const token of held.refresh.splice(0, held.refresh.length - maxRefresh)) this.#tokens.delete(token)
      this.#weigh(held)
    }
    return { access, refresh, seconds }
  }

  /** The grant of an access token. */
  ofAccess(token: string): Grant | undefined {
    const held = this.#heldOf(token)
    const until = held?.access.get(digest(token)) ?? 0
    if (held === undefined || this.#now() >= until) return undefined
    if ([...held.access.keys()].at(-1) === digest(token)) held.isReceived = true
    return this.#used(held)
  }

  /**
   * The grant of a refresh token. A token that was used before ends the grant (OAuth 2.1, section 4.3.1).
   * @param client the client that sends the token: a grant of another client is left as it is
   */
  ofRefresh(token: string, client: string): Grant | undefined {
    const held = this.#heldOf(token)
    if (held?.grant.client !== client || held.access.has(digest(token))) return undefined
    const from = held.refresh.lastIndexOf(digest(token))
    const age = held.refresh.length - from
    // If nobody has used the newest tokens, the response was lost, and the client asks again.
    if (age === 1 || (age === 2 && !held.isReceived)) {
      held.refresh.push(...held.refresh.splice(from, 1))
      return this.#used(held)
    }
    this.revoke(held.grant)
    return undefined
  }

  /** The grant that a token of either kind is of. */
  find(token: string): Grant | undefined {
    return this.#heldOf(token)?.grant
  }

  revoke({ id }: Pick<Grant, 'id'>): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    this.#held.delete(id)
    this.#bytes -= held.bytes
    for (const token of [...held.access.keys(), ...held.refresh]) this.#tokens.delete(token)
  }

  isKept({ id }: Grant): boolean {
    return this.#held.has(id)
  }

  /** @returns false, and ends the grant, when the tokens are too long to keep */
  renew(grant: Grant, tokens: Tokens): boolean {
    const held = this.#held.get(grant.id)
    if (held === undefined) return false
    grant.upstream = tokens
    grant.upstreamAt = this.#now()
    grant.isRefused = false
    this.#weigh(held)
    if (!isLong(tokens)) return true
    this.revoke(grant)
    return false
  }

  #heldOf(token: string): Held | undefined {
    const held = this.#held.get(this.#tokens.get(digest(token)) ?? '')
    if (held === undefined || !this.#isOld(held)) return held
    this.revoke(held.grant)
    return undefined
  }

  #isOld({ usedAt }: Held): boolean {
    return this.#now() - usedAt > idleMs
  }

  #weigh(held: Held): void {
    const { grant: { upstream: { access, refresh = '' } } } = held
    const bytes = 2 * (access.length + refresh.length) + 2000 + 200 * (held.access.size + held.refresh.length)
    this.#bytes += bytes - held.bytes
    held.bytes = bytes
  }

  #used(held: Held): Grant {
    held.usedAt = this.#now()
    this.#held.delete(held.grant.id)
    this.#held.set(held.grant.id, held)
    return held.grant
  }

  #makeRoom({ id, subject }: Grant): void {
    // A user who is not known is a subject of this grant alone.
    const ofSubject = subject.subject === id ? [] : [...this.#held.values()].filter(({ grant }) =>
      grant.subject.issuer === subject.issuer && grant.subject.subject === subject.subject)
    for (const { grant } of ofSubject.slice(0, -maxOfSubject)) this.revoke(grant)
    for (const held of this.#held.values()) {
      if (!this.#isOld(held) && this.#held.size <= maxGrants && this.#bytes <= maxBytes) break
      this.revoke(held.grant)
    }
  }
}

const isLong = ({ access, refresh = '' }: Tokens): boolean => access.length + refresh.length > longestToken
