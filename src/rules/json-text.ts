import type { Answer } from '../core/rule.js'
import { isArray, isObject, parseJson, type Json, type JsonObject } from '../protocol/json.js'
import type { Meter } from '../protocol/meter.js'
import { textsOf, type Text } from '../protocol/texts.js'
import { readExactly, says, type Exact } from './exact.js'

/** A text block whose text is a JSON object or array. */
interface JsonText extends Text {
  readonly value: Json
}

/** So many texts are parsed to see what they say, and so many characters of them. */
const mostTexts = 5000
const mostCharacters = 4 * 1024 * 1024

/** Those that look like JSON: the first that are worth a look, and how many more there are. */
const candidatesOf = (texts: readonly Text[]): readonly [few: readonly Text[], rest: readonly Text[]] => {
  const all = texts.filter(({ json }) => json !== undefined)
  let left = mostCharacters
  const end = all.findIndex(({ text }, index) => index === mostTexts || (left -= text.length) < 0)
  return end < 0 ? [all, []] : [all.slice(0, end), all.slice(end)]
}

export const jsonTextsOf = (result: JsonObject, meter: Meter): readonly JsonText[] =>
  candidatesOf(textsOf(result, meter))[0].flatMap(one => {
    const value = parseJson(one.json ?? '')
    return isObject(value) || isArray(value) ? [{ ...one, value }] : []
  })

/** The texts of a result that are JSON and say something else than the structured content: nearly always they are its very text. */
export const disagreeing = (
  result: JsonObject,
  structured: Json,
  { repeats, structuredText }: Pick<Answer, 'repeats' | 'structuredText'>,
  meter: Meter,
): readonly { readonly index: number; readonly message: string }[] => {
  const texts = textsOf(result, meter)
  const [all, rest] = candidatesOf(texts)
  const few = repeats.length === 0 ? all : all.filter(({ index }) => !repeats.includes(index))
  if (few.length + rest.length === 0) return []
  const raw = structuredText() ?? JSON.stringify(structured)
  const others = few.filter(({ json = '' }) => json !== raw && parseJson(json) !== undefined)
  const agree = agreeing(others, raw, texts.length, meter)
  return [
    ...others
      .filter(({ index }) => !agree.has(index))
      .map(({ index }) => ({ index, message: 'is JSON that says something else than structuredContent' })),
    ...rest.map(({ index }) => ({ index, message: 'is too long to be compared with structuredContent' })),
  ]
}

/** A wrapper has few members; looking into more of them would be work that a peer can pile up. */
const mostMembers = 4

/**
 * The texts, by their place in `content`, that say the same as the structured content or as a part of it: at each place the same value,
 * digit by digit. Servers wrap what is no object (`{ "result": [ … ] }`) and write the bare value into the text, or one block per element.
 * @param raw the JSON text of the structured content
 */
export const agreeing = (texts: readonly Text[], raw: string, count: number, meter: Meter): ReadonlySet<number> => {
  const structured = texts.length === 0 ? undefined : readExactly(raw, meter)
  if (structured === undefined) return new Set()
  const wholes = [structured, ...(structured instanceof Map && structured.size <= mostMembers ? structured.values() : [])]
  const lists = wholes.filter((whole): whole is Exact[] => Array.isArray(whole) && whole.length === count)
  const agrees = ({ text, json = '', place }: Text): boolean => {
    if (wholes.includes(`"${text}`)) return true
    const value = readExactly(json, meter)
    return value !== undefined && (wholes.some(whole => says(value, whole, meter)) || lists.some(list => says(value, list[place], meter)))
  }
  return new Set(texts.filter(agrees).map(({ index }) => index))
}
