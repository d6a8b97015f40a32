import type { JsonObject, Meter } from '#relay/protocol/json.js'
import type { Core } from './core.js'
import type { Findings } from './findings.js'
import type { Problem } from './rule.js'
import type { Implementation } from './terms.js'

/** How one client is shown the server's tools: by the profiles of what it accepts (src/profiles). */
export interface ClientShape {
  /** The profiles' names. */
  readonly name: string
  /** Most tools; undefined: any number. */
  readonly tools: number | undefined
  /**
   * Why the client refuses a definition. What cannot be adapted is withheld, unless the problem is minor.
   * @returns paths within the definition
   */
  readonly refusals: (definition: JsonObject, meter: Meter) => readonly Problem[]
  /** The definition as the client accepts it; the same where it is accepted as it is. */
  readonly adapted: (definition: JsonObject, meter: Meter) => JsonObject
  /**
   * The arguments of a call without nulls that may stand for an argument left out, if any. Undefined for a
   * client that can leave arguments out.
   * @param refused the paths at which the schema refuses the arguments as they are
   */
  readonly withoutNulls: undefined | ((
    given: JsonObject, inputSchema: JsonObject, refused: ReadonlySet<string>, meter: Meter,
  ) => readonly JsonObject[])
}

/** The profiles that the operator chose for a server. */
export interface Shapes {
  readonly names: readonly string[]
  /** The tools are shown by the client's name. */
  readonly isPersonal: boolean
  /** @param client as it calls itself; undefined where that was not seen */
  readonly of: (client: Implementation | undefined) => ClientShape | undefined
}

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
