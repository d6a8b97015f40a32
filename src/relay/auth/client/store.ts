import { hash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { copyFile, open, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { JWK } from 'jose'
import { attemptMs, Contest, type Claim } from '#relay/base/claim.js'
import { codeOf } from '#relay/base/errors.js'
import { isHeldOpen, namesIn, replaceFile } from '#relay/base/platform/files.js'
import { readAs, shape } from '#relay/base/own-json.js'
import { isString, field, parseData, type Data } from '#relay/protocol/unmetered.js'
import { HttpFailure } from '#relay/transport/upstream/pool.js'
import { serverMetadata, type AuthorizationServer } from './discovery.js'
import type { RegisteredClient, TokenEndpointMethod } from './registration.js'
import type { Begun, Tokens } from './requests.js'
import { loginKeyOf, type Holder, type LoginSettings } from './settings.js'

/** The login at one server, as it is kept in a file. */
export interface Stored {
  /** The MCP server. */
  readonly url: string
  readonly resource: string
  /** The issuer's metadata, as it was when the user logged in. */
  readonly server: AuthorizationServer
  readonly client: RegisteredClient
  /** The scopes that were asked for. */
  readonly requested: readonly string[]
  readonly tokens?: Tokens | undefined
  /** The refresh token was sent at this time, and the answer is not here: the issuer may have used it up. */
  readonly sentAt?: number | undefined
  /** The private key that the tokens are bound to. */
  readonly dpop?: JWK | undefined
  /** In the file of a login that a user has begun: a successor of this process can finish it. */
  readonly pending?: PendingLogin | undefined
  /** The client of `serve` whose login it is; undefined: the user's own. */
  readonly holder?: Holder | undefined
}

export interface PendingLogin extends Begun {
  readonly startedAt: number
  /** The path of the start page that is shown, until a browser has opened it. */
  readonly path?: string | undefined
  /** The client was registered for an earlier login. */
  readonly isReused?: boolean | undefined
  /** Nobody has finished the login while a request waited for it. */
  readonly isLate?: boolean | undefined
}

/**
 * Longest wait for another process that holds the claim on the tokens and lives, in milliseconds: it asks the
 * issuer, and each request there ends sooner.
 */
const claimMs = 40_000

/** The file of one login. It is changed only by the process that has claimed it. */
export class LoginFile {
  readonly #path: string
  readonly #holder: Holder | undefined

  constructor(path: string, holder?: Holder) {
    this.#path = path
    this.#holder = holder
  }

  /** The login that a user has begun, and that gives no tokens yet. Written under `claimedForLogin`. */
  get begun(): LoginFile {
    return new LoginFile(this.#path.replace(/\.json$/, '.begun'), this.#holder)
  }

  /** @throws the system's error when the file exists but cannot be read now: nothing may replace it then */
  read(): Stored | undefined {
    try {
      return storedIn(parseData(readFileSync(this.#path, 'utf8')))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    }
  }

  /** Differs after each change; undefined where there is no file. */
  stamp(): string | undefined {
    const found = statSync(this.#path, { throwIfNoEntry: false })
    return found && `${found.ino} ${found.mtimeMs}`
  }

  /** Durable and atomic: whoever reads finds the old state or the new one. */
  async write(stored: Stored): Promise<void> {
    const temporary = `${this.#path}.${randomUUID()}.new`
    this.#removeUnfinished()
    try {
      const handle = await open(temporary, 'wx', 0o600)
      try {
        await handle.writeFile(JSON.stringify({ ...stored, holder: this.#holder ?? stored.holder }))
        await handle.sync()
      } finally {
        await handle.close()
      }
      await replaceFile(temporary, this.#path).catch((error: unknown) => {
        if (!isHeldOpen(error)) throw error
        // The issuer has used up the old refresh token: a reader that sees a part reads again.
        return copyFile(temporary, this.#path).then(() => rm(temporary, { force: true }))
      })
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  /**
   * Acts under the claim on the tokens.
   * @returns what `act` returns, or a value as soon as `instead` returns one
   * @throws HttpFailure when another process does not give the claim back
   */
  claimed<Value>(act: Act<Value>, instead?: () => Value | undefined): Promise<Value> {
    return underClaim(this.#path, claimMs, act, instead)
  }

  /**
   * As `claimed`, for the right to ask the user to log in. It is a claim of its own, because a login takes
   * minutes, and tokens must be refreshed meanwhile. The requests that wait for it have an end of their own.
   */
  claimedForLogin<Value>(act: Act<Value>, instead: () => Value | undefined): Promise<Value> {
    return underClaim(`${this.#path}.login`, Infinity, act, instead)
  }

  /** Changes the file under a claim. @param changed makes the new state from the current one */
  change(changed: (stored: Stored | undefined) => Stored): Promise<Stored> {
    return this.claimed(async () => {
      const stored = changed(this.read())
      await this.write(stored)
      return stored
    })
  }

  remove(): void {
    this.#removeUnfinished()
    rmSync(this.#path, { force: true })
    if (this.#path.endsWith('.json')) this.begun.remove()
  }

  /** Removes temporary files, which hold tokens, of processes that were killed while they wrote. */
  #removeUnfinished(): void {
    const [folder, name] = [dirname(this.#path), basename(this.#path)]
    for (const one of namesIn(folder)) {
      if (one.startsWith(`${name}.`) && one.endsWith('.new')) rmSync(join(folder, one), { force: true })
    }
  }
}

/** The login without its registration, which the issuer no longer knows: the next login registers again. */
export const withoutRegistration = (stored: Stored): Stored =>
  ({ ...stored, client: { ...stored.client, redirectUri: undefined } })

type Act<Value> = (held: Claim) => Value | Promise<Value>

const underClaim = async <Value>(
  file: string, longestMs: number, act: Act<Value>, instead?: () => Value | undefined,
): Promise<Value> => {
  // Made here, because most relays never log in.
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const contest = new Contest(file)
  for (let waited = 0; waited < longestMs; waited += attemptMs) {
    const found = instead?.()
    if (found !== undefined) return found
    const held = contest.attempt()
    if (held === undefined) {
      await pause(attemptMs)
      continue
    }
    try {
      return await act(held)
    } finally {
      held.release()
    }
  }
  throw new HttpFailure(`${contest.rival ?? 'another relay'} uses the login at this server, and does not end`)
}

/** The folder of all logins of a user. */
export class LoginFolder {
  readonly #path: string

  /** @param state the state folder */
  constructor(state: string) {
    this.#path = join(state, 'logins')
  }

  /** @param url the MCP server's */
  file(url: string, settings: LoginSettings, holder?: Holder): LoginFile {
    const digest = hash('sha256', JSON.stringify([url, loginKeyOf(settings, holder)])).slice(0, 16)
    const name = `${new URL(url).host.replace(/[^\w.-]/g, '_')}-${digest}.json`
    return new LoginFile(join(this.#path, name), holder)
  }

  /** Every login, also those that are only begun. */
  all(): readonly (readonly [LoginFile, Stored])[] {
    const names = namesIn(this.#path).filter(name => /\.(?:json|begun)$/.test(name))
    const files = [...new Set(names.map(name => name.replace(/\.begun$/, '.json')))].sort()
      .map(name => new LoginFile(join(this.#path, name)))
    return files.flatMap(file => {
      const stored = file.read() ?? file.begun.read()
      return stored === undefined ? [] : [[file, stored] as const]
    })
  }
}

/** @returns undefined for a file that this program has not written */

const { fields, flag, list, maybe, number, object, oneOf, text } = shape

const login = fields({
  url: text, resource: text, server: object,
  client: fields({
    id: text, secret: maybe(text), redirectUri: maybe(text), secretExpiresAt: maybe(number),
    method: maybe(oneOf<TokenEndpointMethod>('none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt')),
  }),
  requested: maybe(list(text)),
  tokens: maybe(fields({
    access: text, type: maybe(oneOf<Tokens['type']>('dpop', 'bearer')), refresh: maybe(text),
    expiresAt: maybe(number), lifetimeMs: maybe(number), scopes: maybe(list(text)),
  })),
  sentAt: maybe(number),
  dpop: maybe(object),
  pending: maybe(fields({
    url: text, state: text, verifier: text, redirectUri: text, startedAt: number, path: maybe(text),
    isReused: maybe(flag), isLate: maybe(flag),
  })),
  holder: maybe(fields({ issuer: text, name: text })),
})

/** What an issuer may leave out of its tokens. */
const nothing = { expiresAt: undefined, lifetimeMs: undefined, refresh: undefined, scopes: undefined }

const storedIn = (value: Data | undefined): Stored | undefined => {
  const read = readAs(login, value)
  const issuer = read && field(read.server, 'issuer')
  if (read === undefined || !isString(issuer)) return undefined
  const { server, client, requested = [], tokens, dpop, ...others } = read
  return {
    ...others, requested, server: serverMetadata(server, issuer), client: { ...client, issuer },
    tokens: tokens && { ...nothing, ...tokens, type: tokens.type ?? 'bearer' },
    dpop: dpop as JWK | undefined,
  }
}
