import {
  isArray, isObject, lengthOf, mapped, member, omit, parseJson, withMembers, type Json, type JsonObject,
  type Meter,
} from '#relay/protocol/json.js'
import { hasString } from '#relay/protocol/unread.js'
import { textsOf, type Part, type Text } from '#relay/protocol/places.js'
import { listShape, methodOf, traitsOf } from '#relay/protocol/revisions/index.js'
import type { CallResult, Mend, Powers, Problem, Reading } from '#relay/core/vocabulary.js'
import { tidied } from './nulls.js'
import { beside, isFormat, isSchemaMismatch, isNoVerdict, maxProblems, nothing, ofKind, ofMisfits, one } from './problem.js'
import { readExactly, sameData, type Exact } from './exact.js'

/** Undefined only when the member is missing: null, false and empty values are present. */
const structuredOf = ({ value }: CallResult): Json | undefined => member(value, 'structuredContent')

const isError = ({ value }: CallResult): boolean => member(value, 'isError') === true

const declares = ({ tool }: CallResult): boolean => tool !== undefined && tool.outputSchemas.length > 0

/** Null stands for missing structured content, unless the schema allows it. */
const isMissing = (result: CallResult): boolean => {
  const structured = structuredOf(result)
  return declares(result) && !isError(result)
    && (structured === undefined
      || (structured === null && ofKind(result.checked, isSchemaMismatch).length > 0))
}

/** Nulls, and arrays in the place of objects, in a result of any method. Tolerant clients do not mind. */
const untidy = ({ value, path, method }: Reading, meter: Meter): ReturnType<typeof tidied> => {
  const isOurs = method === 'tools/call' || (path === '/result' && methodOf(method)?.kind === 'request')
  // The nulls of a list are those of list/shape.
  return isOurs
    ? tidied(value, meter, { nulls: listShape(method) === undefined, arrays: true })
    : { faults: [], cleared: value }
}

const minor = (reading: Reading, meter: Meter): readonly Problem[] => {
  const { faults } = untidy(reading, meter)
  return faults.length === 0
    ? nothing : ofMisfits(faults, reading.path).map(problem => ({ ...problem, isMinor: true }))
}

export const resultShape: Powers = {
  onResult(result, meter) {
    const misfits = ofMisfits(traitsOf(result.revision).result(result.value, meter), result.path)
    const isNull = structuredOf(result) === null && isMissing(result)
    const own = isNull ? misfits.filter(({ path }) => !path.endsWith('/structuredContent')) : misfits
    const others = minor(result, meter)
    return others.length === 0 ? own
      : [...own, ...others.filter(({ path }) => own.every(other => other.path !== path))]
  },
  onReading: minor,
}

/** The result as tolerant clients read it. */
export const shaped: Mend = {
  onReading: (reading, meter) => untidy(reading, meter).cleared,
  onResult(result, meter) {
    const { cleared } = untidy(result, meter)
    const structured = structuredOf(result)
    const hasContent = (member(cleared, 'content') ?? member(cleared, 'toolResult') ?? null) !== null
    const value = hasContent ? cleared : withMembers(cleared, { content: [] }, meter)
    const isMisplaced =
      structured !== undefined && !isObject(structured) && !traitsOf(result.revision).modern
    if (isMisplaced && structured === null) return omit(value, 'structuredContent')
    if (isMisplaced && !declares(result)) return withoutStructured.onResult?.({ ...result, value }, meter)
    if (isMisplaced && isArray(structured) && lengthOf(structured) === 0)
      return withMembers(value, { structuredContent: {} }, meter)
    if (structured === undefined || hasContent) return value
    return withText({ ...result, value }, meter) ?? value
  },
  heals: ['result/undeclared', 'result/no-text'],
}

export const missing: Powers = {
  onResult: result =>
    isMissing(result)
      ? one(result.path, 'the tool declares an outputSchema, but there is no structuredContent')
      : nothing,
}

