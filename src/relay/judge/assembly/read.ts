// Reads a JSON text strictly, and checks it against a schema in the same pass. The schema was compiled to a
// table (src/relay/schema/table).
//
// The verdicts follow Kleene's three-valued logic: UNKNOWN stays unknown through all combinations, and the
// evaluator decides. After a verdict other than VALID the text is read on without the schema.

import {
  ADDITIONAL, ALL_TYPES, ARRAY, ARRAY_RULES, BOOLEAN, CHOICE, COMBINATIONS, DECLARED, DECLARED_COUNT,
  INTEGER, INVALID, IS_REQUIRED, IS_SIMPLE, ITEMS, LISTED_VALUES, MAX_ITEMS, MAX_PROPERTIES, MEMBER_BYTES,
  MEMBER_SCHEMA, MIN_ITEMS, MIN_PROPERTIES, NAME, NAME_LENGTH, NULL, NUMBER, NUMBER_RULES, OBJECT,
  OBJECT_RULES, PADDING, PREFIX_COUNT, PREFIX_ITEMS, REQUIRED_COUNT, ROOT, STRING, STRING_RULES, TABLE,
  TEXT, TOKEN_LENGTH, TYPES, UNKNOWN, UNREADABLE, UNSUPPORTED, VALID,
} from '../layout'
import { chosenBy, NO_CHOICE, ofCombinations, UNDECIDED } from './combinations'
import {
  addName, areDistinct, beginNames, forgetModel, forgetNames, lengthOfSame, modelFrom, nameTop,
} from './names'
import {
  BLOCK, beginParts, CONTENT, endParts, MESSAGE, notePart, partOf, setBlock, STRUCTURED,
} from './parts'
import { areQueuedValid } from './patterns'
import { afterLiteral, afterNumber, isListed, isWhole, ofNumber, ofString } from './scalars'
import {
  afterSpace, afterString, beginPlain, CASE, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, isSame, MARK, MINUS,
  OPEN_ARRAY, OPEN_OBJECT, QUOTE, ZERO,
} from './strings'

/** Deeper texts are left to the parser, and deeper combinations are UNKNOWN: the native stack is bounded. */
const MAX_DEPTH: i32 = 500

/** An object keeps by a bit which of its first declared members were found, and the other names by text. */
const SEEN_BITS: u32 = 64

/** A schema may be a choice of itself. */
const MAX_CHOICES: i32 = 8

/**
 * Texts of more values are left to the incremental parser: JSON.parse reads this many in one turn. So are
 * texts of more names: JSON.parse would take nearly 1 us for each new name.
 */
const MAX_VALUES: i32 = 500_000
const MAX_NAMES: i32 = 100_000

let verdict: i32 = VALID
/** True while a value that was read before is checked by another schema, up to the first other verdict. */
let isAgain: bool = false
/** The place of the schema for structuredContent, while a message is read. */
let structuredPlace: usize = 0
/** How many more containers may be open. */
let levels: i32 = 0
/** Open containers and combinations. */
let depth: i32 = 0
let steps: i32 = 0
/** Values and names in the containers that were closed. */
let values: i32 = 0
let names: i32 = 0

/** @returns false when the steps do not suffice */
// @ts-ignore: decorator
@inline
export function spend(count: i32): bool {
  // Less than 0 is final: much more work must not make it positive again.
  if (steps >= 0) steps -= count
  return steps >= 0
}

/** Steps that the last check did not take; less than 0 when they did not suffice. */
export function left(): i32 {
  return steps
}

/**
 * Reads the text that was written, which must be UTF-8.
 * @param deepest allowed levels of nesting
 * @param allowed steps of the check by the schema in the table: one for each schema applied, name compared,
 * and sixteen bytes compared. 0: there is no schema
 * @param isMessage the schema is for a result's structuredContent, and the parts of the result are found
 * @returns the verdict; UNREADABLE unless the text is surely JSON that all parsers read alike: no member
 * twice, no lone surrogate, no number beyond a double
 */
