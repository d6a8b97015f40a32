import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Log } from '#relay/audit/log.js'
import { stateFolder, thisMachine } from '#relay/base/platform/machine.js'
import { safeName } from '#relay/protocol/text/secrets.js'
import type { Facade } from '#relay/auth/facade/facade.js'
import type { Facades } from '#relay/auth/facade/facades.js'
import { Issuer } from '#relay/auth/issuer.js'
import { asksForTokens, type Configuration, type ListenerTls } from '#relay/config/configuration.js'
import { codeOf, CustomsError, messageOf } from '#relay/base/errors.js'
import {
  type EndpointsSettings, type FrontBackend, type FrontSettings, HttpFront, type HttpFrontOptions,
} from '#relay/transport/front/front.js'
import type { EndpointScopes } from '#relay/transport/front/authority.js'
import type { FrontTls } from '#relay/transport/front/listener.js'
import { realTimers, type Timers } from '#relay/transport/timers.js'
import type { LogLevel } from '../settings.js'
import type { Lifetime } from '../lifetime.js'
import type { Setup } from '../server/setup.js'
import { settingsOf } from '../server/login.js'
import { readPem, tlsOf } from '../server/upstream.js'

/**
 * Makes the front's settings, also after a reload: what is known of an issuer's tokens stays as long as the
 * issuer's settings do.
 * @throws CustomsError BAD_CONFIG for a certificate that cannot be used
 */
export const frontSettingsFor = (log: Log): ((setup: Setup) => Promise<FrontSettings>) => {
  const facades = facadesFor(log)
  let known: { readonly settings: string; readonly authority: Issuer } | undefined
  const authorityOf = (issuer: Configuration['issuer']): Issuer | undefined => {
    const settings = JSON.stringify(issuer)
    if (issuer === undefined) known = undefined
    else if (settings !== known?.settings) {
      known = { settings, authority: issuerFor(issuer, log) }
    }
    return known?.authority
  }
  return async setup => {
    const { allowHosts, allowOrigins, tokens, issuer, tls, facade } = setup.configuration
    const common = { tokens, tls: tls && readTls(tls), scopes: scopesIn(setup) }
    if (facade === undefined) return { ...common, allowHosts, allowOrigins, authority: authorityOf(issuer) }
    const { origin, hostname } = new URL(originOf(setup.configuration))
    const site = await facades(setup, origin)
    // Its own pages send forms to it.
    const allowed = { allowHosts: [...allowHosts, hostname], allowOrigins: [...allowOrigins, origin] }
    return { ...common, ...allowed, authority: site, site }
  }
}

/** By the paths of the servers. */
const scopesIn = (
  { servers, configuration: { merge }, isOnly = servers.length === 1 }: Setup,
): ReadonlyMap<string, EndpointScopes> => {
  const each = servers.map(({ server: { name, scopes = [], tools } }) =>
    ({ name, scopes, more: [...tools.values()].flatMap(tool => tool.scopes ?? []) }))
  // A token that may use some servers may use the merged endpoint, which shows those.
  const more = each.flatMap(one => [...one.scopes, ...one.more])
  const all = merge && { name: merge.path, scopes: [], more }
  return new Map([
    ...each.flatMap(one => [`/${one.name}/mcp`, ...(isOnly ? ['/mcp'] : [])].map(path => [path, one] as const)),
    ...(all ? [[all.name, all] as const] : []),
  ])
}

const issuerFor = (issuer: NonNullable<Configuration['issuer']>, log: Log): Issuer => new Issuer(issuer, {
  warn: message => log.warn(message), told: message => log.info(message),
})

