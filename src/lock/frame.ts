import { isUtf8 } from 'node:buffer'
import { parseJson, type Json } from '../protocol/json.js'
import { plainJson } from '../protocol/plain-json.js'

/** A lock, its definitions set aside. */
export interface Frame {
  /** What the file says, with a number in the place of each definition. */
  readonly value: Json
  /** By these numbers, as they stand in the file. */
  readonly definitions: readonly Buffer[]
}

const before = '\n          "definition": '
const opening = Buffer.from(`${before}{\n`)
const closing = Buffer.from('\n          }')

/**
 * Of a lock that is laid out as it was written. Definitions are most of it, and read one by one they cost half of what they cost
 * together. Nothing stands twice in such a file: what is around the definitions is just what would be written for what it says. A key
 * that stands twice within a definition counts as the parser has it, which is what the digest judges.
 * @returns undefined for any other file
 */
export const frameOf = (file: Buffer): Frame | undefined => {
  if (!isUtf8(file)) return undefined
  const definitions: Buffer[] = []
  let around = ''
  let at = 0
  for (;;) {
    const found = file.indexOf(opening, at)
    if (found < 0) break
    const from = found + before.length
    const end = file.indexOf(closing, from)
    if (end < 0) return undefined
    around += `${file.toString('utf8', at, from)}${definitions.length}`
    at = end + closing.length
    definitions.push(file.subarray(from, at))
  }
  around += file.toString('utf8', at)
  const value = parseJson(around)
  return value !== undefined && `${plainJson(value)}\n` === around ? { value, definitions } : undefined
}