/** The only text block that is JSON becomes structuredContent. Null is left out. */
export const promoted: Mend = {
  onResult({ value, promotion }, meter) {
    if (member(value, 'structuredContent') === null) return omit(value, 'structuredContent')
    const made = promotion()
    return made && withMembers(value, { structuredContent: made.value }, meter)
  },
  otherwise: 'log',
  hidesSchema: true,
}

export const resultSchema: Powers = {
  onResult: (result, meter) =>
    (isError(result) || structuredOf(result) === null
      ? nothing : beside(ofKind(result.checked, isSchemaMismatch), result, meter)),
}

/** Takes out what breaks the schema, where a text is left. */
export const taken: Mend = {
  onResult: ({ value, revision }, meter) =>
    ((traitsOf(revision).modern || isObject(member(value, 'structuredContent')))
      && textsOf(value, meter).length > 0 ? omit(value, 'structuredContent') : undefined),
  hidesSchema: true,
  heals: ['result/format', 'result/text', 'result/no-text'],
}

export const format: Powers = {
  onResult: (result, meter) =>
    result.checked?.some(({ kind }) => isSchemaMismatch(kind)) === true
      ? nothing : beside(ofKind(result.checked, isFormat), result, meter),
}

/** What breaks only formats is left as it is: the client does not know the schema. */
export const unformatted: Mend = { otherwise: 'log', hidesSchema: true }

export const uncheckedResult: Powers = {
  onResult: result => (isError(result) ? nothing : ofKind(result.checked, isNoVerdict)),
}

/** Invalid structuredContent hides the error from strict clients; unchecked content is reported too. */
export const errorStructured: Powers = {
  onResult: result =>
    isError(result) && structuredOf(result) !== undefined
      ? ofKind(result.checked, kind => !isFormat(kind))
      : nothing,
}

/** The operator's schema for the whole result; unchecked results are reported too. */
export const contract: Powers = {
  onResult: result => ofKind(result.contract, kind => !isFormat(kind)),
}

export const resultSize: Powers = {
  onResult: ({ size, path }) =>
    size === undefined ? nothing : one(path, `is ${size.bytes} bytes long; ${size.limit} are allowed`),
}

/** Adds the removed content as a text block when there is no text. */
export const withoutStructured: Mend = {
  onResult: (result, meter) => {
    const changed = textsOf(result.value, meter).length > 0 ? result.value : withText(result, meter)
    return changed && omit(changed, 'structuredContent')
  },
  heals: ['result/format', 'result/text', 'result/no-text'],
}

const withText = ({ value, structuredText }: CallResult, meter: Meter): JsonObject | undefined => {
  const content = member(value, 'content')
  const text = structuredText()
  if (!isArray(content) || text === undefined) return undefined
  const blocks = [...mapped(content, meter, block => block), { type: 'text', text }]
  return withMembers(value, { content: blocks }, meter)
}

export const undeclaredResult: Powers = {
  onResult: result =>
    result.tool !== undefined && !declares(result) && structuredOf(result) !== undefined
      ? one(`${result.path}/structuredContent`, 'the tool declares no outputSchema')
      : nothing,
}

export const resultText: Powers = {
  onResult(result, meter) {
    const structured = structuredOf(result)
    if (structured === undefined) return nothing
    return disagreeing(result.value, structured, result, meter)
      .slice(0, maxProblems)
      .map(({ index, message }) => ({ path: `${result.path}/content/${index}/text`, message }))
  },
}

/** The first disagreeing text becomes the JSON of structuredContent; the others are removed. */
export const agreed: Mend = {
  onResult(result, meter) {
    const { value } = result
    const content = member(value, 'content')
    const text = result.structuredText()
    const structured = member(value, 'structuredContent')
    if (!isArray(content) || text === undefined || structured === undefined) return undefined
    const [first, ...others] = disagreeing(value, structured, result, meter).map(({ index }) => index)
    const gone = new Set(others)
    const left = mapped(content, meter, (block, index) => {
      if (gone.has(index)) return undefined
      return index === first && isObject(block) ? withMembers(block, { text }, meter) : block
    })
    return withMembers(value, { content: left }, meter)
  },
}

