import { canonical, sha256 } from '../canonical.js'
import type { Json } from '../protocol/json.js'

const prefixed = (text: string): string => `sha256-${sha256(text)}`

/** SHA-256 over the canonical form (RFC 8785), as `sha256-` and hex. */
export const digestOf = (value: Json): string => prefixed(canonical(value))

/** Whether a value has that digest. One whose keys are in canonical order, as in a lock, need not be sorted anew. */
export const hasDigest = (value: Json, digest: string): boolean => prefixed(JSON.stringify(value)) === digest || digestOf(value) === digest
