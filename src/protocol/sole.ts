import type { Frame } from './frame.js'
import { afterSpace, afterValue, byte, isSpace, stringOf, type Child } from './scan.js'

/** Members beside the one object are short: further than that from the end they are not looked for. */
const reach = 1024

/**
 * The one object (`params`, `result` or `error`) of a message that holds nothing beside it but strings and numbers (`facts.sole`), as
 * nearly every message does: it is cut out from both ends, unread.
 */
export const soleObject = ({ bytes, facts }: Frame): Child | undefined => {
  if (facts?.sole !== true) return undefined
  const to = eachLastMember(bytes, stepOver)
  if (to === undefined) return undefined
  for (let index = 0, from = afterSpace(bytes, afterSpace(bytes, 0) + 1); ; index++) {
    const keyEnd = afterValue(bytes, from)
    const value = afterSpace(bytes, afterSpace(bytes, keyEnd) + 1)
    if (bytes[value] === byte.openObject || bytes[value] === byte.openArray) {
      return { key: stringOf(bytes, from, keyEnd), index, from, value, to }
    }
    const comma = afterSpace(bytes, afterValue(bytes, value))
    if (bytes[comma] !== byte.comma) return undefined
    from = afterSpace(bytes, comma + 1)
  }
}

const stepOver = () => false

/** A member that is a string or a number. `to`: where its key and its value end. */
interface Scalar {
  readonly from: number
  readonly value: number
  readonly to: { readonly key: number; readonly value: number }
}

/**
 * Steps back from the end of an object, over the strings and numbers behind its last container: the last member first.
 * @param visit returns true to stop
 * @returns the index after that container; undefined where there is none, or the visitor stopped
 */
export const eachLastMember = (bytes: Buffer, visit: (member: Scalar) => boolean): number | undefined => {
  const least = bytes.length - reach
  const end = beforeSpace(bytes, bytes.length - 1)
  if (bytes[end] !== byte.closeObject) return undefined
  for (let at = beforeSpace(bytes, end - 1); at > least; at = beforeSpace(bytes, at - 1)) {
    if (bytes[at] === byte.closeObject || bytes[at] === byte.closeArray) return at + 1
    const to = at + 1
    // Neither a string nor a number has an unescaped quotation mark or a colon of its own inside.
    if (bytes[at] === byte.quote) at = beforeString(bytes, at)
    else while (at > least && bytes[at - 1] !== byte.colon && !isSpace(bytes[at - 1])) at--
    const value = at
    at = beforeSpace(bytes, at - 1)
    if (bytes[at] !== byte.colon) return undefined
    const key = beforeSpace(bytes, at - 1)
    at = beforeString(bytes, key)
    if (visit({ from: at, value, to: { key: key + 1, value: to } })) return undefined
    at = beforeSpace(bytes, at - 1)
    if (bytes[at] !== byte.comma) return undefined
  }
  return undefined
}

/** The last index up to `at` that holds no white space. */
const beforeSpace = (bytes: Buffer, at: number): number => {
  while (at > 0 && isSpace(bytes[at])) at--
  return at
}

/** The index of the opening quotation mark of the string that closes at `at`: the nearest that is not escaped. */
const beforeString = (bytes: Buffer, at: number): number => {
  for (let quote = bytes.lastIndexOf(byte.quote, at - 1); quote > 0; quote = bytes.lastIndexOf(byte.quote, quote - 1)) {
    let escape = quote
    while (escape > 0 && bytes[escape - 1] === byte.backslash) escape--
    if ((quote - escape) % 2 === 0) return quote
  }
  return 0
}