/** Makes the facades of the servers. One whose settings stay is kept, with its registration at the issuer. */
const facadesFor = (log: Log) => {
  let sealKey: Promise<Uint8Array> | undefined
  let known = new Map<string, { readonly settings: string; readonly facade: Facade }>()
  const revoked = new Set<string>()
  return async (
    { configuration, servers, isOnly = servers.length === 1 }: Setup, origin: string,
  ): Promise<Facades> => {
    const [{ Facade }, { Facades }, { sealKeyOf }] = await Promise.all([
      import('#relay/auth/facade/facade.js'), import('#relay/auth/facade/facades.js'), import('#relay/auth/facade/seals.js'),
    ])
    const secret = configuration.state?.key
    const key = secret === undefined ? await (sealKey ??= sealKeyFor(log)) : sealKeyOf(secret)
    const kept = new Map<string, { readonly settings: string; readonly facade: Facade }>()
    const byPath = new Map<string, Facade>()
    for (const { server } of servers) {
      if ('command' in server) continue
      const { name, url, headers } = server
      if (headers.has('authorization')) {
        throw new CustomsError('BAD_CONFIG',
          `--header: no Authorization for ${name} with auth.facade: the server gets the token of each user`)
      }
      const paths = [...(isOnly ? ['/mcp'] : []), `/${name}/mcp`]
      const login = settingsOf(server)
      const settings = JSON.stringify([origin, paths, url, login, server.tls, [...headers], secret])
      const before = known.get(name)
      const facade = before?.settings === settings ? before.facade : new Facade({
        name, origin, paths, prefix: isOnly ? '' : `/${name}`, key, revoked, warn: message => log.warn(message),
        behind: { url: new URL(url), settings: login, tls: tlsOf(server), headers },
      })
      kept.set(name, { settings, facade })
      for (const path of paths) byPath.set(path, facade)
    }
    known = kept
    return new Facades(byPath)
  }
}

const sealKeyFor = async (log: Log): Promise<Uint8Array> => {
  const folder = stateFolder(thisMachine())
  try {
    const { sealKeyIn } = await import('#relay/auth/facade/seals.js')
    return await sealKeyIn(folder)
  } catch (error) {
    log.warn(`auth.facade: cannot use ${join(folder, 'facade.key')} (${messageOf(error)}): ` +
      'after a restart, clients must register and users log in again')
    return randomBytes(32)
  }
}

/** The origin of the public URL. @throws CustomsError BAD_CONFIG where only the operator knows it */
const originOf = ({ facade, listen, tls }: Configuration): string => {
  if (facade?.audience !== undefined) return facade.audience
  if ('socket' in listen || listen.port === 0 || /^(?:0\.0\.0\.0|::)?$/.test(listen.host)) {
    throw new CustomsError('BAD_CONFIG', 'auth.facade: needs auth.audience: the public URL of this relay')
  }
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host
  return `http${tls === undefined ? '' : 's'}://${host}:${listen.port}`
}

/** The endpoints' settings. */
export const endpointsSettingsOf = (
  configuration: Configuration,
): EndpointsSettings => {
  const { limits, sessions, issuer, facade } = configuration
  return {
    limits,
    maxSessions: sessions.max,
    maxProcesses: sessions.maxProcesses,
    bufferedBytes: limits.bufferedBytes,
    idleMs: sessions.idleMs,
    replica: sessions.replica,
    ownAuthorization: asksForTokens(configuration),
    resource: facade === undefined ? issuer : { audience: originOf(configuration), scopes: [] },
  }
}

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
  files: () => readonly string[], renew: () => void | Promise<void>, log: Log, timers: Timers = realTimers,
): (() => void) => {
  let known = stampOf(files())
  return timers.every(lookMs, () => {
    const stamp = stampOf(files())
    if (stamp === known) return
    known = stamp
    new Promise<void>(resolve => resolve(renew())).then(
      () => log.info('the certificates were read again'),
      (error: unknown) =>
        log.warn(`the certificates were not read again, the old ones stay: ${messageOf(error)}`),
    )
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
  readonly settings: FrontSettings
  /** Reads the certificates again. */
  readonly renew: () => Promise<void>
  /** The current configuration. */
  readonly configuration: () => Configuration
}

/** Opens the network side of `serve` in front of a backend. */
export const openFront = (
  { backend, refused, log, logLevel, configuration, settings, renew }: FrontParts, lifetime: Lifetime,
): HttpFront => {
  const { listen, sessions: { graceMs } } = configuration()
  const front = new HttpFront({
    ...settings, address: listen, backend,
    ...(refused && { refused }),
    ...(speaks(logLevel) && {
      served: request => log.httpRequest({ ...request, path: safeName(request.path) }),
    }),
  })
  // A second signal does not wait for requests in flight.
  lifetime.add(
    urgency => (urgency === 1 ? front.close(configuration().sessions.graceMs) : undefined),
    graceMs + closingMs,
  )
  if (configuration().tls) {
    lifetime.add(onRenewal(() => certificatesOf(configuration()), renew, log))
  }
  return front
}

const certificatesOf = ({ tls }: Configuration): readonly string[] =>
  (tls ? [tls.cert, tls.key, ...(tls.clientCa === undefined ? [] : [tls.clientCa])] : [])

/** How long the front may take beyond its grace, in milliseconds. */
const closingMs = 5000

/** Whether requests are logged, at level info. */
const speaks = (level: LogLevel): boolean => ['info', 'debug', 'trace'].includes(level)
