import type { Action, Policy } from '#relay/core/vocabulary.js'
import { type Circumstances, type Preset, presetPolicy, type RuleName } from '#relay/rules/index.js'

export { presets, type Circumstances, type Preset } from '#relay/rules/index.js'

/** Why a rule cannot have an action. */
export const notFor = (action: Action): string =>
  action === 'mend'
    ? 'mend is for rules that say how, which this one does not'
    : 'demote is for rules under result/ only'

/** The operator's choices for single rules. */
export type Rules = ReadonlyMap<RuleName, Action>

/** A preset, and a policy file's choices, which override it. */
export interface BasePolicy {
  readonly preset: Preset
  readonly rules: Rules
}

/** One source of policy settings: the file, a server in it, the flags. */
export interface PolicyLayer {
  readonly policy?: BasePolicy | undefined
  readonly rules?: Rules | undefined
}

/**
 * The action of every rule. The last layer that names a policy gives the base; then every layer's rules
 * override it, in order, so that a choice for one rule survives a change of the policy.
 * @param layers from general to specific: file, server, flags
 */
export const resolvePolicy = (layers: readonly PolicyLayer[], circumstances: Circumstances): Policy => {
  const base = layers.reduce<BasePolicy | undefined>((last, { policy }) => policy ?? last, undefined)
  const policy = presetPolicy(base?.preset ?? 'standard', circumstances)
  for (const rules of [base?.rules, ...layers.map(layer => layer.rules)]) {
    for (const [rule, action] of rules ?? []) policy.set(rule, action)
  }
  return policy
}
