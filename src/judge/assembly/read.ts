// Reads a JSON text, strictly, and notes on a tape where its tokens are. An entry is two numbers: where the token begins, and
//   for a string      the end, behind its closing quotation mark; the highest bit says that something in it is escaped
//   for a number or literal  the end
//   for a container   the place on the tape behind its last entry, which is that of its closing: where that stands, and how many
//                     members or elements there are
// Places in the text count from its beginning, those on the tape in bytes.

import { ENTRY, HEADS, HIDDEN, isSame, isSpace, MEMBERS, MEMBER_SLOTS, MOST_OPEN, OPEN, PADDING, TEXT } from './memory'

export const ESCAPED: u32 = 0x80000000

/** Texts of more tokens are left to others, who read them in pieces. */
const MOST_ENTRIES: i32 = 500_000

/** Longer numbers could be beyond a double: with an exponent below a hundred these are not. */
const LONGEST_NUMBER: usize = 200

/** Objects of more members are not looked through for two of the same name. */
const MOST_MEMBERS: i32 = 0x2000
/** Objects of more members are looked through by hash. */
const FEW_MEMBERS: i32 = 8
const MOST_PROBES: i32 = 64

export let tape: usize = 0
let plain: bool = true
let seed: u64 = 0
let generation: u32 = 0

/** Whether no string holds a character that may be hidden. */
export function isPlain(): bool {
  return plain
}

/** Nobody outside can name members that all have one hash. */
export function setSeed(value: u64): void {
  seed = value | 1
}

/** Makes room for a text of so many bytes. @returns where it is to be written; 0 when there is no room */
export function prepare(length: i32): usize {
  tape = (TEXT + length + PADDING + 15) & ~15
  const needed = <i32>((tape + capacity(length) + 0xffff) >> 16)
  const pages = memory.size()
  return needed <= pages || memory.grow(needed - pages) >= 0 ? TEXT : 0
}

function capacity(length: i32): usize {
  return (<usize>min(length >> 1, MOST_ENTRIES) + 64) * ENTRY
}

/**
 * Reads the text that was written. @returns whether it is surely JSON, as UTF-8 surely is read by everybody alike: no member
 * twice, no half of a surrogate pair, no number beyond a double, no deeper than so many levels
 * @param isEven for what is known to be UTF-8
 */
export function read(length: i32, depth: i32): bool {
  const end = TEXT + length
  memory.fill(end, 0, PADDING)
  plain = true
  const stop = tape + capacity(length) - 2 * ENTRY
  const deepest = <usize>min(depth, MOST_OPEN) << 2
  let top: usize = 0
  let named = false
  let count = 0
  let at = TEXT
  let next = tape

  while (true) {
    while (isSpace(load<u8>(at))) at++
    if (next > stop) return false
    const first = load<u8>(at)
    store<u32>(next, <u32>(at - TEXT))
    if (first == 0x22) {
      const after = afterString(at + 1)
      if (after == 0) return false
      at = after & 0x7fffffff
      store<u32>(next, <u32>(at - TEXT) | (<u32>after & ESCAPED), 4)
      next += ENTRY
    } else if ((first | 0x20) == 0x7b) {
      if (top >= deepest) return false
      // What is outside is noted where its end will be: how many members it has, and whether they have names.
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
          if (at == 0) return false
          next += ENTRY
        }
        count = 1
        continue
      }
    } else {
      at = first == 0x2d || first - 0x30 < 10 ? afterNumber(at) : afterLiteral(at)
      if (at == 0) return false
      store<u32>(next, <u32>(at - TEXT), 4)
      next += ENTRY
    }

    // Behind a value, or at the end of an empty container.
    while (true) {
      while (isSpace(load<u8>(at))) at++
      if (top == 0) return at == end
      const one = load<u8>(at)
      if (one == 0x2c && count > 0) {
        at++
        if (next > stop) return false
        if (named) {
          while (isSpace(load<u8>(at))) at++
          at = afterName(at, next)
          if (at == 0) return false
          next += ENTRY
        }
        count++
        break
      }
      if (one != (named ? 0x7d : 0x5d)) return false
      if (next > stop) return false
      top -= 4
      const open = <usize>load<u32>(OPEN + top)
      const outside = load<u32>(open, 4)
      store<u32>(next, <u32>(at - TEXT))
      store<u32>(next, <u32>count, 4)
      next += ENTRY
      store<u32>(open, <u32>(next - tape), 4)
      if (named && count > 1 && !hasDistinctNames(open + ENTRY, count)) return false
      count = outside >> 1
      named = (outside & 1) == 1
      at++
    }
  }
}

/** A name, and the colon behind it. A name with an escape could be the same as one without: it is left to others. */
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

