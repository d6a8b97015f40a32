import { member, type Json } from '../protocol/json.js'
import { resultShape } from '../protocol/mcp.js'
import type { Answer, Rule } from '../core/rule.js'
import { agreeing, jsonTextsOf, textsOf } from './json-text.js'
import { below, isFormat, isMismatch, isNoVerdict, most, nothing, ofKind, one } from './finding.js'

const path = '/result/structuredContent'

/** Null, false and empty values are there: only a member that is not there is missing. */
const structuredOf = ({ result }: Answer): Json | undefined => member(result, 'structuredContent')

const isError = ({ result }: Answer): boolean => member(result, 'isError') === true

const shape: Rule = {
  name: 'result/shape',
  onResult: ({ result, revision }) =>
    resultShape(revision)(result).map(misfit => ({
      rule: 'result/shape',
      path: below('/result', ...misfit.path),
      message: misfit.message,
    })),
}

const missing: Rule = {
  name: 'result/missing',
  onResult: answer =>
    answer.tool?.outputSchema !== undefined && structuredOf(answer) === undefined && !isError(answer)
      ? one('result/missing', '/result', 'the tool declares an outputSchema, but there is no structuredContent')
      : nothing,
}

const schema: Rule = {
  name: 'result/schema',
  onResult: answer => (isError(answer) ? nothing : ofKind('result/schema', answer.checked, isMismatch)),
}

const format: Rule = {
  name: 'result/format',
  onResult: answer =>
    answer.checked?.some(({ kind }) => isMismatch(kind)) === true ? nothing : ofKind('result/format', answer.checked, isFormat),
}

const unchecked: Rule = {
  name: 'result/unchecked',
  onResult: answer => (isError(answer) ? nothing : ofKind('result/unchecked', answer.checked, isNoVerdict)),
}

/** A server's error is never withheld for what stands beside it, nor is what could not be checked there left unsaid. */
const errorStructured: Rule = {
  name: 'result/error-structured',
  onResult: answer =>
    isError(answer) && structuredOf(answer) !== undefined
      ? ofKind('result/error-structured', answer.checked, kind => !isFormat(kind))
      : nothing,
}

const undeclared: Rule = {
  name: 'result/undeclared',
  onResult: answer =>
    answer.tool !== undefined && answer.tool.outputSchema === undefined && structuredOf(answer) !== undefined
      ? one('result/undeclared', path, 'the tool declares no outputSchema')
      : nothing,
}

const text: Rule = {
  name: 'result/text',
  onResult(answer) {
    const structured = structuredOf(answer)
    if (structured === undefined) return nothing
    const texts = jsonTextsOf(answer.result)
    if (texts.length === 0) return nothing
    const agree = agreeing(texts, structured)
    return texts
      .filter(({ index }) => !agree.has(index))
      .slice(0, most)
      .map(({ index }) => ({
        rule: 'result/text',
        path: below('/result/content', index, 'text'),
        message: 'is JSON that says something else than structuredContent',
      }))
  },
}

const noText: Rule = {
  name: 'result/no-text',
  onResult: answer =>
    structuredOf(answer) !== undefined && textsOf(answer.result).length === 0
      ? one('result/no-text', '/result/content', 'no text block tells structuredContent to clients that read only text')
      : nothing,
}

export const result: readonly Rule[] = [
  shape, missing, schema, format, unchecked, errorStructured, undeclared, text, noText,
]
