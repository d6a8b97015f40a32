// The rules of a schema for numbers and strings, and the values that it lists.

import {
  ARRAY, BYTE_CLASSES, EXCLUSIVE_MAXIMUM, EXCLUSIVE_MINIMUM, FIRST_STATE, FORMAT, INVALID, MAX_LENGTH,
  MAXIMUM, MIN_LENGTH, MINIMUM, MULTIPLE_OF, NULL, NUMBER, OBJECT, PATTERN, ROWS, STRING, TABLE, TEXT,
  UNKNOWN, UNKNOWN_PATTERN, VALID, VALUE, VALUE_BYTES, VALUE_COUNT, VALUE_LENGTH, VALUE_TYPE, VALUES,
} from '../layout'
import { spend } from './check'
import { ESCAPED, isSame } from './strings'
import { lengthOf } from './tape'

/** No number of JSON has this value. */
const UNKNOWN_NUMBER: f64 = Infinity

/** A double holds every number of this many digits exactly. */
const MAX_DIGITS: i32 = 15

const powers: StaticArray<f64> = [
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
]

/**
 * The double of a number's text, when one division of two exact doubles gives it; UNKNOWN_NUMBER with more
 * digits or an exponent.
 */
function numberOf(at: usize, end: usize): f64 {
  const negative = load<u8>(at) == 0x2d
  if (negative) at++
  let digits = 0
  let behind = 0
  let value: i64 = 0
  let fraction = false
  for (; at < end; at++) {
    const one = load<u8>(at)
    if (one == 0x2e) fraction = true
    else if (one > 0x39) return UNKNOWN_NUMBER
    else {
      if (++digits > MAX_DIGITS) return UNKNOWN_NUMBER
      value = value * 10 + (<i64>one - 0x30)
      if (fraction) behind++
    }
  }
  const whole = <f64>value / unchecked(powers[behind])
  return negative ? -whole : whole
}

/** By its spelling or by its value: 1.0 is an integer. */
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

export function ofNumber(rules: usize, entry: usize): i32 {
  const value = numberOf(TEXT + load<u32>(entry), TEXT + load<u32>(entry, 4))
  if (value == UNKNOWN_NUMBER) return UNKNOWN
  if (value < load<f64>(rules, MINIMUM) || value > load<f64>(rules, MAXIMUM)) return INVALID
  if (value <= load<f64>(rules, EXCLUSIVE_MINIMUM)) return INVALID
  if (value >= load<f64>(rules, EXCLUSIVE_MAXIMUM)) return INVALID
  const factor = load<f64>(rules, MULTIPLE_OF)
  if (factor == 0) return VALID
  if (value != Math.floor(value)) return UNKNOWN
  // Both are whole, and less than 2 ** 53.
  return <i64>value % <i64>factor == 0 ? VALID : INVALID
}

export function ofString(rules: usize, entry: usize): i32 {
  const from = TEXT + load<u32>(entry) + 1
  const end = TEXT + (load<u32>(entry, 4) & ~ESCAPED) - 1
  if (!spend(<i32>(end - from) >> 4)) return UNKNOWN
  const escaped = (load<u32>(entry, 4) & ESCAPED) != 0
  const least = load<u32>(rules, MIN_LENGTH)
  const most = load<u32>(rules, MAX_LENGTH)
  if (least > 0 || most < u32.MAX_VALUE) {
    // A character takes four bytes at most, or twelve where it is escaped.
    const bytes = <u32>(end - from)
    if (bytes < least) return INVALID
    if (bytes > most || bytes < 12 * least) {
      const count = charactersIn(from, end)
      if (count < least || count > most) return INVALID
    }
  }
  const format = load<u32>(rules, FORMAT)
  const pattern = load<u32>(rules, PATTERN)
  if (format == 0 && pattern == 0) return VALID
  if (escaped || format == UNKNOWN_PATTERN || pattern == UNKNOWN_PATTERN) return UNKNOWN
  if (format != 0 && matchesPattern(TABLE + format, from, end) != VALID) return UNKNOWN
  return pattern == 0 ? VALID : matchesPattern(TABLE + pattern, from, end)
}

/** Runs an automaton over a text. */
function matchesPattern(automaton: usize, at: usize, end: usize): i32 {
  const classes = automaton + BYTE_CLASSES
  const rows = automaton + ROWS
  let row = <usize>load<u32>(automaton, FIRST_STATE)
  for (; at < end; at++) {
    const column = <usize>load<u16>(classes + (<usize>load<u8>(at) << 1))
    row = <usize>load<u32>(row + (rows + column))
  }
  return load<i32>(rows + row)
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

/** Arrays and objects are left to the evaluator. */
export function isListed(values: usize, entry: usize, type: u32): i32 {
  if (type == ARRAY || type == OBJECT) return UNKNOWN
  const from = TEXT + load<u32>(entry)
  const first = load<u8>(from)
  const escaped = type == STRING && (load<u32>(entry, 4) & ESCAPED) != 0
  if (escaped) return UNKNOWN
  const number = type == NUMBER ? numberOf(from, TEXT + load<u32>(entry, 4)) : 0
  if (number == UNKNOWN_NUMBER) return UNKNOWN
  const length = type == STRING ? lengthOf(entry) : 0
  const count = load<u32>(values, VALUE_COUNT)
  if (!spend(<i32>count >> 2)) return UNKNOWN
  let one = values + VALUES
  for (let index: u32 = 0; index < count; index++, one += VALUE_BYTES) {
    if (load<u32>(one, VALUE_TYPE) != type) continue
    if (type == STRING) {
      if (<i32>load<u32>(one, VALUE_LENGTH) != length) continue
      if (!spend(length >> 4)) return UNKNOWN
      if (isSame(TABLE + load<u32>(one, VALUE), from + 1, length)) return VALID
    } else if (type == NUMBER) {
      if (load<f64>(one, VALUE) == number) return VALID
    } else if (type == NULL || load<u32>(one, VALUE) == <u32>first) return VALID
  }
  return INVALID
}
