import type { Answer } from '../core/rule.js'
import { isArray, isObject, member, parseJson, type Json, type JsonObject } from '../protocol/json.js'
import { looksLikeJson, textsOf, type Text } from '../protocol/texts.js'

/** A text block whose text is a JSON object or array. */
interface JsonText extends Text {
  readonly value: Json
}

/** So many texts are parsed to see what they say, and so many characters of them. */
const mostTexts = 5000
const mostCharacters = 4 * 1024 * 1024

/** Those that look like JSON: the first that are worth a look, and how many more there are. */
const candidatesOf = (texts: readonly Text[]): readonly [few: readonly Text[], rest: readonly Text[]] => {
  const all = texts.filter(looksLikeJson)
  let left = mostCharacters
  const end = all.findIndex(({ text }, index) => index === mostTexts || (left -= text.length) < 0)
  return end < 0 ? [all, []] : [all.slice(0, end), all.slice(end)]
}

export const jsonTextsOf = (result: JsonObject): readonly JsonText[] => parsedOf(candidatesOf(textsOf(result))[0])

const parsedOf = (texts: readonly Text[]): readonly JsonText[] =>
  texts.flatMap(one => {
    const value = parseJson(one.text)
    return isObject(value) || isArray(value) ? [{ ...one, value }] : []
  })

/** The texts of a result that are JSON and say something else than the structured content: nearly always they are its very text. */
export const disagreeing = (
  result: JsonObject,
  structured: Json,
  { repeats, structuredText }: Pick<Answer, 'repeats' | 'structuredText'>,
): readonly { readonly index: number; readonly message: string }[] => {
  const texts = textsOf(result)
  const [all, rest] = candidatesOf(texts)
  const few = repeats.length === 0 ? all : all.filter(({ index }) => !repeats.includes(index))
  if (few.length + rest.length === 0) return []
  const raw = structuredText() ?? ''
  const others = parsedOf(few.filter(({ text }) => text !== raw))
  const agree = agreeing(others, structured, texts.length)
  return [
    ...others
      .filter(({ index, text }) => !agree.has(index) || !hasNumerals(text, raw))
      .map(({ index }) => ({ index, message: 'is JSON that says something else than structuredContent' })),
    ...rest.map(({ index }) => ({ index, message: 'is too long to be compared with structuredContent' })),
  ]
}

/** Numbers of more digits than a double tells apart are compared by their digits. */
const hasNumerals = (text: string, raw: string): boolean => (text.match(/\d{16,}/g) ?? []).every(numeral => raw.includes(numeral))

/** A wrapper has few members; looking into more of them would be work that a peer can pile up. */
const mostMembers = 4

/**
 * The texts, by their place in `content`, that say the same as the structured content or as a part of it. Servers wrap
 * what is no object (`{ "result": [ … ] }`) and write the bare value into the text, or one block per element.
 */
export const agreeing = (texts: readonly JsonText[], structured: Json, count: number): ReadonlySet<number> => {
  const members = isObject(structured) ? Object.values(structured) : []
  const wholes = [structured, ...(members.length <= mostMembers ? members : [])]
  const lists = wholes.filter(whole => isArray(whole) && whole.length === count)
  return new Set(
    texts
      .filter(
        ({ text, value, place }) =>
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
