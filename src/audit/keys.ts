import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { codeOf, CustomsError } from '../errors.js'

/**
 * The key that signs checkpoints: Ed25519, PEM (PKCS#8, as `openssl genpkey -algorithm ed25519` writes it).
 * @throws CustomsError BAD_CONFIG; no byte of the file is in the message
 */
export const readSigningKey = (file: string): KeyObject => readKey(file, createPrivateKey, 'private')

/** The key that checks them: PEM (SPKI, as `openssl pkey -pubout` writes it). @throws CustomsError BAD_CONFIG */
export const readPublicKey = (file: string): KeyObject => readKey(file, createPublicKey, 'public')

const readKey = (file: string, create: (pem: Buffer) => KeyObject, kind: string): KeyObject => {
  const fail = (reason: string): never => {
    throw new CustomsError('BAD_CONFIG', `${file}: ${reason}`)
  }
  let pem: Buffer
  try {
    pem = readFileSync(file)
  } catch (cause) {
    return fail(`cannot be read (${codeOf(cause)})`)
  }
  try {
    const key = create(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // Said below: the reasons of OpenSSL help nobody.
  }
  return fail(`is no Ed25519 ${kind} key in PEM`)
}
