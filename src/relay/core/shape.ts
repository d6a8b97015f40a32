import type { Core } from './core.js'
import type { Findings } from './findings.js'
import type { ClientShape, Problem } from './vocabulary.js'

/**
 * Puts on record what the core changes for a client by itself.
 * @param change describes it
 * @returns false when the policy does not want the change
 */
export const tellChanges = (
  core: Core, shape: ClientShape, path: string, changes: readonly Problem[], change: string,
  findings: Findings,
): boolean => {
  const found = core.findings(findings.meter)
  core.ask('onShown', { definition: undefined, changes, path, shape }, found, path)
  const mendable = found.rules.filter(rule => core.mends.has(rule))
  const told = mendable.length === 0 ? found : core.findings(findings.meter)
  for (const rule of mendable) told.mended(rule, found, change)
  findings.include(told)
  return mendable.length > 0
}
