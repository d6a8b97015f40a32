// Reads a JSON text strictly, and writes the tape.

import { MAX_OPEN, OPEN, PADDING, TEXT } from '../layout'
import { hasDistinctNames } from './names'
import {
  afterString, beginPlain, CASE, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, ESCAPED, afterSpace, MINUS,
  OPEN_OBJECT, QUOTE, ZERO, isSame,
} from './strings'
import { afterValue, capacity, ENTRY, firstOf, tape } from './tape'

/** Numbers of at most this many bytes, with an exponent below 100, are within the range of a double. */
const LONGEST_NUMBER: usize = 200

/**
 * A text with more names is left to the incremental parser, which yields: JSON.parse would take nearly 1 us
 * for each new name.
 */
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
  const lastEntry = tape + capacity(length) - 2 * ENTRY
  const deepest = <usize>min(depth, MAX_OPEN) << 3
  /** Bytes of `OPEN` in use: eight for each open container. */
  let openBytes: usize = 0
  /**
   * Rows of a list have the same names in the same order. In an array: the last element that is a container.
   * In an object: the name in the element before that is the same as this one's newest; 0 where one differed.
   */
  let model: usize = 0
  let inObject = false
  let count = 0
  let names: u32 = 0
  let at = TEXT
  let entry = tape

  while (true) {
    at = afterSpace(at)
    if (entry > lastEntry) return 0
    const first = load<u8>(at)
    store<u32>(entry, <u32>(at - TEXT))
    if (first == QUOTE) {
      const after = afterString(at + 1)
      if (after == 0) return 0
      at = after & 0x7fffffff
      store<u32>(entry, <u32>(at - TEXT) | (<u32>after & ESCAPED), 4)
      entry += ENTRY
    } else if ((first | CASE) == OPEN_OBJECT) {
      if (openBytes >= deepest) return 0
      // While a container is open, the second word of its entry keeps the parent's count and whether the
      // parent is an object; both are restored when the container closes.
      store<u32>(entry, (<u32>count << 1) | <u32>inObject, 4)
      store<u32>(OPEN + openBytes, <u32>entry)
      store<u32>(OPEN + openBytes, <u32>model, 4)
      openBytes += 8
      entry += ENTRY
      count = 0
      const like = model != 0 && inObject ? model + ENTRY : model
      inObject = first == OPEN_OBJECT
      model = like != 0 && inObject && firstOf(like) == OPEN_OBJECT ? like + ENTRY : 0
      at++
      at = afterSpace(at)
      if (load<u8>(at) != (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        if (inObject) {
          model = sameName(model, at)
          at = afterName(at, entry, model)
          if (at == 0 || ++names > MAX_NAMES) return 0
          entry += ENTRY
        }
        count = 1
        continue
      }
    } else {
      at = first == MINUS || first - ZERO < 10 ? afterNumber(at) : afterLiteral(at)
      if (at == 0) return 0
      store<u32>(entry, <u32>(at - TEXT), 4)
      entry += ENTRY
    }

    // After a value, or at the end of an empty container: a comma or closing brackets.
    while (true) {
      at = afterSpace(at)
      if (openBytes == 0) return at == end ? tape : 0
      const one = load<u8>(at)
      if (one == COMMA && count > 0) {
        at++
        if (entry > lastEntry) return 0
        if (inObject) {
          at = afterSpace(at)
          if (model != 0) model = sameName(afterValue(model + ENTRY), at)
          at = afterName(at, entry, model)
          if (at == 0 || ++names > MAX_NAMES) return 0
          entry += ENTRY
        }
        count++
        break
      }
      if (one != (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return 0
      if (entry > lastEntry) return 0
      openBytes -= 8
      const open = <usize>load<u32>(OPEN + openBytes)
      const outside = load<u32>(open, 4)
      store<u32>(entry, <u32>(at - TEXT))
      store<u32>(entry, <u32>count, 4)
      entry += ENTRY
      store<u32>(open, <u32>(entry - tape), 4)
      // Names that are all the same as those of the model are as distinct.
      if (inObject && count > 1 && model == 0 && !hasDistinctNames(open + ENTRY, count)) return 0
      count = outside >> 1
      inObject = (outside & 1) == 1
      model = inObject ? <usize>load<u32>(OPEN + openBytes, 4) : open
      at++
    }
  }
}

/** The model's next name, if it is the one that begins here; else 0. */
// @ts-ignore: decorator
@inline
function sameName(model: usize, at: usize): usize {
  if (model == 0 || firstOf(model) != QUOTE) return 0
  const from = load<u32>(model)
  return isSame(TEXT + from, at, <i32>(load<u32>(model, 4) - from)) ? model : 0
}

/**
 * Reads a name and its colon. A name with an escape may spell another name: the parser reads this text.
 * @param model the same name, which was read before, or 0
 */
// @ts-ignore: decorator
@inline
function afterName(at: usize, entry: usize, model: usize): usize {
  if (load<u8>(at) != QUOTE) return 0
  const after = model == 0 ? afterString(at + 1) : at + (load<u32>(model, 4) - load<u32>(model))
  if (after == 0 || (<u32>after & ESCAPED) != 0) return 0
  store<u32>(entry, <u32>(at - TEXT))
  store<u32>(entry, <u32>(after - TEXT), 4)
  at = after
  at = afterSpace(at)
  return load<u8>(at) == COLON ? at + 1 : 0
}

function afterNumber(at: usize): usize {
  const from = at
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
  }
  if ((load<u8>(at) | 0x20) == 0x65) {
    at++
    const sign = load<u8>(at)
    if (sign == 0x2b || sign == MINUS) at++
    const digits = afterDigits(at)
    if (digits == at || digits - at > 2) return 0
    at = digits
  }
  return at - from <= LONGEST_NUMBER ? at : 0
}

// @ts-ignore: decorator
@inline
function afterDigits(at: usize): usize {
  while (<u32>load<u8>(at) - ZERO < 10) at++
  return at
}

// `true`, `null` and `fals`, as little-endian words.
function afterLiteral(at: usize): usize {
  const word = load<u32>(at)
  if (word == 0x65757274 || word == 0x6c6c756e) return at + 4
  return word == 0x736c6166 && load<u8>(at, 4) == 0x65 ? at + 5 : 0
}
