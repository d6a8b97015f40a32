import { hash } from 'node:crypto'
import { createRequire } from 'node:module'

/**
 * The canonical form (RFC 8785) of JSON with finite numbers and well-formed strings. The package is CommonJS,
 * and its types describe a module that it is not.
 */
export const canonical = createRequire(import.meta.url)('canonicalize') as (value: unknown) => string

/** Hex. */
export const sha256 = (content: string | Buffer): string => hash('sha256', content)
