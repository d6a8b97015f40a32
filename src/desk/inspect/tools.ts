import { severer } from '#relay/core/findings.js'
import { field } from '#relay/protocol/unmetered.js'
import { inText, type RuleName, ruleNamed } from '#relay/rules/index.js'
import { argumentPhrases, argumentsOf, claimsOf, titleOf } from './definition.js'
import type { InspectedTool, Inspection, Weighed } from './inspection.js'
import { plain } from '#relay/base/plain.js'
import { columnsOf, fill, indent, type Style, wrapText } from '#desk/terminal/style.js'

/** Every tool: its name, arguments, annotations and the rules it breaks. */
export const toolsSection = ({ tools, lists }: Inspection, style: Style, width: number): string => {
  const { problem } = lists.tools
  const cut = problem === undefined
    ? []
    : [`  ${style.bad(`✗ ${tools.length === 0 ? 'cannot be listed' : 'not all of them'}: ${problem}`)}`]
  if (tools.length === 0) return [style.title('Tools (0)'), ...cut].join('\n')
  const column = columnFor(tools, width)
  const hasOptional = tools.some(({ definition }) => argumentsOf(field(definition, 'inputSchema'))
    .some(({ required }) => !required))
  const legend = hasOptional ? style.dim('  name?: may be left out') : ''
  return [
    style.title(`Tools (${tools.length})`) + legend, ...tools.map(tool => block(tool, column, style, width)),
    ...cut,
  ].join('\n')
}

/** The width of the name column; 0 on narrow terminals, where names stand above. */
const columnFor = (tools: readonly InspectedTool[], width: number): number => {
  const widest = Math.max(...tools.map(({ name }) => columnsOf(plain(name, 128))))
  const most = Math.floor(width * 0.4)
  return width < 60 ? 0 : Math.min(widest, most)
}

const margin = 2

const block = (
  { name, definition, denied, findings }: InspectedTool, column: number, style: Style, width: number,
): string => {
  const shown = plain(name, 128)
  const isBeside = columnsOf(shown) <= column
  const from = column === 0 ? 2 * margin : margin + column + margin
  const given = argumentPhrases(field(definition, 'inputSchema'))
  const title = titleOf(definition)
  const facts = [
    ...(denied ? ['denied by the configuration'] : []),
    ...(title === undefined || isSpelling(title, name) ? [] : [`"${plain(title)}"`]),
    ...claims(definition),
    ...(field(definition, 'outputSchema') === undefined ? [] : ['output schema']),
  ]
  const lines = [
    ...(given.length === 0 ? [style.dim('no arguments')] : fill(given, width - from)),
    ...(facts.length === 0 ? [] : wrapText(facts.join('; '), width - from).map(style.dim)),
    ...worst(findings.filter(({ rule }) => !rule.startsWith('advice/')))
      .map(({ rule, action }) => marked(rule, action, style)),
  ]
  const beside = isBeside ? shown.padEnd(shown.length + column - columnsOf(shown) + margin) : ''
  return isBeside
    ? `${' '.repeat(margin)}${beside}${indent(lines, from)}`
    : wrapText(shown, width - margin).map(line => ' '.repeat(margin) + line)
      .join('\n') + `\n${' '.repeat(from)}${indent(lines, from)}`
}

/** Whether a title only repeats the name, possibly with the word tool. */
const isSpelling = (title: string, name: string): boolean =>
  letters(title).replace(/tool$/, '') === letters(name).replace(/tool$/, '')

const letters = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

const claims = (definition: InspectedTool['definition']): readonly string[] => {
  const all = claimsOf(definition)
  return all.length === 0 ? [] : [`claims ${all.join(', ')}`]
}

const symbols = { block: '✗', demote: '!', mend: '~', log: '·' } as const

/** A rule, with the symbol of its action. */
export const marked = (rule: RuleName, action: Weighed['action'], style: Style): string => {
  const looks = {
    block: style.bad, demote: style.warn, mend: style.warn,
    log: rule.startsWith('advice/') ? style.dim : style.warn,
  }
  return looks[action](`${symbols[action]} ${rule}`)
}

