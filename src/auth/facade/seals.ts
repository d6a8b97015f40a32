import { hash } from 'node:crypto'
import { isObject, type JsonObject, parseJson } from '#protocol/unmetered.js'

// Loaded with the first request.
const jose = () => import('jose')

/** What is kept of a secret: it can be recognized, and not read. */
export const digest = (secret: string): string => hash('sha256', secret, 'base64url')

/**
 * What this relay hands out and gets back later: nobody else can read or make it, and nothing of it is kept
 * here, so that strangers cannot fill the memory (JWE, A256GCM).
 */
export class Seals {
  readonly #key: Uint8Array
  readonly #issuer: string

  /** @param key 32 bytes @param issuer what another issuer has sealed with the same key does not count */
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
