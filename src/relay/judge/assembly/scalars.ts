// Numbers and literals; the rules of a schema for numbers and strings, and the values that it lists.

import {
  BYTE_CLASSES, EXCLUSIVE_MAXIMUM, EXCLUSIVE_MINIMUM, FIRST_STATE, FORMAT, INVALID, MAX_LENGTH,
  MAXIMUM, MIN_LENGTH, MINIMUM, MULTIPLE_OF, NULL, NUMBER, PATTERN, ROWS, STRING, TABLE,
  UNKNOWN, UNKNOWN_PATTERN, VALID, VALUE, VALUE_BYTES, VALUE_COUNT, VALUE_LENGTH, VALUE_TYPE, VALUES,
} from '../layout'
import { matchesPattern, matchLater } from './patterns'
import { spend } from './read'
import { isSame, MARK, MINUS, ZERO } from './strings'

/** Numbers of at most this many bytes, with an exponent below 100, are within the range of a double. */
const LONGEST_NUMBER: usize = 200

/** Behind a number, with MARK when it has a fraction or an exponent; 0 when not known. */
// @ts-ignore: decorator
@inline
export function afterNumber(at: usize): usize {
  // Mostly sixteen bytes hold the number and the byte behind it.
  const begin = load<u8>(at) == MINUS ? at + 1 : at
  const others = ~digitsAt(begin)
  const whole = <usize>ctz(others)
  const behind = load<u8>(begin + whole)
  if (whole == 0 || whole == 16 || (load<u8>(begin) == ZERO && whole > 1)) return afterLongNumber(at)
  if (behind == 0x2e) {
    const fraction = <usize>ctz(others >> (<i32>whole + 1))
    const end = begin + whole + 1 + fraction
    if (fraction == 0 || whole + fraction >= 15 || (load<u8>(end) | 0x20) == 0x65) return afterLongNumber(at)
    return end | MARK
  }
  return (behind | 0x20) == 0x65 ? afterLongNumber(at) : begin + whole
}

/** A bit for each of the next sixteen bytes: 1 where it is a digit. */
// @ts-ignore: decorator
@inline
function digitsAt(at: usize): u32 {
  return i8x16.bitmask(i8x16.lt_u(i8x16.sub(v128.load(at), i8x16.splat(0x30)), i8x16.splat(10)))
}

function afterLongNumber(at: usize): usize {
  const from = at
  let mark: usize = 0
  if (load<u8>(at) == MINUS) at++
  if (load<u8>(at) == ZERO) at++
  else {
    const digits = afterDigits(at)
    if (digits == at) return 0
    at = digits
  }
  if (load<u8>(at) == 0x2e) {
    const digits = afterDigits(at + 1)
    if (digits == at + 1) return 0
    at = digits
    mark = <usize>MARK
  }
  if ((load<u8>(at) | 0x20) == 0x65) {
    at++
    const sign = load<u8>(at)
    if (sign == 0x2b || sign == MINUS) at++
    const digits = afterDigits(at)
    if (digits == at || digits - at > 2) return 0
    at = digits
    mark = <usize>MARK
  }
  return at - from <= LONGEST_NUMBER ? at | mark : 0
}

// @ts-ignore: decorator
@inline
function afterDigits(at: usize): usize {
  while (<u32>load<u8>(at) - ZERO < 10) at++
  return at
}

// `true`, `null` and `fals`, as little-endian words.
export function afterLiteral(at: usize): usize {
  const word = load<u32>(at)
  if (word == 0x65757274 || word == 0x6c6c756e) return at + 4
  return word == 0x736c6166 && load<u8>(at, 4) == 0x65 ? at + 5 : 0
}

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
  const negative = load<u8>(at) == MINUS
  if (negative) at++
  const others = ~digitsAt(at)
  const whole = <i32>ctz(others)
  const behind = max(0, <i32>(end - at) - whole - 1)
  const isShort = whole <= 8 && behind <= 7
  if (!isShort || (behind > 0 && (load<u8>(at + whole) != 0x2e || <i32>ctz(others >> (whole + 1)) < behind)))
    return longNumberOf(at, end, negative)
  const power = unchecked(powers[behind])
  const value = (digitsOf(at + whole, whole) * power + digitsOf(end, behind)) / power
  return negative ? -value : value
}

/** The value of up to eight digits, all at once: pairs of digits, then pairs of pairs, then both halves. */
// @ts-ignore: decorator
@inline
function digitsOf(end: usize, count: i32): f64 {
  if (count == 0) return 0
  let word = load<u64>(end - 8) & 0x0f0f0f0f0f0f0f0f & (u64.MAX_VALUE << (64 - (<u64>count << 3)))
  word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ff
  word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffff
  return <f64>((word * 10000 + (word >> 32)) & 0xffffffff)
}

function longNumberOf(at: usize, end: usize, negative: bool): f64 {
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

/** Whether the value of a number with a fraction or an exponent is whole: 1.0 is an integer. */
export function isWhole(from: usize, end: usize): i32 {
  const value = numberOf(from, end)
  if (value == UNKNOWN_NUMBER) return UNKNOWN
  return value == Math.floor(value) ? VALID : INVALID
}

export function ofNumber(rules: usize, from: usize, end: usize): i32 {
  const value = numberOf(from, end)
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

/**
 * A string from behind its opening quotation mark to the closing one. `format` may be an assertion or not: a
 * text of the format is valid in both cases, and any other text is UNKNOWN.
 * @param isFinal false where `areQueuedValid` may find later that it is not surely valid
 */
export function ofString(rules: usize, from: usize, end: usize, isEscaped: bool, isFinal: bool): i32 {
  if (!spend(<i32>(end - from) >> 4)) return UNKNOWN
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
  if (isEscaped || format == UNKNOWN_PATTERN || pattern == UNKNOWN_PATTERN) return UNKNOWN
  // An automaton takes about two nanoseconds for each byte.
  if (!spend(<i32>(end - from) >> 3)) return UNKNOWN
  if (!isFinal) {
    if (format != 0) matchLater(TABLE + format, from, end)
    if (pattern != 0) matchLater(TABLE + pattern, from, end)
    return VALID
  }
  if (format != 0 && matchesPattern(TABLE + format, from, end) != VALID) return UNKNOWN
  return pattern == 0 ? VALID : matchesPattern(TABLE + pattern, from, end)
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

/** Whether a scalar is one of the listed values. */
export function isListed(values: usize, from: usize, end: usize, type: u32, isEscaped: bool): i32 {
  if (isEscaped) return UNKNOWN
  const first = load<u8>(from)
  const number = type == NUMBER ? numberOf(from, end) : 0
  if (number == UNKNOWN_NUMBER) return UNKNOWN
  const length = type == STRING ? <i32>(end - from) - 2 : 0
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
