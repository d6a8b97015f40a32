// Judges a value that was read by a schema that was made into a table (src/schema/table). What is not known stays so, through all that
// combines it: the three-valued logic of Kleene. `format` may be asserted or not: a text that has the format is fine in both cases, and of
// one that has not nothing is known.
//
// A schema in the table is eight numbers: which types are allowed; what is to be asked beyond that; and the places of what is asked of
// numbers, strings, arrays and objects, of the values that are listed, and of the other schemas that are applied to the same value. Places
// count from the beginning of the table, in bytes; 0 is nothing, or a schema that allows everything.

import { ENTRY, isSame, TABLE, TEXT } from './memory'
import { isInteger, isListed, ofNumber, ofString } from './scalars'
import { afterValue, lengthOf } from './tape'
import { allow, ARRAY, BOOLEAN, INTEGER, INVALID, NULL, NUMBER, OBJECT, spend, STRING, UNKNOWN, VALID } from './verdict'

const DEEPEST: i32 = 500

let depth: i32 = 0

/** By the schema that stands in the table. @param steps that it may take: one for each schema asked, name looked at, and sixteen bytes read */
export function check(entry: usize, steps: i32): i32 {
  allow(steps)
  depth = 0
  return matches(<usize>load<u32>(TABLE), entry)
}

function matches(place: usize, entry: usize): i32 {
  if (!spend(1)) return UNKNOWN
  if (place == 0) return VALID
  const schema = TABLE + place
  const types = load<u32>(schema)
  const first = load<u8>(TEXT + load<u32>(entry))
  let kind: u32
  let told = VALID
  if (first == 0x22) {
    kind = STRING
    if ((types & STRING) == 0) return INVALID
    const rules = load<u32>(schema, 12)
    if (rules != 0) told = ofString(TABLE + rules, entry)
  } else if (first == 0x7b) {
    kind = OBJECT
    if ((types & OBJECT) == 0) return INVALID
    const rules = load<u32>(schema, 20)
    if (rules != 0) told = below(TABLE + rules, entry, true)
  } else if (first == 0x5b) {
    kind = ARRAY
    if ((types & ARRAY) == 0) return INVALID
    const rules = load<u32>(schema, 16)
    if (rules != 0) told = below(TABLE + rules, entry, false)
  } else if (first == 0x6e) {
    kind = NULL
    if ((types & NULL) == 0) return INVALID
  } else if (first == 0x74 || first == 0x66) {
    kind = BOOLEAN
    if ((types & BOOLEAN) == 0) return INVALID
  } else {
    kind = NUMBER
    if ((types & NUMBER) == 0) {
      if ((types & INTEGER) == 0) return INVALID
      told = isInteger(entry)
      if (told != VALID) return told
    }
    const rules = load<u32>(schema, 8)
    if (rules != 0) told = ofNumber(TABLE + rules, entry)
  }
  if (told != VALID) return told
  // What nothing is known of concerns some types only.
  if ((load<u32>(schema, 4) & kind) != 0) return UNKNOWN
  const values = load<u32>(schema, 24)
  if (values != 0) {
    told = isListed(TABLE + values, entry, kind)
    if (told != VALID) return told
  }
  const others = load<u32>(schema, 28)
  return others == 0 ? VALID : combined(TABLE + others, entry)
}

/** Whatever leads to other schemas comes through here. */
function below(rules: usize, entry: usize, named: bool): i32 {
  if (++depth > DEEPEST) {
    depth--
    return UNKNOWN
  }
  const told = named ? ofObject(rules, entry) : ofArray(rules, entry)
  depth--
  return told
}

