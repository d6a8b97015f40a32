import { resolve } from 'node:path'
import type { ClientPatterns } from '#core/options.js'
import { CustomsError } from '#errors.js'
import { isObject, type Json, member } from '#protocol/unmetered.js'
import { readAddress, readHost, readListen, readOrigin, readServerUrl } from './address.js'
import { checked } from './check.js'
import {
  asksForTokens, usual, type AuditTarget, type Configuration, type FacadeConfiguration,
  type IssuerConfiguration, type Limits, type ServerConfiguration, type StateConfiguration,
} from './configuration.js'
import { readChecked, readText } from './file.js'
import { isConfigurationFile, isTokens } from './generated/checks.js'
import { defaults } from './generated/defaults.js'
import { keys } from './generated/keys.js'
import type * as Written from './generated/types.js'
import { readBasePolicy, readRules } from './policy-file.js'
import { readClients, readHeaders, readLockSetting, readProfiles, readServer } from './server.js'
import { fail, pathFrom, Problem, type Keys, type Source } from './source.js'
import { readTrust } from './trust.js'

/**
 * Reads a configuration file (YAML, or JSON when it is named `.json`), and the files that it names.
 * @throws CustomsError BAD_CONFIG: one line, `FILE:LINE:COLUMN: KEY.PATH: reason`
 */
export const readConfiguration = (file: string, source: Omit<Source, 'file'>): Promise<Configuration> =>
  readChecked(file, source.environment, isConfigurationFile, written =>
    merged(written, { ...usual, file }, { ...source, file }), withoutClientsOwn)

const ownKeys: ReadonlySet<string> = new Set(Object.keys(keys).map(key => key.split('.')[0] ?? key))

/** A file with `mcpServers` and no other key of ours is a client's: its other settings are not read. */
const withoutClientsOwn = (data: Json): Json => {
  const servers = isObject(data) ? member(data, 'mcpServers') : undefined
  const isOurs = !isObject(data) ||
    Object.keys(data).some(key => ownKeys.has(key) && !/^(?:mcpServers|\$schema)$/.test(key))
  return servers === undefined || isOurs ? data : { mcpServers: servers }
}

/**
 * The configuration with the settings of flags, by the same schema; their paths are relative to the working
 * directory.
 * @throws Problem
 */
export const overridden = async (
  base: Configuration, flags: Json, source: Omit<Source, 'file'>,
): Promise<Configuration> =>
  merged(checked(isConfigurationFile, flags, flags), base, { ...source, file: resolve('flags') })

