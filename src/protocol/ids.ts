import type { Id, IdKey } from './json-rpc.js'
import { fold } from './protocol-keys.js'
import { afterSpace, byte, eachChild } from './scan.js'

/** More ids than that are not looked for in one text. */
const mostKeys = 1000

/** An id as JSON text: a number, or a string. */
const number = String.raw`-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?`
const string = String.raw`"(?:[^"\\]|\\.)*"`
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"`
const wholeNumber = new RegExp(`^${number}$`)

// Where peers put the id: first or last, or next to the version that stands there. In JSON a quotation mark inside a
// string has a backslash before it: what stands before `"id"` here shows that a key begins, however little is seen.
const atHead = new RegExp(String.raw`^\s*\{\s*(?:${version}\s*,\s*)?"id"\s*:\s*(${number}|${string})\s*[,}]`, 's')
const atTail = new RegExp(String.raw`[{,\s]"id"\s*:\s*(${number}|${string})\s*(?:,\s*${version}\s*)?\}\s*$`, 's')

/** An id at head or tail is looked for in so many bytes. */
const reach = 256

/** The key of a message's id. @param bytes the message, whose one `id` is known to be `id` */
export const keyOf = (id: Id, bytes: Buffer): IdKey => {
  if (typeof id === 'string') return JSON.stringify(id)
  const raw =
    atHead.exec(bytes.toString('latin1', 0, reach))?.[1] ??
    atTail.exec(bytes.toString('latin1', Math.max(0, bytes.length - reach)))?.[1]
  return raw !== undefined && Number(raw) === id ? raw : (keysIn(bytes)[0] ?? String(id))
}

/**
 * Every id that can be read from a text that may be malformed, cut off or ambiguous, likeliest first: what stands as
 * `id` at the top (or in the elements of a batch), the last one first, as `JSON.parse` would have it; then what
 * readers that ignore case would take for it.
 */
export const keysIn = (bytes: Buffer): readonly IdKey[] => {
  const exact: IdKey[] = []
  const folded: IdKey[] = []
  const read = (at: number) =>
    eachChild(bytes, at, ({ key, value, to }) => {
      if (key !== 'id' && (key === undefined || key.length !== 2 || fold(key) !== 'id')) return false
      // What runs to the end of a text that is cut off may be cut off itself.
      const text = to < bytes.length ? asKey(bytes.toString('utf8', value, to)) : undefined
      if (text !== undefined) (key === 'id' ? exact : folded).push(text)
      return exact.length + folded.length >= mostKeys
    })
  const start = opening(bytes)
  if (bytes[start] === byte.openArray) {
    eachChild(bytes, start, ({ value }) => {
      if (bytes[value] === byte.openObject) read(value)
      return exact.length + folded.length >= mostKeys
    })
  } else read(start)
  return unique([...exact.reverse(), ...folded.reverse()])
}

/** As `keysIn`, of a text of which only the beginning and the end are there. */
export const keysAtEnds = (head: Buffer, tail: Buffer): readonly IdKey[] => {
  const last = atTail.exec(tail.toString())?.[1]
  const key = last === undefined ? undefined : asKey(last)
  return unique([...keysIn(head), ...(key === undefined ? [] : [key])])
}

/** Where the message begins: what stands before it may be noise. */
const opening = (bytes: Buffer): number => {
  const first = afterSpace(bytes, 0)
  return bytes[first] === byte.openArray ? first : Math.max(first, bytes.indexOf(byte.openObject, first))
}

const asKey = (text: string): IdKey | undefined => {
  if (!text.startsWith('"')) return wholeNumber.test(text) ? text : undefined
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}

const unique = (keys: readonly IdKey[]): readonly IdKey[] => [...new Set(keys)]
