import { type Action, actionOf, type Policy } from '../core/findings.js'
import { type RuleName, ruleNames } from '../rules/index.js'

/**
 * The policy of the relay that inspects: everything is found and nothing is changed, so that the definitions are seen as the
 * server sent them. Two things are kept from passing all the same: what cannot be read as the answer to a request (it would
 * never be answered), and a call that the operator's policy would not let through to the server. That a server that nobody trusts
 * has annotations is not looked for: it is told once, and is no fault.
 */
export const watching = (policy: Policy): Policy =>
  new Map(ruleNames.map(rule => [rule, watch(rule, actionOf(policy, rule))]))

const watch = (rule: RuleName, action: Action): Action => {
  if (rule === 'tool/annotations') return 'off'
  if (rule.startsWith('wire/') && rule !== 'wire/ambiguous') return 'block'
  return rule.startsWith('call/') || action === 'off' ? action : 'log'
}
