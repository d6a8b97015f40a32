// Whether an object has a member twice.

import { HEADS, MEMBERS, MEMBER_SLOTS, TEXT } from '../layout'
import { isSame } from './strings'
import { afterValue, ENTRY, lengthOf } from './tape'

/** Objects of more members are left to the parser. */
const MAX_MEMBERS: i32 = 0x2000
/** The names of more members are compared by hash. */
const FEW_MEMBERS: i32 = 8
const MAX_PROBES: i32 = 64

let seed: u64 = 0
/** The object that a slot belongs to. */
let generation: u32 = 0

/** Keyed hash: a server cannot choose names that all have the same hash. */
export function setSeed(value: u64): void {
  seed = value | 1
}

/** @param entry of the first name */
export function hasDistinctNames(entry: usize, count: i32): bool {
  if (count > FEW_MEMBERS) return count <= MAX_MEMBERS && hasDistinctHashes(entry, count)
  // The names up to here, by what they begin with.
  for (let index = 0; index < count; index++) {
    const from = TEXT + load<u32>(entry) + 1
    const length = lengthOf(entry)
    const head = headOf(from, length)
    for (let before = 0; before < index; before++) {
      const slot = HEADS + (<usize>before << 4)
      if (load<u64>(slot) != head) continue
      const other = <usize>load<u32>(slot, 8)
      if (lengthOf(other) == length && isSame(TEXT + load<u32>(other) + 1, from, length)) return false
    }
    const slot = HEADS + (<usize>index << 4)
    store<u64>(slot, head)
    store<u32>(slot, <u32>entry, 8)
    entry = afterValue(entry + ENTRY)
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

function hasDistinctHashes(entry: usize, count: i32): bool {
  if (generation == 0 || generation == 0xffffffff) {
    memory.fill(MEMBERS, 0, <usize>MEMBER_SLOTS << 3)
    generation = 0
  }
  generation++
  for (let index = 0; index < count; index++) {
    const from = TEXT + load<u32>(entry) + 1
    const length = lengthOf(entry)
    let slot = hashOf(from, length) & (MEMBER_SLOTS - 1)
    let probes = 0
    while (load<u32>(MEMBERS + (<usize>slot << 3)) == generation) {
      const other = <usize>load<u32>(MEMBERS + (<usize>slot << 3), 4)
      if (lengthOf(other) == length && isSame(TEXT + load<u32>(other) + 1, from, length)) return false
      if (++probes > MAX_PROBES) return false
      slot = (slot + 1) & (MEMBER_SLOTS - 1)
    }
    store<u32>(MEMBERS + (<usize>slot << 3), generation)
    store<u32>(MEMBERS + (<usize>slot << 3), <u32>entry, 4)
    entry = afterValue(entry + ENTRY)
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
