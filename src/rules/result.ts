import { isArray, isObject, member, omit, type Json, type JsonObject } from '../protocol/json.js'
import { mapped, withMembers, type Meter } from '../protocol/meter.js'
import { resultShape } from '../protocol/mcp.js'
import { textsOf } from '../protocol/texts.js'
import type { Answer, Mend, Powers } from '../core/rule.js'
import { disagreeing } from './json-text.js'
import { isFormat, isMismatch, isNoVerdict, most, nothing, ofKind, ofMisfits, one } from './problem.js'

/** Null, false and empty values are there: only a member that is not there is missing. */
const structuredOf = ({ value }: Answer): Json | undefined => member(value, 'structuredContent')

const isError = ({ value }: Answer): boolean => member(value, 'isError') === true

const declares = ({ tool }: Answer): boolean => tool !== undefined && tool.outputSchemas.length > 0

export const shape: Powers = {
  onResult: ({ value, path, revision }, meter) => ofMisfits(resultShape(revision)(value, meter), path),
}

export const missing: Powers = {
  onResult: answer =>
    declares(answer) && structuredOf(answer) === undefined && !isError(answer)
      ? one(answer.path, 'the tool declares an outputSchema, but there is no structuredContent')
      : nothing,
}

/** The one text that is data becomes what was promised. */
export const promoted: Mend = {
  onResult({ value, promotion }, meter) {
    const made = promotion()
    return made && withMembers(value, { structuredContent: made.value }, meter)
  },
  otherwise: 'demote',
}

export const schema: Powers = {
  onResult: answer => (isError(answer) ? nothing : ofKind(answer.checked, isMismatch)),
}

export const format: Powers = {
  onResult: answer => (answer.checked?.some(({ kind }) => isMismatch(kind)) === true ? nothing : ofKind(answer.checked, isFormat)),
}

export const unchecked: Powers = {
  onResult: answer => (isError(answer) ? nothing : ofKind(answer.checked, isNoVerdict)),
}

/** What stands beside a server's error hides it from strict clients; nor is what could not be checked there left unsaid. */
export const errorStructured: Powers = {
  onResult: answer =>
    isError(answer) && structuredOf(answer) !== undefined ? ofKind(answer.checked, kind => !isFormat(kind)) : nothing,
}

/** The operator's word on the whole result; what could not be checked is not left unsaid. */
export const contract: Powers = {
  onResult: answer => ofKind(answer.contract, kind => !isFormat(kind)),
}

/** Where nothing else says it, it is said in a text. */
export const withoutStructured: Mend = {
  onResult: (answer, meter) => {
    const told = textsOf(answer.value, meter).length > 0 ? answer.value : withText(answer, meter)
    return told && omit(told, 'structuredContent')
  },
  heals: ['result/format', 'result/text', 'result/no-text'],
}

const withText = ({ value, structuredText }: Answer, meter: Meter): JsonObject | undefined => {
  const content = member(value, 'content')
  const text = structuredText()
  if (!isArray(content) || text === undefined) return undefined
  return withMembers(value, { content: [...mapped(content, meter, block => block), { type: 'text', text }] }, meter)
}

export const undeclared: Powers = {
  onResult: answer =>
    answer.tool !== undefined && !declares(answer) && structuredOf(answer) !== undefined
      ? one(`${answer.path}/structuredContent`, 'the tool declares no outputSchema')
      : nothing,
}

export const text: Powers = {
  onResult(answer, meter) {
    const structured = structuredOf(answer)
    if (structured === undefined) return nothing
    return disagreeing(answer.value, structured, answer, meter)
      .slice(0, most)
      .map(({ index, message }) => ({ path: `${answer.path}/content/${index}/text`, message }))
  },
}

/** The first that disagrees says what the structured content says; others have nothing to add. */
export const agreed: Mend = {
  onResult(answer, meter) {
    const { value } = answer
    const content = member(value, 'content')
    const text = answer.structuredText()
    const structured = member(value, 'structuredContent')
    if (!isArray(content) || text === undefined || structured === undefined) return undefined
    const [first, ...others] = disagreeing(value, structured, answer, meter).map(({ index }) => index)
    const gone = new Set(others)
    const left = mapped(content, meter, (block, index) => {
      if (gone.has(index)) return undefined
      return index === first && isObject(block) ? withMembers(block, { text }, meter) : block
    })
    return withMembers(value, { content: left }, meter)
  },
}

export const toldInText: Mend = { onResult: withText }

export const noText: Powers = {
  onResult: (answer, meter) =>
    structuredOf(answer) !== undefined && textsOf(answer.value, meter).length === 0
      ? one(`${answer.path}/content`, 'no text block tells structuredContent to clients that read only text')
      : nothing,
}
