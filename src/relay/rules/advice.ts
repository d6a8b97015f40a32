import {
  each, isArray, isObject, isString, lengthOf, member, type Json, type Meter,
} from '#relay/protocol/json.js'
import type { Powers } from '#relay/core/vocabulary.js'
import { traitsOf } from '#relay/protocol/revisions/index.js'
import { textsOf } from '#relay/protocol/places.js'
import { agreeing, jsonTextsOf } from './result.js'
import { maxProblems, nothing, one } from './problem.js'

const inText = (path: string, index: number): string => `${path}/content/${index}/text`

export const jsonInText: Powers = {
  onResult: ({ value, path }, meter) =>
    member(value, 'structuredContent') !== undefined || member(value, 'isError') === true
      ? nothing
      : jsonTextsOf(value, meter)
          .slice(0, maxProblems)
          .flatMap(({ index }) =>
            one(inText(path, index), 'is JSON: declare an outputSchema and return structuredContent'),
          ),
}

export const noOutputSchema: Powers = {
  onTool: ({ definition, path, revision }) =>
    traitsOf(revision).hasOutputSchemas && member(definition, 'outputSchema') === undefined
      ? one(path, 'declares no outputSchema: no result of it can be checked')
      : nothing,
}

/** The text of an error without its cause. */
const vague = new RegExp(
  '^(?:an? |the )?(?:(?:unknown|unexpected|internal|server|tool|execution|general|runtime) )*' +
    '(?:error|failure|failed|exception|problem|something went wrong)(?: (?:has )?occurred| happened)?$',
)

export const vagueError: Powers = {
  onResult({ value, path }, meter) {
    if (member(value, 'isError') !== true) return nothing
    const texts = textsOf(value, meter).map(({ text }) => text.slice(0, 200).toLowerCase())
    const words = texts.map(text => text.replace(/[^\p{L}\p{N}]+/gu, ' ').trim())
    return words.every(text => text === '' || vague.test(text.replace(/^(?:error )+(?=.)/, '')))
      ? one(`${path}/content`, 'does not say what went wrong and what to do about it')
      : nothing
  },
}

/** Characters of a text that repeats structuredContent. */
const heavy = 10_240

export const duplicatedPayload: Powers = {
  onResult({ value: result, path, structuredText }, meter) {
    const structured = structuredText()
    if (structured === undefined) return nothing
    const texts = jsonTextsOf(result, meter).filter(({ text }) => text.length > heavy)
    const agree = agreeing(texts, structured, texts.length, meter)
    return texts
      .filter(({ index }) => agree.has(index))
      .slice(0, maxProblems)
      .flatMap(({ index }) =>
        one(inText(path, index), 'repeats a large structuredContent: a summary would do'),
      )
  },
}

/** Whether a text has 1,024 characters of unbroken base64, upper and lower case and digits among them. */
const isBinary = (text: string): boolean => {
  if (/data:[\w.+-]{1,64}\/[\w.+-]{1,64};base64,/.test(text)) return true
  // Word by word, so that each character is read once.
  for (const [word] of text.matchAll(/[A-Za-z0-9+/]+/g)) {
    if (word.length >= 1024 && /[a-z]/.test(word) && /[A-Z]/.test(word) && /[0-9]/.test(word)) return true
  }
  return false
}

export const binaryInText: Powers = {
  onResult: ({ value, path }, meter) =>
    textsOf(value, meter)
      .filter(({ text }) => isBinary(text))
      .slice(0, maxProblems)
      .flatMap(({ index }) =>
        one(inText(path, index), 'carries binary data: use an image, audio or resource block'),
      ),
}

export const noDescription: Powers = {
  onTool({ definition, path }) {
    const description = member(definition, 'description')
    return isString(description) && description.trim() !== ''
      ? nothing
      : one(path, 'has no description: a model has only the name to choose by')
  },
}

/** A flat list has at least this many paths, and two or more in a folder on average. */
const longList = 20

const isFlatList = (value: Json | undefined, meter: Meter): boolean => {
  if (!isArray(value) || lengthOf(value) < longList) return false
  const folders = new Set<string>()
  for (const [, element] of each(value, meter)) {
    const folder = isString(element) ? /^(.{0,1000}[\\/])[^\\/\s]{1,255}$/.exec(element)?.[1] : undefined
    if (folder === undefined) return false
    folders.add(folder)
  }
  return folders.size > 1 && folders.size * 2 <= lengthOf(value)
}

export const flatList: Powers = {
  onResult({ value: result, path }, meter) {
    const structured = member(result, 'structuredContent')
    const inStructured =
      structured === undefined ? [] : [{ value: structured, path: `${path}/structuredContent` }]
    const inTexts =
      jsonTextsOf(result, meter).map(({ value, index }) => ({ value, path: inText(path, index) }))
    return [...inStructured, ...inTexts]
      .flatMap(({ value, path }) => {
        const lists = isObject(value) ? [...each(value, meter)].map(([, list]) => list) : [value]
        return lists.some(list => isFlatList(list, meter))
          ? one(path, 'is a flat list of paths: a tree would be shorter and clearer')
          : []
      })
      .slice(0, maxProblems)
  },
}
