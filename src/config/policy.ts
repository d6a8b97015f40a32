import type { Action, Policy } from '../core/findings.js'
import { type Circumstances, type Preset, presetPolicy, type RuleName } from '../rules/index.js'

export { presets, type Circumstances, type Preset } from '../rules/index.js'

/** Why a rule cannot have an action. */
export const notFor = (action: Action): string =>
  action === 'mend' ? 'mend is for rules that say how, which this one does not' : 'demote is for rules under result/ only'

/** Actions that the operator chose for some of the rules. */
export type Rules = ReadonlyMap<RuleName, Action>

/** A preset, and what a policy file says over it. */
export interface BasePolicy {
  readonly preset: Preset
  readonly rules: Rules
}

/** What one place (the file, a server of it, the flags) says about the policy. */
export interface PolicyLayer {
  readonly policy?: BasePolicy | undefined
  readonly rules?: Rules | undefined
}

/**
 * The action of every rule. The last layer that names a policy gives the base; then every layer's rules go over it, in
 * order, so that a choice made for one rule outlives a change of policy.
 * @param layers from the most general to the most particular: file, server, flags
 */
export const resolvePolicy = (layers: readonly PolicyLayer[], circumstances: Circumstances): Policy => {
  const base = layers.reduce<BasePolicy | undefined>((last, { policy }) => policy ?? last, undefined)
  const policy = presetPolicy(base?.preset ?? 'standard', circumstances)
  for (const rules of [base?.rules, ...layers.map(layer => layer.rules)]) {
    for (const [rule, action] of rules ?? []) policy.set(rule, action)
  }
  return policy
}
