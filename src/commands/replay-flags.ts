import { about, type Flags, type Given } from './flag.js'
import { readFlags, relayFlags, sharedFlags, type SharedFlags } from './flags.js'

const { config, server, policy, rule, trust, 'trust-list': trustList } = sharedFlags
const { lock } = relayFlags

export const replayFlags: Flags = {
  ...(config && { config }),
  ...(server && { server: { ...server, describe: 'which server of the file; else the one that the capture names' } }),
  ...(policy && { policy: { ...policy, describe: 'observe, standard, strict, or a policy file; else as it was captured' } }),
  ...(rule && { rule }),
  ...(trust && { trust }),
  ...(trustList && { 'trust-list': trustList }),
  ...(lock && { lock }),
  ...about('Report', { json: { type: 'boolean', describe: 'report as JSON' } }),
}

export interface ReplayFlags {
  readonly shared: SharedFlags
  readonly json: boolean
}

/** @throws CustomsError BAD_USAGE */
export const readReplayFlags = (given: Given): ReplayFlags => ({ shared: readFlags(replayFlags, given), json: given.get('json') === true })
