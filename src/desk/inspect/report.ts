import { plainJson } from '#relay/protocol/quote.js'
import { isList, isRecord, isString, type Data, type DataObject, field } from '#relay/protocol/unmetered.js'
import { connectRefusal } from './connect.js'
import { enumerated } from './definition.js'
import { type InspectedCall, type Inspection, inspectionProblems } from './inspection.js'
import type { ListedItems } from './lists.js'
import { plain, plainLines } from '#relay/base/plain.js'
import { profilesSection } from './profiles.js'
import { count, fill, indent, type Style, wrapText } from '#desk/terminal/style.js'
import { findingsSection, toolsSection } from './tools.js'

/**
 * The inspection as text. Everything from the server passes `plain`.
 * @param width in characters
 */
export const report = (inspection: Inspection, style: Style, width: number): string =>
  [
    headerSection(inspection, style, width),
    toolsSection(inspection, style, width),
    otherLists(inspection, style, width),
    inspection.call && callSection(inspection.call, style, width),
    profilesSection(inspection.profiles, style, width),
    findingsSection(inspection, style, width),
    summary(inspection, style, width),
  ]
    .filter(section => section !== undefined && section !== '')
    .join('\n\n') + '\n'

const maxNames = 30

const otherLists = ({ lists }: Inspection, style: Style, width: number): string => {
  const section = (title: string, { items, problem }: ListedItems, key: string): readonly string[] => {
    if (items.length === 0 && problem === undefined) return []
    const names = items.slice(0, maxNames).map(({ value }) => nameOf(value, key))
    const more = items.length > maxNames ? [`and ${items.length - maxNames} more`] : []
    return [
      style.title(`${title} (${items.length})`),
      ...(names.length > 0 ? wrapText([...names, ...more].join(', '), width - 2).map(line => `  ${line}`) : []),
      ...(problem === undefined
        ? []
        : [`  ${style.bad(
            `✗ ${items.length === 0 ? 'cannot be listed' : 'not all of them'}: ${problem}`,
          )}`]),
    ]
  }
  return [
    ...section('Prompts', lists.prompts, 'name'),
    ...section('Resources', lists.resources, 'uri'),
    ...section('Resource templates', lists.resourceTemplates, 'uriTemplate'),
  ].join('\n')
}

const nameOf = (value: Data, key: string): string => {
  const name = isRecord(value) ? field(value, key) : undefined
  return isString(name) ? plain(name) : '(unnamed)'
}

const summary = (
  { tools, lists, findings, more: untold }: Inspection, style: Style, width: number,
): string => {
  const blocked = findings.filter(({ action }) => action === 'block').length
  const rest = findings.length - blocked
  const faults = [
    ...(blocked > 0 ? [`✗ ${count(blocked, 'finding')} of action block`] : []),
    ...(untold > 0 ? [`✗ ${count(untold, 'finding')} too many to be told`] : []),
    ...(inspectionProblems(lists).length > 0 ? ['✗ not everything could be listed'] : []),
  ]
  const isAdvice = findings.every(({ rule, action }) => action === 'block' || rule.startsWith('advice/'))
  const others = isAdvice
    ? `${rest} ${rest === 1 ? 'piece' : 'pieces'} of advice`
    : count(rest, blocked > 0 ? 'other finding' : 'finding')
  const verdict = [
    ...(faults.length > 0 ? faults.map(style.bad) : [style.good('✓ nothing that the policy blocks')]),
    ...(rest > 0 ? [others] : []),
  ]
  const counts = [
    `${count(tools.length, 'tool')},`,
    `${count(lists.prompts.items.length, 'prompt')},`,
    `${count(lists.resources.items.length + lists.resourceTemplates.items.length, 'resource')}:`,
  ]
  return fill([...counts, ...enumerated(verdict)], width).join('\n')
}

