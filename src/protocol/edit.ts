import type { Frame } from './frame.js'
import { afterSpace, afterValue, byte, eachChild, type Child } from './scan.js'
import { soleObject } from './sole.js'

/** A step into a JSON text: a string is a key of an object, a number an index of an array. */
export type Path = readonly (string | number)[]

/**
 * One change of a JSON text. With `replace` (JSON text) the value at the path is replaced, or added at the end when
 * its object has no such member or its array ends just there; with `remove` the member or element goes; with `length` an array keeps
 * so many of its elements. Where there is nothing to change, nothing is changed.
 */
export type Edit =
  | { readonly path: Path; readonly replace: Buffer | string }
  | { readonly path: Path; readonly remove: true }
  | { readonly path: Path; readonly length: number }

/**
 * The JSON text of the value at the path, as it crossed the wire; undefined when there is none. Of a key that is
 * there twice, the last counts, as for `JSON.parse`.
 * @param frame of a message that was read
 */
export const slice = (frame: Frame, path: Path): Buffer | undefined => {
  const { bytes } = frame
  const sole = path.length === 0 ? undefined : soleObject(frame)
  if (sole !== undefined && sole.key === path[0]) return below(bytes, sole.value, sole.to, path, 1)
  return below(bytes, afterSpace(bytes, 0), undefined, path, 0)
}

const below = (bytes: Buffer, from: number, to: number | undefined, path: Path, depth: number): Buffer | undefined => {
  const step = path[depth]
  if (step === undefined) return bytes.subarray(from, to ?? afterValue(bytes, from))
  let found: Child | undefined
  if (isContainer(bytes, from)) {
    eachChild(bytes, from, child => {
      if (stepOf(child) === step) found = child
      return typeof step === 'number' && child.index >= step
    })
  }
  return found && below(bytes, found.value, found.to, path, depth + 1)
}

/**
 * The JSON text with the changes made, and every other byte as it was. Paths are those of the text as given, whatever
 * else is removed; of two changes at one path the last counts, and a change inside of what is removed or replaced is
 * lost. Of a key that is there twice, every occurrence is changed.
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
  /** Undefined where it was not looked for yet. */
  readonly to?: number
}

/** Bytes to be left out, and what stands there instead; in the order of the text. */
interface Splice {
  readonly from: number
  readonly to: number
  readonly insert: Buffer
}

const nothing = Buffer.alloc(0)

/** @param depth how many steps of the edits' paths lead to this value */
const collect = (bytes: Buffer, value: Span, edits: readonly Edit[], depth: number, splices: Splice[]): void => {
  const here = at(edits, depth)
  if (here !== undefined && 'replace' in here) {
    splices.push({ from: value.from, to: value.to ?? afterValue(bytes, value.from), insert: Buffer.from(here.replace) })
  } else if (isContainer(bytes, value.from)) {
    const length = here !== undefined && 'length' in here ? here.length : Infinity
    const last = collectInside(bytes, value.from, edits, depth, length, splices)
    if (length < Infinity) splices.push({ from: last, to: (value.to ?? afterValue(bytes, value.from)) - 1, insert: nothing })
  }
}

/** @param length of the children, no more are looked at @returns the end of the last of them */
const collectInside = (bytes: Buffer, open: number, edits: readonly Edit[], depth: number, length: number, splices: Splice[]): number => {
  const children: Child[] = []
  if (length > 0) eachChild(bytes, open, child => children.push(child) >= length)
  const steps = byStep(edits, depth)
  const gone = children.map(child => isRemoval(at(steps.get(stepOf(child)) ?? [], depth + 1)))
  const firstKept = gone.indexOf(false)
  for (const [index, child] of children.entries()) {
    const inside = steps.get(stepOf(child))
    if (inside === undefined) continue
    if (gone[index] === true) splices.push({ ...cut(children, index, firstKept), insert: nothing })
    else collect(bytes, { from: child.value, to: child.to }, inside, depth + 1, splices)
  }
  const end = children.at(-1)?.to ?? open + 1
  const added = additions(bytes[open] === byte.openObject, children, steps, depth + 1)
  if (added.length > 0) splices.push({ from: end, to: end, insert: Buffer.concat(firstKept < 0 ? added.slice(1) : added) })
  return end
}

/**
 * What goes with a member that goes: the comma and the white space before it; or behind it, when nothing before it
 * stays.
 */
const cut = (children: readonly Child[], index: number, firstKept: number): { from: number; to: number } => {
  const from = children[index]?.from ?? 0
  const to = children[index]?.to ?? 0
  if (firstKept >= 0 && index > firstKept) return { from: children[index - 1]?.to ?? from, to }
  return { from, to: children[index + 1]?.from ?? to }
}

/** What is to be added at the end of a container: each comma, then the member or element. */
const additions = (
  named: boolean,
  children: readonly Child[],
  steps: ReadonlyMap<string | number, readonly Edit[]>,
  depth: number,
): readonly Buffer[] => {
  const known = new Set(children.map(stepOf))
  const added: Buffer[] = []
  let next = children.length
  for (const [step, edits] of steps) {
    const last = at(edits, depth)
    if (last === undefined || !('replace' in last) || known.has(step)) continue
    if (named ? typeof step !== 'string' : step !== next) continue
    next++
    const key = typeof step === 'string' ? `${JSON.stringify(step)}:` : ''
    added.push(comma, Buffer.from(key), Buffer.from(last.replace))
  }
  return added
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

/** The change of the very value to which so many steps lead. */
const at = (edits: readonly Edit[], depth: number): Edit | undefined =>
  edits.findLast(({ path }) => path.length === depth)

const isRemoval = (one: Edit | undefined): boolean => one !== undefined && 'remove' in one

const stepOf = ({ key, index }: Child): string | number => key ?? index

const isContainer = (bytes: Buffer, from: number): boolean =>
  bytes[from] === byte.openObject || bytes[from] === byte.openArray

/**
 * The same JSON text on one line, for every reader: line ends become spaces, one byte for one byte, but for a carriage return at the end.
 * They stand between tokens only: inside a string JSON allows none. Readers with universal newlines (Python's text mode, Java's
 * readLine) take a bare carriage return for the end of a line.
 */
export const onOneLine = (bytes: Buffer): Buffer => {
  const end = bytes[bytes.length - 1] === 0x0d ? bytes.length - 1 : bytes.length
  let made: Buffer | undefined
  for (const lineEnd of [0x0a, 0x0d]) {
    for (let at = bytes.indexOf(lineEnd); at >= 0 && at < end; at = bytes.indexOf(lineEnd, at + 1)) (made ??= Buffer.from(bytes))[at] = 0x20
  }
  return made ?? bytes
}
