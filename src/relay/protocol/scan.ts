import type { Frame } from './frame.js'
import { isString, parseJson } from './json.js'

// Finds where values begin and end in the bytes of a JSON text, without parsing them. For bytes that are not
// JSON the results are arbitrary, but every function ends, never throws and never reads past the end.

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

/** Bytes of a string that are walked before the native search is used, which costs more for short strings. */
const walked = 48

/** The first index from `at` on that is not JSON white space. */
export const afterSpace = (bytes: Buffer, at: number): number => {
  while (at < bytes.length && (bytes[at] ?? 0) <= 0x20 && isSpace(bytes[at])) at++
  return at
}

export const isSpace = (one: number | undefined): boolean =>
  one === 0x20 || one === 0x0a || one === 0x0d || one === 0x09

/** The index after the string whose opening quotation mark stands at `at`. */
export const afterString = (bytes: Buffer, at: number): number => {
  const { length } = bytes
  // After an escaped quotation mark others follow, so the next walk is longer.
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
    if (!isEscaped(bytes, quote, at)) return quote + 1
    from = quote + 1
  }
  return length
}

/** True when an odd number of backslashes precedes the index. @param from where the backslashes may begin */
const isEscaped = (bytes: Buffer, index: number, from: number): boolean => {
  let first = index
  while (first > from && bytes[first - 1] === byte.backslash) first--
  return (index - first) % 2 === 1
}

/** Bytes at which the walk over a container stops. */
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

/** The index after the object or array that opens at `at`; undefined when it is not closed. */
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
    if (
      isSpace(one) || one === byte.comma || one === byte.colon || one === byte.quote || (marks[one] ?? 0) > 1
    ) break
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

/** A member of an object, from its key on, or an element of an array. */
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
 * Walks the members or elements of the container that opens at `at`. Malformed parts are skipped.
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

/** How far from the end members beside the only container are searched for. */
const reach = 1024

/** How nearly every message begins, up to its only container. */
const usualHead =
  /^\{"jsonrpc":"2\.0",(?:"id":\d{1,15},)?(?:"method":"[\w/]{1,32}",)?"(params|result|error)":(?=[[{])/

/**
 * The only member of a message that is an object or array (`params`, `result` or `error`), which nearly every
 * message has (`facts.onlyContainer`). It is found from both ends, without reading its inside.
 */
export const onlyContainer = ({ bytes, facts }: Frame): Pick<Child, 'key' | 'value' | 'to'> | undefined => {
  if (facts?.onlyContainer !== true) return undefined
  const { length } = bytes
  const usual = bytes[length - 2] === byte.closeObject && bytes[length - 1] === byte.closeObject
    ? usualHead.exec(bytes.toString('latin1', 0, 96)) : null
  if (usual !== null) {
    const [{ length: value }, key = ''] = usual
    return { key, value, to: length - 1 }
  }
  const to = eachLastMember(bytes)
  if (to === undefined) return undefined
  for (let from = afterSpace(bytes, afterSpace(bytes, 0) + 1); ;) {
    const keyEnd = afterValue(bytes, from)
    const value = afterSpace(bytes, afterSpace(bytes, keyEnd) + 1)
    if (bytes[value] === byte.openObject || bytes[value] === byte.openArray) {
      return { key: stringOf(bytes, from, keyEnd), value, to }
    }
    const comma = afterSpace(bytes, afterValue(bytes, value))
    if (bytes[comma] !== byte.comma) return undefined
    from = afterSpace(bytes, comma + 1)
  }
}

/**
 * Walks back from the end of an object over the strings and numbers behind its last container, the last
 * member first.
 * @param visit is called with where the member begins, its key ends, its value begins, and its value ends
 * @returns the index after that container; undefined when there is none
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
    // A string has no unescaped quotation mark inside, and a number has no colon.
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
  while (at > 0 && (bytes[at] ?? 0) <= 0x20 && isSpace(bytes[at])) at--
  return at
}

/** The index of the opening quotation mark of the string that closes at `at`: the nearest unescaped one. */
const beforeString = (bytes: Buffer, at: number): number => {
  let quote = bytes.lastIndexOf(byte.quote, at - 1)
  while (quote > 0 && isEscaped(bytes, quote, 0)) quote = bytes.lastIndexOf(byte.quote, quote - 1)
  return Math.max(0, quote)
}

/** A step into a JSON text: a string is a key of an object, a number an index of an array. */
export type Path = readonly (string | number)[]

/** The JSON text of the value at the path, as received. The last of duplicated keys counts (`JSON.parse`). */
export const slice = (frame: Frame, path: Path): Buffer | undefined => {
  const { bytes } = frame
  const container = path.length === 0 ? undefined : onlyContainer(frame)
  if (container !== undefined && container.key === path[0]) {
    return below(bytes, container.value, container.to, path, 1)
  }
  return below(bytes, afterSpace(bytes, 0), undefined, path, 0)
}

/** The same in a JSON text that is no frame. */
export const sliceOf = (bytes: Buffer, path: Path): Buffer | undefined =>
  below(bytes, afterSpace(bytes, 0), undefined, path, 0)

const below = (
  bytes: Buffer, from: number, to: number | undefined, path: Path, depth: number,
): Buffer | undefined => {
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
 * Turns the line ends of a JSON text into spaces, but for a carriage return at its end. They stand between
 * tokens only (RFC 8259, section 7). Python's text mode and Java's readLine end a line at a bare carriage
 * return.
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
