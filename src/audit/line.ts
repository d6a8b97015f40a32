import { isObject, isString, member, type Json } from '../protocol/json.js'
import { canonical, sha256 } from './canonical.js'
import type { Position } from './record.js'

/** What one line of a log says of itself. */
export interface Line extends Position {
  readonly prev: string
  readonly event: string
  readonly session: string
}

/** `line`: undefined when nothing of it can be used; `wrong`: undefined when it is as it was written. */
export interface Reading {
  readonly line: Line | undefined
  readonly wrong: string | undefined
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @param bytes without the line end */
export const readLine = (bytes: Uint8Array): Reading => {
  const unusable = (wrong: string): Reading => ({ line: undefined, wrong })
  let text: string
  let record: Json
  try {
    text = decoder.decode(bytes)
    record = JSON.parse(text) as Json
  } catch {
    return unusable('half-cut or overwritten: it is not JSON')
  }
  if (!isObject(record)) return unusable('not a record')
  const { hash, ...rest } = record
  const [seq, prev, event, session] = [member(rest, 'seq'), member(rest, 'prev'), member(rest, 'event'), member(rest, 'session')]
  if (typeof seq !== 'number' || !isString(hash) || !isString(prev) || !isString(event) || !isString(session)) {
    return unusable('not a record')
  }
  const line = { seq, hash, prev, event, session }
  if (!holds(rest, hash)) return { line, wrong: 'changed: its hash does not match' }
  // Two spellings of one value have one canonical form; only one of them was written.
  return { line, wrong: JSON.stringify(record) === text ? undefined : 'changed: spelt otherwise than it was written' }
}

const holds = (record: Json, hash: string): boolean => {
  try {
    return sha256(canonical(record)) === hash
  } catch {
    // Nested beyond the stack, perhaps: nothing that was written here.
    return false
  }
}
