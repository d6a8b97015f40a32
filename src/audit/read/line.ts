import { isObject, isString, member, parseJson, type JsonObject } from '../../protocol/unmetered.js'
import { canonical, sha256 } from '../../canonical.js'
import type { Position } from '../record.js'

/** What one line of a log says of itself. */
export interface ReadRecord extends Position {
  readonly prev: string
  readonly event: string
  /** ISO 8601, UTC. */
  readonly time: string
  /** All of it, `hash` included. */
  readonly members: JsonObject
}

export interface Reading {
  /** Undefined when nothing of the line can be used. */
  readonly record: ReadRecord | undefined
  /** Undefined when the line is as it was written. */
  readonly wrong: string | undefined
  /** It is no JSON, but may be the beginning of a record whose writer was interrupted (`cut`), perhaps by a power loss (`zeros`). */
  readonly torn: 'cut' | 'zeros' | undefined
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @param bytes without the line end */
export const readLine = (bytes: Buffer): Reading => {
  const unusable = (wrong: string, torn?: Reading['torn']): Reading => ({ record: undefined, wrong, torn })
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    text = ''
  }
  const members = parseJson(text)
  if (members === undefined) {
    return unusable('half-cut or overwritten: it is not JSON', isTorn(bytes) ? (bytes.at(-1) === 0 ? 'zeros' : 'cut') : undefined)
  }
  if (!isObject(members)) return unusable('not a record')
  const [seq, hash, prev, event, time] = ['seq', 'hash', 'prev', 'event', 'time'].map(name => member(members, name))
  if (typeof seq !== 'number' || !isString(hash) || !isString(prev) || !isString(event) || !isString(time)) return unusable('not a record')
  return { record: { seq, hash, prev, event, time, members }, wrong: faultOf(text, members, hash), torn: undefined }
}

const faultOf = (text: string, members: JsonObject, hash: string): string | undefined => {
  if (!isCanonical(text, members)) return 'changed: spelt otherwise than it was written'
  // Among the members that sort before it none has one of this name.
  return sha256(text.replace(`"hash":"${hash}",`, '')) === hash ? undefined : 'changed: its hash does not match'
}

/** Another order, a repeated member or a space is no line of ours, whatever its hash says. */
const isCanonical = (text: string, members: JsonObject): boolean => {
  try {
    return canonical(members) === text
  } catch {
    // Nested beyond the stack, perhaps: nothing that was written here.
    return false
  }
}

const openings = ['bytes', 'client', 'digest', 'error', 'event'].map(name => `{"${name}":`)

/** Whether the bytes, which are no JSON, may be the beginning of a record. Where the power was lost, zeros stand for what was not written. */
export const isTorn = (bytes: Buffer): boolean => {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end -= 1
  const text = bytes.toString('latin1', 0, Math.min(end, 20))
  return bytes.length > 0 && openings.some(opening => opening.startsWith(text) || text.startsWith(opening))
}
