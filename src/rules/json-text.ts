import { isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'

/** A text block whose text is a JSON object or array. */
export interface JsonText {
  readonly index: number
  readonly text: string
  readonly value: Json
}

/** The text blocks of a result, by their place in `content`. */
export const textsOf = (result: JsonObject): readonly { readonly index: number; readonly text: string }[] => {
  const texts: { readonly index: number; readonly text: string }[] = []
  const content = member(result, 'content')
  if (!isArray(content)) return texts
  for (const [index, block] of content.entries()) {
    const text = isObject(block) && member(block, 'type') === 'text' ? member(block, 'text') : undefined
    if (isString(text)) texts.push({ index, text })
  }
  return texts
}

export const jsonTextsOf = (result: JsonObject): readonly JsonText[] =>
  textsOf(result).flatMap(({ index, text }) => {
    const value = parsed(text)
    return value === undefined ? [] : [{ index, text, value }]
  })

/** The object or array that a text spells out; most texts are told by their ends. */
const parsed = (text: string): JsonObject | readonly Json[] | undefined => {
  const trimmed = text.trim()
  const ends = trimmed.slice(0, 1) + trimmed.slice(-1)
  if (ends !== '{}' && ends !== '[]') return undefined
  try {
    const value: unknown = JSON.parse(trimmed)
    return isObject(value) || isList(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isList = (value: unknown): value is readonly Json[] => Array.isArray(value)

/** A wrapper has few members; looking into more of them would be work that a peer can pile up. */
const mostMembers = 4

/**
 * The texts, by their place in `content`, that say the same as the structured content or as a part of it. Servers wrap
 * what is no object (`{ "result": [ … ] }`) and write the bare value into the text, or one block per element.
 */
export const agreeing = (texts: readonly JsonText[], structured: Json): ReadonlySet<number> => {
  const members = isObject(structured) ? Object.values(structured) : []
  const wholes = [structured, ...(members.length <= mostMembers ? members : [])]
  const lists = wholes.filter(whole => isArray(whole) && whole.length === texts.length)
  return new Set(
    texts
      .filter(
        ({ text, value }, place) =>
          wholes.some(whole => whole === text || says(value, whole)) ||
          lists.some(list => isArray(list) && says(value, list[place])),
      )
      .map(({ index }) => index),
  )
}

/** Equal as JSON values; a member may be null on one side and left out on the other, for serialisers differ there. */
const says = (a: Json | undefined, b: Json | undefined): boolean => {
  if (a === b) return true
  if (isArray(a)) return isArray(b) && a.length === b.length && a.every((element, index) => says(element, b[index]))
  if (!isObject(a) || !isObject(b)) return false
  for (const key of Object.keys(a)) if (!says(a[key] ?? null, member(b, key) ?? null)) return false
  return Object.keys(b).every(key => Object.hasOwn(a, key) || (b[key] ?? null) === null)
}
