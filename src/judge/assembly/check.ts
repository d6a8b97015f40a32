// Checks a value on the tape against a schema that was compiled to a table (src/schema/table). The verdicts
// follow Kleene's three-valued logic: UNKNOWN stays unknown through all combinations, and the evaluator
// decides. `format` may be an assertion or not: a text of the format is valid in both cases, and any other
// text is UNKNOWN.

import {
  ADDITIONAL, ALL_OF, ANY_OF, ARRAY, ARRAY_RULES, BOOLEAN, COMBINATION_COUNT, COMBINATIONS, DECLARED,
  DECLARED_COUNT, FIRST_COMBINATION, INTEGER, INVALID, IS_REQUIRED, ITEMS, KIND, LISTED_VALUES, MAX_ITEMS,
  MAX_PROPERTIES, MEMBER_BYTES, MEMBER_SCHEMA, MIN_ITEMS, MIN_PROPERTIES, NAME, NAME_LENGTH, NULL, NUMBER,
  NUMBER_RULES, OBJECT, OBJECT_RULES, ONE_OF, PREFIX_COUNT, PREFIX_ITEMS, REQUIRED_COUNT, SCHEMA_COUNT,
  SCHEMAS, STRING, STRING_RULES, TABLE, TEXT, TYPES, UNKNOWN, UNSUPPORTED, VALID,
} from '../layout'
import { isInteger, isListed, ofNumber, ofString } from './scalars'
import { isSame, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './strings'
import { afterValue, ENTRY, firstOf, lengthOf } from './tape'

const MAX_DEPTH: i32 = 500

let depth: i32 = 0

let steps: i32 = 0

/** @returns false when the steps do not suffice */
// @ts-ignore: decorator
@inline
export function spend(count: i32): bool {
  steps -= count
  return steps >= 0
}

/** Steps that the last check did not take; less than 0 when they did not suffice. */
export function left(): i32 {
  return steps
}

/**
 * By the schema that stands in the table.
 * @param entry tape index of the value
 * @param allowed steps: one for each schema applied, name compared, and sixteen bytes read
 */
export function check(entry: usize, allowed: i32): i32 {
  steps = allowed
  depth = 0
  return matches(<usize>load<u32>(TABLE), entry)
}

function matches(place: usize, entry: usize): i32 {
  if (!spend(1)) return UNKNOWN
  if (place == 0) return VALID
  const schema = TABLE + place
  const types = load<u32>(schema, TYPES)
  const first = firstOf(entry)
  let type: u32
  let verdict: i32 = VALID
  if (first == QUOTE) {
    type = STRING
    if ((types & STRING) == 0) return INVALID
    const rules = load<u32>(schema, STRING_RULES)
    if (rules != 0) verdict = ofString(TABLE + rules, entry)
  } else if (first == OPEN_OBJECT) {
    type = OBJECT
    if ((types & OBJECT) == 0) return INVALID
    const rules = load<u32>(schema, OBJECT_RULES)
    if (rules != 0) verdict = below(TABLE + rules, entry, true)
  } else if (first == OPEN_ARRAY) {
    type = ARRAY
    if ((types & ARRAY) == 0) return INVALID
    const rules = load<u32>(schema, ARRAY_RULES)
    if (rules != 0) verdict = below(TABLE + rules, entry, false)
  } else if (first == 0x6e) {
    type = NULL
    if ((types & NULL) == 0) return INVALID
  } else if (first == 0x74 || first == 0x66) {
    type = BOOLEAN
    if ((types & BOOLEAN) == 0) return INVALID
  } else {
    type = NUMBER
    if ((types & NUMBER) == 0) {
      if ((types & INTEGER) == 0) return INVALID
      verdict = isInteger(entry)
      if (verdict != VALID) return verdict
    }
    const rules = load<u32>(schema, NUMBER_RULES)
    if (rules != 0) verdict = ofNumber(TABLE + rules, entry)
  }
  if (verdict != VALID) return verdict
  if ((load<u32>(schema, UNSUPPORTED) & type) != 0) return UNKNOWN
  const values = load<u32>(schema, LISTED_VALUES)
  if (values != 0) {
    verdict = isListed(TABLE + values, entry, type)
    if (verdict != VALID) return verdict
  }
  const combinations = load<u32>(schema, COMBINATIONS)
  return combinations == 0 ? VALID : ofCombinations(TABLE + combinations, entry)
}

/** All recursion comes through here and through `ofCombinations`: the native stack is bounded. */
function below(rules: usize, entry: usize, isObject: bool): i32 {
  if (++depth > MAX_DEPTH) {
    depth--
    return UNKNOWN
  }
  const verdict = isObject ? ofObject(rules, entry) : ofArray(rules, entry)
  depth--
  return verdict
}

function ofArray(rules: usize, entry: usize): i32 {
  const end = afterValue(entry) - ENTRY
  const count = load<u32>(end, 4)
  if (count < load<u32>(rules, MIN_ITEMS) || count > load<u32>(rules, MAX_ITEMS)) return INVALID
  const rest = <usize>load<u32>(rules, ITEMS)
  const positions = load<u32>(rules, PREFIX_COUNT)
  if (rest == 0 && positions == 0) return VALID
  let index: u32 = 0
  for (let item = entry + ENTRY; item < end && (rest != 0 || index < positions); index++) {
    const own = index < positions ? <usize>load<u32>(rules + (<usize>index << 2), PREFIX_ITEMS) : rest
    const verdict = matches(own, item)
    if (verdict != VALID) return verdict
    item = afterValue(item)
  }
  return VALID
}

function ofObject(rules: usize, entry: usize): i32 {
  const end = afterValue(entry) - ENTRY
  const count = load<u32>(end, 4)
  if (count < load<u32>(rules, MIN_PROPERTIES) || count > load<u32>(rules, MAX_PROPERTIES)) return INVALID
  const required = load<u32>(rules, REQUIRED_COUNT)
  const rest = <usize>load<u32>(rules, ADDITIONAL)
  const declared = load<u32>(rules, DECLARED_COUNT)
  const members = rules + DECLARED
  let found: u32 = 0
  // Members come mostly in the order in which they are declared: each search begins behind the last find.
  let next: u32 = 0
  for (let name = entry + ENTRY; name < end; ) {
    const value = name + ENTRY
    const from = TEXT + load<u32>(name) + 1
    const length = lengthOf(name)
    let member: usize = 0
    for (let compared: u32 = 0; compared < declared; compared++) {
      const one = members + <usize>next * MEMBER_BYTES
      if (++next == declared) next = 0
      if (<i32>load<u32>(one, NAME_LENGTH) == length) {
        if (!spend(length >> 4)) return UNKNOWN
        if (isSame(TABLE + load<u32>(one, NAME), from, length)) {
          member = one
          break
        }
      }
      if (!spend(1)) return UNKNOWN
    }
    if (member != 0) found += load<u32>(member, IS_REQUIRED)
    const verdict = matches(member == 0 ? rest : <usize>load<u32>(member, MEMBER_SCHEMA), value)
    if (verdict != VALID) return verdict
    name = afterValue(value)
  }
  return found == required ? VALID : INVALID
}

function ofCombinations(combinations: usize, entry: usize): i32 {
  if (++depth > MAX_DEPTH) {
    depth--
    return UNKNOWN
  }
  let verdict: i32 = VALID
  const count = load<u32>(combinations, COMBINATION_COUNT)
  let at = combinations + FIRST_COMBINATION
  for (let index: u32 = 0; index < count && verdict == VALID; index++) {
    const kind = load<u32>(at, KIND)
    const schemas = load<u32>(at, SCHEMA_COUNT)
    at += SCHEMAS
    if (kind == ALL_OF) verdict = allOf(at, schemas, entry)
    else if (kind == ANY_OF) verdict = anyOf(at, schemas, entry)
    else verdict = kind == ONE_OF ? oneOf(at, schemas, entry) : not(at, entry)
    at += <usize>schemas << 2
  }
  depth--
  return verdict
}

function allOf(schemas: usize, count: u32, entry: usize): i32 {
  for (let index: u32 = 0; index < count; index++) {
    const verdict = matches(<usize>load<u32>(schemas + (<usize>index << 2)), entry)
    if (verdict != VALID) return verdict
  }
  return VALID
}

function anyOf(schemas: usize, count: u32, entry: usize): i32 {
  let verdict: i32 = INVALID
  for (let index: u32 = 0; index < count; index++) {
    const one = matches(<usize>load<u32>(schemas + (<usize>index << 2)), entry)
    if (one == VALID) return VALID
    if (one == UNKNOWN) verdict = UNKNOWN
  }
  return verdict
}

function oneOf(schemas: usize, count: u32, entry: usize): i32 {
  let matching = 0
  let isUnknown = false
  for (let index: u32 = 0; index < count; index++) {
    const one = matches(<usize>load<u32>(schemas + (<usize>index << 2)), entry)
    if (one == UNKNOWN) isUnknown = true
    else if (one == VALID) matching++
  }
  if (matching > 1) return INVALID
  return isUnknown ? UNKNOWN : matching == 1 ? VALID : INVALID
}

function not(schema: usize, entry: usize): i32 {
  const verdict = matches(<usize>load<u32>(schema), entry)
  return verdict == UNKNOWN ? UNKNOWN : verdict == VALID ? INVALID : VALID
}
