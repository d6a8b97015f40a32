// Where things lie in the module's memory. All of it is at fixed places but the tape, which follows the text.

/** A bit for each code point below U+10000, and for each 256 above: 1 where it may hide something. */
export const HIDDEN: usize = 0x10000
/** Names that JavaScript looks members up by. */
export const NAMES: usize = 0x14000
/** The schema by which a value is judged. */
export const TABLE: usize = 0x20000
/** Members of one large object, by hash: where two are the same is found there. */
export const MEMBERS: usize = 0x60000
/** Eight bytes each. */
export const MEMBER_SLOTS: u32 = 0x4000
/** What the names of a small object begin with, and their entries. */
export const HEADS: usize = 0x80000
/** Containers that are open, by their place on the tape. */
export const OPEN: usize = 0x90000
export const MOST_OPEN: i32 = 0x1000
/** The text. Behind it are zeros: no token goes on there, so that nobody need ask where it ends. */
export const TEXT: usize = 0xa0000

/** Bytes behind the text that may be read, though they say nothing. */
export const PADDING: i32 = 64

/** Of an entry on the tape. */
export const ENTRY: usize = 8

// @ts-ignore: decorator
@inline
export function isSpace(one: u32): bool {
  return one <= 0x20 && (one == 0x20 || one == 0x0a || one == 0x0d || one == 0x09)
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