/** @param at behind the opening quotation mark @returns behind the closing one, with the highest bit where something is escaped; 0: not known */
function afterString(at: usize): usize {
  let escaped: usize = 0
  while (true) {
    const bytes = v128.load(at)
    // By one greater, what is no printable ASCII is less than 0x21 as a signed number.
    const odd = i8x16.lt_s(i8x16.add(bytes, i8x16.splat(1)), i8x16.splat(0x21))
    const stops = v128.or(v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))), odd)
    const mask = i8x16.bitmask(stops)
    if (mask == 0) {
      at += 16
      continue
    }
    at += ctz(mask)
    const one = load<u8>(at)
    if (one == 0x22) return (at + 1) | escaped
    if (one == 0x5c) {
      escaped = <usize>ESCAPED
      at = afterEscape(at + 1)
      if (at == 0) return 0
    } else if (one >= 0x80) at = afterCharacters(at)
    else if (one == 0x7f) {
      plain = false
      at++
    } else return 0
  }
}

function afterEscape(at: usize): usize {
  switch (load<u8>(at)) {
    case 0x62:
    case 0x66:
      plain = false
      return at + 1
    case 0x22:
    case 0x5c:
    case 0x2f:
    case 0x6e:
    case 0x72:
    case 0x74:
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

/** The entry behind a value's. */
// @ts-ignore: decorator
@inline
export function afterValue(entry: usize): usize {
  const first = load<u8>(TEXT + load<u32>(entry))
  return (first | 0x20) == 0x7b ? tape + load<u32>(entry, 4) : entry + ENTRY
}

/** @param entry of the first name */
function hasDistinctNames(entry: usize, count: i32): bool {
  if (count > FEW_MEMBERS) return count <= MOST_MEMBERS && hasDistinctHashes(entry, count)
  // The names up to here, by what they begin with.
  for (let index = 0; index < count; index++) {
    const from = TEXT + load<u32>(entry) + 1
    const length = lengthOf(entry)
    const head = headOf(from, length)
    for (let before = 0; before < index; before++) {
      const slot = HEADS + (<usize>before << 4)
      if (load<u64>(slot) != head) continue
      const other = <usize>load<u32>(slot, 8)
      if (lengthOf(other) == length && isSame(TEXT + load<u32>(other) + 1, from, length)) return false
    }
    const slot = HEADS + (<usize>index << 4)
    store<u64>(slot, head)
    store<u32>(slot, <u32>entry, 8)
    entry = afterValue(entry + ENTRY)
  }
  return true
}

/** Of a name's text. */
// @ts-ignore: decorator
@inline
export function lengthOf(entry: usize): i32 {
  return <i32>((load<u32>(entry, 4) & ~ESCAPED) - load<u32>(entry)) - 2
}

/** Up to eight bytes of a name, and zeros. */
// @ts-ignore: decorator
@inline
function headOf(from: usize, length: i32): u64 {
  const word = load<u64>(from)
  return length >= 8 ? word : word & ((<u64>1 << ((<u64>length) << 3)) - 1)
}

function hasDistinctHashes(entry: usize, count: i32): bool {
  if (generation == 0 || generation == 0xffffffff) {
    memory.fill(MEMBERS, 0, <usize>MEMBER_SLOTS << 3)
    generation = 0
  }
  generation++
  for (let index = 0; index < count; index++) {
    const from = TEXT + load<u32>(entry) + 1
    const length = lengthOf(entry)
    let slot = hashOf(from, length) & (MEMBER_SLOTS - 1)
    let probes = 0
    while (load<u32>(MEMBERS + (<usize>slot << 3)) == generation) {
      const other = <usize>load<u32>(MEMBERS + (<usize>slot << 3), 4)
      if (lengthOf(other) == length && isSame(TEXT + load<u32>(other) + 1, from, length)) return false
      if (++probes > MOST_PROBES) return false
      slot = (slot + 1) & (MEMBER_SLOTS - 1)
    }
    store<u32>(MEMBERS + (<usize>slot << 3), generation)
    store<u32>(MEMBERS + (<usize>slot << 3), <u32>entry, 4)
    entry = afterValue(entry + ENTRY)
  }
  return true
}

function hashOf(from: usize, length: i32): u32 {
  let hash = seed ^ <u64>length
  for (; length > 0; length -= 8, from += 8) {
    hash = (hash ^ headOf(from, length)) * 0x9e3779b97f4a7c15
    hash ^= hash >> 29
  }
  hash *= seed
  return <u32>(hash >> 40)
}

/** The entry of the value that an object has under one of the names; 0 when it has none. */
export function memberOf(object: usize, name: usize, length: i32): usize {
  if (load<u8>(TEXT + load<u32>(object)) != 0x7b) return 0
  const end = afterValue(object) - ENTRY
  for (let entry = object + ENTRY; entry < end; entry = afterValue(entry + ENTRY)) {
    if (lengthOf(entry) == length && isSame(TEXT + load<u32>(entry) + 1, name, length)) return entry + ENTRY
  }
  return 0
}

/** Where a value begins in the text. */
export function startOf(entry: usize): u32 {
  return load<u32>(entry)
}

/** Where it ends. */
export function endOf(entry: usize): u32 {
  const isContainer = (load<u8>(TEXT + load<u32>(entry)) | 0x20) == 0x7b
  return isContainer ? load<u32>(tape + load<u32>(entry, 4) - ENTRY) + 1 : load<u32>(entry, 4) & ~ESCAPED
}

/** The entry of the whole text's value. */
export function root(): usize {
  return tape
}
