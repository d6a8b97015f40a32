// Runs the automata of patterns and formats over texts.
//
// Each step of an automaton waits for the load of the step before it. Texts of the same automaton are
// therefore collected, four at a time, and its four runs overlap.

import {
  BYTE_CLASSES, FIRST_STATE, QUEUE, QUEUE_BYTES, QUEUE_END, ROWS, VALID,
} from '../layout'

/** The automata that have had texts in their queues since `areQueuedValid`. */
const automata: StaticArray<usize> = new StaticArray<usize>(64)
let automataCount: i32 = 0
let isAllValid: bool = true

/** The state behind a text, as the place of its row. */
// @ts-ignore: decorator
@inline
function run(automaton: usize, row: usize, at: usize, end: usize): usize {
  for (; at < end; at++) row = next(automaton, row, at)
  return row
}

// @ts-ignore: decorator
@inline
function next(automaton: usize, row: usize, at: usize): usize {
  const column = <usize>load<u16>(automaton + (<usize>load<u8>(at) << 1), BYTE_CLASSES)
  return load<u32>(row + (automaton + column), ROWS)
}

/** The verdict of an automaton on a text. */
export function matchesPattern(automaton: usize, at: usize, end: usize): i32 {
  return load<i32>(automaton + run(automaton, load<u32>(automaton, FIRST_STATE), at, end), ROWS)
}

/** Queues a text for an automaton. `areQueuedValid` tells the outcome. */
export function matchLater(automaton: usize, at: usize, end: usize): void {
  let place = load<u32>(automaton, QUEUE_END)
  if (place == 0) {
    if (automataCount == automata.length) {
      if (matchesPattern(automaton, at, end) != VALID) isAllValid = false
      return
    }
    unchecked((automata[automataCount++] = automaton))
    place = <u32>QUEUE
  }
  store<u32>(automaton + place, <u32>at)
  store<u32>(automaton + place, <u32>end, 4)
  store<u32>(automaton, place + 8, QUEUE_END)
  if (place + 8 == QUEUE + QUEUE_BYTES) matchFour(automaton)
}

/** Empties the queues. @returns whether all texts since the last call are valid */
export function areQueuedValid(): bool {
  while (automataCount > 0) {
    const automaton = unchecked(automata[--automataCount])
    const last = load<u32>(automaton, QUEUE_END)
    for (let slot = <u32>QUEUE; slot < last; slot += 8) {
      const text = automaton + slot
      if (matchesPattern(automaton, load<u32>(text), load<u32>(text, 4)) != VALID) isAllValid = false
    }
    store<u32>(automaton, 0, QUEUE_END)
  }
  const wereValid = isAllValid
  isAllValid = true
  return wereValid
}

/** Runs over the four texts of a queue, side by side as far as the shortest, and empties the queue. */
function matchFour(automaton: usize): void {
  let a = <usize>load<u32>(automaton, QUEUE)
  let b = <usize>load<u32>(automaton, QUEUE + 8)
  let c = <usize>load<u32>(automaton, QUEUE + 16)
  let d = <usize>load<u32>(automaton, QUEUE + 24)
  const aEnd = <usize>load<u32>(automaton, QUEUE + 4)
  const bEnd = <usize>load<u32>(automaton, QUEUE + 12)
  const cEnd = <usize>load<u32>(automaton, QUEUE + 20)
  const dEnd = <usize>load<u32>(automaton, QUEUE + 28)
  let aRow = <usize>load<u32>(automaton, FIRST_STATE)
  let bRow = aRow
  let cRow = aRow
  let dRow = aRow
  const shared = a + min(min(aEnd - a, bEnd - b), min(cEnd - c, dEnd - d))
  while (a < shared) {
    aRow = next(automaton, aRow, a++)
    bRow = next(automaton, bRow, b++)
    cRow = next(automaton, cRow, c++)
    dRow = next(automaton, dRow, d++)
  }
  aRow = run(automaton, aRow, a, aEnd)
  bRow = run(automaton, bRow, b, bEnd)
  cRow = run(automaton, cRow, c, cEnd)
  dRow = run(automaton, dRow, d, dEnd)
  const rows = automaton + ROWS
  if (load<i32>(rows + aRow) != VALID || load<i32>(rows + bRow) != VALID) isAllValid = false
  if (load<i32>(rows + cRow) != VALID || load<i32>(rows + dRow) != VALID) isAllValid = false
  store<u32>(automaton, <u32>QUEUE, QUEUE_END)
}
