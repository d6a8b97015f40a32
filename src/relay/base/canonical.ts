import { hash } from 'node:crypto'
import { createRequire } from 'node:module'

/**
 * The canonical form (RFC 8785) of JSON with finite numbers and well-formed strings. The package is CommonJS,
 * and its types describe a module that it is not.
 */
export const canonical = createRequire(import.meta.url)('canonicalize') as (value: unknown) => string

/** Equal for definitions that are equal but for the order of their members. */
export const digestOf = (definition: object): string => {
  const known = digests.get(definition)
  if (known !== undefined) return known
  const digest = hash('sha256', canonical(definition), 'base64url').slice(0, 22)
  digests.set(definition, digest)
  return digest
}
const digests = new WeakMap<object, string>()

/** Hex. */
export const sha256 = (content: string | Buffer): string => hash('sha256', content)
