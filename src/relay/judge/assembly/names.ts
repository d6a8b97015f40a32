// The names of the open objects' members, and whether an object has a member twice. A declared member is not
// here: it has a bit in `object` (read.ts).

import { MEMBERS, MEMBER_SLOTS, NAMES, NAMES_BYTES } from '../layout'
import { isSame } from './strings'

/** A name: its first bytes, where it begins, and its length. */
const FROM: usize = 8
const LENGTH: usize = 12
const NAME_BYTES: usize = 16

/** The names of more members are compared by hash. */
const FEW_BYTES: usize = 8 * NAME_BYTES
const MAX_PROBES: i32 = 64

/** Where the next name is added. */
export let nameTop: usize = NAMES

let seed: u64 = 0
/** The object that a slot belongs to. */
let generation: u32 = 0

/** Keyed hash: names that have the same one are few, or cost no more than MAX_PROBES for each name. */
export function setSeed(value: u64): void {
  seed = value | 1
}

/** The names of the last object that had no member twice, from the first to behind the last. */
export let modelFrom: usize = 0
let modelTo: usize = 0

export function beginNames(): void {
  nameTop = NAMES
  forgetModel()
}

/** @param top of the names that are kept */
export function forgetNames(top: usize): void {
  nameTop = top
}

export function forgetModel(): void {
  modelFrom = 0
}

/**
 * Adds a name that is the same as the model's in this place.
 * @param first of the names of the object
 * @returns its length; -1 when it is another
 */
// @ts-ignore: decorator
@inline
export function lengthOfSame(from: usize, first: usize): i32 {
  if (modelFrom != first || nameTop >= modelTo) return -1
  const length = load<i32>(nameTop, LENGTH)
  // With the quotation mark.
  if (!isSame(load<u32>(nameTop, FROM), from, length + 1)) return -1
  nameTop += NAME_BYTES
  return length
}

/** @returns false when there is no room: the parser reads this text */
// @ts-ignore: decorator
@inline
export function addName(from: usize, length: i32): bool {
  const at = nameTop
  if (at >= NAMES + NAMES_BYTES) return false
  store<u64>(at, headOf(from, length))
  store<u32>(at, <u32>from, FROM)
  store<i32>(at, length, LENGTH)
  nameTop = at + NAME_BYTES
  return true
}

/** @param first of the names of an object, which are the last ones that were added */
export function areDistinct(first: usize): bool {
  modelFrom = first
  modelTo = nameTop
  if (nameTop - first > FEW_BYTES) return haveDistinctHashes(first)
  for (let one = first + NAME_BYTES; one < nameTop; one += NAME_BYTES) {
    const head = load<u64>(one)
    for (let other = first; other < one; other += NAME_BYTES) {
      if (load<u64>(other) == head && isSameName(one, other)) return false
    }
  }
  return true
}

/** Up to eight bytes of a name, and zeros. */
// @ts-ignore: decorator
@inline
function headOf(from: usize, length: i32): u64 {
  const word = load<u64>(from)
  return length >= 8 ? word : word & ((<u64>1 << ((<u64>length) << 3)) - 1)
}

function isSameName(one: usize, other: usize): bool {
  const length = load<i32>(one, LENGTH)
  return load<i32>(other, LENGTH) == length && isSame(load<u32>(other, FROM), load<u32>(one, FROM), length)
}

function haveDistinctHashes(first: usize): bool {
  if (generation == 0 || generation == 0xffffffff) {
    memory.fill(MEMBERS, 0, <usize>MEMBER_SLOTS << 3)
    generation = 0
  }
  generation++
  for (let name = first; name < nameTop; name += NAME_BYTES) {
    let slot = hashOf(load<u32>(name, FROM), load<i32>(name, LENGTH)) & (MEMBER_SLOTS - 1)
    let probes = 0
    while (load<u32>(MEMBERS + (<usize>slot << 3)) == generation) {
      const other = <usize>load<u32>(MEMBERS + (<usize>slot << 3), 4)
      if (load<u64>(other) == load<u64>(name) && isSameName(name, other)) return false
      if (++probes > MAX_PROBES) return false
      slot = (slot + 1) & (MEMBER_SLOTS - 1)
    }
    store<u32>(MEMBERS + (<usize>slot << 3), generation)
    store<u32>(MEMBERS + (<usize>slot << 3), <u32>name, 4)
  }
  return true
}

function hashOf(from: usize, length: i32): u32 {
  let hash = seed ^ <u64>length
  for (; length > 0; length -= 8, from += 8) {
    hash = (hash ^ headOf(from, length)) * 0x9e3779b97f4a7c15
    hash ^= hash >> 29
  }
  hash *= seed
  return <u32>(hash >> 40)
}
