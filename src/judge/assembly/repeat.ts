// Whether a string that holds a JSON text says what another value's text says, white space between tokens apart.

import { ENTRY, isSpace, TEXT } from './memory'
import { afterValue, endOf, memberOf, startOf } from './tape'

let exact: bool = true

/** Whether the repeat that was found last is one character by character. */
export function isExact(): bool {
  return exact
}

/**
 * The next element of an array of content blocks whose text repeats a value. Each text is read once, up to where it differs.
 * @param name under which each has its text
 * @returns its index; less than 0 when there is none
 */
export function nextRepeat(content: usize, value: usize, from: i32, name: usize, length: i32): i32 {
  if (load<u8>(TEXT + load<u32>(content)) != 0x5b) return -1
  const end = afterValue(content) - ENTRY
  let index = 0
  for (let entry = content + ENTRY; entry < end; entry = afterValue(entry), index++) {
    if (index < from) continue
    const text = memberOf(entry, name, length)
    if (text != 0 && load<u8>(TEXT + load<u32>(text)) == 0x22 && repeats(text, value)) return index
  }
  return -1
}

function repeats(text: usize, value: usize): bool {
  let a = TEXT + startOf(text) + 1
  const aEnd = TEXT + endOf(text) - 1
  let b = TEXT + startOf(value)
  const bEnd = TEXT + endOf(value)
  // Much longer ones are mostly white space: each of many short texts would have all of it skipped.
  if (bEnd - b > 4 * (aEnd - a) + 64) return false
  exact = true
  let inString = false
  // The character before it, in the string, was a backslash of the value's text.
  let taken = false
  while (true) {
    if (!taken) {
      // Where there is nothing escaped neither a string begins nor one ends.
      while (a + 16 <= aEnd && b + 16 <= bEnd) {
        const bytes = v128.load(a)
        const mask = i8x16.bitmask(v128.or(i8x16.ne(bytes, v128.load(b)), i8x16.eq(bytes, i8x16.splat(0x5c))))
        const same = mask == 0 ? 16 : ctz(mask)
        a += same
        b += same
        if (same < 16) break
      }
    }
    if (a == aEnd) break
    let one = <u32>load<u8>(a)
    let width = 1
    if (one == 0x5c) {
      one = unescaped(load<u8>(a, 1))
      if (one == 0) return false
      width = 2
    }
    if (!inString && isSpace(one)) {
      if (isScalar(load<u8>(b - 1)) && isScalar(load<u8>(b))) return false
      exact = false
      a += width
      while (load<u8>(a) == 0x20) a++
      continue
    }
    if (!inString) while (b < bEnd && isSpace(load<u8>(b))) {
      exact = false
      b++
    }
    if (b >= bEnd || one != <u32>load<u8>(b)) return false
    a += width
    b++
    if (taken) taken = false
    else if (one == 0x22) inString = !inString
    else if (one == 0x5c && inString) taken = true
  }
  while (b < bEnd && isSpace(load<u8>(b))) b++
  return b == bEnd
}

/** Outside of strings: a character of a number or literal, in which there is no white space. */
// @ts-ignore: decorator
@inline
function isScalar(one: u32): bool {
  return one > 0x20 && one != 0x22 && one != 0x2c && one != 0x3a && (one | 0x20) != 0x7b && (one | 0x20) != 0x7d
}

/** What a letter stands for behind a backslash; 0 for `u`: what differs in more is for others to compare. */
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
