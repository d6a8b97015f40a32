import { isArray, isObject, isString, member, type JsonObject } from './json.js'
import { each, type Meter } from './meter.js'

/** A text block of a result, by its place in `content`, and among all that are texts. */
export interface Text {
  readonly index: number
  readonly place: number
  readonly text: string
  /** Where it looks like an object or array of JSON: that. */
  readonly json: string | undefined
}

export const textsOf = (result: JsonObject, meter: Meter): readonly Text[] => {
  const content = member(result, 'content')
  if (!isArray(content)) return []
  const texts: Text[] = []
  for (const [index, block] of each(content, meter)) {
    const text = isObject(block) && member(block, 'type') === 'text' ? member(block, 'text') : undefined
    if (isString(text)) texts.push({ index, place: texts.length, text, json: jsonIn(text) })
  }
  return texts
}

/** Without what stands around it that some readers trim and others do not; most texts are told by their ends. */
const jsonIn = (text: string): string | undefined => {
  const trimmed = text.trim()
  const ends = trimmed.charAt(0) + trimmed.charAt(trimmed.length - 1)
  return ends === '{}' || ends === '[]' ? trimmed : undefined
}