/** The base with the written settings; checks the conditions that the schema cannot express. */
const merged = async (
  written: Written.ConfigurationFile, base: Configuration, source: Source,
): Promise<Configuration> => {
  const { listen, audit, telemetry, tls, allowHosts = [], allowOrigins = [], admin } = written
  const auth = typeof written.auth === 'string' ? { facade: true as const } : written.auth
  const path = (file: string) => pathFrom(source, file)
  const limits = { ...base.limits, ...written.limits }
  const address = listen === undefined ? base.listen : readListen(listen, ['listen'], source)
  const issuer = (auth && readIssuer(auth, address, tls !== undefined)) ?? base.issuer
  const facade = (auth && readFacade(auth)) ?? base.facade
  if (facade !== undefined && issuer !== undefined)
    fail(['auth', 'facade'], 'stands beside issuer: give one of them')
  const tokens = auth?.tokens === undefined ? base.tokens : clientTokens(auth.tokens)
  const clients = written.clients === undefined ? base.clients : readClients(written.clients)
  const read: [string, ServerConfiguration][] = [
    ...(await readServers(written.servers, source, limits)),
    ...(await readClientServers(written, source, limits)),
  ]
  const servers = new Map([
    ...base.servers,
    ...read.map(([name, server]) => [name, withClients(server, clients)] as const),
  ])
  if (issuer === undefined && facade === undefined) servers.forEach(refuseScopes)
  if (asksForTokens({ tokens, issuer, facade })) servers.forEach(refusePassthrough)
  const state = written.state === undefined ? base.state : readState(written.state)
  if (facade !== undefined && state !== undefined)
    fail(['auth', 'facade'], 'goes not with state: only the replica at which a user logged in knows the login')
  if (facade !== undefined) {
    servers.forEach((server, name) => refuseBesideFacade(server, name, tokens.length > 0))
  }
  refuseMatches(written.clients, ['clients'], tokens, issuer)
  for (const [name, server] of Object.entries(written.servers ?? {}))
    refuseMatches(server.clients, ['servers', name, 'clients'], tokens, issuer)
  return freeze({
    file: base.file,
    listen: address,
    workers: written.workers ?? base.workers,
    policy: (await readBasePolicy(written.policy, ['policy'], source)) ?? base.policy,
    rules: new Map([...base.rules, ...readRules(written.rules, ['rules'])]),
    profiles: readProfiles(written.profile) ?? base.profiles,
    limits,
    trust: [...base.trust, ...readTrust(written.trust)],
    lock: readLockSetting(written.lock, source) ?? base.lock,
    servers,
    tokens,
    issuer,
    facade,
    audit: {
      ...base.audit,
      ...audit,
      file: audit?.file === undefined ? base.audit.file : readLog(audit.file, source),
      ...(audit?.signKey !== undefined && { signKey: path(audit.signKey) }),
      targets: audit?.targets?.map(one => readTarget(one, source)) ?? base.audit.targets,
    },
    telemetry: {
      ...base.telemetry,
      ...(telemetry?.payloads !== undefined && { payloads: telemetry.payloads }),
      ...(telemetry?.endpoint !== undefined && {
        endpoint: readServerUrl(telemetry.endpoint, ['telemetry', 'endpoint']),
      }),
      ...(telemetry?.headers !== undefined && {
        headers: readHeaders(telemetry.headers, ['telemetry', 'headers']),
      }),
    },
    tls: tls === undefined ? base.tls : {
      cert: path(tls.cert),
      key: path(tls.key),
      clientCa: tls.clientCa === undefined ? undefined : path(tls.clientCa),
    },
    allowHosts: [
      ...base.allowHosts,
      ...allowHosts.map((host, index) => readHost(host, ['allowHosts', index])),
    ],
    allowOrigins: [
      ...base.allowOrigins,
      ...allowOrigins.map((origin, index) => readOrigin(origin, ['allowOrigins', index])),
    ],
    admin: admin === undefined ? base.admin : readAddress(admin, ['admin']),
    sessions: { ...base.sessions, ...written.sessions },
    minRevision: written.minRevision ?? base.minRevision,
    clients,
    state,
  })
}

const readServers = async (
  written: Readonly<Record<string, Written.Server>> = {}, source: Source, limits: Limits,
) => {
  const servers: [string, ServerConfiguration][] = []
  for (const [name, server] of Object.entries(written)) {
    servers.push([name, await readServer(name, ['servers', name], server, source, limits)])
  }
  return servers
}

/** The servers in the form of clients. */
const readClientServers = async (
  { mcpServers = {}, servers = {} }: Written.ConfigurationFile, source: Source, limits: Limits,
) => {
  const read: [string, ServerConfiguration][] = []
  for (const [name, { command, args = [], env, cwd, url, headers, disabled, ...rest }] of
    Object.entries(mcpServers)) {
    const way = ['mcpServers', name]
    if (disabled === true) continue
    if (Object.hasOwn(servers, name)) return fail(way, 'a server of this name stands under servers as well')
    const own = Object.entries(rest).find(([key, value]) => onlyOurs.has(key) && !Array.isArray(value))
    if (own !== undefined) {
      return fail([...way, own[0]], 'belongs to a server under servers, with our own form')
    }
    const server: Written.Server = {
      ...(command !== undefined && { command: [command, ...args] }), ...(env && { env }), ...(cwd && { cwd }),
      ...(url !== undefined && { url }), ...(headers && { headers }),
    }
    read.push([name, await readServer(name, way, server, source, limits)])
  }
  return read
}

