import { parseAddress, type Address } from '../config/address.js'
import { CustomsError } from '../errors.js'
import { sharedFlags, text, texts, type Flag, type Given } from './flags.js'

export const serveFlags: Readonly<Record<string, Flag>> = {
  ...sharedFlags,
  listen: { type: 'string', describe: 'HOST:PORT to listen on; port 0 picks one (default: 127.0.0.1:7400)' },
  'allow-host': { type: 'string', multiple: true, describe: 'accept this Host header too, beside the loopback names (repeatable)' },
  'allow-origin': { type: 'string', multiple: true, describe: 'accept web pages of this Origin (repeatable)' },
  admin: { type: 'string', describe: 'HOST:PORT for /healthz, /readyz and /metrics (default: off)' },
  grace: { type: 'string', describe: 'seconds that running requests get when the relay is told to stop (default: 10)' },
}

export interface ServeFlags {
  readonly listen: Address | undefined
  readonly allowHosts: readonly string[]
  readonly allowOrigins: readonly string[]
  readonly admin: Address | undefined
  readonly graceMs: number | undefined
}

/** @throws CustomsError BAD_USAGE */
export const readServeFlags = (given: Given): ServeFlags => ({
  listen: address(given, 'listen'),
  allowHosts: texts(given, 'allow-host'),
  allowOrigins: texts(given, 'allow-origin'),
  admin: address(given, 'admin'),
  graceMs: seconds(given, 'grace'),
})

const address = (given: Given, name: string): Address | undefined => {
  const value = text(given, name)
  if (value === undefined) return undefined
  const parsed = parseAddress(value)
  if (parsed === undefined) {
    throw new CustomsError('BAD_USAGE', `--${name} ${JSON.stringify(value)}: must be HOST:PORT, such as 127.0.0.1:7400 or [::1]:0`)
  }
  return parsed
}

const seconds = (given: Given, name: string): number | undefined => {
  const value = text(given, name)
  if (value === undefined) return undefined
  if (!/^\d{1,6}(?:\.\d+)?$/.test(value)) {
    throw new CustomsError('BAD_USAGE', `--${name} ${JSON.stringify(value)}: must be a number of seconds`)
  }
  return Number(value) * 1000
}
