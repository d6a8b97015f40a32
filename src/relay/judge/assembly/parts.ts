// Finds the parts of a tool's result that need not be parsed, while the message is read.

import {
  BASE64, BLOCK_DATA, BLOCK_TEXT, CANDIDATE_BYTES, CANDIDATES, CANDIDATES_BYTES, FOUND, LONG_BYTES,
  MAX_BLOCKS, PLAIN, REPEAT_COUNT, REPEATS, RESOURCE_BLOB, RESOURCE_TEXT, STRING_BYTES, STRING_COUNT,
  STRINGS, STRUCTURED_END, STRUCTURED_START, STRUCTURED_TEXT, TEXT,
} from '../layout'
import { CASE, CLOSE_OBJECT, COLON, COMMA, isBase64, isSpace, OPEN_OBJECT, plain, QUOTE } from './strings'

// Parts of a message. That of a long string is STRING_PART and its member (BLOCK_TEXT to RESOURCE_BLOB).
export const MESSAGE: u32 = 1
const RESULT: u32 = 2
export const STRUCTURED: u32 = 3
export const CONTENT: u32 = 4
export const BLOCK: u32 = 5
const RESOURCE: u32 = 6
const STRING_PART: u32 = 8

/** How a text repeats a value. */
const DIFFERENT: i32 = 0
const SAME_TOKENS: i32 = 1
const SAME_TEXT: i32 = 2

/** The index of the block of content that is read. */
let block: u32 = 0
let candidates: usize = CANDIDATES

export function setBlock(index: u32): void {
  block = index
}

export function beginParts(): void {
  candidates = CANDIDATES
  store<u32>(FOUND + STRUCTURED_START, 0)
  store<u32>(FOUND + REPEAT_COUNT, 0)
  store<u32>(FOUND + STRING_COUNT, 0)
}

/** The part that a member of a part is; 0 for others. */
export function partOf(part: u32, from: usize, length: i32): u32 {
  switch (part) {
    case MESSAGE:
      return isNamed(from, length, 'result') ? RESULT : 0
    case RESULT:
      if (isNamed(from, length, 'structuredContent')) return STRUCTURED
      return isNamed(from, length, 'content') ? CONTENT : 0
    case BLOCK:
      if (block >= MAX_BLOCKS) return 0
      if (isNamed(from, length, 'text')) return STRING_PART + BLOCK_TEXT
      if (isNamed(from, length, 'data')) return STRING_PART + BLOCK_DATA
      return isNamed(from, length, 'resource') ? RESOURCE : 0
    case RESOURCE:
      if (isNamed(from, length, 'text')) return STRING_PART + RESOURCE_TEXT
      return isNamed(from, length, 'blob') ? STRING_PART + RESOURCE_BLOB : 0
    default:
      return 0
  }
}

/** @param name ASCII */
function isNamed(from: usize, length: i32, name: string): bool {
  if (length != name.length) return false
  for (let index = 0; index < length; index++) {
    const wanted = <u32>load<u16>(changetype<usize>(name) + (<usize>index << 1))
    if (<u32>load<u8>(from + index) != wanted) return false
  }
  return true
}

/** Keeps where a part is. */
export function notePart(part: u32, from: usize, to: usize): void {
  if (part == STRUCTURED) {
    store<u32>(FOUND + STRUCTURED_START, <u32>(from - TEXT))
    store<u32>(FOUND + STRUCTURED_END, <u32>(to - TEXT))
  } else if (part >= STRING_PART && load<u8>(from) == QUOTE && candidates < CANDIDATES + CANDIDATES_BYTES) {
    // A member may stand in the text more than once: such a text is refused later.
    store<u32>(FOUND + candidates, block)
    store<u32>(FOUND + candidates, part - STRING_PART, 4)
    store<u32>(FOUND + candidates, <u32>(from - TEXT), 8)
    store<u32>(FOUND + candidates, <u32>(to - TEXT), 12)
    candidates += CANDIDATE_BYTES
  }
}

