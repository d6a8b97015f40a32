// Finds the parts of a tool's result that need not be parsed, and writes where they are.

import {
  BASE64, BLOCK_DATA, BLOCK_TEXT, FOUND, LONG_BYTES, MAX_BLOCKS, MAX_REPEATS, PLAIN, REPEAT_COUNT, REPEATS,
  RESOURCE_BLOB, RESOURCE_TEXT, STRING_BYTES, STRING_COUNT, STRINGS, STRUCTURED, STRUCTURED_END,
  STRUCTURED_START, STRUCTURED_TEXT, TEXT,
} from '../layout'
import {
  CASE, CLOSE_OBJECT, COLON, COMMA, isBase64, isSpace, OPEN_ARRAY, OPEN_OBJECT, plain, QUOTE,
} from './strings'
import { afterValue, endOf, ENTRY, firstOf, memberOf } from './tape'

/** How a text repeats a value. */
const DIFFERENT: i32 = 0
const SAME_TOKENS: i32 = 1
const SAME_TEXT: i32 = 2

/** @param root tape index of a message */
export function findResult(root: usize): void {
  const result = memberOf(root, 'result')
  const structured = memberOf(result, 'structuredContent')
  store<u32>(FOUND + PLAIN, <u32>plain)
  store<u32>(FOUND + STRUCTURED, <u32>structured)
  store<u32>(FOUND + REPEAT_COUNT, 0)
  store<u32>(FOUND + STRING_COUNT, 0)
  if (structured != 0) {
    store<u32>(FOUND + STRUCTURED_START, load<u32>(structured))
    store<u32>(FOUND + STRUCTURED_END, endOf(structured))
  }
  const content = memberOf(result, 'content')
  if (content == 0 || firstOf(content) != OPEN_ARRAY) return
  const end = afterValue(content) - ENTRY
  const isLong = endOf(content) - load<u32>(content) >= LONG_BYTES
  let repeats: u32 = 0
  let block: u32 = 0
  for (let entry = content + ENTRY; entry < end; entry = afterValue(entry), block++) {
    const wantsRepeats = structured != 0 && repeats < MAX_REPEATS
    const wantsStrings = isLong && block < MAX_BLOCKS
    if (!wantsRepeats && !wantsStrings) break
    const text = memberOf(entry, 'text')
    const isText = text != 0 && firstOf(text) == QUOTE
    const likeness = wantsRepeats && isText ? compare(text, structured) : DIFFERENT
    if (likeness != DIFFERENT) {
      store<u32>(FOUND + REPEATS + (<usize>repeats << 2), block)
      store<u32>(FOUND + REPEAT_COUNT, ++repeats)
    }
    if (!wantsStrings) continue
    addString(block, BLOCK_TEXT, text, likeness == SAME_TEXT ? STRUCTURED_TEXT : 0)
    addString(block, BLOCK_DATA, memberOf(entry, 'data'), 0)
    const resource = memberOf(entry, 'resource')
    addString(block, RESOURCE_TEXT, memberOf(resource, 'text'), 0)
    addString(block, RESOURCE_BLOB, memberOf(resource, 'blob'), 0)
  }
}

/** Lists a long string. */
function addString(block: u32, member: u32, string: usize, traits: u32): void {
  if (string == 0 || firstOf(string) != QUOTE || endOf(string) - load<u32>(string) < LONG_BYTES) return
  if (member == BLOCK_DATA || member == RESOURCE_BLOB) {
    if (isBase64(TEXT + load<u32>(string) + 1, TEXT + endOf(string) - 1)) traits |= BASE64
  }
  const count = load<u32>(FOUND + STRING_COUNT)
  const at = FOUND + STRINGS + <usize>count * STRING_BYTES
  store<u32>(at, block)
  store<u32>(at, member, 4)
  store<u32>(at, load<u32>(string), 8)
  store<u32>(at, endOf(string), 12)
  store<u32>(at, traits, 16)
  store<u32>(FOUND + STRING_COUNT, count + 1)
}

/** Compares the JSON text in a string with a value's text, token by token, up to the first difference. */
function compare(text: usize, value: usize): i32 {
  let a = TEXT + load<u32>(text) + 1
  const aEnd = TEXT + endOf(text) - 1
  let b = TEXT + load<u32>(value)
  const bEnd = TEXT + endOf(value)
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
