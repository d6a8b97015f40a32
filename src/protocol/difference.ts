import { isArray, isObject, type Json, type JsonObject } from './json.js'
import type { Edit, Path } from './edit.js'
import { deepest } from './scan.js'

/** What is put into a text may be nested so deep: deeper than any schema may be, and far from any reader's limit. */
const mostDepth = 100

/**
 * The changes that make one value of another, each as far down as it goes, so that all other bytes of its text stay.
 * @returns undefined where what is put in would not be read alike by all: a number beyond a double's exactness, which we would spell
 *   otherwise than it was, a lone surrogate, or a nesting beyond measure
 */
export const difference = (before: JsonObject, after: JsonObject): readonly Edit[] | undefined => {
  const edits: Edit[] = []
  collect(before, after, [], edits)
  return edits.every(isPlain) ? edits : undefined
}

const collect = (before: Json, after: Json, path: Path, edits: Edit[]): void => {
  if (before === after) return
  if (isArray(before) && isArray(after)) return elements(before, after, path, edits)
  if (isObject(before) && isObject(after)) return members(before, after, path, edits)
  edits.push({ path, replace: JSON.stringify(after) })
}

const members = (before: JsonObject, after: JsonObject, path: Path, edits: Edit[]): void => {
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) edits.push({ path: [...path, key], remove: true })
  for (const [key, value = null] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (old === undefined) edits.push({ path: [...path, key], replace: JSON.stringify(value) })
    else collect(old, value, [...path, key], edits)
  }
}

/** Elements that went are those that are there no more, the others being in their order; else each is compared with that in its place. */
const elements = (before: readonly Json[], after: readonly Json[], path: Path, edits: Edit[]): void => {
  if (after.length >= before.length) {
    for (const [index, value] of after.entries()) {
      const old = before[index]
      if (old === undefined) edits.push({ path: [...path, index], replace: JSON.stringify(value) })
      else collect(old, value, [...path, index], edits)
    }
    return
  }
  let kept = 0
  const gone = [...before.keys()].filter(index => before[index] !== after[kept] || kept++ < 0)
  if (kept < after.length) edits.push({ path, replace: JSON.stringify(after) })
  else for (const index of gone) edits.push({ path: [...path, index], remove: true })
}

const isPlain = (edit: Edit): boolean => {
  if (!('replace' in edit)) return true
  const text = String(edit.replace)
  // Well-formed texts are written without escapes beyond ASCII: one that is left stands for half a pair.
  return !/\\ud[89a-f]/i.test(text) && deepest(Buffer.from(text)) <= mostDepth && isExact(JSON.parse(text) as Json)
}

const isExact = (value: Json): boolean => {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (isArray(value)) return value.every(isExact)
  return !isObject(value) || Object.values(value).every(item => isExact(item ?? null))
}
