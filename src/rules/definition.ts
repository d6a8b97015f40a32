import { isObject, isString, member } from '../protocol/json.js'
import { toolShape } from '../protocol/mcp.js'
import type { SchemaProblem } from '../core/check.js'
import type { Rule } from '../core/rule.js'
import type { RuleName } from '../core/rule-name.js'
import { below, nothing, ofKind, one } from './finding.js'

const definition: Rule = {
  name: 'tool/definition',
  onTool: ({ definition, path, revision }) =>
    toolShape(revision)(definition).map(misfit => ({
      rule: 'tool/definition',
      path: below(path, ...misfit.path),
      message: misfit.message,
    })),
}

const inputType: Rule = {
  name: 'tool/input-type',
  onTool({ definition, path }) {
    const schema = member(definition, 'inputSchema')
    if (!isObject(schema) || member(schema, 'type') === 'object') return nothing
    return one('tool/input-type', `${path}/inputSchema`, 'must have "type": "object"')
  },
}

const name: Rule = {
  name: 'tool/name',
  onTool({ definition, path }) {
    const name = member(definition, 'name')
    if (!isString(name) || /^[A-Za-z0-9_.-]{1,128}$/.test(name)) return nothing
    return one('tool/name', `${path}/name`, 'must be 1 to 128 letters, digits, underscores, hyphens and dots (ASCII)')
  },
}

/** What the inspection of a schema found; of the kinds that only values have, none is expected, and none passes. */
const ofInspection = (name: RuleName, isIts: (kind: SchemaProblem['kind']) => boolean): Rule => ({
  name,
  onTool: ({ schemas }) => ofKind(name, schemas, isIts),
})

export const definitionRules: readonly Rule[] = [
  definition,
  inputType,
  name,
  ofInspection('tool/schema', kind => kind !== 'external-ref' && kind !== 'cost'),
  ofInspection('tool/external-ref', kind => kind === 'external-ref'),
  ofInspection('tool/schema-cost', kind => kind === 'cost'),
]
