import type { Frame } from './frame.js'
import {
  each, isArray, isObject, lengthOf, member, type Json, type JsonArray, type JsonObject, type Meter,
} from './json.js'
import {
  afterSpace, afterValue, byte, deepest, eachChild, isContainer, slice, stepOf, type Path,
} from './scan.js'

/**
 * One change of a JSON text. `replace` (JSON text) replaces the value at the path, or adds it at the end when
 * the object has no such member or the array ends there; `remove` removes the member or element; `length`
 * truncates an array. A path that leads nowhere changes nothing.
 */
export type Edit =
  | { readonly path: Path; readonly replace: Buffer | string }
  | { readonly path: Path; readonly remove: true }
  | { readonly path: Path; readonly length: number }

/**
 * Makes changes in a JSON text; all other bytes stay. Paths refer to the text as given. Of two changes at one
 * path the last counts; a change inside a removed or replaced value is lost; a duplicated key is changed
 * everywhere.
 * @param bytes a JSON text that was parsed
 */
export const edit = (bytes: Buffer, edits: readonly Edit[]): Buffer => {
  const splices: Splice[] = []
  collect(bytes, { from: afterSpace(bytes, 0) }, edits, 0, splices)
  const parts: Buffer[] = []
  let at = 0
  for (const { from, to, insert } of splices) {
    parts.push(bytes.subarray(at, from), insert)
    at = to
  }
  return Buffer.concat([...parts, bytes.subarray(at)])
}

/** The frame with the changes made to its bytes. */
export const edited = (frame: Frame, edits: readonly Edit[]): Frame =>
  edits.length === 0 ? frame : { ...frame, bytes: edit(frame.bytes, edits), facts: undefined }

interface Span {
  readonly from: number
  /** Undefined while it is not known. */
  readonly to?: number
}

/** A range of bytes and its replacement. */
interface Splice {
  readonly from: number
  readonly to: number
  readonly insert: Buffer
}

const nothing = Buffer.alloc(0)

/** @param depth number of steps of the edits' paths that lead to this value */
const collect = (
  bytes: Buffer, value: Span, edits: readonly Edit[], depth: number, splices: Splice[],
): void => {
  const here = at(edits, depth)
  if (here !== undefined && 'replace' in here) {
    splices.push({
      from: value.from, to: value.to ?? afterValue(bytes, value.from), insert: Buffer.from(here.replace),
    })
  } else if (isContainer(bytes, value.from)) {
    const length = here !== undefined && 'length' in here ? here.length : Infinity
    const last = collectInside(bytes, value.from, edits, depth, length, splices)
    const end = value.to ?? afterValue(bytes, value.from)
    if (length < Infinity) splices.push({ from: last, to: end - 1, insert: nothing })
  }
}

/** @param length the most children that are visited @returns the end of the last visited child */
const collectInside = (
  bytes: Buffer, open: number, edits: readonly Edit[], depth: number, length: number, splices: Splice[],
): number => {
  const steps = byStep(edits, depth)
  const known = new Set<string | number>()
  let [count, kept, end] = [0, 0, open + 1]
  /**
   * The start of a removed child, while no child was kept yet. Such a child is removed with the comma
   * behind it.
   */
  let leading: number | undefined
  const dropLeading = (to: number) => {
    if (leading !== undefined) splices.push({ from: leading, to, insert: nothing })
    leading = undefined
  }
  if (length > 0) {
    eachChild(bytes, open, child => {
      const inside = steps.get(stepOf(child))
      const isRemoved = inside !== undefined && isRemoval(at(inside, depth + 1))
      dropLeading(child.from)
      if (inside !== undefined) known.add(stepOf(child))
      if (isRemoved && kept === 0) leading = child.from
      else if (isRemoved) splices.push({ from: end, to: child.to, insert: nothing })
      else if (inside !== undefined) {
        collect(bytes, { from: child.value, to: child.to }, inside, depth + 1, splices)
      }
      if (!isRemoved) kept++
      end = child.to
      return ++count >= length
    })
  }
  dropLeading(end)
  const added = [...steps].flatMap(([step, those]) => {
    const last = at(those, depth + 1)
    const isNext = bytes[open] === byte.openObject ? typeof step === 'string' : step === count
    if (last === undefined || !('replace' in last) || known.has(step) || !isNext) return []
    if (typeof step === 'number') count++
    const key = typeof step === 'string' ? `${JSON.stringify(step)}:` : ''
    return [comma, Buffer.from(key), Buffer.from(last.replace)]
  })
  const insert = Buffer.concat(kept === 0 ? added.slice(1) : added)
  if (insert.length > 0) splices.push({ from: end, to: end, insert })
  return end
}

