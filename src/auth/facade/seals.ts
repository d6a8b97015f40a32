import { hash, randomBytes, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '#errors.js'
import { isObject, type JsonObject, parseJson } from '#protocol/unmetered.js'

// Loaded with the first request.
const jose = () => import('jose')

/** A digest to keep in place of a secret: it recognizes the secret, but does not reveal it. */
export const digest = (secret: string): string => hash('sha256', secret, 'base64url')

const keyBytes = 32

/**
 * A key that outlives the process: that of a user's facades, because a client keeps its registration, and few
 * register again when it is refused; or that of session ids.
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
      if (process.platform !== 'win32' && (mode & 0o077) !== 0) throw new Error('other users can read it')
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

/**
 * Seals texts that this relay hands out and gets back later. Nobody else can read or make such a text. The
 * relay stores none of them, so strangers cannot fill its memory (JWE, A256GCM).
 */
export class Seals {
  readonly #key: Uint8Array
  readonly #issuer: string

  /** @param key `keyBytes` long @param issuer seals of other issuers with the same key do not count */
  constructor(key: Uint8Array, issuer: string) {
    this.#key = key
    this.#issuer = issuer
  }

  /** @param kind what it is for: it cannot be used as another kind @param seconds undefined: for ever */
  async seal(kind: string, content: JsonObject, seconds?: number): Promise<string> {
    const { EncryptJWT } = await jose()
    const sealed = new EncryptJWT({ content: JSON.stringify(content) })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).setIssuer(this.#issuer).setAudience(kind)
    if (seconds !== undefined) sealed.setExpirationTime(`${seconds}s`)
    return sealed.encrypt(this.#key)
  }

  /** @returns undefined for what was not sealed here, for another kind, or too long ago */
  async open(kind: string, text: string): Promise<JsonObject | undefined> {
    const { jwtDecrypt } = await jose()
    try {
      const { payload: { content } } = await jwtDecrypt(text, this.#key, {
        issuer: this.#issuer, audience: kind,
        keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'],
      })
      const opened = typeof content === 'string' ? parseJson(content) : undefined
      return isObject(opened) ? opened : undefined
    } catch {
      return undefined
    }
  }
}
