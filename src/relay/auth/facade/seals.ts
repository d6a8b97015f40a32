import { hash, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '#relay/base/errors.js'
import { isWindows } from '#relay/base/platform/machine.js'
import type { RegisteredClient } from '../client/registration.js'

// Loaded with the first request.
const jose = () => import('jose')

/** A digest to keep in place of a secret: it recognizes the secret, but does not reveal it. */
export const digest = (secret: string): string => hash('sha256', secret, 'base64url')

const keyBytes = 32

/** The key of all replicas. @param secret their `state.key` */
export const sealKeyOf = (secret: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, '', 'mcp-customs facade', keyBytes))

/**
 * A key of this user that outlives the process, where there are no replicas: of facades, because clients keep
 * their registrations and tokens, or of session ids.
 * @param folder the state folder. Processes that start at the same time get the same key
 * @throws Error where the key cannot be read or written, or others than its owner can read it
 */
export const sealKeyIn = async (folder: string, name = 'facade.key'): Promise<Uint8Array> => {
  const file = join(folder, name)
  return await readKey(file) ?? createKey(folder, file)
}

const readKey = async (file: string): Promise<Uint8Array | undefined> => {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      const { mode, size } = await handle.stat()
      if (!isWindows() && (mode & 0o077) !== 0) throw new Error('other users can read it')
      if (size !== keyBytes) throw new Error(`it does not have ${keyBytes} bytes`)
      return await handle.readFile()
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

const createKey = async (folder: string, file: string): Promise<Uint8Array> => {
  const temporary = `${file}.${randomUUID()}.new`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    await writeFile(temporary, randomBytes(keyBytes), { flag: 'wx', mode: 0o600, flush: true })
    // `link` makes the whole file appear at once. If another process was first, its key stays.
    await link(temporary, file).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
  } finally {
    await rm(temporary, { force: true })
  }
  const key = await readKey(file)
  if (key === undefined) throw new Error('it was removed')
  return key
}

/** A registration, which is the client's id. */
export interface Registration {
  readonly uris: readonly string[]
  readonly name?: string
}

/** The issuer behind, and this relay as its client: what is got there is sent to no other issuer. */
export interface Via {
  readonly issuer: string
  /** For the `resource` of every request (RFC 8707). */
  readonly resource: string
  readonly client: RegisteredClient
}

/** What a client wants the user to allow. */
export interface Wish {
  /** The digest of the client's id. */
  readonly client: string
  /** What the client calls itself, and the host of its metadata document. */
  readonly name?: string | undefined
  readonly host?: string | undefined
  readonly redirectUri: string
  readonly state?: string | undefined
  /** The `code_challenge` (S256). */
  readonly challenge: string
  /** The endpoint's URL, for which our tokens are. */
  readonly resource: string
  readonly scopes: readonly string[]
  readonly via: Via
  /** The `code_verifier` of the login at the issuer. */
  readonly verifier: string
}

/** A wish, and the issuer's code for it. */
export interface Answered extends Wish {
  readonly code: string
  /** The `iss` beside it. */
  readonly iss: string | undefined
}

/** A token of the issuer. */
export interface Grant extends Pick<Wish, 'client' | 'resource' | 'scopes' | 'via'> {
  /** Of the login: all its tokens have the same. */
  readonly login: string
  readonly token: string
  readonly subject: { readonly issuer: string; readonly subject: string }
}

/** What is sealed, by its kind: a text of one kind is none of another. */
interface Contents {
  /** The id of a client of ours. */
  readonly client: Registration
  /** The `state` with which the issuer sends the user back. */
  readonly state: Wish
  /** In the form of the consent. */
  readonly consent: Answered
  readonly code: Answered
  readonly access: Grant
  readonly refresh: Grant
}

/**
 * Seals texts that this relay hands out and gets back later, perhaps at another replica or after a restart.
 * Nobody else can read or make such a text. The relay stores none of them, so strangers cannot fill its
 * memory (JWE, A256GCM).
 */
export class Seals {
  readonly #key: Uint8Array
  readonly #issuer: string
  readonly #now: () => number

  /** @param key `keyBytes` long @param issuer seals of other issuers with the same key do not count */
  constructor(key: Uint8Array, issuer: string, now: () => number = Date.now) {
    this.#key = key
    this.#issuer = issuer
    this.#now = now
  }

  /** @param until in milliseconds since 1970; undefined: for ever */
  async seal<Kind extends keyof Contents>(
    kind: Kind, content: Contents[Kind], until?: number,
  ): Promise<string> {
    const { EncryptJWT } = await jose()
    const sealed = new EncryptJWT({ content })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).setIssuer(this.#issuer).setAudience(kind)
    if (until !== undefined) sealed.setExpirationTime(Math.floor(until / 1000))
    return sealed.encrypt(this.#key)
  }

  /** @returns undefined for what was not sealed here, for another kind, or too long ago */
  async open<Kind extends keyof Contents>(kind: Kind, text: string): Promise<Contents[Kind] | undefined> {
    const { jwtDecrypt } = await jose()
    try {
      const { payload: { content } } = await jwtDecrypt(text, this.#key, {
        issuer: this.#issuer, audience: kind, currentDate: new Date(this.#now()),
        keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'],
      })
      // Only `seal` makes a text that can be opened, and each kind has one type.
      return content as Contents[Kind]
    } catch {
      return undefined
    }
  }
}
