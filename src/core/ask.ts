import { actionOf, type Policy } from './policy.js'
import type { Finding, Power, Powers, Rule, Subjects } from './rule.js'

/** Asks every rule that has the power. @param path where a rule is reported that crashed */
export type Ask = <Asked extends Power>(power: Asked, subject: Subjects[Asked], path: string) => Finding[]

/**
 * The rules that the policy has on, ready to be asked, each only about what it has a power for. A rule that throws is a finding
 * of its own: a check that cannot be done never passes in silence.
 */
export const askFor = (rules: readonly Rule[], policy: Policy): Ask => {
  const on = rules.filter(({ name }) => actionOf(policy, name) !== 'off')
  const having = (power: Power): readonly Rule[] => on.filter(rule => rule[power] !== undefined)
  const asked: Readonly<Record<Power, readonly Rule[]>> = {
    onFrame: having('onFrame'),
    onTool: having('onTool'),
    onCall: having('onCall'),
    onResult: having('onResult'),
    onReading: having('onReading'),
    onServerRequest: having('onServerRequest'),
  }
  return (power, subject, path) => {
    const found: Finding[] = []
    for (const rule of asked[power]) {
      const powers: Powers = rule
      try {
        for (const finding of powers[power]?.(subject) ?? []) found.push(finding)
      } catch {
        found.push({ rule: rule.name, path, message: 'the rule failed on this message' })
      }
    }
    return found
  }
}