/** Finds the texts that repeat structuredContent, and lists the long strings. */
export function endParts(): void {
  store<u32>(FOUND + PLAIN, <u32>plain)
  const structured = load<u32>(FOUND + STRUCTURED_START)
  let repeats: u32 = 0
  for (let one = FOUND + CANDIDATES; one < FOUND + candidates; one += CANDIDATE_BYTES) {
    const member = load<u32>(one, 4)
    const from = TEXT + load<u32>(one, 8)
    const to = TEXT + load<u32>(one, 12)
    const likeness = member == BLOCK_TEXT && structured != 0
      ? compare(from + 1, to - 1, TEXT + structured, TEXT + load<u32>(FOUND + STRUCTURED_END))
      : DIFFERENT
    if (likeness != DIFFERENT) {
      store<u32>(FOUND + REPEATS + (<usize>repeats << 2), load<u32>(one))
      store<u32>(FOUND + REPEAT_COUNT, ++repeats)
    }
    if (to - from < LONG_BYTES) continue
    const isData = member == BLOCK_DATA || member == RESOURCE_BLOB
    const count = load<u32>(FOUND + STRING_COUNT)
    const at = FOUND + STRINGS + <usize>count * STRING_BYTES
    memory.copy(at, one, CANDIDATE_BYTES)
    const traits = likeness == SAME_TEXT ? STRUCTURED_TEXT : isData && isBase64(from + 1, to - 1) ? BASE64 : 0
    store<u32>(at, traits, 16)
    store<u32>(FOUND + STRING_COUNT, count + 1)
  }
}

/** Compares the JSON text in a string with a value's text, token by token, up to the first difference. */
function compare(a: usize, aEnd: usize, b: usize, bEnd: usize): i32 {
  // A much longer value is mostly white space, and would be skipped again for each of many short texts.
  if (bEnd - b > 4 * (aEnd - a) + 64) return DIFFERENT
  let likeness = SAME_TEXT
  let inString = false
  // The character before, in a string of the value, was a backslash.
  let isEscaped = false
  while (true) {
    if (!isEscaped) {
      // Without a backslash no string begins and none ends. An escaped quotation mark begins or ends one.
      while (a + 16 <= aEnd && b + 16 <= bEnd) {
        const bytes = v128.load(a)
        const mask = i8x16.bitmask(v128.or(i8x16.ne(bytes, v128.load(b)), i8x16.eq(bytes, i8x16.splat(0x5c))))
        const same = mask == 0 ? 16 : ctz(mask)
        a += same
        b += same
        if (mask == 0) continue
        if (load<u16>(a) != 0x225c || load<u8>(b) != QUOTE) break
        inString = !inString
        a += 2
        b++
      }
    }
    if (a == aEnd) break
    let one = <u32>load<u8>(a)
    let width = 1
    if (one == 0x5c) {
      one = unescaped(load<u8>(a, 1))
      if (one == 0) return DIFFERENT
      width = 2
    }
    if (!inString && isSpace(one)) {
      if (isScalar(load<u8>(b - 1)) && isScalar(load<u8>(b))) return DIFFERENT
      likeness = SAME_TOKENS
      a += width
      while (load<u8>(a) == 0x20) a++
      continue
    }
    if (!inString) while (b < bEnd && isSpace(load<u8>(b))) {
      likeness = SAME_TOKENS
      b++
    }
    if (b >= bEnd || one != <u32>load<u8>(b)) return DIFFERENT
    a += width
    b++
    if (isEscaped) isEscaped = false
    else if (one == QUOTE) inString = !inString
    else if (one == 0x5c && inString) isEscaped = true
  }
  return b == bEnd ? likeness : DIFFERENT
}

/** Outside strings: a character of a number or literal. White space between two of them separates tokens. */
// @ts-ignore: decorator
@inline
function isScalar(one: u32): bool {
  if (one <= 0x20 || one == QUOTE || one == COMMA || one == COLON) return false
  return (one | CASE) != OPEN_OBJECT && (one | CASE) != CLOSE_OBJECT
}

/** The character that an escape stands for; 0 for `\u`, which is left to the parser. */
function unescaped(letter: u32): u32 {
  switch (letter) {
    case 0x6e:
      return 0x0a
    case 0x74:
      return 0x09
    case 0x72:
      return 0x0d
    case 0x62:
      return 0x08
    case 0x66:
      return 0x0c
    case 0x75:
      return 0
    default:
      return letter
  }
}
