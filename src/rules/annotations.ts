import { isObject, member, omit, type JsonObject } from '../protocol/json.js'
import { each, withMembers, type Meter } from '../protocol/meter.js'
import { titleOf } from '../protocol/mcp.js'
import type { Mend, Powers } from '../core/rule.js'
import { nothing, one } from './problem.js'

/** A title claims nothing of what the tool does. */
export const isAnnotated = (tool: JsonObject | undefined, meter: Meter): boolean => {
  const annotations = member(tool, 'annotations')
  return isObject(annotations) ? [...each(annotations, meter)].some(([key]) => key !== 'title') : annotations !== undefined
}

export const untrusted: Powers = {
  onTool: ({ definition, path, trusted }, meter) =>
    trusted || !isAnnotated(definition, meter) ? nothing : one(`${path}/annotations`, 'come from a server that the operator does not trust'),
}

export const withoutClaims: Mend = {
  isBlock: true,
  onTool({ definition = {} }, meter) {
    const title = titleOf(member(definition, 'annotations'))
    return title === undefined ? omit(definition, 'annotations') : withMembers(definition, { annotations: { title } }, meter)
  },
}

/**
 * Only what cannot both be true. The specification calls `idempotentHint` and `destructiveHint` meaningless for a tool
 * that is read-only, and many servers write them out with their defaults: that alone contradicts nothing.
 */
export const contradiction: Powers = {
  onTool({ definition, path }) {
    const annotations = member(definition, 'annotations')
    if (!isObject(annotations)) return nothing
    const says = (hint: string) => member(annotations, hint) === true
    return says('readOnlyHint') && says('destructiveHint')
      ? one(`${path}/annotations`, 'a tool cannot be read-only and destructive')
      : nothing
  },
}
