import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'

// The package is CommonJS, and its types describe a module that it is not.
const serialize = createRequire(import.meta.url)('canonicalize') as (value: unknown) => string

/** Hex SHA-256 of the value's canonical form (RFC 8785). @param value JSON: finite numbers, well-formed strings */
export const canonicalHash = (value: unknown): string => sha256(serialize(value))

export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')
