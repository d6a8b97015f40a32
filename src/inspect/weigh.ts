import type { Entry } from '../core/effect.js'
import { actionOf, type Policy } from '../core/policy.js'
import { isObject, isString, member } from '../protocol/json.js'
import { quote } from '../protocol/quote.js'
import type { Weighed } from './inspection.js'
import type { Item } from './lists.js'

/**
 * What the relay found, as the operator's policy weighs it.
 * @param tools every element of the tool list, by which findings about a page are told apart
 */
export const weigh = (entries: readonly Entry[], policy: Policy, tools: readonly Item[]): readonly Weighed[] => {
  const listed = new Map(tools.map(item => [`${JSON.stringify(item.request)} ${item.index}`, item]))
  return entries.flatMap(({ event, id, tool, findings }) =>
    findings.flatMap((finding): Weighed[] => {
      const action = actionOf(policy, finding.rule)
      if (action === 'off') return []
      const [, index, within] = (event === 'tools/list' && /^\/result\/tools\/(\d+)(.*)$/s.exec(finding.path)) || []
      const item = index === undefined ? undefined : listed.get(`${JSON.stringify(id)} ${Number(index)}`)
      return [{ ...finding, action, event, tool: item ? toolName(item) : tool, item, within: within ?? finding.path }]
    }),
  )
}

/** What an element of the list is called: by its name, or by its place when it has none. */
export const toolName = ({ value, request, index }: Item): string => {
  const name = isObject(value) ? member(value, 'name') : undefined
  return isString(name) ? name : `(element ${index} of page ${quote(String(request))})`
}
