// Texts that surely have a format; of others nothing is said. None of them holds an escape.

const DATE: u32 = 1
const DATE_TIME: u32 = 2
const EMAIL: u32 = 3
const UUID: u32 = 4
const URI: u32 = 5

export function hasFormat(format: u32, at: usize, end: usize): bool {
  switch (format) {
    case DATE:
      return end - at == 10 && isDate(at)
    case DATE_TIME:
      return isDateTime(at, end)
    case EMAIL:
      return isEmail(at, end)
    case UUID:
      return isUuid(at, end)
    case URI:
      return isUri(at, end)
    default:
      return false
  }
}

// @ts-ignore: decorator
@inline
function isDigit(one: u32): bool {
  return one - 0x30 < 10
}

// @ts-ignore: decorator
@inline
function isAlphanumeric(one: u32): bool {
  return isDigit(one) || (one | 0x20) - 0x61 < 26
}

/** Two digits; 100 where they are none. */
// @ts-ignore: decorator
@inline
function two(at: usize): u32 {
  const tens = <u32>load<u8>(at) - 0x30
  const ones = <u32>load<u8>(at, 1) - 0x30
  return tens < 10 && ones < 10 ? 10 * tens + ones : 100
}

/** Of RFC 3339; a day that is there in every year. */
function isDate(at: usize): bool {
  const month = two(at + 5)
  const day = two(at + 8)
  if (two(at) == 100 || two(at + 2) == 100 || load<u8>(at, 4) != 0x2d || load<u8>(at, 7) != 0x2d) return false
  if (month < 1 || month > 12 || day < 1) return false
  return day <= (month == 2 ? 28 : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31)
}

/** Of RFC 3339, but for leap seconds. */
function isDateTime(at: usize, end: usize): bool {
  if (end - at < 20 || !isDate(at) || (load<u8>(at, 10) | 0x20) != 0x74) return false
  at += 11
  if (two(at) > 23 || load<u8>(at, 2) != 0x3a || two(at + 3) > 59 || load<u8>(at, 5) != 0x3a || two(at + 6) > 59) return false
  at += 8
  if (load<u8>(at) == 0x2e) {
    const from = ++at
    while (isDigit(load<u8>(at))) at++
    if (at == from) return false
  }
  if ((load<u8>(at) | 0x20) == 0x7a) return at + 1 == end
  const sign = load<u8>(at)
  return (sign == 0x2b || sign == 0x2d) && at + 6 == end && two(at + 1) <= 23 && load<u8>(at, 3) == 0x3a && two(at + 4) <= 59
}

/** Letters, digits, dots, hyphens, underscores and plus signs, at a domain of two labels at least. */
function isEmail(at: usize, end: usize): bool {
  let before: u32 = 0x2e
  for (; at < end; at++) {
    const one = <u32>load<u8>(at)
    if (one == 0x40) break
    if (one == 0x2e ? before == 0x2e : !isAlphanumeric(one) && one != 0x2d && one != 0x5f && one != 0x2b) return false
    before = one
  }
  if (before == 0x2e || at == end) return false
  let dots = 0
  let last: u32 = 0x2e
  for (at++; at < end; at++) {
    const one = <u32>load<u8>(at)
    if (one == 0x2e) {
      if (last == 0x2e || last == 0x2d) return false
      dots++
    } else if (one == 0x2d) {
      if (last == 0x2e) return false
    } else if (!isAlphanumeric(one)) return false
    last = one
  }
  return dots > 0 && last != 0x2e && last != 0x2d
}

function isUuid(at: usize, end: usize): bool {
  if (end - at != 36) return false
  for (let index = 0; index < 36; index++) {
    const one = <u32>load<u8>(at + index)
    if (index == 8 || index == 13 || index == 18 || index == 23) {
      if (one != 0x2d) return false
    } else if (!isDigit(one) && (one | 0x20) - 0x61 >= 6) return false
  }
  return true
}

/** A scheme, `://`, a host of letters, digits, dots and hyphens, a port, and behind that what needs no thought. */
function isUri(at: usize, end: usize): bool {
  if ((<u32>load<u8>(at) | 0x20) - 0x61 >= 26) return false
  while (isAlphanumeric(load<u8>(at))) at++
  if (end - at < 4 || load<u16>(at) != 0x2f3a || load<u8>(at, 2) != 0x2f) return false
  at += 3
  const host = at
  while (isAlphanumeric(load<u8>(at)) || load<u8>(at) == 0x2e || load<u8>(at) == 0x2d) at++
  if (at == host) return false
  if (load<u8>(at) == 0x3a) for (at++; isDigit(load<u8>(at)); ) at++
  if (at < end && load<u8>(at) != 0x2f) return false
  let fragment = false
  for (; at < end; at++) {
    const one = <u32>load<u8>(at)
    if (isAlphanumeric(one)) continue
    if (one == 0x23) {
      if (fragment) return false
      fragment = true
    } else if (one != 0x2f && one != 0x3f && one != 0x2d && one != 0x5f && one != 0x2e && one != 0x3d && one != 0x26 && one != 0x7e) return false
  }
  return true
}
