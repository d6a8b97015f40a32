import { member, type Json } from '../protocol/json.js'
import { resultShape } from '../protocol/mcp.js'
import type { Answer, Powers } from '../core/rule.js'
import { disagreeing, textsOf } from './json-text.js'
import { isFormat, isMismatch, isNoVerdict, most, nothing, ofKind, ofMisfits, one } from './problem.js'

/** Null, false and empty values are there: only a member that is not there is missing. */
const structuredOf = ({ value }: Answer): Json | undefined => member(value, 'structuredContent')

const isError = ({ value }: Answer): boolean => member(value, 'isError') === true

const declares = ({ tool }: Answer): boolean => tool !== undefined && tool.outputSchemas.length > 0

export const shape: Powers = {
  onResult: ({ value, path, revision }) => ofMisfits(resultShape(revision)(value), path),
}

export const missing: Powers = {
  onResult: answer =>
    declares(answer) && structuredOf(answer) === undefined && !isError(answer)
      ? one(answer.path, 'the tool declares an outputSchema, but there is no structuredContent')
      : nothing,
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

export const undeclared: Powers = {
  onResult: answer =>
    answer.tool !== undefined && !declares(answer) && structuredOf(answer) !== undefined
      ? one(`${answer.path}/structuredContent`, 'the tool declares no outputSchema')
      : nothing,
}

export const text: Powers = {
  onResult(answer) {
    const structured = structuredOf(answer)
    if (structured === undefined) return nothing
    return disagreeing(answer.value, structured, answer.structuredText)
      .slice(0, most)
      .map(({ index, message }) => ({ path: `${answer.path}/content/${index}/text`, message }))
  },
}

export const noText: Powers = {
  onResult: answer =>
    structuredOf(answer) !== undefined && textsOf(answer.value).length === 0
      ? one(`${answer.path}/content`, 'no text block tells structuredContent to clients that read only text')
      : nothing,
}
