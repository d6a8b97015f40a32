import { about, type Given, type Values } from '../flag.js'
import { readFlags, relayFlags, sharedFlags } from './relay.js'
import type { RelaySettings } from '#relay/host/settings.js'

export const ownLearnFlags = about('Contracts', {
  output: {
    type: 'string', short: 'o', value: 'DIR',
    describe: 'folder for the schemas, and for a configuration that names them (default: write nothing)',
  },
  all: { type: 'boolean', describe: 'learn for tools that declare an outputSchema as well' },
  strict: { type: 'boolean', describe: 'bounds of numbers, lengths and sizes as well: those that were seen' },
  json: { type: 'boolean', describe: 'report as JSON' },
  watch: {
    type: 'boolean',
    describe: 'stand before a server like wrap, keep counts alone, and say at the end which tools could ' +
      'have a contract',
  },
})

export const learnFlags = { ...sharedFlags, ...ownLearnFlags }

export type LearnFlags = Values<typeof ownLearnFlags>

const { config, server, policy, rule, trust, 'trust-list': trustList } = sharedFlags
const { lock } = relayFlags

export const replayFlags = {
  config,
  server: { ...server, describe: 'which server of the file to use (default: the one that the capture names)' },
  policy: { ...policy, describe: 'observe, standard, strict, or a policy file; else as it was captured' },
  rule, trust, 'trust-list': trustList, lock,
  ...about('Report', { json: { type: 'boolean', describe: 'report as JSON' } }),
} as const

export interface ReplayFlags {
  readonly shared: RelaySettings
  readonly json: boolean
}

/** @throws CustomsError BAD_USAGE */
export const readReplayFlags = (given: Given): ReplayFlags =>
  ({ shared: readFlags(replayFlags, given), json: given.get('json') === true })
