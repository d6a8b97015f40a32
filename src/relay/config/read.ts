import { resolve } from 'node:path'
import type { ClientPatterns } from '#relay/core/options.js'
import { isRecord, type Data, field } from '#relay/protocol/unmetered.js'
import { readAddress, readHost, readListen, readOrigin, readServerUrl } from './address.js'
import { checked } from './check.js'
import { clientTokens, readFacade, readIssuer, refuseContradictions } from './auth.js'
import {
  usual, type AuditTarget, type Configuration, type Limits, type ServerConfiguration,
  type StateConfiguration,
} from './configuration.js'
import { readChecked } from './file.js'
import { isConfigurationFile } from './generated/checks.js'
import { defaults } from './generated/defaults.js'
import { keys } from './generated/keys.js'
import type * as Written from './generated/types.js'
import { readBasePolicy, readRules } from './policy-file.js'
import { readClients, readHeaders, readLockSetting, readProfiles, readServer } from './server.js'
import { readMerge } from './merge.js'
import { fail, pathFrom, type ConfigurationSource } from './source.js'
import { readTrust } from './trust.js'

/**
 * Reads a configuration file (YAML, or JSON when it is named `.json`), and the files that it names.
 * @throws CustomsError BAD_CONFIG: one line, `FILE:LINE:COLUMN: KEY.PATH: reason`
 */
export const readConfiguration = (file: string, source: Omit<ConfigurationSource, 'file'>): Promise<Configuration> =>
  readChecked(file, source.environment, isConfigurationFile, written =>
    merged(written, { ...usual, file }, { ...source, file }), withoutClientsOwn)

const ownKeys: ReadonlySet<string> = new Set(Object.keys(keys).map(key => key.split('.')[0] ?? key))

/** A file with `mcpServers` and no other key of ours is a client's: its other settings are not read. */
const withoutClientsOwn = (data: Data): Data => {
  const servers = isRecord(data) ? field(data, 'mcpServers') : undefined
  const isOurs = !isRecord(data)
    || Object.keys(data).some(key => ownKeys.has(key) && !/^(?:mcpServers|\$schema)$/.test(key))
  return servers === undefined || isOurs ? data : { mcpServers: servers }
}

/**
 * The configuration with the settings of flags, by the same schema; their paths are relative to the working
 * directory.
 * @throws Problem
 */
export const overridden = async (
  base: Configuration, flags: Data, source: Omit<ConfigurationSource, 'file'>,
): Promise<Configuration> =>
  merged(checked(isConfigurationFile, flags, flags), base, { ...source, file: resolve('flags') })

/** The base with the written settings; checks the conditions that the schema cannot express. */
const merged = async (
  written: Written.ConfigurationFile, base: Configuration, source: ConfigurationSource,
): Promise<Configuration> => {
  const { listen, audit, telemetry, tls, allowHosts = [], allowOrigins = [], admin } = written
  const auth = typeof written.auth === 'string' ? { facade: true as const } : written.auth
  const path = (file: string) => pathFrom(source, file)
  const limits = { ...base.limits, ...written.limits }
  const address = listen === undefined ? base.listen : readListen(listen, ['listen'], source)
  const issuer = (auth && readIssuer(auth, address, tls !== undefined)) ?? base.issuer
  const facade = (auth && readFacade(auth)) ?? base.facade
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
  const merge = written.merge === undefined ? base.merge : readMerge(written.merge, [...servers.keys()])
  if (merge && facade) return fail(['merge'], 'cannot be used with auth.facade: its users log in at one server')
  const state = written.state === undefined ? base.state : readState(written.state)
  refuseContradictions(written, { tokens, issuer, facade }, servers)
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
    merge,
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
    translate: written.translate ?? base.translate,
    clients,
    state,
  })
}

const readServers = async (
  written: Readonly<Record<string, Written.Server>> = {}, source: ConfigurationSource, limits: Limits,
) => {
  const servers: [string, ServerConfiguration][] = []
  for (const [name, server] of Object.entries(written)) {
    servers.push([name, await readServer(name, ['servers', name], server, source, limits)])
  }
  return servers
}

/** The servers in the form of clients. */
const readClientServers = async (
  { mcpServers = {}, servers = {} }: Written.ConfigurationFile, source: ConfigurationSource, limits: Limits,
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

const readLog = (file: string, source: ConfigurationSource): string =>
  file === '-' || file === 'none' ? file : pathFrom(source, file)

/** A module by its path, or a package by its name. */
const readTarget = ({ target, options = {} }: WrittenTarget, source: ConfigurationSource): AuditTarget => ({
  target: /^\.{0,2}\//.test(target) ? pathFrom(source, target) : target,
  options,
  from: source.file,
})

type WrittenTarget = NonNullable<NonNullable<Written.ConfigurationFile['audit']>['targets']>[number]

/** Freezes a value and all that it holds. Entries of maps are read-only by their type only. */
const freeze = <Value>(value: Value): Value => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const held of value instanceof Map ? value.values() : Object.values(value)) freeze(held)
  return value
}

const withClients = (
  server: ServerConfiguration, clients: readonly ClientPatterns[],
): ServerConfiguration =>
  clients.length === 0
    ? server
    : { ...server, names: { ...server.names, clients: [...(server.names?.clients ?? []), clients] } }

/** An error does not quote the URL: it may hold a password. */
const readState = (
  { url, key, prefix, ttlMs }: NonNullable<Written.ConfigurationFile['state']>,
): StateConfiguration => {
  if (!URL.canParse(url)) return fail(['state', 'url'], 'must be a URL')
  try {
    decodeURIComponent(new URL(url).password)
  } catch {
    return fail(['state', 'url'], 'has a password with a % that encodes nothing: write %25')
  }
  return { url, key, prefix: prefix ?? defaults.state.prefix, ttlMs: ttlMs ?? defaults.state.ttlMs }
}
