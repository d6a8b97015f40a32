import { withoutCredentials } from '#relay/protocol/text/secrets.js'
import { isObject, isString, type Json, type JsonObject, member } from '#relay/protocol/json.js'
import type { Problem } from './vocabulary.js'

/** A place in a definition, as a JSON Pointer, with what stood there and what stands there now. */
export type ChangedPlace = readonly [path: string, before: Json | undefined, after: Json | undefined]

const maxTexts = 3
const longestPath = 200
/** Longest text that is kept, and how much of it stands before the change, in characters. */
const longest = 600
const lead = 120

/**
 * The texts of a definition that changed, for people to compare: what a model reads of a changed tool.
 * @returns `declared` has what was accepted, `value` what the server says now, each by its path
 */
export const changedTexts = (places: readonly ChangedPlace[]): Pick<Problem, 'declared' | 'value'> => {
  const texts = places.flatMap(([path, before, after]): readonly (readonly [string, string, string])[] => {
    // Of something new, the description.
    const isNew = before === undefined && isObject(after)
    const [old, now] = [before, isNew ? member(after, 'description') : after]
    if (!isString(old ?? '') || !isString(now ?? '')) return []
    const place = (isNew ? `${path}/description` : path).slice(0, longestPath)
    return [[place, isString(old) ? old : '', isString(now) ? now : '']]
  }).slice(0, maxTexts)
  if (texts.length === 0) return {}
  const side = (of: 'before' | 'after'): JsonObject => Object.fromEntries(texts.map(([path, before, after]) => {
    const start = sharedStart(before, after)
    return [path, excerpt(of === 'before' ? before : after, start)]
  }))
  return { declared: side('before'), value: side('after') }
}

const sharedStart = (before: string, after: string): number => {
  let index = 0
  while (index < before.length && before[index] === after[index]) index += 1
  return index
}

/** A long text around the place that matters. Only a whole text shows its credentials: they go first. */
export const excerpt = (text: string, change: number): string => {
  if (text.length <= longest) return text
  const clean = withoutCredentials(text)
  const at = Math.min(withoutCredentials(text.slice(0, change)).length, clean.length)
  const from = Math.max(0, at - lead)
  const kept = clean.slice(from, from + longest)
  return `${from > 0 ? '…' : ''}${kept}${from + longest < clean.length ? '…' : ''}`
}
