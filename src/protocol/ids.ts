import type { Id, IdKey } from './json-rpc.js'
import { fold } from './protocol-keys.js'
import { afterSpace, afterValue, byte, eachChild } from './scan.js'

/** In so many members ids are looked for, and in so many bytes: what is no message is not worth more. */
const mostMembers = 10_000
const mostBytes = 1024 * 1024

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
  return raw !== undefined && Number(raw) === id ? raw : (spelling(id, bytes) ?? String(id))
}

/** How the id is spelt that stands in the middle of a message. */
const spelling = (id: number, bytes: Buffer): IdKey | undefined => {
  let found: IdKey | undefined
  eachChild(bytes, afterSpace(bytes, 0), ({ key, value, to }) => {
    const text = key === 'id' ? bytes.toString('latin1', value, to) : ''
    if (text !== '' && Number(text) === id) found = text
    return found !== undefined
  })
  return found
}

/**
 * Every id that can be read from a text that may be malformed, cut off or ambiguous, likeliest first: what stands as
 * `id` at the top (or in the elements of a batch, or in further messages), the last one first, as `JSON.parse` would have it; then
 * what readers that ignore case would take for it.
 */
export const keysIn = (bytes: Buffer): readonly IdKey[] => {
  if (bytes.length > mostBytes) return keysAtEnds(bytes.subarray(0, mostBytes), bytes.subarray(-reach))
  // UTF-16, and all that is not ASCII in it is of no interest here.
  if (bytes.includes(0)) return keysIn(Buffer.from(bytes.filter(one => one !== 0)))
  const exact: IdKey[] = []
  const folded: IdKey[] = []
  let left = mostMembers
  const read = (at: number) =>
    eachChild(bytes, at, ({ key, value, to }) => {
      if (key === 'id' || (key?.length === 2 && fold(key) === 'id')) {
        // What runs to the end of a text that is cut off may be cut off itself.
        const text = to < bytes.length ? asKey(bytes.toString('utf8', value, to)) : undefined
        if (text !== undefined) (key === 'id' ? exact : folded).push(text)
      }
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
  const last = atTail.exec(tail.toString())?.[1]
  const key = last === undefined ? undefined : asKey(last)
  return unique([...keysIn(head), ...(key === undefined ? [] : [key])])
}

/** Where the next message begins: what stands before it may be noise. */
const opening = (bytes: Buffer, at: number): number => {
  const first = afterSpace(bytes, at)
  if (bytes[first] === byte.openArray) return first
  const found = bytes.indexOf(byte.openObject, first)
  return found < 0 ? bytes.length : found
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
