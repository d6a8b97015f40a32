import { statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Log } from '#audit/log.js'
import { withoutSecrets } from '#audit/secrets.js'
import { Issuer } from '#auth/issuer.js'
import type { Configuration, ListenerTls } from '#config/configuration.js'
import { codeOf, CustomsError, messageOf } from '#errors.js'
import {
  type EndpointsSettings, type FrontBackend, type FrontSettings, HttpFront, type HttpFrontOptions,
} from '#transport/front/front.js'
import type { FrontTls } from '#transport/front/listener.js'
import { realTimers, type Timers } from '#transport/timers.js'
import type { LogLevel } from '../flags.js'
import type { Lifetime } from '../relay/lifetime.js'
import { readPem } from '../server/upstream.js'

/**
 * Makes the front's settings, also after a reload: what is known of an issuer's tokens stays as long as the
 * issuer's settings do.
 * @throws CustomsError BAD_CONFIG for a certificate that cannot be used
 */
export const frontSettingsFor = (log: Log): ((configuration: Configuration) => FrontSettings) => {
  let known: { readonly settings: string; readonly authority: Issuer } | undefined
  const authorityOf = (issuer: Configuration['issuer']): Issuer | undefined => {
    const settings = JSON.stringify(issuer)
    if (issuer === undefined) known = undefined
    else if (settings !== known?.settings) {
      known = { settings, authority: new Issuer(issuer, { warn: message => log.warn(message) }) }
    }
    return known?.authority
  }
  return ({ allowHosts, allowOrigins, tokens, issuer, tls }) => ({
    allowHosts,
    allowOrigins,
    tokens,
    authority: authorityOf(issuer),
    tls: tls && readTls(tls),
  })
}

/** The endpoints' settings. */
export const endpointsSettingsOf = (
  { limits, sessions, tokens, issuer }: Configuration,
): EndpointsSettings => ({
  limits,
  maxSessions: sessions.max,
  maxProcesses: sessions.maxProcesses,
  bufferedBytes: limits.bufferedBytes,
  idleMs: sessions.idleMs,
  ownAuthorization: tokens.length > 0 || issuer !== undefined,
  resource: issuer,
})

const readTls = ({ cert, key, clientCa }: ListenerTls): FrontTls => {
  const read =
    { cert: readPem(cert), key: readPem(key), ...(clientCa !== undefined && { ca: readPem(clientCa) }) }
  try {
    createSecureContext(read)
  } catch (cause) {
    throw new CustomsError('BAD_CONFIG', `tls: ${cert} and ${key} are no certificate and its key ` +
      `(${codeOf(cause)})`, { cause })
  }
  return read
}

/**
 * Interval of polling, in milliseconds: the files may be links into other folders, which cannot all be
 * watched.
 */
const lookMs = 10_000

/**
 * Polls for renewed certificates. Files that cannot be used, such as a certificate that came before its key,
 * change nothing and are logged.
 * @param files which they are now
 * @returns what stops it
 */
export const onRenewal = (
  files: () => readonly string[], renew: () => void, log: Log, timers: Timers = realTimers,
): (() => void) => {
  let known = stampOf(files())
  return timers.every(lookMs, () => {
    const stamp = stampOf(files())
    if (stamp === known) return
    known = stamp
    try {
      renew()
      log.info('the certificates were read again')
    } catch (error) {
      log.warn(`the certificates were not read again, the old ones stay: ${messageOf(error)}`)
    }
  })
}

/** Changes when one of the files is replaced or written to. */
const stampOf = (files: readonly string[]): string => JSON.stringify(files.map(file => {
  try {
    const { ino, mtimeMs, size } = statSync(file)
    return [file, ino, mtimeMs, size]
  } catch {
    return [file]
  }
}))

interface FrontParts extends Pick<HttpFrontOptions, 'refused'> {
  readonly backend: FrontBackend
  readonly log: Log
  readonly logLevel: LogLevel
  readonly frontSettings: (configuration: Configuration) => FrontSettings
  /** The current configuration. */
  readonly configuration: () => Configuration
}

/** Opens the network side of `serve` in front of a backend. */
export const openFront = (
  { backend, refused, log, logLevel, configuration, frontSettings }: FrontParts, lifetime: Lifetime,
): HttpFront => {
  const { listen, sessions: { graceMs } } = configuration()
  const front = new HttpFront({
    ...frontSettings(configuration()), address: listen, backend,
    ...(refused && { refused }),
    ...(speaks(logLevel) && {
      served: request => log.access({ ...request, path: withoutSecrets(request.path) }),
    }),
  })
  // A second signal does not wait for requests in flight.
  lifetime.add(
    urgency => (urgency === 1 ? front.close(configuration().sessions.graceMs) : undefined),
    graceMs + closingMs,
  )
  if (configuration().tls) {
    lifetime.add(onRenewal(
      () => certificatesOf(configuration()), () => front.reload(frontSettings(configuration())), log,
    ))
  }
  return front
}

const certificatesOf = ({ tls }: Configuration): readonly string[] =>
  (tls ? [tls.cert, tls.key, ...(tls.clientCa === undefined ? [] : [tls.clientCa])] : [])

/** How long the front may take beyond its grace, in milliseconds. */
const closingMs = 5000

/** Whether requests are logged, at level info. */
const speaks = (level: LogLevel): boolean => ['info', 'debug', 'trace'].includes(level)

