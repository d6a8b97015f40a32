// Patterns as automata over bytes: for ASCII texts alone. A state is a row: where each kind of character leads to.

import { INVALID, UNKNOWN, VALID } from './verdict'

/** In place of a state: there is a match, whatever comes. What else is less than 0: there never will be one. */
const MATCHED: i32 = -2

/**
 * The state at the beginning; how many kinds of characters there are; for each of 128 characters its kind; then rows, each with whether there is
 * a match at the end, and the states.
 */
export function hasPattern(pattern: usize, at: usize, end: usize): i32 {
  let state = load<i32>(pattern)
  const width = <usize>load<u32>(pattern, 4) + 1
  const kinds = pattern + 8
  const rows = kinds + 512
  for (; at < end && state >= 0; at++) {
    const one = <usize>load<u8>(at)
    if (one >= 0x80) return UNKNOWN
    state = load<i32>(rows + ((<usize>state * width + 1 + load<u32>(kinds + (one << 2))) << 2))
  }
  if (state < 0) return state == MATCHED ? VALID : INVALID
  return load<i32>(rows + ((<usize>state * width) << 2)) != 0 ? VALID : INVALID
}
