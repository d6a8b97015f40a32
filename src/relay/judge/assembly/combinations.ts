// Schemas that are combined by allOf, anyOf, oneOf and not. The value was read by the schema around them.

import {
  ALL_OF, ANY_OF, COMBINATION_COUNT, FIRST_COMBINATION, INVALID, KIND, ONE_OF, SCHEMA_COUNT, SCHEMAS, TABLE,
  TYPES, UNKNOWN, VALID,
} from '../layout'
import { again, spend } from './read'

/** No schema of a choice allows the type, or more than one does. */
export const NO_CHOICE: usize = 1
export const UNDECIDED: usize = 2

/**
 * The place of the only schema of an anyOf or oneOf that allows one of the types: the value is read once.
 * @param choice a combination that is all that its schema has
 */
export function chosenBy(choice: usize, types: u32): usize {
  const count = load<u32>(choice, SCHEMA_COUNT)
  if (!spend(count)) return UNDECIDED
  let chosen = NO_CHOICE
  for (let index: u32 = 0; index < count; index++) {
    const place = <usize>load<u32>(choice + (<usize>index << 2), SCHEMAS)
    if ((load<u32>(TABLE + place, TYPES) & types) == 0) continue
    if (chosen != NO_CHOICE) return UNDECIDED
    chosen = place
  }
  return chosen
}

export function ofCombinations(combinations: usize, at: usize, after: usize): i32 {
  let verdict: i32 = VALID
  const count = load<u32>(combinations, COMBINATION_COUNT)
  let place = combinations + FIRST_COMBINATION
  for (let index: u32 = 0; index < count && verdict == VALID; index++) {
    const kind = load<u32>(place, KIND)
    const schemas = load<u32>(place, SCHEMA_COUNT)
    place += SCHEMAS
    if (kind == ALL_OF) verdict = allOf(place, schemas, at, after)
    else if (kind == ANY_OF) verdict = anyOf(place, schemas, at, after)
    else if (kind == ONE_OF) verdict = oneOf(place, schemas, at, after)
    else verdict = not(place, at, after)
    place += <usize>schemas << 2
  }
  return verdict
}

/** Reading the value once more is paid for. */
function matches(schema: usize, at: usize, after: usize): i32 {
  if (!spend(1 + (<i32>(after - at) >> 4))) return UNKNOWN
  const place = <usize>load<u32>(schema)
  return place == 0 ? VALID : again(place, at)
}

function allOf(schemas: usize, count: u32, at: usize, after: usize): i32 {
  for (let index: u32 = 0; index < count; index++) {
    const verdict = matches(schemas + (<usize>index << 2), at, after)
    if (verdict != VALID) return verdict
  }
  return VALID
}

function anyOf(schemas: usize, count: u32, at: usize, after: usize): i32 {
  let verdict: i32 = INVALID
  for (let index: u32 = 0; index < count; index++) {
    const one = matches(schemas + (<usize>index << 2), at, after)
    if (one == VALID) return VALID
    if (one == UNKNOWN) verdict = UNKNOWN
  }
  return verdict
}

function oneOf(schemas: usize, count: u32, at: usize, after: usize): i32 {
  let matching = 0
  let isUnknown = false
  for (let index: u32 = 0; index < count; index++) {
    const one = matches(schemas + (<usize>index << 2), at, after)
    if (one == UNKNOWN) isUnknown = true
    else if (one == VALID) matching++
  }
  if (matching > 1) return INVALID
  return isUnknown ? UNKNOWN : matching == 1 ? VALID : INVALID
}

function not(schema: usize, at: usize, after: usize): i32 {
  const verdict = matches(schema, at, after)
  return verdict == UNKNOWN ? UNKNOWN : verdict == VALID ? INVALID : VALID
}