/** minItems, maxItems; the schema of all items from some on; how many are before them, and their schemas. */
function ofArray(rules: usize, entry: usize): i32 {
  const end = afterValue(entry) - ENTRY
  const count = load<u32>(end, 4)
  if (count < load<u32>(rules) || count > load<u32>(rules, 4)) return INVALID
  const rest = <usize>load<u32>(rules, 8)
  const positions = load<u32>(rules, 12)
  if (rest == 0 && positions == 0) return VALID
  let index: u32 = 0
  for (let item = entry + ENTRY; item < end && (rest != 0 || index < positions); item = afterValue(item), index++) {
    const told = matches(index < positions ? <usize>load<u32>(rules + (<usize>index << 2), 16) : rest, item)
    if (told != VALID) return told
  }
  return VALID
}

/**
 * minProperties, maxProperties; how many are required; the schema of members that are not declared; how many are declared, and of each its
 * name, the length of that, whether it is required, and its schema.
 */
function ofObject(rules: usize, entry: usize): i32 {
  const end = afterValue(entry) - ENTRY
  const count = load<u32>(end, 4)
  if (count < load<u32>(rules) || count > load<u32>(rules, 4)) return INVALID
  const required = load<u32>(rules, 8)
  const rest = <usize>load<u32>(rules, 12)
  const declared = load<u32>(rules, 16)
  const members = rules + 20
  let found: u32 = 0
  // Members come mostly in the order in which they are declared.
  let next: u32 = 0
  for (let name = entry + ENTRY; name < end; ) {
    const value = name + ENTRY
    const from = TEXT + load<u32>(name) + 1
    const length = lengthOf(name)
    let member: usize = 0
    for (let looked: u32 = 0; looked < declared; looked++) {
      const one = members + (<usize>next << 4)
      if (++next == declared) next = 0
      if (<i32>load<u32>(one, 4) == length) {
        if (!spend(length >> 4)) return UNKNOWN
        if (isSame(TABLE + load<u32>(one), from, length)) {
          member = one
          break
        }
      }
      if (!spend(1)) return UNKNOWN
    }
    if (member != 0) found += load<u32>(member, 8)
    const told = matches(member == 0 ? rest : <usize>load<u32>(member, 12), value)
    if (told != VALID) return told
    name = afterValue(value)
  }
  return found == required ? VALID : INVALID
}

const ALL: u32 = 1
const ANY: u32 = 2
const ONE: u32 = 3
const NOT: u32 = 4

/** How many combinations there are; of each what it is, how many schemas it has, and those. */
function combined(combinations: usize, entry: usize): i32 {
  if (++depth > DEEPEST) {
    depth--
    return UNKNOWN
  }
  let told = VALID
  const count = load<u32>(combinations)
  let at = combinations + 4
  for (let index: u32 = 0; index < count && told == VALID; index++) {
    const what = load<u32>(at)
    const schemas = load<u32>(at, 4)
    at += 8
    told = what == ALL ? all(at, schemas, entry) : what == ANY ? any(at, schemas, entry) : what == ONE ? one(at, schemas, entry) : negated(at, entry)
    at += <usize>schemas << 2
  }
  depth--
  return told
}

function all(schemas: usize, count: u32, entry: usize): i32 {
  for (let index: u32 = 0; index < count; index++) {
    const told = matches(<usize>load<u32>(schemas + (<usize>index << 2)), entry)
    if (told != VALID) return told
  }
  return VALID
}

function any(schemas: usize, count: u32, entry: usize): i32 {
  let sum = INVALID
  for (let index: u32 = 0; index < count; index++) {
    const told = matches(<usize>load<u32>(schemas + (<usize>index << 2)), entry)
    if (told == VALID) return VALID
    sum |= told
  }
  return sum
}

function one(schemas: usize, count: u32, entry: usize): i32 {
  let fitting = 0
  let unknown = false
  for (let index: u32 = 0; index < count; index++) {
    const told = matches(<usize>load<u32>(schemas + (<usize>index << 2)), entry)
    if (told == UNKNOWN) unknown = true
    else fitting += told
  }
  if (fitting > 1) return INVALID
  return unknown ? UNKNOWN : fitting
}

function negated(schema: usize, entry: usize): i32 {
  const told = matches(<usize>load<u32>(schema), entry)
  return told == UNKNOWN ? UNKNOWN : told ^ 1
}
