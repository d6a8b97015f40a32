// The inside of strings, and comparisons of bytes.

import { HIDDEN } from '../layout'

export const QUOTE: u8 = 0x22
export const COMMA: u8 = 0x2c
export const MINUS: u8 = 0x2d
export const ZERO: u8 = 0x30
export const COLON: u8 = 0x3a
export const OPEN_ARRAY: u8 = 0x5b
const BACKSLASH: u8 = 0x5c
export const CLOSE_ARRAY: u8 = 0x5d
export const OPEN_OBJECT: u8 = 0x7b
export const CLOSE_OBJECT: u8 = 0x7d
const DELETE: u8 = 0x7f

/** Of the first bytes of values, only `{` and `[` are `{` with this bit. */
export const CASE: u8 = 0x20

/** The highest bit of a token's end: a string has an escape, or a number a fraction or an exponent. */
export const MARK: u32 = 0x80000000

/** Whether no string since the beginning of the text holds a character that may hide text. */
export let plain: bool = true

export function beginPlain(): void {
  plain = true
}

/**
 * @param at behind the opening quotation mark
 * @returns behind the closing one, with the highest bit set when the string has an escape; 0 when not known
 */
export function afterString(at: usize): usize {
  let escaped: usize = 0
  while (true) {
    const bytes = v128.load(at)
    // (byte + 1) < 0x21 as a signed number: control characters, DEL and bytes of 0x80 and above.
    const odd = i8x16.lt_s(i8x16.add(bytes, i8x16.splat(1)), i8x16.splat(0x21))
    const ends = v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c)))
    const stops = v128.or(ends, odd)
    const mask = i8x16.bitmask(stops)
    if (mask == 0) {
      at += 16
      continue
    }
    const where = ctz(mask)
    const one = load<u8>(at + where)
    if (one == QUOTE) return (at + where + 1) | escaped
    if (one == BACKSLASH) {
      escaped = <usize>MARK
      const rest = withoutEscapes(mask, at)
      if (rest != mask) at += rest == 0 ? 16 : ctz(rest)
      else {
        at = afterEscape(at + where + 1)
        if (at == 0) return 0
      }
      continue
    }
    at += where
    if (one >= 0x80) at = afterCharacters(at)
    else if (one == DELETE) {
      plain = false
      at++
    } else return 0
  }
}

/**
 * The stops without the first ones that are escapes of two bytes. Texts of JSON in JSON have one every few
 * bytes: these need no other look at the text.
 */
// @ts-ignore: decorator
@inline
function withoutEscapes(mask: i32, at: usize): i32 {
  while (mask != 0) {
    const where = ctz(mask)
    if (where == 15 || load<u8>(at + where) != BACKSLASH || !isPlainEscape(load<u8>(at + where, 1))) break
    mask &= ~(3 << where)
  }
  return mask
}

/** `"`, `\\`, `/`, `n` and `t`: two bytes for a character that hides nothing. */
// @ts-ignore: decorator
@inline
function isPlainEscape(letter: u32): bool {
  return letter == 0x22 || letter == 0x6e || letter == 0x5c || letter == 0x2f || letter == 0x74
}

function afterEscape(at: usize): usize {
  const letter = load<u8>(at)
  if (isPlainEscape(letter)) return at + 1
  switch (letter) {
    case 0x62:
    case 0x66:
    case 0x72:
      plain = false
      return at + 1
    case 0x75: {
      const unit = hexOf(at + 1)
      if (unit < 0) return 0
      if ((unit & 0xf800) != 0xd800) {
        note(unit)
        return at + 5
      }
      const low = unit < 0xdc00 && load<u16>(at, 5) == 0x755c ? hexOf(at + 7) : -1
      if ((low & 0xfffffc00) != 0xdc00) return 0
      note(0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff))
      return at + 11
    }
    default:
      return 0
  }
}