export function read(length: i32, deepest: i32, allowed: i32, isMessage: bool): i32 {
  const end = TEXT + length
  memory.fill(end, 0, PADDING)
  store<u32>(TABLE, ALL_TYPES, TYPES)
  store<u32>(TABLE, 1, IS_SIMPLE)
  const root: usize = allowed == 0 ? 0 : load<u32>(TABLE, ROOT)
  structuredPlace = root
  steps = allowed
  levels = deepest
  depth = values = names = 0
  verdict = VALID
  isAgain = false
  beginPlain()
  beginNames()
  beginParts()
  const after = value(afterSpace(TEXT), isMessage ? 0 : root, isMessage ? MESSAGE : 0)
  if (!areQueuedValid()) note(UNKNOWN)
  if (after == 0 || afterSpace(after) != end) return UNREADABLE
  if (isMessage) endParts()
  return verdict
}

/** The verdict by another schema on a value that was read before. */
export function again(place: usize, at: usize): i32 {
  const outerVerdict = verdict
  const outerAgain = isAgain
  const outerLevels = levels
  const outerDepth = depth
  const outerTop = nameTop
  verdict = VALID
  isAgain = true
  const after = value(at, place, 0)
  const own = after == 0 && verdict == VALID ? UNKNOWN : verdict
  verdict = outerVerdict
  isAgain = outerAgain
  levels = outerLevels
  depth = outerDepth
  forgetNames(outerTop)
  // Its names were overwritten.
  forgetModel()
  return own
}

/** What is surely not valid stays so, whatever else is unknown. */
// @ts-ignore: decorator
@inline
function note(one: i32): void {
  if (one != VALID && verdict != INVALID) verdict = one
}

/**
 * Reads and checks a string, number or literal.
 * @returns behind it; 0 when the text is unreadable
 */
// @ts-ignore: decorator
@inline
function scalar(at: usize, schema: usize): usize {
  const types = load<u32>(schema, TYPES)
  const listed = load<u32>(schema, LISTED_VALUES)
  const first = load<u8>(at)
  let after: usize
  if (first == QUOTE) {
    const end = afterString(at + 1)
    after = end & ~(<usize>MARK)
    if (after == 0) return 0
    const isEscaped = (<u32>end & MARK) != 0
    if ((types & STRING) == 0) verdict = INVALID
    const rules = load<u32>(schema, STRING_RULES)
    if (rules != 0) note(ofString(TABLE + rules, at + 1, after - 1, isEscaped, isAgain))
    if (listed != 0) note(isListed(TABLE + listed, at, after, STRING, isEscaped))
  } else if (first - ZERO < 10 || first == MINUS) {
    const end = afterNumber(at)
    after = end & ~(<usize>MARK)
    if (after == 0) return 0
    if ((types & NUMBER) == 0) {
      if ((types & INTEGER) == 0) verdict = INVALID
      else if ((<u32>end & MARK) != 0) note(isWhole(at, after))
    }
    const rules = load<u32>(schema, NUMBER_RULES)
    if (rules != 0) note(ofNumber(TABLE + rules, at, after))
    if (listed != 0) note(isListed(TABLE + listed, at, after, NUMBER, false))
  } else {
    const type = first == 0x6e ? NULL : BOOLEAN
    after = afterLiteral(at)
    if ((types & type) == 0) verdict = INVALID
    if (listed != 0) note(isListed(TABLE + listed, at, after, type, false))
  }
  return after
}

/** Whether `scalar` can read and check the whole value. */
// @ts-ignore: decorator
@inline
function isSimple(first: u32, schema: usize): bool {
  return (first | CASE) != OPEN_OBJECT && load<u32>(schema, IS_SIMPLE) != 0
}

/**
 * Reads and checks a value.
 * @param place of its schema
 * @param part of the message, if the value is one (parts.ts)
 * @returns behind the value; 0 when the text is unreadable, or when the value needs not be read to its end
 */
