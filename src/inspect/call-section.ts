import { isArray, isObject, isString, member, type Json } from '../protocol/unmetered.js'
import { plainJson } from '../protocol/quote.js'
import { refusal } from './connect.js'
import type { InspectedCall } from './inspection.js'
import { plain, plainLines } from './plain.js'
import type { Style } from './style.js'

/** Lines that are shown of the content, and of each block of it; `--json` has them all. */
const mostLines = 60
const mostOfBlock = 20

/** What a call gave, as far as a person reads it. */
export const callSection = ({ tool, arguments: given, answer }: InspectedCall, style: Style, width: number): string => {
  const heading = `${style.title(`Call of ${plain(tool)}`)} ${style.dim(plain(JSON.stringify(given), width))}`
  if (answer === undefined) return `${heading}\n  ${style.bad('not made')}: it is not among the tools that could be listed`
  if (answer.kind === 'error') return `${heading}\n  ${style.bad('error')} ${refusal(answer)}`
  const { result } = answer
  const content = member(result, 'content')
  const structured = member(result, 'structuredContent')
  const blocks = isArray(content) ? content.slice(0, mostLines).flatMap(block => blockLines(block, width)) : []
  return [
    heading,
    ...(member(result, 'isError') === true ? [`  ${style.warn('isError: the tool says that it failed')}`] : []),
    ...(structured === undefined ? [] : [`  ${style.dim('structuredContent')}`, ...lines(plainJson(structured), width)]),
    ...(blocks.length > 0 ? [`  ${style.dim('content')}`, ...blocks.slice(0, mostLines)] : []),
    ...(blocks.length > mostLines ? [style.dim('    … and more')] : []),
  ].join('\n')
}

const lines = (text: string, width: number): readonly string[] => plainLines(text, mostOfBlock, width - 4).map(line => `    ${line}`)

const blockLines = (block: Json, width: number): readonly string[] => {
  const type = isObject(block) ? member(block, 'type') : undefined
  const text = isObject(block) ? member(block, 'text') : undefined
  if (type === 'text' && isString(text)) return lines(text, width)
  return lines(plain(JSON.stringify(block), width - 4), width)
}
