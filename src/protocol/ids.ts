import { slice, type Path } from './edit.js'
import type { Frame } from './frame.js'
import { isString, parseJson, type Json } from './json.js'
import type { Id, IdKey } from './json-rpc.js'
import { fold } from './protocol-keys.js'
import { afterSpace, afterValue, byte, eachChild, stringOf } from './scan.js'
import { eachLastMember } from './sole.js'

// The one reader of ids: which bytes are an id, what it means, and how it is written.

/** In so many members ids are looked for, and in so many bytes: what is no message is not worth more. */
const maxMembers = 10_000
const maxBytes = 1024 * 1024

/** Ids are looked for in so many bytes of the end of a text of which the middle is missing. */
const tailBytes = 256

/**
 * True of what a request can be named by (JSON-RPC 2.0, section 4), whole numbers or not. A number beyond a double is none: it has no
 * value that all readers agree on.
 */
export const isId = (value: Json | undefined): value is Id => isString(value) || (typeof value === 'number' && Number.isFinite(value))

/** An id, as we write it. */
export const written = (id: Id): IdKey => JSON.stringify(id)

/** The key of the id that a JSON text is. @returns undefined where it is no id by JSON's grammar: `01`, `1.`, `null` */
export const readKey = (text: string): IdKey | undefined => {
  const id = parseJson(text)
  if (!isId(id)) return undefined
  return isString(id) ? written(id) : text
}

/** The value of an id. */
export const idOf = (key: IdKey): Id => {
  const id = parseJson(key)
  return isId(id) ? id : 0
}

/** The same id in another spelling, which is not the key of any request: an answer by it is no exact answer. */
export const misspelt = (key: IdKey): IdKey => ` ${key}`

/** What a lenient reader makes of an id (`Number(id)`, where that is a number): `1`, `1.0` and `"1"` mean the same. */
export const meaningOf = (key: IdKey): string => {
  // What most clients use: it means itself.
  if (/^(?:0|[1-9]\d{0,14})$/.test(key)) return key
  const id = idOf(key)
  const number = isString(id) && id.trim() === '' ? NaN : Number(id)
  return String(Number.isNaN(number) ? id : number)
}

/** The number that a lenient reader takes an id for. */
export const numberOf = (key: IdKey): number => Number(meaningOf(key))

/** The key of the id, or of the progress token, that stands somewhere in a message. */
export const keyAt = (frame: Frame, path: Path): IdKey | undefined => {
  const text = slice(frame, path)
  return text === undefined || !mayBeId(text[0]) ? undefined : readKey(text.toString())
}

/** The key of a message's id. @param bytes the message, whose `id` is known to be `id` */
export const keyOf = (id: Id, bytes: Buffer): IdKey => {
  if (isString(id)) return written(id)
  const numeral = String(id)
  let found: IdKey | undefined
  const look = (name: string | undefined, value: number, to: number): boolean => {
    const text = name === 'id' ? bytes.toString('latin1', value, to) : undefined
    // Nearly every id is spelt as we would spell it: that is known without reading it again.
    if (text !== undefined && (text === numeral || parseJson(text) === id)) found = text
    return found !== undefined
  }
  // Most have it at the end or at the beginning. Only where it stands between two objects is one of them stepped over.
  eachLastMember(bytes, ({ from, value, to }) => look(stringOf(bytes, from, to.key), value, to.value))
  if (found === undefined) eachChild(bytes, afterSpace(bytes, 0), ({ key, value, to }) => look(key, value, to))
  return found ?? written(id)
}

/**
 * Every id that can be read from a text that may be malformed, cut off or ambiguous, likeliest first: what stands as
 * `id` at the top (or in the elements of a batch, or in further messages), the last one first, as `JSON.parse` would have it; then
 * what readers that ignore case would take for it.
 */
export const keysIn = (bytes: Buffer): readonly IdKey[] => {
  if (bytes.length > maxBytes) return keysAtEnds(bytes.subarray(0, maxBytes), bytes.subarray(-tailBytes))
  // UTF-16, and all that is not ASCII in it is of no interest here.
  if (bytes.includes(0)) return keysIn(Buffer.from(bytes.filter(one => one !== 0)))
  const exact: IdKey[] = []
  const folded: IdKey[] = []
  let left = maxMembers
  const read = (at: number) =>
    eachChild(bytes, at, ({ key, value, to }) => {
      // What runs to the end of a text that is cut off may be cut off itself.
      if (key?.length === 2 && to < bytes.length && fold(key) === 'id') note(key === 'id' ? exact : folded, bytes, value, to)
      return --left <= 0
    })
  for (let at = opening(bytes, 0); at < bytes.length && left > 0; at = opening(bytes, afterValue(bytes, at))) {
    left--
    if (bytes[at] !== byte.openArray) read(at)
    else {
      eachChild(bytes, at, ({ value }) => {
        if (bytes[value] === byte.openObject) read(value)
        return --left <= 0
      })
    }
  }
  return unique([...exact.reverse(), ...folded.reverse()])
}

/** As `keysIn`, of a text of which only the beginning and the end are there. */
export const keysAtEnds = (head: Buffer, tail: Buffer): readonly IdKey[] => {
  const last: IdKey[] = []
  eachLastMember(tail, ({ from, value, to }) => {
    if (stringOf(tail, from, to.key) === 'id') note(last, tail, value, to.value)
    return false
  })
  return unique([...keysIn(head), ...last])
}

const note = (keys: IdKey[], bytes: Buffer, value: number, to: number): void => {
  const key = mayBeId(bytes[value]) ? readKey(bytes.toString('utf8', value, to)) : undefined
  if (key !== undefined) keys.push(key)
}

/** What begins otherwise is not read: it may be long. */
const mayBeId = (first: number | undefined): boolean => first !== byte.openObject && first !== byte.openArray

/** Where the next message begins: what stands before it may be noise. */
const opening = (bytes: Buffer, at: number): number => {
  const first = afterSpace(bytes, at)
  if (bytes[first] === byte.openArray) return first
  const found = bytes.indexOf(byte.openObject, first)
  return found < 0 ? bytes.length : found
}

const unique = (keys: readonly IdKey[]): readonly IdKey[] => [...new Set(keys)]