function value(at: usize, place: usize, part: u32): usize {
  if (place != 0 && !spend(1)) note(UNKNOWN)
  if (verdict != VALID) {
    if (isAgain) return 0
    place = 0
  }
  const first = load<u8>(at)
  const type = typesOf(first)
  for (let choices = 0; choices < MAX_CHOICES && load<u32>(TABLE + place, CHOICE) != 0; choices++) {
    const chosen = chosenBy(TABLE + load<u32>(TABLE + place, CHOICE), type)
    if (chosen == UNDECIDED) break
    if (chosen == NO_CHOICE) note(INVALID)
    place = chosen == NO_CHOICE ? 0 : chosen
  }
  const schema = TABLE + place
  let after: usize
  if (first == OPEN_OBJECT) after = object(at, load<u32>(schema, OBJECT_RULES), part)
  else if (first == OPEN_ARRAY) after = array(at, load<u32>(schema, ARRAY_RULES), part)
  else after = scalar(at, schema)
  if ((load<u32>(schema, TYPES) & type) == 0) verdict = INVALID
  if (after == 0 || verdict != VALID) return after
  const combinations = load<u32>(schema, COMBINATIONS)
  // A table lists scalars only.
  const isUnlisted = (type & (ARRAY | OBJECT)) != 0 && load<u32>(schema, LISTED_VALUES) != 0
  if (isUnlisted || (load<u32>(schema, UNSUPPORTED) & type) != 0) verdict = UNKNOWN
  else if (combinations != 0) {
    verdict = ++depth > MAX_DEPTH ? UNKNOWN : ofCombinations(TABLE + combinations, at, after)
    depth--
  }
  return after
}

/** The types that a value may have, by its first byte. */
function typesOf(first: u32): u32 {
  switch (first) {
    case QUOTE:
      return STRING
    case OPEN_OBJECT:
      return OBJECT
    case OPEN_ARRAY:
      return ARRAY
    case 0x6e:
      return NULL
    case 0x74:
    case 0x66:
      return BOOLEAN
    default:
      return NUMBER | INTEGER
  }
}

function array(at: usize, place: usize, part: u32): usize {
  if (--levels < 0 || ++depth > MAX_DEPTH) return 0
  const rules = TABLE + place
  const rest: usize = place == 0 ? 0 : load<u32>(rules, ITEMS)
  const positions: u32 = place == 0 ? 0 : load<u32>(rules, PREFIX_COUNT)
  let count: u32 = 0
  at = afterSpace(at + 1)
  if (load<u8>(at) == CLOSE_ARRAY) at++
  else while (true) {
    const own = count < positions ? <usize>load<u32>(rules + (<usize>count << 2), PREFIX_ITEMS) : rest
    if (part == CONTENT) setBlock(count)
    if (isSimple(load<u8>(at), TABLE + own)) at = scalar(at, TABLE + own)
    else at = value(at, own, part == CONTENT ? BLOCK : 0)
    if (at == 0 || (verdict != VALID && isAgain)) return 0
    count++
    at = afterSpace(at)
    const one = load<u8>(at++)
    if (one == CLOSE_ARRAY) break
    if (one != COMMA) return 0
    // Not only at the end: a text of very many is refused at once.
    if ((count & 0xffff) == 0 && <i32>count > MAX_VALUES) return 0
    at = afterSpace(at)
  }
  if ((place != 0 || isAgain) && !spend(count)) note(UNKNOWN)
  if (place != 0) {
    if (count < load<u32>(rules, MIN_ITEMS) || count > load<u32>(rules, MAX_ITEMS)) note(INVALID)
  }
  levels++
  depth--
  if (!isAgain && (values += count) > MAX_VALUES) return 0
  return at
}

