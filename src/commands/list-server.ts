import type { Configuration } from '../config/configuration.js'
import { catalogueOf } from '../inspect/catalogue.js'
import type { Catalogue } from '../lock/compare.js'
import type { SharedFlags } from './flags.js'
import { inspectServer } from './inspection.js'
import { identityOf } from './lock-identity.js'
import type { ServerSetup } from './setup.js'

export interface Listing extends Pick<SharedFlags, 'audit' | 'logLevel'> {
  readonly timeoutMs: number
}

/**
 * Asks a server for all that can be locked of it.
 * @returns the exit code when it was interrupted
 * @throws CustomsError
 */
export type ListServer = (setup: ServerSetup, configuration: Configuration, listing: Listing) => Promise<Catalogue | number>

export const listServer: ListServer = async (setup, configuration, listing) => {
  const inspection = await inspectServer(setup, configuration, listing, { isNamed: true, timeoutMs: listing.timeoutMs })
  // A package may be there only now that it was started.
  return typeof inspection === 'number' ? inspection : catalogueOf(inspection, await identityOf(setup.server))
}
