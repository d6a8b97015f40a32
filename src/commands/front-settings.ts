import { createSecureContext } from 'node:tls'
import type { Configuration, ListenerTls } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import type { EndpointsSettings, FrontSettings } from '../transport/front/front.js'
import type { FrontTls } from '../transport/front/listener.js'
import { readPem } from './upstream.js'

/**
 * What the configuration says of the front, now and whenever it is read again.
 * @throws CustomsError BAD_CONFIG for a certificate that cannot be used
 */
export const frontSettingsOf = ({ allowHosts, allowOrigins, tokens, tls }: Configuration): FrontSettings => ({
  allowHosts,
  allowOrigins,
  tokens,
  tls: tls && readTls(tls),
})

/** What it says of the endpoints. */
export const endpointsSettingsOf = ({ limits, sessions, tokens }: Configuration): EndpointsSettings => ({
  limits,
  maxSessions: sessions.max,
  maxProcesses: sessions.maxProcesses,
  bufferedBytes: limits.bufferedBytes,
  idleMs: sessions.idleMs,
  tokens,
})

const readTls = ({ cert, key, clientCa }: ListenerTls): FrontTls => {
  const read = { cert: readPem(cert), key: readPem(key), ...(clientCa !== undefined && { ca: readPem(clientCa) }) }
  try {
    createSecureContext(read)
  } catch (cause) {
    throw new CustomsError('BAD_CONFIG', `tls: ${cert} and ${key} are no certificate and its key (${cause instanceof Error && 'code' in cause ? String(cause.code) : 'tls'})`, { cause })
  }
  return read
}
