import { actions, type Action, type Policy } from '../core/policy.js'
import { actionsOf, isRuleName, presetPolicy, presets, ruleNames, type Circumstances, type Preset, type RuleName } from '../rules/index.js'
import { CustomsError } from '../errors.js'
import { readData } from './file.js'
import { Setting, type Environment } from './setting.js'
import { suggestion } from './suggestion.js'

export { presets, type Circumstances, type Preset } from '../rules/index.js'

export const onlyResults = 'demote is for rules under result/ only'

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

/**
 * The value of `--policy`: a preset, or the path of a policy file.
 * @throws CustomsError BAD_USAGE, or BAD_CONFIG for what is in the file
 */
export const readPolicy = async (name: string, environment: Environment): Promise<BasePolicy> => {
  if (isPlainName(name)) {
    const preset = presets.find(candidate => candidate === name)
    if (preset !== undefined) return { preset, rules: new Map() }
    throw new CustomsError('BAD_USAGE', `--policy ${JSON.stringify(name)}: ${noPreset(name)}`)
  }
  return readPolicyFile(name, environment)
}

/** The same of a `policy` key. */
export const policyOf = async (setting: Setting): Promise<BasePolicy> => {
  const name = setting.text()
  if (!isPlainName(name)) return readPolicyFile(setting.path(), setting.source.environment)
  const preset = presets.find(candidate => candidate === name)
  return preset === undefined ? setting.fail(noPreset(name)) : { preset, rules: new Map() }
}

// A misspelt preset shall not be looked for among the files.
const isPlainName = (name: string): boolean => /^[\w-]+$/.test(name)

const noPreset = (name: string): string =>
  `no such preset${suggestion(name, presets)} (${presets.join(', ')}; a file is named by a path, such as ./policy.yaml)`

/** `{ extends: standard, rules: { … } }`; without `extends`, standard. */
const readPolicyFile = async (file: string, environment: Environment): Promise<BasePolicy> => {
  const at = new Setting({ file, environment }, await readData(file)).known(['extends', 'rules'])
  return { preset: at('extends')?.choice(presets, 'preset') ?? 'standard', rules: readRules(at('rules')) }
}

export const readRules = (setting: Setting | undefined): Rules =>
  new Map(setting?.members().map(([name, value]) => {
    if (!isRuleName(name)) return value.fail(`unknown rule${suggestion(name, ruleNames)}`)
    const action = value.choice(actions, 'action')
    return actionsOf(name).includes(action) ? [name, action] : value.fail(onlyResults)
  }))

/**
 * The values of `--rule ID=ACTION`; the last one of a rule wins.
 * @throws CustomsError BAD_USAGE
 */
export const parseRules = (flags: readonly string[]): Rules =>
  new Map(flags.map(flag => {
    const fail = (reason: string): never => {
      throw new CustomsError('BAD_USAGE', `--rule ${JSON.stringify(flag)}: ${reason}`)
    }
    const [name = '', asked = '', ...rest] = flag.split('=')
    if (asked === '' || rest.length > 0) return fail('must be ID=ACTION')
    if (!isRuleName(name)) return fail(`unknown rule${suggestion(name, ruleNames)}`)
    const action = actions.find(candidate => candidate === asked)
    if (action === undefined) return fail(`unknown action${suggestion(asked, actions) || `: ${actions.join(', ')}`}`)
    return actionsOf(name).includes(action) ? [name, action] : fail(onlyResults)
  }))
