import { about, type Flags, type Given, text } from '../flag.js'
import { readFlags, relayFlags, sharedFlags, type SharedFlags } from '../flags.js'

export const learnFlags: Flags = {
  ...sharedFlags,
  ...about('Contracts', {
    output: { type: 'string', short: 'o', value: 'DIR', describe: 'folder for the schemas, and for a configuration that names them (default: write nothing)' },
    all: { type: 'boolean', describe: 'learn for tools that declare an outputSchema as well' },
    strict: { type: 'boolean', describe: 'bounds of numbers, lengths and sizes as well: those that were seen' },
    json: { type: 'boolean', describe: 'report as JSON' },
    watch: { type: 'boolean', describe: 'stand before a server like wrap, keep counts alone, and say at the end which tools could have a contract' },
  }),
}

export interface LearnFlags {
  readonly output: string | undefined
  readonly all: boolean
  readonly strict: boolean
  readonly json: boolean
}

export const readLearnFlags = (given: Given): LearnFlags => ({
  output: text(given, 'output'),
  all: given.get('all') === true,
  strict: given.get('strict') === true,
  json: given.get('json') === true,
})

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
