import { isArray, isObject, lengthOf, member, type Json, type JsonArray, type JsonObject } from './json.js'
import { each, type Meter } from './meter.js'
import type { Edit, Path } from './edit.js'
import { deepest } from './scan.js'

/** What is put into a text may be nested so deep: deeper than any schema may be, and far from any reader's limit. */
const mostDepth = 100

/** The JSON text of a value, where it is known how it is spelt. */
export type Spelling = (value: Json) => string | undefined

/**
 * The changes that make one value of another, each as far down as it goes, so that all other bytes of its text stay.
 * @returns undefined where what is put in would not be read alike by all: a number beyond a double's exactness, which we would spell
 *   otherwise than it was, a lone surrogate, or a nesting beyond measure
 */
export const difference = (before: JsonObject, after: JsonObject, meter: Meter, spelling: Spelling = unknown): readonly Edit[] | undefined => {
  const edits: Edit[] = []
  for (const { path, value } of collect(before, after, [], meter)) {
    const replace = value === undefined ? undefined : (spelling(value) ?? plain(value, meter))
    if (replace !== undefined) edits.push({ path, replace })
    else if (value === undefined) edits.push({ path, remove: true })
    else return undefined
  }
  return edits
}

const unknown: Spelling = () => undefined

interface Change {
  readonly path: Path
  /** What is written there; undefined where it goes. */
  readonly value: Json | undefined
}

function* collect(before: Json, after: Json, path: Path, meter: Meter): Generator<Change, void> {
  if (before === after) return
  if (isArray(before) && isArray(after)) yield* elements(before, after, path, meter)
  else if (isObject(before) && isObject(after)) yield* members(before, after, path, meter)
  else yield { path, value: after }
}

function* members(before: JsonObject, after: JsonObject, path: Path, meter: Meter): Generator<Change, void> {
  for (const [key] of each(before, meter)) if (!Object.hasOwn(after, key)) yield { path: [...path, key], value: undefined }
  for (const [key, value] of each(after, meter)) {
    const old = member(before, key)
    if (old === undefined) yield { path: [...path, key], value }
    else yield* collect(old, value, [...path, key], meter)
  }
}

/** An element goes when the next that is left stood behind it; else that is what has become of it. */
function* elements(before: JsonArray, after: JsonArray, path: Path, meter: Meter): Generator<Change, void> {
  const known = new Set<Json>()
  for (const [, old] of each(before, meter)) known.add(old)
  const inside: Change[] = []
  let kept = 0
  for (const [index, old] of each(before, meter)) {
    const value = after[kept]
    if (value === undefined || (value !== old && known.has(value))) inside.push({ path: [...path, index], value: undefined })
    else {
      for (const change of collect(old, value, [...path, index], meter)) inside.push(change)
      kept++
    }
  }
  // Where some have gone there is no saying at which place others are added.
  if (kept < lengthOf(after) && kept < lengthOf(before)) yield { path, value: after }
  else {
    yield* inside
    for (const [index, value] of each(after, meter)) if (index >= kept) yield { path: [...path, index], value }
  }
}

/** Its text, where all read that alike. */
const plain = (value: Json, meter: Meter): string | undefined => {
  const text = JSON.stringify(value)
  meter.payText(text)
  // Well-formed texts are written without escapes beyond ASCII: one that is left, and is none of a backslash, stands for half a pair.
  const isPlain = !/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text) && deepest(Buffer.from(text)) <= mostDepth && isExact(value, meter)
  return isPlain ? text : undefined
}

const isExact = (value: Json, meter: Meter): boolean => {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (isArray(value) || isObject(value)) for (const [, child] of each(value, meter)) if (!isExact(child, meter)) return false
  return true
}
