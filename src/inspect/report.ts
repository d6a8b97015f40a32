import { isObject, isString, member, type Json } from '../protocol/unmetered.js'
import { callSection } from './call-section.js'
import { findingsSection } from './findings-section.js'
import { headerSection } from './header-section.js'
import { problemsOf, type Inspection } from './inspection.js'
import type { Listing } from './lists.js'
import { plain } from './plain.js'
import type { Style } from './style.js'
import { toolsSection } from './tools-section.js'
import { count, fill, wrap } from './wrap.js'

/**
 * The inspection as text for people. Whatever the server said is in it only as `plain` lets it through.
 * @param width in characters
 */
export const report = (inspection: Inspection, style: Style, width: number): string =>
  [
    headerSection(inspection, style, width),
    toolsSection(inspection, style, width),
    otherLists(inspection, style, width),
    inspection.call && callSection(inspection.call, style, width),
    findingsSection(inspection, style, width),
    summary(inspection, style, width),
  ]
    .filter(section => section !== undefined && section !== '')
    .join('\n\n') + '\n'

const mostNames = 30

const otherLists = ({ lists }: Inspection, style: Style, width: number): string => {
  const section = (title: string, { items, problem }: Listing, key: string): readonly string[] => {
    if (items.length === 0 && problem === undefined) return []
    const names = items.slice(0, mostNames).map(({ value }) => nameOf(value, key))
    const more = items.length > mostNames ? [`and ${items.length - mostNames} more`] : []
    return [
      style.title(`${title} (${items.length})`),
      ...(names.length > 0 ? wrap([...names, ...more].join(', '), width - 2).map(line => `  ${line}`) : []),
      ...(problem === undefined ? [] : [`  ${style.bad(`✗ ${items.length === 0 ? 'cannot be listed' : 'not all of them'}: ${problem}`)}`]),
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

const summary = ({ tools, lists, findings, more: untold }: Inspection, style: Style, width: number): string => {
  const blocked = findings.filter(({ action }) => action === 'block').length
  const rest = findings.length - blocked
  const faults = [
    ...(blocked > 0 ? [`✗ ${count(blocked, 'finding')} of action block`] : []),
    ...(untold > 0 ? [`✗ ${count(untold, 'finding')} too many to be told`] : []),
    ...(problemsOf(lists).length > 0 ? ['✗ not everything could be listed'] : []),
  ]
  const isAdvice = findings.every(({ rule, action }) => action === 'block' || rule.startsWith('advice/'))
  const others = isAdvice ? `${rest} ${rest === 1 ? 'piece' : 'pieces'} of advice` : count(rest, blocked > 0 ? 'other finding' : 'finding')
  const verdict = [
    ...(faults.length > 0 ? faults.map(style.bad) : [style.good('✓ nothing that the policy blocks')]),
    ...(rest > 0 ? [others] : []),
  ]
  const counts = [
    `${count(tools.length, 'tool')},`,
    `${count(lists.prompts.items.length, 'prompt')},`,
    `${count(lists.resources.items.length + lists.resourceTemplates.items.length, 'resource')}:`,
  ]
  return fill([...counts, ...verdict.map((phrase, index) => (index + 1 < verdict.length ? `${phrase},` : phrase))], width).join('\n')
}
