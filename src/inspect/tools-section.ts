import { member } from '../protocol/unmetered.js'
import { argumentPhrases, argumentsOf } from './arguments.js'
import { claimsOf, titleOf } from './claims.js'
import { marked, worst } from './findings-section.js'
import type { InspectedTool, Inspection } from './inspection.js'
import { plain } from './plain.js'
import type { Style } from './style.js'
import { columnsOf, fill, indent, wrap } from './wrap.js'

/** Every tool: its name, and beside it what it takes, what it says of itself, and what is wrong with it. */
export const toolsSection = ({ tools, lists }: Inspection, style: Style, width: number): string => {
  const { problem } = lists.tools
  const cut = problem === undefined ? [] : [`  ${style.bad(`✗ ${tools.length === 0 ? 'cannot be listed' : 'not all of them'}: ${problem}`)}`]
  if (tools.length === 0) return [style.title('Tools (0)'), ...cut].join('\n')
  const column = columnFor(tools, width)
  const hasOptional = tools.some(({ definition }) => argumentsOf(member(definition, 'inputSchema')).some(({ required }) => !required))
  const legend = hasOptional ? style.dim('  name?: may be left out') : ''
  return [style.title(`Tools (${tools.length})`) + legend, ...tools.map(tool => block(tool, column, style, width)), ...cut].join('\n')
}

/** How wide the names are; where little room would be left beside them, they stand above. */
const columnFor = (tools: readonly InspectedTool[], width: number): number => {
  const widest = Math.max(...tools.map(({ name }) => columnsOf(plain(name, 128))))
  const most = Math.floor(width * 0.4)
  return width < 60 ? 0 : Math.min(widest, most)
}

const margin = 2

const block = ({ name, definition, denied, findings }: InspectedTool, column: number, style: Style, width: number): string => {
  const shown = plain(name, 128)
  const isBeside = columnsOf(shown) <= column
  const from = column === 0 ? 2 * margin : margin + column + margin
  const given = argumentPhrases(member(definition, 'inputSchema'))
  const title = titleOf(definition)
  const facts = [
    ...(denied ? ['denied by the configuration'] : []),
    ...(title === undefined || isSpelling(title, name) ? [] : [`"${plain(title)}"`]),
    ...claims(definition),
    ...(member(definition, 'outputSchema') === undefined ? [] : ['output schema']),
  ]
  const lines = [
    ...(given.length === 0 ? [style.dim('no arguments')] : fill(given, width - from)),
    ...(facts.length === 0 ? [] : wrap(facts.join('; '), width - from).map(style.dim)),
    ...worst(findings.filter(({ rule }) => !rule.startsWith('advice/'))).map(({ rule, action }) => marked(rule, action, style)),
  ]
  const beside = isBeside ? shown.padEnd(shown.length + column - columnsOf(shown) + margin) : ''
  return isBeside
    ? `${' '.repeat(margin)}${beside}${indent(lines, from)}`
    : wrap(shown, width - margin).map(line => ' '.repeat(margin) + line).join('\n') + `\n${' '.repeat(from)}${indent(lines, from)}`
}

/** A title that only spells the name in another way says nothing new, and nor does one that says that it is a tool. */
const isSpelling = (title: string, name: string): boolean => letters(title).replace(/tool$/, '') === letters(name).replace(/tool$/, '')

const letters = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

const claims = (definition: InspectedTool['definition']): readonly string[] => {
  const all = claimsOf(definition)
  return all.length === 0 ? [] : [`claims ${all.join(', ')}`]
}
