import type { Fault, FrameLimits } from './frame.js'
import { isArray, type Json } from './json.js'
import { wirePath } from './quote.js'
import { afterScalar, afterSpace, afterString, byte, stringOf } from './scan.js'
import { unmetered } from './unmetered.js'

// Finds what two parsers could read differently: first by comparing counts of tokens, then, when they differ,
// token by token.

/** Counts of tokens in a JSON text, which are compared with the parsed value. */
interface TokenCounts {
  /** Quotation marks that open or close a string: two for each key and each string value. */
  readonly quotes: number
  /** Opening brackets and braces, some in strings among them: an upper bound of the nesting. */
  readonly opens: number
  /** There is a `\u` escape. */
  readonly unicodeEscapes: boolean
  /** There is an escape of a control character other than TAB and LF. */
  readonly controlEscapes: boolean
}

/** Bytes counted before the end of a long string is searched for: 255 words, so that no lane overflows. */
const block = 4 * 255

/** The counts of a short text without an escape, whose brackets are too few to matter. */
export const countsOfShort = (text: string): TokenCounts => {
  let quotes = 0
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) quotes++
  return { quotes, opens: 0, unicodeEscapes: false, controlEscapes: false }
}

/**
 * Counts four bytes at a time (one byte at a time costs half of what `JSON.parse` does); the inside of long
 * strings is skipped by the native search. Quotation marks inside strings are always escaped, so the count is
 * the only state.
 */
export const countTokens = (bytes: Buffer): TokenCounts => {
  const { length } = bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset, length)
  let quotes = 0
  let opens = 0
  let unicodeEscapes = false
  let controlEscapes = false
  let quote = -1
  for (let at = 0; at < length;) {
    const stop = Math.min(at + block, length - 3)
    let quoteLanes = 0
    let openLanes = 0
    for (; at < stop; at += 4) {
      const word = view.getInt32(at, true)
      if (hasZero(word ^ 0x5c5c5c5c)) break
      // `| 0` keeps the engine to 32-bit integers.
      quoteLanes = (quoteLanes + zeros(word ^ 0x22222222)) | 0
      // Setting the bit 0x20 turns `[` into `{`. No other byte except `{` becomes `{`.
      openLanes = (openLanes + zeros((word | 0x20202020) ^ 0x7b7b7b7b)) | 0
    }
    quotes += sum(quoteLanes)
    opens += sum(openLanes)
    const isBlockWithoutEscape = at >= stop
    // The word with the escape, or the last bytes.
    for (const end = Math.min(at + 4, length); at < end; at++) {
      const one = bytes[at] ?? 0
      if (one === byte.quote) quotes++
      else if (one === byte.backslash) {
        const escaped = bytes[++at]
        if (escaped === 0x75) unicodeEscapes = true
        else if (escaped === 0x62 || escaped === 0x66 || escaped === 0x72) controlEscapes = true
      } else if ((one | 0x20) === byte.openObject) opens++
    }
    // A string is still open after a whole block: skip to its end or to its next escape.
    if (isBlockWithoutEscape && quotes % 2 === 1) {
      if (quote < at) quote = orEnd(bytes.indexOf(byte.quote, at), length)
      const escape = bytes.subarray(at, quote).indexOf(byte.backslash)
      at = escape < 0 ? quote : at + escape
    }
  }
  return { quotes, opens, unicodeEscapes, controlEscapes }
}

const orEnd = (index: number, length: number): number => (index < 0 ? length : index)

/** Whether one of a word's four bytes is zero. */
const hasZero = (word: number): boolean => ((word - 0x01010101) & ~word & 0x80808080) !== 0

