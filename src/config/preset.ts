import { readFileSync } from 'node:fs'
import type { Action } from '../core/policy.js'
import { ruleNames, type RuleName } from '../core/rule-name.js'

export const presets = ['observe', 'standard', 'strict'] as const

export type Preset = (typeof presets)[number]

export interface Circumstances {
  /** Rules under advice/ are off in relays, unless the operator names them. */
  readonly purpose: 'relay' | 'inspect'
  /** There is a lock file: drift from it counts for more. */
  readonly locked: boolean
}

/** In the presets, an action may depend on the circumstances; in the operator's files it may not. */
type Conditional = Action | { readonly inspect: Action; readonly relay: Action } | { readonly locked: Action; readonly otherwise: Action }

/** The action of every rule. A preset is part of the package: read as it is, and held to the contract by a test. */
export const presetPolicy = (preset: Preset, circumstances: Circumstances): Map<RuleName, Action> => {
  const text = readFileSync(new URL(`../../config/${preset}.json`, import.meta.url), 'utf8')
  const { rules } = JSON.parse(text) as { rules: Readonly<Record<RuleName, Conditional>> }
  return new Map(ruleNames.map(rule => [rule, actionIn(rules[rule], circumstances)]))
}

const actionIn = (setting: Conditional, { purpose, locked }: Circumstances): Action => {
  if (typeof setting === 'string') return setting
  if ('inspect' in setting) return setting[purpose]
  return locked ? setting.locked : setting.otherwise
}

/**
 * To demote is to keep the result's content blocks: where the blocks themselves are at fault (content/), or there is no
 * result (wire/, tool/, call/, server/), there is nothing to demote to.
 */
export const allows = (rule: RuleName, action: Action): boolean => action !== 'demote' || rule.startsWith('result/')

export const onlyResults = 'demote is for rules under result/ only'