/** One finding for each rule, severest first. */
export const worst = (findings: readonly Weighed[]): readonly Weighed[] =>
  bySeverity([...new Map(findings.map(finding => [finding.rule, finding])).values()])

const bySeverity = (findings: readonly Weighed[]): readonly Weighed[] =>
  [...findings].sort(({ action: a }, { action: b }) => (a === b ? 0 : severer(a, b) === a ? -1 : 1))

/** Messages and subjects shown for one rule; `--json` has them all. */
const maxMessages = 5
const maxSubjects = 12

/** Every broken rule once: message, places and advice. */
export const findingsSection = ({ findings, tools }: Inspection, style: Style, width: number): string => {
  if (findings.length === 0) return ''
  return [
    style.title(`Findings (${findings.length})`) + style.dim('  mcp-customs explain RULE says more of each'),
    ...worst(findings).map(({ rule, action }) => {
      const its = findings.filter(finding => finding.rule === rule)
      const times = its.length > 1 ? `, ${its.length} times` : ''
      const { help = '', steps = [] } = ruleNamed(rule) ?? {}
      const advice = [help, ...steps.map(step => `${inText(step)}.`)].flatMap(text =>
        wrapText(text, width - 8).map((line, index) => `      ${index === 0 ? '→' : ' '} ${line}`))
      return [
        `  ${marked(rule, action, style)} ${style.dim(`(${action}${times})`)}`,
        ...messages(its, tools.length, style, width),
        ...advice,
        ...remedy(rule, style, width),
      ].join('\n')
    }),
  ].join('\n')
}

/** How `--policy compat` mends it, and what strict clients do otherwise. */
const remedy = (rule: RuleName, style: Style, width: number): readonly string[] => {
  const { mend, mends, refused } = ruleNamed(rule) ?? {}
  if (mends === undefined || mend?.isBlock === true) return []
  const otherwise = refused === undefined ? '' : `; where nobody does, strict clients ${refused}`
  return wrapText(`--policy compat: ${inText(mends)}${otherwise}`, width - 6)
    .map(line => style.dim(`      ${line}`))
}

const messages = (
  findings: readonly Weighed[], maxTools: number, style: Style, width: number,
): readonly string[] => {
  const byMessage = new Map<string, Weighed[]>()
  for (const finding of findings) {
    const alike = byMessage.get(finding.message)
    if (alike === undefined) byMessage.set(finding.message, [finding])
    else alike.push(finding)
  }
  const told = [...byMessage].slice(0, maxMessages).flatMap(([message, its]) => [
    ...wrapText(plain(message, 300), width - 6).map(line => `      ${line}`),
    ...wrapText(subjects(its, maxTools), width - 8).map(line => style.dim(`        ${line}`)),
  ])
  return byMessage.size > maxMessages
    ? [...told, style.dim(`      and ${byMessage.size - maxMessages} more`)]
    : told
}

const subjects = (findings: readonly Weighed[], maxTools: number): string => {
  const all = [...new Set(findings.map(subject))]
  const isEvery = all.length > 1 && all.length === maxTools
    && findings.every(({ item, within }) => item !== undefined && within === '')
  if (isEvery) return `all ${maxTools} tools`
  const more = all.length > maxSubjects ? [`and ${all.length - maxSubjects} more`] : []
  return [...all.slice(0, maxSubjects), ...more].join(', ')
}

/** The tool and the path in it, or else the prompt, resource or event, and the path. */
const subject = ({ tool, prompt, resource, event, within }: Weighed): string => {
  const place = plain(within, 200)
  if (prompt !== undefined) return `prompt ${plain(prompt, 128)} ${place}`
  if (resource !== undefined) return `resource ${plain(resource, 128)} ${place}`
  if (tool === undefined) return `${plain(event)} ${place}`.trim()
  return event === 'tools/list'
    ? `${plain(tool)}${place === '' ? '' : ` ${place}`}`
    : `${plain(tool)} ${place}`
}
