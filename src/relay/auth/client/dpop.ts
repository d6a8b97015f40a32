import { hash, randomUUID } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'

// Tokens that are bound to a key (RFC 9449).

const algorithm = 'ES256'

export const newKey = async (): Promise<JWK> => {
  const { exportJWK, generateKeyPair } = await import('jose')
  return exportJWK((await generateKeyPair(algorithm, { extractable: true })).privateKey)
}

/** @param jwk the private key */
export const keyPairOf = async (jwk: JWK): Promise<{ privateKey: CryptoKey; publicKey: CryptoKey }> => {
  const { importJWK } = await import('jose')
  const [privateKey, publicKey] = await Promise.all([
    importJWK(jwk, algorithm), importJWK(publicPartOf(jwk), algorithm, { extractable: true }),
  ])
  if (privateKey instanceof Uint8Array || publicKey instanceof Uint8Array) {
    throw new TypeError('not a key pair')
  }
  return { privateKey, publicKey }
}

const publicPartOf = ({ kty = '', crv = '', x = '', y = '' }: JWK): JWK => ({ kty, crv, x, y })

interface Proven {
  readonly key: JWK
  readonly method: string
  readonly url: URL
  readonly token: string
  /** From the server's last response. */
  readonly nonce: string | undefined
  readonly now: number
}

/** The `DPoP` header of one request to the server (RFC 9449, sections 4.2 and 7). */
export const proofOf = async ({ key, method, url, token, nonce, now }: Proven): Promise<string> => {
  const { importJWK, SignJWT } = await import('jose')
  return new SignJWT({
    htm: method, htu: url.origin + url.pathname, jti: randomUUID(), ath: hash('sha256', token, 'base64url'),
    ...(nonce !== undefined && { nonce }),
  }).setProtectedHeader({ alg: algorithm, typ: 'dpop+jwt', jwk: publicPartOf(key) })
    .setIssuedAt(Math.floor(now / 1000)).sign(await importJWK(key, algorithm))
}
