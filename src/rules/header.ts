import { member } from '../protocol/json.js'
import { paramHeaders } from '../protocol/param-headers.js'
import { traitsOf } from '../protocol/revision.js'
import type { Powers } from '../core/rule.js'
import { nothing } from './problem.js'

/** Legacy revisions know nothing of `x-mcp-header`: to them it is one more keyword that nobody reads. */
export const header: Powers = {
  onTool({ definition, path, revision }, meter) {
    if (!traitsOf(revision).modern) return nothing
    return paramHeaders(member(definition, 'inputSchema'), meter).problems.map(problem => ({
      path: `${path}/inputSchema${problem.path}`,
      message: problem.message,
    }))
  },
}
