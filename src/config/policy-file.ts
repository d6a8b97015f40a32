import { CustomsError } from '../errors.js'
import { presets } from '../rules/index.js'
import type { Environment } from './environment.js'
import { readChecked } from './file.js'
import { isPolicyFile } from './generated/checks.js'
import { defaults } from './generated/defaults.js'
import type { BasePolicy } from './policy.js'
import type { Keys } from './problem.js'
import { readRules } from './rules.js'
import { namedAt, pathFrom, type Source } from './source.js'
import { suggestion } from './suggestion.js'

/**
 * The value of `--policy`: a preset, or the path of a policy file.
 * @throws CustomsError BAD_USAGE, or BAD_CONFIG for what is in the file
 */
export const readPolicy = async (name: string, environment: Environment): Promise<BasePolicy> => {
  const preset = presets.find(candidate => candidate === name)
  if (preset !== undefined) return { preset, rules: new Map() }
  // A misspelt preset shall not be looked for among the files.
  if (!/^[\w-]+$/.test(name)) return readPolicyFile(name, environment)
  const hint = `${suggestion(name, presets)} (${presets.join(', ')}; a file is named by a path, such as ./policy.yaml)`
  throw new CustomsError('BAD_USAGE', `--policy ${JSON.stringify(name)}: no such preset${hint}`)
}

/**
 * `{ extends: standard, rules: { … } }`
 * @throws CustomsError BAD_CONFIG
 */
export const readPolicyFile = (file: string, environment: Environment): Promise<BasePolicy> =>
  readChecked(file, environment, isPolicyFile, written => ({
    preset: written.extends ?? defaults.policy,
    rules: readRules(written.rules, ['rules']),
  }))

/** The `policy` of a file. */
export const readBasePolicy = async (written: string | undefined, keys: Keys, source: Source): Promise<BasePolicy | undefined> => {
  const preset = presets.find(candidate => candidate === written)
  if (preset !== undefined) return { preset, rules: new Map() }
  return written === undefined ? undefined : namedAt(keys, readPolicyFile(pathFrom(source, written), source.environment))
}
