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
