// What was read: an entry for each token. An entry is two numbers: where the token begins, and
//   for a string      the end, behind its closing quotation mark; the highest bit says that something in it is escaped
//   for a number or literal  the end
//   for a container   the place on the tape behind its last entry, which is that of its closing: where that stands, and how many
//                     members or elements there are
// Places in the text count from its beginning, those on the tape in bytes.

import { ENTRY, isSame, PADDING, TEXT } from './memory'
import { ESCAPED } from './strings'

/** Texts of more tokens are left to others, who read them in pieces: so many can be parsed in one turn, where somebody looks into them. */
const MOST_ENTRIES: i32 = 500_000

export let tape: usize = 0

/** Makes room for a text of so many bytes. @returns where it is to be written; 0 when there is no room */
export function prepare(length: i32): usize {
  tape = (TEXT + length + PADDING + 15) & ~15
  const needed = <i32>((tape + capacity(length) + 0xffff) >> 16)
  const pages = memory.size()
  return needed <= pages || memory.grow(needed - pages) >= 0 ? TEXT : 0
}

/** Bytes of the longest tape. */
export function capacity(length: i32): usize {
  return (<usize>min(length >> 1, MOST_ENTRIES) + 64) * ENTRY
}

/** The entry behind a value's. */
// @ts-ignore: decorator
@inline
export function afterValue(entry: usize): usize {
  const first = load<u8>(TEXT + load<u32>(entry))
  return (first | 0x20) == 0x7b ? tape + load<u32>(entry, 4) : entry + ENTRY
}

/** Of a name's text. */
// @ts-ignore: decorator
@inline
export function lengthOf(entry: usize): i32 {
  return <i32>((load<u32>(entry, 4) & ~ESCAPED) - load<u32>(entry)) - 2
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

/** The entry of an array's element; 0 when it has none. */
export function elementOf(array: usize, index: i32): usize {
  if (load<u8>(TEXT + load<u32>(array)) != 0x5b) return 0
  const end = afterValue(array) - ENTRY
  for (let entry = array + ENTRY; entry < end; entry = afterValue(entry)) if (index-- == 0) return entry
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
