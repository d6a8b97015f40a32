/** No number of JSON is that. */
export const UNKNOWN_NUMBER: f64 = Infinity

/** A number of so many digits is one that a double has. */
const MOST_DIGITS: i32 = 15

const powers: StaticArray<f64> = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15]

/**
 * The double that a number's text stands for, where one division of two that are exact says it; else `UNKNOWN_NUMBER`: more digits, or an
 * exponent.
 */
export function numberOf(at: usize, end: usize): f64 {
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
      if (++digits > MOST_DIGITS) return UNKNOWN_NUMBER
      value = value * 10 + (<i64>one - 0x30)
      if (fraction) behind++
    }
  }
  const whole = <f64>value / unchecked(powers[behind])
  return negative ? -whole : whole
}
