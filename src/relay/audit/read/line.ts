import {
  isList, isRecord, isString, type Data, type DataObject, field, parseData,
} from '#relay/protocol/unmetered.js'
import { canonical, sha256 } from '#relay/base/canonical.js'
import type { Position } from '../record.js'

/** The members that every record has. */
export interface ReadRecord extends Position {
  readonly prev: string
  readonly event: string
  /** ISO 8601, UTC. */
  readonly time: string
  /** All members, `hash` included. */
  readonly members: DataObject
}

export interface ReadLine {
  /** Undefined when the line cannot be read as a record. */
  readonly record: ReadRecord | undefined
  /** Undefined when the line is as it was written. */
  readonly wrong: string | undefined
  /** The line may be the beginning of a record, cut short by a crash (`cut`) or by a power loss (`zeros`). */
  readonly torn: 'cut' | 'zeros' | undefined
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @param bytes without the line end */
export const readLine = (bytes: Buffer): ReadLine => {
  const unusable = (wrong: string, torn?: ReadLine['torn']): ReadLine => ({ record: undefined, wrong, torn })
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    // Bytes that are no UTF-8 are no JSON either.
    text = ''
  }
  const members = parseData(text)
  if (members === undefined) {
    const torn = bytes.at(-1) === 0 ? 'zeros' : 'cut'
    return unusable('half-cut or overwritten: it is not JSON', isTorn(bytes) ? torn : undefined)
  }
  if (!isRecord(members)) return unusable('not a record')
  const [seq, hash, prev, event, time] =
    ['seq', 'hash', 'prev', 'event', 'time'].map(name => field(members, name))
  if (typeof seq !== 'number' || !isString(hash) || !isString(prev) || !isString(event) || !isString(time)) {
    return unusable('not a record')
  }
  const record = { seq, hash, prev, event, time, members }
  return { record, wrong: faultOf(text, members, hash), torn: undefined }
}

const faultOf = (text: string, members: DataObject, hash: string): string | undefined => {
  if (!isCanonical(text, members)) return 'changed: spelt otherwise than it was written'
  // The members before `hash` cannot contain this text: their quotes are escaped.
  const unsealed = text.replace(`"hash":"${hash}",`, '')
  return sha256(unsealed) === hash ? undefined : 'changed: its hash does not match'
}

/** A record is always written in canonical form: another order, a repeated member or a space is a change. */
const isCanonical = (text: string, members: DataObject): boolean => {
  try {
    // The canonical form is what JSON.stringify writes of members in order (RFC 8785, 3.2.2 and 3.2.3).
    return isSorted(members) ? JSON.stringify(members) === text : canonical(members) === text
  } catch {
    // Nested deeper than the stack allows, which no record is.
    return false
  }
}

const isSorted = (value: Data | undefined): boolean => {
  if (typeof value !== 'object' || value === null) return true
  if (isList(value)) return value.every(isSorted)
  let last: string | undefined
  // No object of JSON.parse inherits an enumerable member.
  for (const name in value) {
    if (last !== undefined && name <= last) return false
    if (!isSorted(value[name])) return false
    last = name
  }
  return true
}

const openings = ['bytes', 'client', 'digest', 'error', 'event'].map(name => `{"${name}":`)

/** True when bytes may be the beginning of a record. A power loss leaves zeros in place of the rest. */
export const isTorn = (bytes: Buffer): boolean => {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end -= 1
  const text = bytes.toString('latin1', 0, Math.min(end, 20))
  return bytes.length > 0 && openings.some(opening => opening.startsWith(text) || text.startsWith(opening))
}