const comma = Buffer.from(',')

const byStep = (edits: readonly Edit[], depth: number): Map<string | number, Edit[]> => {
  const steps = new Map<string | number, Edit[]>()
  for (const one of edits) {
    const step = one.path[depth]
    if (step === undefined) continue
    const those = steps.get(step)
    if (those === undefined) steps.set(step, [one])
    else those.push(one)
  }
  return steps
}

/** The change of the value itself, not of a value inside. */
const at = (edits: readonly Edit[], depth: number): Edit | undefined =>
  edits.findLast(({ path }) => path.length === depth)

const isRemoval = (one: Edit | undefined): boolean => one !== undefined && 'remove' in one

/** Deepest nesting of an inserted value: deeper than any schema, far below the limit of any reader. */
const maxDepth = 100

/** The JSON text of a part of a message, without some of its members; undefined where there is none. */
export const textWithout = (
  frame: Frame, path: Path, without: readonly string[] = [],
): string | undefined => {
  const text = slice(frame, path)
  return text && edit(text, without.map(name => ({ path: [name], remove: true }))).toString()
}

/** The JSON text of a value in its original spelling, where that is known. */
export type Spelling = (value: Json) => string | undefined

/**
 * The smallest changes that turn one value into another, so that all other bytes of the text stay.
 * @returns undefined when readers could disagree on an inserted value: a number that a double does not hold
 *   exactly, a lone surrogate, or deep nesting
 */
export const difference = (
  before: JsonObject, after: JsonObject, meter: Meter, spelling: Spelling = () => undefined,
): readonly Edit[] | undefined => {
  const edits: Edit[] = []
  for (const { path, value } of changes(before, after, [], meter)) {
    const replace = value === undefined ? undefined : (spelling(value) ?? plain(value, meter))
    if (replace !== undefined) edits.push({ path, replace })
    else if (value === undefined) edits.push({ path, remove: true })
    else return undefined
  }
  return edits
}

interface Change {
  readonly path: Path
  /** The new value; undefined when it is removed. */
  readonly value: Json | undefined
}

function* changes(before: Json, after: Json, path: Path, meter: Meter): Generator<Change, void> {
  if (before === after) return
  if (isArray(before) && isArray(after)) yield* elements(before, after, path, meter)
  else if (isObject(before) && isObject(after)) yield* members(before, after, path, meter)
  else yield { path, value: after }
}

function* members(before: JsonObject, after: JsonObject, path: Path, meter: Meter): Generator<Change, void> {
  for (const [key] of each(before, meter)) {
    if (!Object.hasOwn(after, key)) yield { path: [...path, key], value: undefined }
  }
  for (const [key, value] of each(after, meter)) {
    const old = member(before, key)
    if (old === undefined) yield { path: [...path, key], value }
    else yield* changes(old, value, [...path, key], meter)
  }
}

/**
 * Compares each element of `before` with the next element of `after`. If there is none, or if it is another
 * element of `before`, the element was removed. Otherwise the element has become the next one of `after`.
 */
function* elements(before: JsonArray, after: JsonArray, path: Path, meter: Meter): Generator<Change, void> {
  const known = new Set<Json>()
  for (const [, old] of each(before, meter)) known.add(old)
  const inside: Change[] = []
  let kept = 0
  for (const [index, old] of each(before, meter)) {
    const value = after[kept]
    if (value === undefined || (value !== old && known.has(value))) {
      inside.push({ path: [...path, index], value: undefined })
    } else {
      for (const change of changes(old, value, [...path, index], meter)) inside.push(change)
      kept++
    }
  }
  // When elements are removed and others added, the places of the additions are ambiguous.
  if (kept < lengthOf(after) && kept < lengthOf(before)) yield { path, value: after }
  else {
    yield* inside
    for (const [index, value] of each(after, meter)) {
      if (index >= kept) yield { path: [...path, index], value }
    }
  }
}

/** The JSON text of a value; undefined when readers could disagree on it. */
const plain = (value: Json, meter: Meter): string | undefined => {
  const text = JSON.stringify(value)
  meter.payText(text)
  // JSON.stringify writes a \ud… escape only for half of a surrogate pair.
  const isPaired = !/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text)
  return isPaired && deepest(Buffer.from(text)) <= maxDepth && isExact(value, meter) ? text : undefined
}

const isExact = (value: Json, meter: Meter): boolean => {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (isArray(value) || isObject(value)) {
    for (const [, child] of each(value, meter)) if (!isExact(child, meter)) return false
  }
  return true
}