/**
 * Settings that would be lost, because unknown keys of a client's server are ignored. Some clients have
 * a list under `tools`.
 */
const onlyOurs: ReadonlySet<string> =
  new Set(['policy', 'rules', 'profile', 'lock', 'tools', 'workers', 'inheritEnv', 'upstream'])

const readLog = (file: string, source: Source): string =>
  file === '-' || file === 'none' ? file : pathFrom(source, file)

/** A module by its path, or a package by its name. */
const readTarget = ({ target, options = {} }: WrittenTarget, source: Source): AuditTarget => ({
  target: /^\.{0,2}\//.test(target) ? pathFrom(source, target) : target,
  options,
  from: source.file,
})

type WrittenTarget = NonNullable<NonNullable<Written.ConfigurationFile['audit']>['targets']>[number]

/** The maps are read-only by their type. */
const freeze = <Value>(value: Value): Value => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const held of value instanceof Map ? value.values() : Object.values(value)) freeze(held)
  return value
}

const clientTokens = (written: Written.Tokens): Configuration['tokens'] =>
  Array.isArray(written)
    ? written.map(token => ({ token, name: undefined }))
    : Object.entries(written).map(([name, token]) => ({ token, name }))

type WrittenAuth = Exclude<NonNullable<Written.ConfigurationFile['auth']>, string>

const readIssuer = (
  { issuer, audience, scopes, jwks, introspection }: WrittenAuth,
  listen: Configuration['listen'], isTls: boolean,
): IssuerConfiguration | undefined => {
  if (issuer === undefined) return undefined
  const url = (text: string, ...keys: Keys): string => readServerUrl(text, ['auth', ...keys])
  const host = 'socket' in listen || !listen.host.includes(':') ? '' : `[${listen.host}]`
  const here = 'socket' in listen || listen.port === 0
    ? undefined
    : `http${isTls ? 's' : ''}://${host || listen.host}:${listen.port}`
  const ours = audience === undefined ? here : url(audience, 'audience')
  if (ours === undefined) return fail(['auth', 'issuer'], 'needs auth.audience: the public URL of this relay')
  return {
    issuer: url(issuer, 'issuer'),
    audience: ours.replace(/\/$/, ''),
    scopes: scopes ?? [],
    jwks: jwks === undefined ? undefined : url(jwks, 'jwks'),
    introspection: introspection && { ...introspection, url: url(introspection.url, 'introspection', 'url') },
  }
}

const withClients = (
  server: ServerConfiguration, clients: readonly ClientPatterns[],
): ServerConfiguration =>
  clients.length === 0
    ? server
    : { ...server, names: { ...server.names, clients: [...(server.names?.clients ?? []), clients] } }

/** An entry that can never match would hold nothing back, so it is an error. */
const refuseMatches = (
  written: readonly Written.ClientRules[number][] = [], keys: Keys, tokens: Configuration['tokens'],
  issuer: IssuerConfiguration | undefined,
): void => {
  for (const [index, { match: { token, subject } }] of written.entries()) {
    const at = [...keys, index, 'match']
    if (token !== undefined && !tokens.some(({ name }) => name === token))
      return fail([...at, 'token'], `auth.tokens has no token named ${JSON.stringify(token)}`)
    if (subject !== undefined && issuer === undefined) return fail([...at, 'subject'], 'needs auth.issuer')
  }
}