/** A word with 1 in each byte that is zero in the given word, and 0 in the others. */
const zeros = (word: number): number => ~(((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word | 0x7f7f7f7f) >>> 7

/** The sum of a word's four bytes. */
const sum = (lanes: number): number =>
  (lanes & 0xff) + ((lanes >>> 8) & 0xff) + ((lanes >>> 16) & 0xff) + (lanes >>> 24)

/** Counts the strings in a value, keys included. A text with a duplicated key has more strings. */
export const stringsIn = (value: Json, depth: number, escapes: boolean): number =>
  within(value, Math.min(depth, shallow), escapes)

/** Containers that are nested deeper are left to `strictScan`, which does not recurse. */
const shallow = 1000

const within = (value: Json, depth: number, escapes: boolean): number => {
  if (typeof value === 'string') return escapes && loneSurrogate.test(value) ? NaN : 1
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : NaN
  if (typeof value !== 'object' || value === null) return 0
  if (depth === 0) return NaN
  let count = 0
  if (isArray(value)) {
    const { length } = unmetered(value)
    for (let index = 0; index < length; index++) count += leaf(value[index], depth, escapes)
  } else {
    for (const key in unmetered(value)) {
      count += 1 + leaf(value[key], depth, escapes)
      if (escapes && loneSurrogate.test(key)) return NaN
    }
  }
  return count
}

// Most values are strings and numbers: handling them without a call halves the cost of the walk.
const leaf = (value: Json | undefined, depth: number, escapes: boolean): number => {
  if (typeof value === 'string' && !escapes) return 1
  if (typeof value === 'number' && Number.isFinite(value)) return 0
  return within(value ?? null, depth - 1, escapes)
}

/** Further faults are not reported; the scan goes on because of the depth. */
const maxFaults = 20

/** A container that is open where the strict scan stands. */
interface Open {
  /** The keys so far; undefined in an array. */
  readonly keys: Set<string> | undefined
  /** The key or index of the member at hand. */
  member: string | number
}

/**
 * Reads every token of a JSON text that `JSON.parse` accepts, and finds what two parsers could read
 * differently and nesting that is too deep. Exact and slow: it runs only when the counts differ.
 */
export const strictScan = (bytes: Buffer, limits: FrameLimits): readonly Fault[] => {
  const faults: Fault[] = []
  const open: Open[] = []
  const ambiguous = (message: string) => {
    if (faults.length >= maxFaults) return
    const path = wirePath(...open.map(({ member }) => member))
    faults.push({ kind: 'ambiguous', path, message })
  }

  for (let at = afterSpace(bytes, 0); at < bytes.length; at = afterSpace(bytes, at)) {
    const top = open.at(-1)
    const one = bytes[at++] ?? 0
    switch (one) {
      case byte.openObject:
      case byte.openArray:
        if (open.length >= limits.depth) return [...faults, tooDeep(limits)]
        open.push(one === byte.openObject ? { keys: new Set(), member: '' } : { keys: undefined, member: 0 })
        break
      case byte.closeObject:
      case byte.closeArray:
        open.pop()
        break
      case byte.comma:
        if (typeof top?.member === 'number') top.member++
        break
      case byte.colon:
        break
      case byte.quote: {
        const end = afterString(bytes, at - 1)
        const text = stringOf(bytes, at - 1, end)
        at = end
        if (top?.keys !== undefined && bytes[afterSpace(bytes, end)] === byte.colon) {
          top.member = text
          if (top.keys.has(text)) ambiguous('the same key twice')
          top.keys.add(text)
        }
        if (loneSurrogate.test(text)) ambiguous('half of a surrogate pair')
        break
      }
      default: {
        const end = afterScalar(bytes, at)
        const finite = !isNumber(one) || Number.isFinite(Number(bytes.toString('latin1', at - 1, end)))
        if (!finite) ambiguous('a number beyond the range of a double')
        at = end
      }
    }
  }
  return faults
}

/** True of a string that holds half of a surrogate pair: with the `u` flag, whole pairs are one character. */
export const loneSurrogate = /\p{Surrogate}/u

export const tooDeep = (limits: FrameLimits): Fault => ({
  kind: 'size',
  path: '',
  message: `nested deeper than ${limits.depth} levels`,
})

const isNumber = (first: number): boolean => first === 0x2d || (first >= 0x30 && first <= 0x39)
