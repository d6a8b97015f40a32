import { isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import { claimsOf, titleOf } from './claims.js'
import { refusal } from './connect.js'
import { findingsSection, marked, worst } from './findings-section.js'
import type { InspectedCall, InspectedTool, Inspection } from './inspection.js'
import type { Listing } from './lists.js'
import { plain, plainJson, plainLines } from './plain.js'
import type { Style } from './style.js'
import { table } from './table.js'
import { indent, wrap } from './wrap.js'

/**
 * The inspection as text for people. Whatever the server said is in it only as `plain` lets it through.
 * @param width in characters
 */
export const report = (inspection: Inspection, style: Style, width: number): string =>
  [
    header(inspection, style, width),
    toolsSection(inspection, style, width),
    others(inspection, style, width),
    inspection.call && callSection(inspection.call, style, width),
    findingsSection(inspection, style, width),
    summary(inspection, style, width),
  ]
    .filter(section => section !== undefined && section !== '')
    .join('\n\n') + '\n'

const header = ({ target, trusted, connected }: Inspection, style: Style, width: number): string => {
  const { revision, supported, capabilities, serverInfo, instructions } = connected
  const rows: [string, string][] = [
    ['says it is', selfNamed(serverInfo)],
    ['revision', `${plain(revision)}${supported.length > 1 ? ` (supports ${supported.map(one => plain(one, 20)).join(', ')})` : ''}`],
    ['capabilities', capabilitiesOf(capabilities)],
    ['trusted', trusted ? 'yes' : 'no'],
  ]
  if (instructions !== undefined) rows.push(['instructions', `${JSON.stringify(plain(instructions, 240))} (${instructions.length} characters)`])
  const label = Math.max(...rows.map(([name]) => name.length)) + 2
  return [
    style.title(plain(target, 2 * width)),
    ...rows.map(([name, text]) => `  ${style.dim(name.padEnd(label))}${indent(wrap(text, width - label - 2), label + 2)}`),
  ].join('\n')
}

const selfNamed = (info: JsonObject | undefined): string => {
  const text = (key: string): string => {
    const value = member(info, key)
    return isString(value) ? plain(value) : ''
  }
  const title = text('title')
  const named = [text('name'), text('version')].filter(part => part !== '').join(' ')
  if (named === '') return 'nobody (it gives no name)'
  return title === '' || title === text('name') ? named : `${named} (${title})`
}

const capabilitiesOf = (capabilities: JsonObject): string => {
  const names = Object.keys(capabilities).slice(0, 20).map(name => {
    const value = member(capabilities, name)
    const within = isObject(value) ? Object.keys(value).filter(key => value[key] !== false).slice(0, 10) : []
    return plain(name, 40) + (within.length > 0 ? ` (${within.map(key => plain(key, 40)).join(', ')})` : '')
  })
  return names.join(', ') || 'none'
}

const toolsSection = ({ tools, lists }: Inspection, style: Style, width: number): string => {
  const heading = style.title(`Tools (${tools.length})`)
  if (tools.length === 0) return `${heading}\n${lists.tools.problem ?? 'none'}`
  const hasTitles = tools.some(({ definition }) => titleOf(definition) !== undefined)
  const head = ['Name', ...(hasTitles ? ['Title'] : []), 'Claims', 'Output', 'Findings']
  const rows = tools.map(tool => row(tool, hasTitles, style))
  return [heading, table(head, rows, width, style), ...problem(lists.tools, style)].join('\n')
}

const row = ({ name, definition, denied, findings }: InspectedTool, hasTitle: boolean, style: Style): readonly string[] => [
  plain(name, 128) + (denied ? `\n${style.dim('(denied)')}` : ''),
  ...(hasTitle ? [plain(titleOf(definition) ?? '')] : []),
  claimsOf(definition).join(', ') || style.dim('nothing'),
  member(definition, 'outputSchema') === undefined ? style.dim('none') : 'schema',
  cell(findings, style),
]

/** Each broken rule once, the worst first; advice is counted, and told further down. */
const cell = (findings: InspectedTool['findings'], style: Style): string => {
  const rules = [...new Set(findings.map(({ rule }) => rule))]
  const serious = rules.filter(rule => !rule.startsWith('advice/'))
  const advice = rules.length - serious.length
  const lines = worst(findings.filter(({ rule }) => serious.includes(rule))).map(({ rule, action }) => marked(rule, action, style))
  if (advice > 0) lines.push(style.dim(`· ${advice} advice`))
  return lines.join('\n') || style.good('✓')
}

const problem = ({ problem: text }: Listing, style: Style): readonly string[] => (text === undefined ? [] : [style.warn(`not all of them: ${text}`)])

const mostNames = 30

const others = ({ lists }: Inspection, style: Style, width: number): string => {
  const section = (title: string, listing: Listing, key: string): readonly string[] => {
    const { items, problem: why } = listing
    if (items.length === 0 && why === undefined) return []
    const names = items.slice(0, mostNames).map(({ value }) => nameOf(value, key))
    const more = items.length > mostNames ? [`and ${items.length - mostNames} more`] : []
    return [
      [
        style.title(`${title} (${items.length})`),
        ...(names.length > 0 ? [wrap([...names, ...more].join(', '), width - 2).map(line => `  ${line}`).join('\n')] : []),
        ...(why === undefined ? [] : [`  ${style.warn(why)}`]),
      ].join('\n'),
    ]
  }
  return [
    ...section('Prompts', lists.prompts, 'name'),
    ...section('Resources', lists.resources, 'uri'),
    ...section('Resource templates', lists.resourceTemplates, 'uriTemplate'),
  ].join('\n')
}

const nameOf = (value: Json, key: string): string => {
  const name = isObject(value) ? member(value, key) : undefined
  return isString(name) ? plain(name) : '(unnamed)'
}

const callSection = ({ tool, arguments: given, answer }: InspectedCall, style: Style, width: number): string => {
  const heading = `${style.title(`Call of ${plain(tool)}`)} ${style.dim(plain(JSON.stringify(given), width))}`
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

/** Lines that are shown of the content, and of each block of it; `--json` has them all. */
const mostLines = 60
const mostOfBlock = 20

const lines = (text: string, width: number): readonly string[] => plainLines(text, mostOfBlock, width - 4).map(line => `    ${line}`)

const blockLines = (block: Json, width: number): readonly string[] => {
  const type = isObject(block) ? member(block, 'type') : undefined
  const text = isObject(block) ? member(block, 'text') : undefined
  if (type === 'text' && isString(text)) return lines(text, width)
  return lines(plain(JSON.stringify(block), width - 4), width)
}

const summary = ({ tools, lists, findings }: Inspection, style: Style, width: number): string => {
  const counts = [
    count(tools.length, 'tool'),
    count(lists.prompts.items.length, 'prompt'),
    count(lists.resources.items.length + lists.resourceTemplates.items.length, 'resource'),
  ].join(', ')
  const blocked = findings.filter(({ action }) => action === 'block').length
  const rest = findings.length - blocked
  const verdict =
    blocked > 0
      ? `${style.bad(`✗ ${count(blocked, 'finding')} of action block`)}${rest > 0 ? `, ${rest} more` : ''}`
      : `${style.good('✓ nothing that the policy blocks')}${rest > 0 ? `, ${count(rest, 'finding')}` : ''}`
  const onlyTrust = findings.some(({ rule, action }) => rule === 'tool/annotations' && action === 'block')
  const hint = 'Annotations are taken from the tools of a server that nobody has said to trust: --trust, or a trust list, keeps them.'
  return [`${counts}: ${verdict}`, ...(onlyTrust ? wrap(hint, width).map(style.dim) : [])].join('\n')
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
