import { type Action, actions } from '#relay/core/vocabulary.js'
import { CustomsError } from '#relay/base/errors.js'
import type { Environment } from '#relay/base/platform/machine.js'
import { actionsOf, isRuleName, presets, ruleNames } from '#relay/rules/index.js'
import { orList, suggestion } from './check.js'
import { readChecked } from './file.js'
import { isPolicyFile } from './generated/checks.js'
import { defaults } from './generated/defaults.js'
import type * as Written from './generated/types.js'
import { notFor, type BasePolicy, type Rules } from './policy.js'
import { fail, namedAt, pathFrom, type Keys, type ConfigurationSource } from './source.js'

/**
 * The value of `--policy`: a preset, or the path of a policy file.
 * @throws CustomsError BAD_USAGE, or BAD_CONFIG for errors in the file
 */
export const readPolicy = async (name: string, environment: Environment): Promise<BasePolicy> => {
  const preset = presets.find(candidate => candidate === name)
  if (preset !== undefined) return { preset, rules: new Map() }
  // A misspelt preset is not looked for among the files.
  if (!/^[\w-]+$/.test(name)) return readPolicyFile(name, environment)
  const choices = `${presets.join(', ')}; a file is named by a path, such as ./policy.yaml`
  const reason = `no such preset${suggestion(name, presets)} (${choices})`
  throw new CustomsError('BAD_USAGE', `--policy ${JSON.stringify(name)}: ${reason}`)
}

/**
 * `{ extends: standard, rules: { … } }`
 * @throws CustomsError BAD_CONFIG
 */
const readPolicyFile = (file: string, environment: Environment): Promise<BasePolicy> =>
  readChecked(file, environment, isPolicyFile, written => ({
    preset: written.extends ?? defaults.policy,
    rules: readRules(written.rules, ['rules']),
  }))

/** The `policy` of a configuration or of a server in it. */
export const readBasePolicy = async (
  written: string | undefined, keys: Keys, source: ConfigurationSource,
): Promise<BasePolicy | undefined> => {
  const preset = presets.find(candidate => candidate === written)
  if (preset !== undefined) return { preset, rules: new Map() }
  return written === undefined
    ? undefined
    : namedAt(keys, readPolicyFile(pathFrom(source, written), source.environment))
}

/**
 * The `rules` of a file: the schema knows their names and actions, but not which rules can mend or demote.
 */
export const readRules = (written: Written.Rules | undefined, keys: Keys): Rules =>
  new Map(Object.entries(written ?? {}).map(([name, action]: [string, Action]) => {
    if (!isRuleName(name)) return fail([...keys, name], 'unknown rule')
    return actionsOf(name).includes(action) ? [name, action] : fail([...keys, name], notFor(action))
  }))

/**
 * The values of `--rule ID=ACTION`; the last one of a rule wins.
 * @throws CustomsError BAD_USAGE
 */
export const parseRules = (flags: readonly string[]): Rules =>
  new Map(flags.map(flag => {
    const refuse = (reason: string): never => {
      throw new CustomsError('BAD_USAGE', `--rule ${JSON.stringify(flag)}: ${reason}`)
    }
    const [name = '', asked = '', ...rest] = flag.split('=')
    if (asked === '' || rest.length > 0) return refuse('must be ID=ACTION')
    if (!isRuleName(name)) return refuse(`unknown rule${suggestion(name, ruleNames)}`)
    const action = actions.find(candidate => candidate === asked)
    if (action === undefined) {
      return refuse(`unknown action ${JSON.stringify(asked)}: must be ${orList(actionsOf(name))}`)
    }
    return actionsOf(name).includes(action) ? [name, action] : refuse(notFor(action))
  }))
