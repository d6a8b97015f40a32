import { OverBudget } from '../protocol/meter.js'
import type { Findings } from './findings.js'
import type { RelayOptions } from './options.js'
import { actionOf, type Policy } from './policy.js'
import type { Power, Powers, Rule, Subjects } from './rule.js'

/** Asks every rule that has the power. @param path where a rule is reported that crashed */
export type Ask = <Asked extends Power>(power: Asked, subject: Subjects[Asked], into: Findings, path: string) => void

const powers: readonly Power[] = [
  'onFrame', 'onId', 'onTool', 'onDrift', 'onSurplus', 'onList', 'onCall', 'onArguments', 'onResult', 'onReading', 'onServerRequest',
]

/**
 * The rules that the policy has on, ready to be asked, each only about what it has a power for. A rule that throws is a finding
 * of its own: a check that cannot be done never passes in silence.
 */
export const askFor = (options: Pick<RelayOptions, 'rules' | 'policy'>): Ask => {
  let policy: Policy | undefined
  let having: ReadonlyMap<Power, readonly Rule[]> = new Map()
  return (power, subject, into, path) => {
    if (policy !== options.policy) {
      const now = (policy = options.policy)
      const on = options.rules.filter(({ name }) => actionOf(now, name) !== 'off')
      having = new Map(powers.map(power => [power, on.filter(rule => rule[power] !== undefined)]))
    }
    for (const rule of having.get(power) ?? []) {
      const asked: Powers = rule
      try {
        const problems = asked[power]?.(subject, into.meter)
        if (problems !== undefined) into.add(rule.name, problems)
      } catch (error) {
        if (error instanceof OverBudget) into.overBudget(error.message)
        else into.add(rule.name, [{ path, message: 'the rule failed on this message' }])
      }
    }
  }
}
