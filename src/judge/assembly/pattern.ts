// Patterns as automata over bytes: for ASCII texts alone. A state is a row: where each kind of character leads to.

import { UNKNOWN, VALID, INVALID } from './check'

/** In place of a state: there is a match, whatever comes; there never will be one; nobody has found out. */
const MATCHED: i32 = -2
const FAILED: i32 = -3

/** The state at the beginning; how many kinds there are; for each of 128 characters its kind; then rows, whose first number says whether there is a match at the end. */
export function hasPattern(pattern: usize, at: usize, end: usize): i32 {
  let state = load<i32>(pattern)
  const width = <usize>load<u32>(pattern, 4)
  const rows = pattern + 8 + 128
  for (; at < end && state >= 0; at++) {
    const one = load<u8>(at)
    if (one >= 0x80) return UNKNOWN
    state = load<i32>(rows + ((<usize>state * (width + 1) + 1 + load<u8>(pattern + 8 + one)) << 2))
  }
  if (state == MATCHED) return VALID
  if (state == FAILED) return INVALID
  if (state < 0) return UNKNOWN
  return load<i32>(rows + ((<usize>state * (width + 1)) << 2)) != 0 ? VALID : INVALID
}
