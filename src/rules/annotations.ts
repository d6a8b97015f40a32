import { isObject, member } from '../protocol/json.js'
import type { Rule } from '../core/rule.js'
import { nothing, one } from './finding.js'

const untrusted: Rule = {
  name: 'tool/annotations',
  onTool: ({ definition, path, trusted }) =>
    trusted || member(definition, 'annotations') === undefined
      ? nothing
      : one('tool/annotations', `${path}/annotations`, 'come from a server that the operator does not trust'),
}

/**
 * Only what cannot both be true. The specification calls `idempotentHint` and `destructiveHint` meaningless for a tool
 * that is read-only, and many servers write them out with their defaults: that alone contradicts nothing.
 */
const contradiction: Rule = {
  name: 'tool/contradiction',
  onTool({ definition, path }) {
    const annotations = member(definition, 'annotations')
    if (!isObject(annotations)) return nothing
    const says = (hint: string) => member(annotations, hint) === true
    return says('readOnlyHint') && says('destructiveHint')
      ? one('tool/contradiction', `${path}/annotations`, 'a tool cannot be read-only and destructive')
      : nothing
  },
}

export const annotations: readonly Rule[] = [untrusted, contradiction]
