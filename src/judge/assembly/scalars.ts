// What a schema asks of numbers and strings, and the values that it lists.

import { hasFormat } from './formats'
import { isSame, TABLE, TEXT } from './memory'
import { numberOf, UNKNOWN_NUMBER } from './numbers'
import { hasPattern } from './pattern'
import { ESCAPED } from './strings'
import { lengthOf } from './tape'
import { ARRAY, INVALID, NULL, NUMBER, OBJECT, spend, STRING, UNKNOWN, VALID } from './verdict'

/** In place of a pattern's: nothing is known of texts that are to match it. */
const UNKNOWN_PATTERN: u32 = 1

/** As it is written, or as it is read: 1.0 is one. */
export function isInteger(entry: usize): i32 {
  const from = TEXT + load<u32>(entry)
  const end = TEXT + load<u32>(entry, 4)
  if (!spend(<i32>(end - from) >> 4)) return UNKNOWN
  let at = from
  while (at < end && load<u8>(at) <= 0x39 && load<u8>(at) != 0x2e) at++
  if (at == end) return VALID
  const value = numberOf(from, end)
  if (value == UNKNOWN_NUMBER) return UNKNOWN
  return value == Math.floor(value) ? VALID : INVALID
}

/** minimum, maximum, exclusiveMinimum, exclusiveMaximum; multipleOf, or 0. */
export function ofNumber(rules: usize, entry: usize): i32 {
  const value = numberOf(TEXT + load<u32>(entry), TEXT + load<u32>(entry, 4))
  if (value == UNKNOWN_NUMBER) return UNKNOWN
  if (value < load<f64>(rules) || value > load<f64>(rules, 8) || value <= load<f64>(rules, 16) || value >= load<f64>(rules, 24)) return INVALID
  const factor = load<f64>(rules, 32)
  if (factor == 0) return VALID
  if (value != Math.floor(value)) return UNKNOWN
  // Both are whole, and less than 2 ** 53.
  return <i64>value % <i64>factor == 0 ? VALID : INVALID
}

/** minLength, maxLength; a format, or 0; a pattern. */
export function ofString(rules: usize, entry: usize): i32 {
  const from = TEXT + load<u32>(entry) + 1
  const end = TEXT + (load<u32>(entry, 4) & ~ESCAPED) - 1
  if (!spend(<i32>(end - from) >> 4)) return UNKNOWN
  const escaped = (load<u32>(entry, 4) & ESCAPED) != 0
  const least = load<u32>(rules)
  const most = load<u32>(rules, 4)
  if (least > 0 || most < u32.MAX_VALUE) {
    // A character takes four bytes at most, or twelve where it is escaped.
    const bytes = <u32>(end - from)
    if (bytes < least) return INVALID
    if (bytes > most || bytes < 12 * least) {
      const count = charactersIn(from, end)
      if (count < least || count > most) return INVALID
    }
  }
  const format = load<u32>(rules, 8)
  if (format != 0 && (escaped || !hasFormat(format, from, end))) return UNKNOWN
  const pattern = load<u32>(rules, 12)
  if (pattern == 0) return VALID
  if (escaped || pattern == UNKNOWN_PATTERN) return UNKNOWN
  return hasPattern(TABLE + pattern, from, end)
}

/** Code points. */
function charactersIn(at: usize, end: usize): u32 {
  let count: u32 = 0
  while (at < end) {
    const one = load<u8>(at)
    if (one != 0x5c) at += one < 0x80 ? 1 : one < 0xe0 ? 2 : one < 0xf0 ? 3 : 4
    // The first half of a pair has the second behind it.
    else if (load<u8>(at, 1) != 0x75) at += 2
    else at += (load<u8>(at, 2) | 0x20) == 0x64 && isHigh(load<u8>(at, 3)) ? 12 : 6
    count++
  }
  return count
}

/** 8, 9, A or B. */
// @ts-ignore: decorator
@inline
function isHigh(digit: u32): bool {
  return digit == 0x38 || digit == 0x39 || (digit | 0x20) == 0x61 || (digit | 0x20) == 0x62
}

/** How many there are; of each its type, and a place and a length, or a number. Arrays and objects are left to others. */
export function isListed(values: usize, entry: usize, kind: u32): i32 {
  if (kind == ARRAY || kind == OBJECT) return UNKNOWN
  const from = TEXT + load<u32>(entry)
  const first = load<u8>(from)
  const escaped = kind == STRING && (load<u32>(entry, 4) & ESCAPED) != 0
  if (escaped) return UNKNOWN
  const number = kind == NUMBER ? numberOf(from, TEXT + load<u32>(entry, 4)) : 0
  if (number == UNKNOWN_NUMBER) return UNKNOWN
  const length = kind == STRING ? lengthOf(entry) : 0
  const count = load<u32>(values)
  if (!spend(<i32>count >> 2)) return UNKNOWN
  let one = values + 8
  for (let index: u32 = 0; index < count; index++, one += 16) {
    if (load<u32>(one) != kind) continue
    if (kind == STRING) {
      if (<i32>load<u32>(one, 12) != length) continue
      if (!spend(length >> 4)) return UNKNOWN
      if (isSame(TABLE + load<u32>(one, 8), from + 1, length)) return VALID
    } else if (kind == NUMBER) {
      if (load<f64>(one, 8) == number) return VALID
    } else if (kind == NULL || load<u32>(one, 8) == <u32>first) return VALID
  }
  return INVALID
}
