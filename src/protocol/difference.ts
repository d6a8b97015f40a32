import { isArray, isObject, type Json, type JsonObject } from './json.js'
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
export const difference = (before: JsonObject, after: JsonObject, spelling: Spelling = unknown): readonly Edit[] | undefined => {
  const changes: Change[] = []
  collect(before, after, [], changes)
  const edits: Edit[] = []
  for (const { path, value } of changes) {
    const replace = value === undefined ? undefined : (spelling(value) ?? plain(value))
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

const collect = (before: Json, after: Json, path: Path, changes: Change[]): void => {
  if (before === after) return
  if (isArray(before) && isArray(after)) return elements(before, after, path, changes)
  if (isObject(before) && isObject(after)) return members(before, after, path, changes)
  changes.push({ path, value: after })
}

const members = (before: JsonObject, after: JsonObject, path: Path, changes: Change[]): void => {
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) changes.push({ path: [...path, key], value: undefined })
  for (const [key, value = null] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (old === undefined) changes.push({ path: [...path, key], value })
    else collect(old, value, [...path, key], changes)
  }
}

/** An element goes when the next that is left stood behind it; else that is what has become of it. */
const elements = (before: readonly Json[], after: readonly Json[], path: Path, changes: Change[]): void => {
  const known = new Set(before)
  const inside: Change[] = []
  let kept = 0
  for (const [index, old] of before.entries()) {
    const value = after[kept]
    if (value === undefined || (value !== old && known.has(value))) inside.push({ path: [...path, index], value: undefined })
    else {
      collect(old, value, [...path, index], inside)
      kept++
    }
  }
  // Where some have gone there is no saying at which place others are added.
  if (kept < after.length && kept < before.length) changes.push({ path, value: after })
  else changes.push(...inside, ...after.slice(kept).map((value, index) => ({ path: [...path, kept + index], value })))
}

/** Its text, where all read that alike. */
const plain = (value: Json): string | undefined => {
  const text = JSON.stringify(value)
  // Well-formed texts are written without escapes beyond ASCII: one that is left, and is none of a backslash, stands for half a pair.
  const isPlain = !/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text) && deepest(Buffer.from(text)) <= mostDepth && isExact(value)
  return isPlain ? text : undefined
}

const isExact = (value: Json): boolean => {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (isArray(value)) return value.every(isExact)
  return !isObject(value) || Object.values(value).every(item => isExact(item ?? null))
}
