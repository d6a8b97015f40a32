// The tape has an entry for each token of the text. An entry is two words: where the token begins, and
//   for a string               its end, behind the closing quotation mark; the highest bit is set when the
//                              string has an escape
//   for a number or literal    its end
//   for a container            the tape offset behind its last entry, which is that of its closing bracket:
//                              where the bracket is, and the number of members or elements
// Places in the text count from its beginning; tape offsets are in bytes. A tape index is the address of an
// entry; 0 is none.

import { PADDING, TEXT } from '../layout'
import { CASE, ESCAPED, OPEN_OBJECT } from './strings'

/** Bytes of an entry. */
export const ENTRY: usize = 8

/** Texts of more tokens are left to the incremental parser: JSON.parse reads this many in one turn. */
const MAX_ENTRIES: i32 = 500_000

export let tape: usize = 0

/** Makes room for a text of this many bytes. @returns where to write the text; 0 when there is no room */
export function prepare(length: i32): usize {
  tape = (TEXT + length + PADDING + 15) & ~15
  const needed = <i32>((tape + capacity(length) + 0xffff) >> 16)
  const pages = memory.size()
  return needed <= pages || memory.grow(needed - pages) >= 0 ? TEXT : 0
}

/** Bytes of the longest tape. */
export function capacity(length: i32): usize {
  return (<usize>min(length >> 1, MAX_ENTRIES) + 64) * ENTRY
}

/** The first byte of a token. */
// @ts-ignore: decorator
@inline
export function firstOf(entry: usize): u32 {
  return <u32>load<u8>(TEXT + load<u32>(entry))
}

/** The entry behind a value's. */
// @ts-ignore: decorator
@inline
export function afterValue(entry: usize): usize {
  return (firstOf(entry) | CASE) == OPEN_OBJECT ? tape + load<u32>(entry, 4) : entry + ENTRY
}

/** Bytes of a string's text, without the quotation marks. */
// @ts-ignore: decorator
@inline
export function lengthOf(entry: usize): i32 {
  return <i32>((load<u32>(entry, 4) & ~ESCAPED) - load<u32>(entry)) - 2
}

/** The tape index of a member's value; 0 when there is no such member, or no object. */
export function memberOf(object: usize, name: string): usize {
  if (object == 0 || firstOf(object) != OPEN_OBJECT) return 0
  const end = afterValue(object) - ENTRY
  for (let entry = object + ENTRY; entry < end; entry = afterValue(entry + ENTRY)) {
    if (lengthOf(entry) == name.length && isNamed(entry, name)) return entry + ENTRY
  }
  return 0
}

/** @param name as long as the entry's, and ASCII */
function isNamed(entry: usize, name: string): bool {
  const from = TEXT + load<u32>(entry) + 1
  for (let index = 0; index < name.length; index++) {
    const wanted = <u32>load<u16>(changetype<usize>(name) + (<usize>index << 1))
    if (<u32>load<u8>(from + index) != wanted) return false
  }
  return true
}

/** Where a value ends in the text. */
export function endOf(entry: usize): u32 {
  const isContainer = (firstOf(entry) | CASE) == OPEN_OBJECT
  return isContainer ? load<u32>(tape + load<u32>(entry, 4) - ENTRY) + 1 : load<u32>(entry, 4) & ~ESCAPED
}
