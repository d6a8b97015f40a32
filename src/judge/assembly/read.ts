// Reads a JSON text strictly, and writes the tape.

import { MAX_OPEN, OPEN, PADDING, TEXT } from '../layout'
import { hasDistinctNames } from './names'
import { afterString, beginPlain, ESCAPED, isSpace } from './strings'
import { capacity, ENTRY, tape } from './tape'

/** Numbers of at most this many bytes, with an exponent below 100, are within the range of a double. */
const LONGEST_NUMBER: usize = 200

/** Texts of more names are left to the incremental parser: JSON.parse takes nearly 1 us for a new name. */
const MAX_NAMES: u32 = 100_000

/**
 * Reads the text that was written, which must be UTF-8.
 * @returns the tape index of its value; 0 unless the text is surely JSON that all parsers read alike: no
 * member twice, no lone surrogate, no number beyond a double, at most `depth` levels
 */
export function read(length: i32, depth: i32): usize {
  const end = TEXT + length
  memory.fill(end, 0, PADDING)
  beginPlain()
  const stop = tape + capacity(length) - 2 * ENTRY
  const deepest = <usize>min(depth, MAX_OPEN) << 2
  let top: usize = 0
  let named = false
  let count = 0
  let names: u32 = 0
  let at = TEXT
  let next = tape

  while (true) {
    while (isSpace(load<u8>(at))) at++
    if (next > stop) return 0
    const first = load<u8>(at)
    store<u32>(next, <u32>(at - TEXT))
    if (first == 0x22) {
      const after = afterString(at + 1)
      if (after == 0) return 0
      at = after & 0x7fffffff
      store<u32>(next, <u32>(at - TEXT) | (<u32>after & ESCAPED), 4)
      next += ENTRY
    } else if ((first | 0x20) == 0x7b) {
      if (top >= deepest) return 0
      // Until the container closes, the second word of its entry holds the parent's count and kind.
      store<u32>(next, (<u32>count << 1) | <u32>named, 4)
      store<u32>(OPEN + top, <u32>next)
      top += 4
      next += ENTRY
      count = 0
      named = first == 0x7b
      at++
      while (isSpace(load<u8>(at))) at++
      if (load<u8>(at) != (named ? 0x7d : 0x5d)) {
        if (named) {
          at = afterName(at, next)
          if (at == 0 || ++names > MAX_NAMES) return 0
          next += ENTRY
        }
        count = 1
        continue
      }
    } else {
      at = first == 0x2d || first - 0x30 < 10 ? afterNumber(at) : afterLiteral(at)
      if (at == 0) return 0
      store<u32>(next, <u32>(at - TEXT), 4)
      next += ENTRY
    }

    // Behind a value, or at the end of an empty container.
    while (true) {
      while (isSpace(load<u8>(at))) at++
      if (top == 0) return at == end ? tape : 0
      const one = load<u8>(at)
      if (one == 0x2c && count > 0) {
        at++
        if (next > stop) return 0
        if (named) {
          while (isSpace(load<u8>(at))) at++
          at = afterName(at, next)
          if (at == 0 || ++names > MAX_NAMES) return 0
          next += ENTRY
        }
        count++
        break
      }
      if (one != (named ? 0x7d : 0x5d)) return 0
      if (next > stop) return 0
      top -= 4
      const open = <usize>load<u32>(OPEN + top)
      const outside = load<u32>(open, 4)
      store<u32>(next, <u32>(at - TEXT))
      store<u32>(next, <u32>count, 4)
      next += ENTRY
      store<u32>(open, <u32>(next - tape), 4)
      if (named && count > 1 && !hasDistinctNames(open + ENTRY, count)) return 0
      count = outside >> 1
      named = (outside & 1) == 1
      at++
    }
  }
}

/** Reads a name and its colon. A name with an escape may equal one without: that is left to the parser. */
// @ts-ignore: decorator
@inline
function afterName(at: usize, entry: usize): usize {
  if (load<u8>(at) != 0x22) return 0
  const after = afterString(at + 1)
  if (after == 0 || (<u32>after & ESCAPED) != 0) return 0
  store<u32>(entry, <u32>(at - TEXT))
  store<u32>(entry, <u32>(after - TEXT), 4)
  at = after
  while (isSpace(load<u8>(at))) at++
  return load<u8>(at) == 0x3a ? at + 1 : 0
}

function afterNumber(at: usize): usize {
  const from = at
  if (load<u8>(at) == 0x2d) at++
  if (load<u8>(at) == 0x30) at++
  else {
    const digits = afterDigits(at)
    if (digits == at) return 0
    at = digits
  }
  if (load<u8>(at) == 0x2e) {
    const digits = afterDigits(at + 1)
    if (digits == at + 1) return 0
    at = digits
  }
  if ((load<u8>(at) | 0x20) == 0x65) {
    at++
    const sign = load<u8>(at)
    if (sign == 0x2b || sign == 0x2d) at++
    const digits = afterDigits(at)
    if (digits == at || digits - at > 2) return 0
    at = digits
  }
  return at - from <= LONGEST_NUMBER ? at : 0
}

// @ts-ignore: decorator
@inline
function afterDigits(at: usize): usize {
  while (<u32>load<u8>(at) - 0x30 < 10) at++
  return at
}

function afterLiteral(at: usize): usize {
  const word = load<u32>(at)
  if (word == 0x65757274 || word == 0x6c6c756e) return at + 4
  return word == 0x736c6166 && load<u8>(at, 4) == 0x65 ? at + 5 : 0
}