/** What the server says about itself, and facts common to all tools. */
const headerSection = (inspection: Inspection, style: Style, width: number): string => {
  const { target, saved, connected } = inspection
  const { instructions } = connected
  const isGuessed = saved?.hasGreeting === false
  const rows: readonly (readonly [string, string])[] = [
    ...(isGuessed ? [] : [['says it is', selfNamed(connected.serverInfo)] as const]),
    ['revision', revisionOf(inspection)],
    ...(isGuessed ? [] : [['capabilities', capabilitiesOf(connected.capabilities)] as const]),
    ['annotations', annotationsOf(inspection)],
    ...(instructions === undefined ? [] : [['instructions', `${JSON.stringify(plain(instructions, 240))} ` +
      `(${count(instructions.length, 'character')})`] as const]),
  ]
  const label = Math.max(...rows.map(([name]) => name.length)) + 2
  return [
    style.title(plain(target, 2 * width)),
    ...rows.map(([name, text]) =>
      `  ${style.dim(name.padEnd(label))}${indent(wrapText(text, width - label - 2), label + 2)}`),
  ].join('\n')
}

const selfNamed = (info: DataObject | undefined): string => {
  const text = (key: string): string => {
    const value = field(info, key)
    return isString(value) ? plain(value) : ''
  }
  const title = text('title')
  const named = [text('name'), text('version')].filter(part => part !== '').join(' ')
  if (named === '') return 'nobody (it gives no name)'
  return title === '' || title === text('name') ? named : `${named} (${title})`
}

const revisionOf = ({ saved, connected: { revision, supported } }: Inspection): string => {
  if (saved?.hasGreeting === false) return `${plain(revision)} (a guess: the file does not say)`
  const all = supported.length > 1 ? ` (supports ${supported.map(one => plain(one, 20)).join(', ')})` : ''
  return plain(revision) + all
}

const capabilitiesOf = (capabilities: DataObject): string => {
  const names = Object.keys(capabilities).slice(0, 20).map(name => {
    const value = field(capabilities, name)
    const within = isRecord(value) ? Object.keys(value).filter(key => value[key] !== false).slice(0, 10) : []
    return plain(name, 40) + (within.length > 0 ? ` (${within.map(key => plain(key, 40)).join(', ')})` : '')
  })
  return names.join(', ') || 'none'
}

const annotationsOf = ({ annotations: { tools, kept }, trusted }: Inspection): string => {
  if (tools === 0) return 'none'
  const fate = trusted ? 'kept: trusted' : kept
    ? 'kept by the policy, though not trusted'
    : 'removed by a relay: not trusted (--trust keeps them)'
  return `on ${count(tools, 'tool')}, ${fate}`
}

/** Lines shown of the content, and of each block; `--json` has them all. */
const maxLines = 60
const maxOfBlock = 20

/** The result of a call. */
const callSection = (
  { tool, arguments: given, response }: InspectedCall, style: Style, width: number,
): string => {
  const heading = `${style.title(`Call of ${plain(tool)}`)} ${style.dim(plain(JSON.stringify(given), width))}`
  if (response === undefined) {
    return `${heading}\n  ${style.bad('not made')}: it is not among the tools that could be listed`
  }
  if (response.kind === 'error') return `${heading}\n  ${style.bad('error')} ${connectRefusal(response)}`
  const { result } = response
  const content = field(result, 'content')
  const structured = field(result, 'structuredContent')
  const blocks =
    isList(content) ? content.slice(0, maxLines).flatMap(block => blockLines(block, width)) : []
  return [
    heading,
    ...(field(result, 'isError') === true
      ? [`  ${style.warn('isError: the tool says that it failed')}`]
      : []),
    ...(structured === undefined
      ? []
      : [`  ${style.dim('structuredContent')}`, ...lines(plainJson(structured), width)]),
    ...(blocks.length > 0 ? [`  ${style.dim('content')}`, ...blocks.slice(0, maxLines)] : []),
    ...(blocks.length > maxLines ? [style.dim('    … and more')] : []),
  ].join('\n')
}

const lines = (text: string, width: number): readonly string[] =>
  plainLines(text, maxOfBlock, width - 4).map(line => `    ${line}`)

const blockLines = (block: Data, width: number): readonly string[] => {
  const type = isRecord(block) ? field(block, 'type') : undefined
  const text = isRecord(block) ? field(block, 'text') : undefined
  if (type === 'text' && isString(text)) return lines(text, width)
  return lines(plain(JSON.stringify(block), width - 4), width)
}
