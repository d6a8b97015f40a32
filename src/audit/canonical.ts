import { hash } from 'node:crypto'
import { createRequire } from 'node:module'

// The package is CommonJS, and its types describe a module that it is not.
const serialize = createRequire(import.meta.url)('canonicalize') as (value: unknown) => string

/** The canonical form (RFC 8785). @param value JSON: finite numbers, well-formed strings */
export const canonical = (value: unknown): string => serialize(value)

/** Hex. */
export const sha256 = (content: string | Buffer): string => hash('sha256', content)
