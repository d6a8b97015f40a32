import type { Frame } from './frame.js'
import { isString, parseJson } from './json.js'

// Finds where things begin and end in the bytes of a JSON text, without reading them. Of bytes that are no JSON it says
// something, but it never throws, never runs past the end, and always comes to an end.

export const byte = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
  delete: 0x7f,
} as const

/** So much of a string is walked before the native search is asked: for short ones that costs more than it saves. */
const walked = 48

/** The first index from `at` on that holds no JSON white space. */
export const afterSpace = (bytes: Buffer, at: number): number => {
  while (at < bytes.length && isSpace(bytes[at])) at++
  return at
}

export const isSpace = (one: number | undefined): boolean =>
  one === 0x20 || one === 0x0a || one === 0x0d || one === 0x09

/** The index after the string whose opening quotation mark stands at `at`. */
export const afterString = (bytes: Buffer, at: number): number => {
  const { length } = bytes
  // Where one quotation mark is escaped others are: the search would find each of them.
  for (let stride = walked, from = at + 1; from < length; stride *= 2) {
    at = from
    const stop = Math.min(length, at + stride)
    for (; at < stop; at++) {
      const one = bytes[at]
      if (one === byte.quote) return at + 1
      if (one === byte.backslash) at++
    }
    const quote = bytes.indexOf(byte.quote, at)
    if (quote < 0) return length
    let escape = quote
    while (escape > at && bytes[escape - 1] === byte.backslash) escape--
    if ((quote - escape) % 2 === 0) return quote + 1
    from = quote + 1
  }
  return length
}

/** What the walk over a container stops at. */
const marks = new Uint8Array(256)
marks[byte.quote] = 1
marks[byte.openArray] = marks[byte.openObject] = 2
marks[byte.closeArray] = marks[byte.closeObject] = 3

/** The index after the value that begins at `at`. */
export const afterValue = (bytes: Buffer, at: number): number => {
  const first = bytes[at]
  if (first === byte.quote) return afterString(bytes, at)
  if (first === byte.openObject || first === byte.openArray) return afterContainer(bytes, at) ?? bytes.length
  return afterScalar(bytes, at)
}

/** The index after the object or array that opens at `at`; undefined when it does not close. */
export const afterContainer = (bytes: Buffer, at: number): number | undefined => {
  for (let depth = 0; at < bytes.length; at++) {
    const mark = marks[bytes[at] ?? 0]
    if (mark === 0) continue
    if (mark === 1) at = afterString(bytes, at) - 1
    else if (mark === 2) depth++
    else if (--depth === 0) return at + 1
  }
  return undefined
}

/** The index after the number or literal that begins at `at`. */
export const afterScalar = (bytes: Buffer, at: number): number => {
  while (at < bytes.length) {
    const one = bytes[at] ?? 0
    if (isSpace(one) || one === byte.comma || one === byte.colon || one === byte.quote || (marks[one] ?? 0) > 1) break
    at++
  }
  return at
}

/** The deepest nesting of containers. */
export const deepest = (bytes: Buffer): number => {
  let depth = 0
  let max = 0
  for (let at = 0; at < bytes.length; at++) {
    const mark = marks[bytes[at] ?? 0]
    if (mark === 0) continue
    if (mark === 1) at = afterString(bytes, at) - 1
    else if (mark === 2) max = Math.max(max, ++depth)
    else depth--
  }
  return max
}

/** A member of an object or an element of an array: the bytes from `from` (the key, where there is one) to `to`. */
export interface Child {
  /** Undefined in an array. */
  readonly key: string | undefined
  readonly index: number
  readonly from: number
  /** Where the value begins. */
  readonly value: number
  readonly to: number
}

/**
 * Walks the members or elements of the container that opens at `at`. What does not belong there is stepped over.
 * @param visit returns true to stop
 */