function object(at: usize, place: usize, part: u32): usize {
  if (--levels < 0 || ++depth > MAX_DEPTH) return 0
  const rules = TABLE + place
  const declared: u32 = place == 0 ? 0 : load<u32>(rules, DECLARED_COUNT)
  const rest: usize = place == 0 ? 0 : load<u32>(rules, ADDITIONAL)
  const firstName = nameTop
  let count: u32 = 0
  // Members come mostly in the order in which they are declared: then those before `next` were found, and no
  // others. After that, `seen` has a bit for each of the first declared members that was found.
  let member = rules + DECLARED
  let next: u32 = 0
  let isInOrder = true
  // The members have the same names, in the same order, as those of the object before this one in a list.
  let isLike = declared == 0 && modelFrom == firstName
  let seen: u64 = 0
  let found: u32 = 0
  at = afterSpace(at + 1)
  if (load<u8>(at) == CLOSE_OBJECT) at++
  else while (true) {
    if (load<u8>(at) != QUOTE) return 0
    const from = at + 1
    let length: i32
    let child = rest
    const token = next < declared ? load<i32>(member, TOKEN_LENGTH) : 0
    if (isInOrder && token != 0 && isSame(TABLE + load<u32>(member, NAME), from, token)) {
      length = token - 2
      at = from + token
      found += load<u32>(member, IS_REQUIRED)
      child = load<u32>(member, MEMBER_SCHEMA)
      member += MEMBER_BYTES
      if (next++ >= SEEN_BITS && !addName(from, length)) return 0
    } else if (isLike && (length = lengthOfSame(from, firstName)) >= 0) {
      at = afterSpace(from + length + 1)
      if (load<u8>(at++) != COLON) return 0
    } else {
      isLike = false
      at = afterString(from)
      // A name with an escape may spell another name: the parser reads this text.
      if (at == 0 || (<u32>at & MARK) != 0) return 0
      length = <i32>(at - from) - 1
      at = afterSpace(at)
      if (load<u8>(at++) != COLON) return 0
      if (isInOrder) {
        isInOrder = false
        seen = next >= SEEN_BITS ? u64.MAX_VALUE : (<u64>1 << next) - 1
        if (next == declared) next = 0
      }
      const index: u32 = declared == 0 ? 0 : find(rules, declared, next, from, length)
      // The name may be one that was found before.
      if (steps < 0 && declared != 0) return 0
      if (index < declared) {
        const one = rules + (DECLARED + <usize>index * MEMBER_BYTES)
        found += load<u32>(one, IS_REQUIRED)
        child = load<u32>(one, MEMBER_SCHEMA)
        next = index + 1 == declared ? 0 : index + 1
        if (index < SEEN_BITS) {
          const bit = <u64>1 << index
          if ((seen & bit) != 0) return 0
          seen |= bit
        }
      }
      if ((index >= declared || index >= SEEN_BITS) && !addName(from, length)) return 0
    }
    const own = part == 0 ? 0 : partOf(part, from, length)
    if (own == STRUCTURED) child = structuredPlace
    const begin = afterSpace(at)
    if (isSimple(load<u8>(begin), TABLE + child)) at = scalar(begin, TABLE + child)
    else at = value(begin, child, own)
    if (at == 0 || (verdict != VALID && isAgain)) return 0
    if (own != 0) notePart(own, begin, at)
    count++
    at = afterSpace(at)
    const one = load<u8>(at++)
    if (one == CLOSE_OBJECT) break
    if (one != COMMA) return 0
    at = afterSpace(at)
  }
  if (nameTop != firstName) {
    if (!isAgain && !isLike && !areDistinct(firstName)) return 0
    forgetNames(firstName)
  }
  if ((place != 0 || isAgain) && !spend(count)) note(UNKNOWN)
  if (place != 0) {
    if (count < load<u32>(rules, MIN_PROPERTIES) || count > load<u32>(rules, MAX_PROPERTIES)) note(INVALID)
    if (found != load<u32>(rules, REQUIRED_COUNT)) note(INVALID)
  }
  levels++
  depth--
  if (!isAgain && ((values += 2 * count) > MAX_VALUES || (names += count) > MAX_NAMES)) return 0
  return at
}

/** The index of a declared member, or `declared`. It means nothing where the steps did not suffice. */
function find(rules: usize, declared: u32, next: u32, from: usize, length: i32): u32 {
  for (let compared: u32 = 0; compared < declared; compared++) {
    const one = rules + (DECLARED + <usize>next * MEMBER_BYTES)
    if (load<i32>(one, NAME_LENGTH) == length) {
      if (!spend(length >> 4)) break
      if (isSame(TABLE + load<u32>(one, NAME), from, length)) return next
    }
    if (!spend(1)) break
    if (++next == declared) next = 0
  }
  return declared
}

/** Makes room for a text of this many bytes. @returns where to write the text; 0 when there is no room */
export function prepare(length: i32): usize {
  const needed = <i32>((TEXT + <usize>length + PADDING + 0xffff) >> 16)
  const pages = memory.size()
  return needed <= pages || memory.grow(needed - pages) >= 0 ? TEXT : 0
}