export const toldInText: Mend = { onResult: withText }

const isText = ({ kind, value }: Part): boolean =>
  kind === 'block' && member(value, 'type') === 'text' && hasString(value, 'text')

export const noText: Powers = {
  onResult: result =>
    structuredOf(result) !== undefined && !result.parts.some(isText)
      ? one(`${result.path}/content`, 'no text block tells structuredContent to clients that read only text')
      : nothing,
}

/** A text block whose text is a JSON object or array. */
interface JsonText extends Text {
  readonly value: Json
}

/** Texts, and characters of them, that are parsed. */
const maxTexts = 5000
const maxCharacters = 4 * 1024 * 1024

/**
 * The texts that look like JSON: those within the bounds, then the rest.
 * @param repeats indexes of texts that are known to be JSON, so that they need not be read. They are of a
 * message of at most `maxBytes` of the judge, whose texts are within the bound of characters
 */
const candidatesOf = (
  texts: readonly Text[], repeats: readonly number[] = [],
): readonly [few: readonly Text[], rest: readonly Text[]] => {
  const all = texts.filter(one => repeats.includes(one.index) || one.json !== undefined)
  let left = maxCharacters
  const costOf = (one: Text): number => (repeats.includes(one.index) ? 0 : one.text.length)
  const end = all.findIndex((one, index) => index === maxTexts || (left -= costOf(one)) < 0)
  return end < 0 ? [all, []] : [all.slice(0, end), all.slice(end)]
}

export const jsonTextsOf = (result: JsonObject, meter: Meter): readonly JsonText[] =>
  candidatesOf(textsOf(result, meter))[0].flatMap(one => {
    const value = parseJson(one.json ?? '')
    return isObject(value) || isArray(value) ? [Object.assign(one, { value })] : []
  })

/** The texts of a result that are JSON and disagree with structuredContent. */
const disagreeing = (
  result: JsonObject,
  structured: Json,
  { repeats, structuredText }: Pick<CallResult, 'repeats' | 'structuredText'>,
  meter: Meter,
): readonly { readonly index: number; readonly message: string }[] => {
  const texts = textsOf(result, meter)
  const [all, rest] = candidatesOf(texts, repeats)
  const few = all.filter(({ index }) => !repeats.includes(index))
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

/** Wrappers have few members; a bound, because a peer could cause endless work. */
const maxMembers = 4

/**
 * The indexes in `content` of the texts that equal structuredContent or a part of it, numbers digit by digit.
 * Servers wrap a value that is not an object (`{ "result": [ … ] }`), and write the bare value into the text,
 * or one block for each element.
 * @param raw the JSON text of structuredContent
 * @param count of all texts of the result
 */
export const agreeing = (
  texts: readonly Text[], raw: string, count: number, meter: Meter,
): ReadonlySet<number> => {
  const structured = texts.length === 0 ? undefined : readExactly(raw, meter)
  if (structured === undefined) return new Set()
  const isWrapper = structured instanceof Map && structured.size <= maxMembers
  const wholes = [structured, ...(isWrapper ? structured.values() : [])]
  const lists = wholes.filter((whole): whole is Exact[] => Array.isArray(whole) && whole.length === count)
  const agrees = ({ text, json = '', textIndex }: Text): boolean => {
    if (wholes.includes(`"${text}`)) return true
    const value = readExactly(json, meter)
    if (value === undefined) return false
    return wholes.some(whole => sameData(value, whole, meter))
      || lists.some(list => sameData(value, list[textIndex], meter))
  }
  return new Set(texts.filter(agrees).map(({ index }) => index))
}