export const eachChild = (bytes: Buffer, at: number, visit: (child: Child) => boolean): void => {
  const named = bytes[at] === byte.openObject
  for (let index = 0, next = afterSpace(bytes, at + 1); next < bytes.length; next = afterSpace(bytes, next)) {
    const from = next
    const one = bytes[from]
    if (one === byte.closeObject || one === byte.closeArray) return
    next = one === byte.comma || one === byte.colon ? from + 1 : afterValue(bytes, from)
    if (next === from) next++
    if (one === byte.comma || one === byte.colon) continue
    if (!named) {
      if (visit({ key: undefined, index: index++, from, value: from, to: next })) return
      continue
    }
    const colon = afterSpace(bytes, next)
    if (one !== byte.quote || bytes[colon] !== byte.colon) continue
    const value = afterSpace(bytes, colon + 1)
    const key = stringOf(bytes, from, next)
    next = afterValue(bytes, value)
    if (visit({ key, index: index++, from, value, to: next })) return
  }
}

/** The value of the string token between two indices. */
export const stringOf = (bytes: Buffer, from: number, to: number): string => {
  const inner = bytes.toString('utf8', from + 1, to - 1)
  const value = inner.includes('\\') ? parseJson(`"${inner}"`) : inner
  return isString(value) ? value : inner
}

/** Members beside the one object are short: further than that from the end they are not looked for. */
const reach = 1024

/**
 * The one object (`params`, `result` or `error`) of a message that has only strings and numbers beside it
 * (`facts.onlyContainer`), as nearly every message does. It is found from both ends, without reading what is in it.
 */
export const onlyContainer = ({ bytes, facts }: Frame): Child | undefined => {
  if (facts?.onlyContainer !== true) return undefined
  const to = eachLastMember(bytes)
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

/**
 * Walks back from the end of an object, over the strings and numbers behind its last container: the last member first.
 * @param visit of a member, which begins at `from`: where its key ends, its value begins, and its value ends
 * @returns the index after that container; undefined where there is none
 */
export const eachLastMember = (
  bytes: Buffer, visit?: (from: number, keyEnd: number, value: number, to: number) => void,
): number | undefined => {
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
    visit?.(at, key + 1, value, to)
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

/** A step into a JSON text: a string is a key of an object, a number an index of an array. */
export type Path = readonly (string | number)[]

/**
 * The JSON text of the value at the path, as it crossed the wire; undefined when there is none. Of a key that is
 * there twice, the last counts, as for `JSON.parse`.
 * @param frame of a message that was read
 */
export const slice = (frame: Frame, path: Path): Buffer | undefined => {
  const { bytes } = frame
  const container = path.length === 0 ? undefined : onlyContainer(frame)
  if (container !== undefined && container.key === path[0]) return below(bytes, container.value, container.to, path, 1)
  return below(bytes, afterSpace(bytes, 0), undefined, path, 0)
}

const below = (bytes: Buffer, from: number, to: number | undefined, path: Path, depth: number): Buffer | undefined => {
  const step = path[depth]
  if (step === undefined) return bytes.subarray(from, to ?? afterValue(bytes, from))
  let found: Child | undefined
  if (isContainer(bytes, from)) {
    eachChild(bytes, from, child => {
      if (stepOf(child) === step) found = child
      return typeof step === 'number' && child.index >= step
    })
  }
  return found && below(bytes, found.value, found.to, path, depth + 1)
}

export const stepOf = ({ key, index }: Child): string | number => key ?? index

export const isContainer = (bytes: Buffer, from: number): boolean =>
  bytes[from] === byte.openObject || bytes[from] === byte.openArray

/**
 * The same JSON text on one line: line ends become spaces, but for a carriage return at the end. They stand between
 * tokens only: JSON allows none inside a string (RFC 8259, section 7). Readers with universal newlines (Python's text
 * mode, Java's readLine) take a bare carriage return for the end of a line.
 */
export const onOneLine = (bytes: Buffer): Buffer => {
  const end = bytes[bytes.length - 1] === 0x0d ? bytes.length - 1 : bytes.length
  let made: Buffer | undefined
  for (const lineEnd of [0x0a, 0x0d]) {
    for (let at = bytes.indexOf(lineEnd); at >= 0 && at < end; at = bytes.indexOf(lineEnd, at + 1)) {
      made ??= Buffer.from(bytes)
      made[at] = 0x20
    }
  }
  return made ?? bytes
}