/** Four hexadecimal digits; less than 0 where they are none. */
function hexOf(at: usize): i32 {
  let value = 0
  for (let index = 0; index < 4; index++) {
    const one = <i32>load<u8>(at + index)
    const letter = (one | 0x20) - 0x61
    const digit = one - 0x30
    if (<u32>digit < 10) value = (value << 4) | digit
    else if (<u32>letter < 6) value = (value << 4) | (letter + 10)
    else return -1
  }
  return value
}

/** Behind the characters beyond ASCII that begin there. */
function afterCharacters(at: usize): usize {
  while (true) {
    const one = <i32>load<u8>(at)
    if (one < 0x80) return at
    if (one < 0xe0) {
      note(((one & 0x1f) << 6) | trail(at, 1))
      at += 2
    } else if (one < 0xf0) {
      note(((one & 0x0f) << 12) | (trail(at, 1) << 6) | trail(at, 2))
      at += 3
    } else {
      note(((one & 0x07) << 18) | (trail(at, 1) << 12) | (trail(at, 2) << 6) | trail(at, 3))
      at += 4
    }
  }
}

// @ts-ignore: decorator
@inline
function trail(at: usize, index: usize): i32 {
  return <i32>load<u8>(at + index) & 0x3f
}

/** A character that stands in a string. */
// @ts-ignore: decorator
@inline
function note(code: i32): void {
  const bit = code < 0x10000 ? code : 0x10000 + (code >> 8)
  if ((load<u8>(HIDDEN + (bit >> 3)) >> <u8>(bit & 7)) & 1) plain = false
}

/** Whether a byte is white space of JSON. */
// @ts-ignore: decorator
@inline
export function isSpace(one: u32): bool {
  return one <= 0x20 && (one == 0x20 || one == 0x0a || one == 0x0d || one == 0x09)
}

/** Behind white space: mostly there is none, or a space, or an indented line begins. */
// @ts-ignore: decorator
@inline
export function afterSpace(at: usize): usize {
  if (!isSpace(load<u8>(at))) return at
  return isSpace(load<u8>(at, 1)) ? afterSpaces(at + 2) : at + 1
}

function afterSpaces(at: usize): usize {
  while (true) {
    const bytes = v128.load(at)
    const blanks = v128.or(i8x16.eq(bytes, i8x16.splat(0x20)), i8x16.eq(bytes, i8x16.splat(0x0a)))
    const others = v128.or(i8x16.eq(bytes, i8x16.splat(0x0d)), i8x16.eq(bytes, i8x16.splat(0x09)))
    const mask = i8x16.bitmask(v128.or(blanks, others)) ^ 0xffff
    if (mask != 0) return at + ctz(mask)
    at += 16
  }
}

/** Base64 by RFC 4648, section 4: the standard alphabet, padded, no line ends. Any last bits may be set. */
export function isBase64(at: usize, end: usize): bool {
  if (((end - at) & 3) != 0) return false
  if (end > at && load<u8>(end - 1) == 0x3d) end -= load<u8>(end - 2) == 0x3d ? 2 : 1
  // The bytes behind the end are those of the quotation mark and the rest of the message.
  for (; at < end; at += 16) {
    const bytes = v128.load(at)
    const upper = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x41)), i8x16.splat(26))
    const lower = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x61)), i8x16.splat(26))
    const digit = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10))
    const other = v128.or(i8x16.eq(bytes, i8x16.splat(0x2b)), i8x16.eq(bytes, i8x16.splat(0x2f)))
    const mask = i8x16.bitmask(v128.or(v128.or(upper, lower), v128.or(digit, other))) ^ 0xffff
    if (mask != 0) return at + ctz(mask) >= end
  }
  return true
}

/** Whether two texts are the same. Up to seven bytes behind each are read. */
// @ts-ignore: decorator
@inline
export function isSame(a: usize, b: usize, length: i32): bool {
  while (length >= 8) {
    if (load<u64>(a) != load<u64>(b)) return false
    a += 8
    b += 8
    length -= 8
  }
  return length == 0 || (load<u64>(a) ^ load<u64>(b)) << (64 - ((<u64>length) << 3)) == 0
}
