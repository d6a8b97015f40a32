import type { Configuration, LockSetting, ServerConfiguration } from '#relay/config/configuration.js'
import type { Accepted, Policy, Shapes } from '#relay/core/vocabulary.js'
import type { Judgement } from '#relay/core/options.js'
import type { CustomsError } from '#relay/base/errors.js'
import type { Translate } from '#relay/eras/index.js'
import { rules } from '#relay/rules/index.js'
import { mergedEntry } from '#relay/config/merge.js'
import { mergedName } from '../merge/names.js'

/** What is data of a server's setup: it can be sent to another process. */
export interface ServerSettings {
  readonly server: ServerConfiguration
  readonly policy: Policy
  /** The names of profiles, by which clients are shown its tools. */
  readonly profiles: readonly string[]
  readonly trusted: boolean
  /** Which sessions are translated between eras of MCP; undefined: none. */
  readonly translate: Translate | undefined
  /** The lock setting. */
  readonly lock: LockSetting | undefined
}

/** With what each process makes for itself. */
export interface ServerSetup extends Omit<ServerSettings, 'policy' | 'trusted'> {
  readonly judgement: Judgement
  /** Why a gateway does not start the server, while it serves the others: it is not the accepted one. */
  readonly refusal?: CustomsError | undefined
}

/** @param accepted the accepted definitions; undefined without a lock */
export const judgedBy = async (
  { policy, trusted, ...settings }: ServerSettings, configuration: Configuration,
  accepted: Accepted | undefined,
): Promise<ServerSetup> => {
  const { server, profiles } = settings
  const { name, tools, names } = server
  const { limits, audit: { intent } } = configuration
  return {
    ...settings,
    judgement: {
      server: name, rules, trusted, accepted, limits, intent,
      ruling: { policy, tools, names, shapes: await shapesFor(profiles, name) },
      minRevision: server.minRevision ?? configuration.minRevision,
      mergedName: await mergedNameIn(configuration, name),
    },
  }
}

// Readers are loaded on demand: a relay without them starts sooner.
const shapesFor = async (profiles: readonly string[], server: string): Promise<Shapes | undefined> =>
  (profiles.length === 0 ? undefined : (await import('#relay/profiles/shape.js')).shapesOf(profiles, server))

export const acceptedAtOnce = async (
  { server, lock }: ServerSettings, configuration: Configuration,
): Promise<Accepted | undefined> =>
  lock && (await import('#relay/lock/accepted.js')).acceptedOf(server, lock, configuration)

const mergedNameIn = async (
  { merge, profiles }: Configuration, name: string,
): Promise<Judgement['mergedName']> => {
  const server = merge?.servers.find(one => one.name === name)
  if (merge === undefined || server === undefined) return undefined
  const limitsOf = (await import('#relay/profiles/limits.js')).limitsFor(profiles, mergedEntry)
  const { separator } = merge
  return (tool, client) => mergedName(server, tool, { separator, longest: limitsOf(client).longest })
}
