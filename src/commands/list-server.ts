import type { Configuration } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import { offerOf } from '../inspect/catalogue.js'
import type { Listed } from '../lock/lock.js'
import { traitsOf, nearest } from '../protocol/revisions/index.js'
import type { SharedFlags } from './flags.js'
import { inspectServer } from './inspection.js'
import { identityOf } from './lock-identity.js'
import type { ServerSetup } from './setup.js'

export interface Listing extends Pick<SharedFlags, 'audit' | 'logLevel'> {
  readonly timeoutMs: number
}

/**
 * Asks a server for all that can be locked of it, in each era that it speaks.
 * @returns the exit code when it was interrupted
 * @throws CustomsError
 */
export type ListServer = (setup: ServerSetup, configuration: Configuration, listing: Listing) => Promise<Listed | number>

export const listServer: ListServer = async (setup, configuration, listing) => {
  const inspect = (legacy: boolean) => inspectServer(setup, configuration, listing, { isNamed: true, timeoutMs: listing.timeoutMs, legacy, exact: true })
  const first = await inspect(false)
  if (typeof first === 'number') return first
  const isModern = traitsOf(nearest(first.connected.revision)).modern
  const second = isModern ? await inspect(true).catch(unspoken) : undefined
  if (typeof second === 'number') return second
  const legacy = isModern ? second : first
  return {
    // A package may be there only now that it was started.
    identity: await identityOf(setup.server),
    offers: { ...(legacy && { legacy: offerOf(legacy) }), ...(isModern && { modern: offerOf(first) }) },
  }
}

/** A server that cannot be begun with in the old way is a modern one. */
const unspoken = (error: unknown): undefined => {
  if (!(error instanceof CustomsError) || error.code !== 'CANNOT_REACH') throw error
}
