import type { Implementation } from '#relay/core/terms.js'
import { profilesFor, combinedOf } from './index.js'
import { longestName } from './profile.js'

/** What a client takes of a list of tools, whatever their definitions are. */
export interface ListLimits {
  /** The profiles' names. */
  readonly profile: string
  /** Characters of a name. */
  readonly longest: number
  /** Most tools; Infinity: any number. */
  readonly tools: number
}

/** @param client as it calls itself; undefined where that was not seen */
export type ClientLimits = (client: Implementation | undefined) => ListLimits

/** Characters of a name that model APIs take, also where no profile says so (docs/clients.md). */
const usualLongest = 64

/**
 * @param names of profiles
 * @param server the name that clients know, which some put before the names of tools
 */
export const limitsFor = (names: readonly string[], server: string): ClientLimits => {
  // Each tool of a list asks for them.
  let [last, limits]: [string | undefined, ListLimits | undefined] = [undefined, undefined]
  return client => {
    if (limits !== undefined && client?.name === last) return limits
    const chosen = profilesFor(names, client)
    const { toolName, tools = Infinity } = combinedOf(chosen) ?? {}
    last = client?.name
    return (limits = {
      profile: chosen.map(({ name }) => name).join(', '),
      longest: toolName === undefined ? usualLongest : Math.min(usualLongest, longestName(toolName, server)),
      tools,
    })
  }
}
