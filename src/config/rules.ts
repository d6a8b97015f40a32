import { type Action, actions } from '../core/findings.js'
import { CustomsError } from '../errors.js'
import { actionsOf, isRuleName, ruleNames } from '../rules/index.js'
import type * as Written from './generated/types.js'
import { notFor, type Rules } from './policy.js'
import { fail, type Keys } from './problem.js'
import { suggestion } from './suggestion.js'

/** The `rules` of a file: the schema knows their names and actions, but not which can be mended. */
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
    if (action === undefined) return refuse(`unknown action${suggestion(asked, actions) || `: ${actions.join(', ')}`}`)
    return actionsOf(name).includes(action) ? [name, action] : refuse(notFor(action))
  }))
