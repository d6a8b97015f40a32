import type { Entry } from '../core/event.js'
import { actionOf, type Policy } from '../core/findings.js'
import { isObject, isString, member } from '../protocol/unmetered.js'
import { Meter } from '../protocol/json.js'
import type { Revision } from '../protocol/revisions/index.js'
import { quote } from '../protocol/quote.js'
import type { Weighed } from './inspection.js'
import { ruleNamed, type RuleName } from '../rules/index.js'
import type { Item } from './lists.js'

/**
 * What the relay found, as the operator's policy weighs it.
 * @param tools every element of the tool list, by which findings about a page are told apart
 * @param revision by which the tools were judged
 */
export const weigh = (entries: readonly Entry[], policy: Policy, tools: readonly Item[], revision: Revision): readonly Weighed[] => {
  const listed = new Map(tools.map(item => [`${JSON.stringify(item.request)} ${item.index}`, item]))
  return entries.flatMap(({ event, id, tool, findings }) =>
    findings.flatMap((finding): Weighed[] => {
      const action = actionOf(policy, finding.rule)
      if (action === 'off') return []
      const [, index, within] = (event === 'tools/list' && /^\/result\/tools\/(\d+)(.*)$/s.exec(finding.path)) || []
      const item = index === undefined ? undefined : listed.get(`${JSON.stringify(id)} ${Number(index)}`)
      const weighed = action === 'mend' && item !== undefined && !canMend(finding.rule, item, revision) ? 'block' : action
      return [{ ...finding, action: weighed, event, tool: item ? toolName(item) : tool, item, within: within ?? finding.path }]
    }),
  )
}

/** Whether this very tool can be mended; a relay blocks what cannot. */
const canMend = (rule: RuleName, { value }: Item, revision: Revision): boolean => {
  const asked = { path: '', revision, trusted: false, schemas: [], repeated: false, first: undefined, settled: false, denied: false }
  return isObject(value) && ruleNamed(rule)?.mend?.onTool?.({ sent: value, definition: value, ...asked }, new Meter()) !== undefined
}

/** What an element of the list is called: by its name, or by its place when it has none. */
export const toolName = ({ value, request, index }: Item): string => {
  const name = isObject(value) ? member(value, 'name') : undefined
  return isString(name) ? name : `(element ${index} of page ${quote(String(request))})`
}
