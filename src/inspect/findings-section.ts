import { severer } from '../core/findings.js'
import { type RuleName, ruleNamed } from '../rules/index.js'
import type { Inspection, Weighed } from './inspection.js'
import { plain } from './plain.js'
import type { Style } from './style.js'
import { wrap } from './wrap.js'

const symbols = { block: '✗', demote: '!', mend: '~', log: '·' } as const

/** A rule, behind the sign of what the policy does about it. */
export const marked = (rule: RuleName, action: Weighed['action'], style: Style): string => {
  const looks = { block: style.bad, demote: style.warn, mend: style.warn, log: rule.startsWith('advice/') ? style.dim : style.warn }
  return looks[action](`${symbols[action]} ${rule}`)
}

/** One finding of each rule, those of the severest action first. */
export const worst = (findings: readonly Weighed[]): readonly Weighed[] =>
  bySeverity([...new Map(findings.map(finding => [finding.rule, finding])).values()])

const bySeverity = (findings: readonly Weighed[]): readonly Weighed[] =>
  [...findings].sort((a, b) => (a.action === b.action ? 0 : severer(a.action, b.action) === a.action ? -1 : 1))

/** Messages and subjects told of one rule; `--json` has them all. */
const mostMessages = 5
const mostSubjects = 12

/** Every broken rule once: what is wrong, where, and what to do about it. */
export const findingsSection = ({ findings, tools }: Inspection, style: Style, width: number): string => {
  if (findings.length === 0) return ''
  return [
    style.title(`Findings (${findings.length})`),
    ...worst(findings).map(({ rule, action }) => {
      const its = findings.filter(finding => finding.rule === rule)
      const times = its.length > 1 ? `, ${its.length} times` : ''
      const help = wrap(ruleNamed(rule)?.help ?? '', width - 8).map((line, index) => `      ${index === 0 ? '→' : ' '} ${line}`)
      return [
        `  ${marked(rule, action, style)} ${style.dim(`(${action}${times})`)}`,
        ...messages(its, tools.length, style, width),
        ...help,
        ...remedy(rule, style, width),
      ].join('\n')
    }),
  ].join('\n')
}

/** How a relay makes it right, and what becomes of it where none does. */
const remedy = (rule: RuleName, style: Style, width: number): readonly string[] => {
  const { mend, mends, refused } = ruleNamed(rule) ?? {}
  if (mends === undefined || mend?.isBlock === true) return []
  const otherwise = refused === undefined ? '' : `; where nobody does, strict clients ${refused}`
  return wrap(`--policy compat: ${mends.replaceAll('`', '')}${otherwise}`, width - 6).map(line => style.dim(`      ${line}`))
}

const messages = (findings: readonly Weighed[], mostTools: number, style: Style, width: number): readonly string[] => {
  const byMessage = new Map<string, Weighed[]>()
  for (const finding of findings) {
    const alike = byMessage.get(finding.message)
    if (alike === undefined) byMessage.set(finding.message, [finding])
    else alike.push(finding)
  }
  const told = [...byMessage].slice(0, mostMessages).flatMap(([message, its]) => [
    ...wrap(plain(message, 300), width - 6).map(line => `      ${line}`),
    ...wrap(subjects(its, mostTools), width - 8).map(line => style.dim(`        ${line}`)),
  ])
  return byMessage.size > mostMessages ? [...told, style.dim(`      and ${byMessage.size - mostMessages} more`)] : told
}

const subjects = (findings: readonly Weighed[], mostTools: number): string => {
  const all = [...new Set(findings.map(subject))]
  const isEvery = all.length > 1 && all.length === mostTools && findings.every(({ item, within }) => item !== undefined && within === '')
  if (isEvery) return `all ${mostTools} tools`
  const more = all.length > mostSubjects ? [`and ${all.length - mostSubjects} more`] : []
  return [...all.slice(0, mostSubjects), ...more].join(', ')
}

/** The tool and the place in it, or else the place in what the server sent. */
const subject = ({ tool, event, within }: Weighed): string => {
  const place = plain(within, 200)
  if (tool === undefined) return `${plain(event)} ${place}`.trim()
  return event === 'tools/list' ? `${plain(tool)}${place === '' ? '' : ` ${place}`}` : `${plain(tool)} ${place}`
}