/** An error does not quote the URL: it may hold a password. */
const readState = (
  { url, key, prefix, ttlMs, advertise }: NonNullable<Written.ConfigurationFile['state']>,
): StateConfiguration => {
  if (!URL.canParse(url)) return fail(['state', 'url'], 'must be a URL')
  // The engine and its operators have the password: it proves nothing between replicas.
  if (advertise !== undefined && key === undefined) {
    return fail(['state', 'advertise'], 'needs state.key, by which replicas know one another')
  }
  const secret = key ?? passwordIn(url)
  if (secret === '')
    return fail(['state', 'key'], 'is needed where url has no password: openssl rand -hex 32')
  return {
    url, secret, prefix: prefix ?? defaults.state.prefix, ttlMs: ttlMs ?? defaults.state.ttlMs,
    advertise: advertise === undefined ? undefined : readOwnUrl(advertise, ['state', 'advertise']),
  }
}

const passwordIn = (url: string): string => {
  try {
    return decodeURIComponent(new URL(url).password)
  } catch {
    return fail(['state', 'url'], 'has a password with a % that encodes nothing: write %25')
  }
}

/** The origin of a URL at which requests arrive with their own paths. */
const readOwnUrl = (text: string, keys: Keys): string => {
  const { origin, pathname, search } = new URL(readServerUrl(text, keys))
  return pathname === '/' && search === '' ? origin : fail(keys, 'must not have a path: http://HOST:PORT')
}

/** Codes and tokens are sent to the public URL, and browsers come back to it (OAuth 2.1, section 1.5). */
const readFacade = ({ facade, issuer, audience }: WrittenAuth): FacadeConfiguration | undefined => {
  if (facade === undefined) {
    if (audience === undefined || issuer !== undefined) return undefined
    return fail(['auth', 'audience'], 'goes only with issuer or facade')
  }
  if (audience === undefined) return { audience }
  const { protocol, hostname, origin } = new URL(readServerUrl(audience, ['auth', 'audience']))
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
  return protocol === 'https:' || isLocal ? { audience: origin } : fail(['auth', 'audience'], 'must be https')
}

/** Only a server with a URL has an issuer at which users log in. */
const refuseBesideFacade = (server: ServerConfiguration, name: string, hasTokens: boolean): void => {
  const why = 'goes not with auth.facade: the server gets the token of each user'
  if ('url' in server && server.upstream !== undefined) fail(['servers', name, 'upstream'], why)
  if ('url' in server && server.headers.has('authorization')) {
    fail(['servers', name, 'headers'], `Authorization ${why}`)
  }
  if ('command' in server && !hasTokens) {
    fail(
      ['servers', name, 'command'],
      'has no login, and auth.facade asks for one: add auth.tokens, or give it a url',
    )
  }
}

/** Scopes are those of an issuer's tokens. */
const refuseScopes = ({ scopes, tools }: ServerConfiguration, name: string): void => {
  const needsIssuer = (...keys: Keys) =>
    fail(['servers', name, ...keys, 'scopes'], 'needs auth.issuer or auth.facade')
  if (scopes !== undefined) needsIssuer()
  for (const [tool, setting] of tools) if (setting.scopes !== undefined) needsIssuer('tools', tool)
}

/** A token for this relay must not reach a server (2026-07-28, authorization, access token privilege). */
const refusePassthrough = (server: ServerConfiguration, name: string): void => {
  if ('command' in server || server.upstream !== 'passthrough') return
  fail(['servers', name, 'upstream'], 'cannot be passthrough beside auth: the client\'s token is for this ' +
    'relay, and the specification forbids to pass it on. Send a token of your own (static), or none')
}

/**
 * A file of bearer tokens, one per line; empty lines are skipped.
 * @throws CustomsError BAD_CONFIG: `FILE:LINE: reason`
 */
export const readTokens = async (file: string): Promise<Configuration['tokens']> => {
  const lines = (await readText(file)).split(/\r?\n/)
  const tokens = lines.filter(line => line !== '')
  if (tokens.length === 0) throw new CustomsError('BAD_CONFIG', `${file}: holds no token`)
  try {
    return clientTokens(checked(isTokens, tokens, tokens))
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const line = lines.indexOf(tokens[Number(cause.keys[0])] ?? '') + 1
    throw new CustomsError('BAD_CONFIG', `${file}:${line}: ${cause.reason}`, { cause })
  }
}
