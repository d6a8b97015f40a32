import { resolve } from 'node:path'
import type { Json } from '../protocol/unmetered.js'
import { readAddress, readListen } from './address.js'
import { checked } from './check.js'
import type { AuditTarget, Configuration, ServerConfiguration } from './configuration.js'
import { readChecked } from './file.js'
import { isConfigurationFile } from './generated/checks.js'
import type * as Written from './generated/types.js'
import { readHost, readOrigin } from './host.js'
import type { Limits } from './limits.js'
import { readLockSetting } from './lock.js'
import { readBasePolicy } from './policy-file.js'
import { readRules } from './rules.js'
import { readHeaders, readServer } from './server.js'
import { pathFrom, type Source } from './source.js'
import { readTrust } from './trust-list.js'
import { readServerUrl } from './url.js'
import { usual } from './usual.js'

/**
 * Reads a configuration file (YAML, or JSON when it is named `.json`), and the files that it names.
 * @throws CustomsError BAD_CONFIG: one line, `FILE:LINE:COLUMN: KEY.PATH: reason`
 */
export const readConfiguration = (file: string, source: Omit<Source, 'file'>): Promise<Configuration> =>
  readChecked(file, source.environment, isConfigurationFile, written => said(written, { ...usual, file }, { ...source, file }))

/**
 * What flags say, over what a file says, by the same schema; their paths are relative to the working directory.
 * @throws Problem
 */
export const overridden = async (base: Configuration, flags: Json, source: Omit<Source, 'file'>): Promise<Configuration> =>
  said(checked(isConfigurationFile, flags, flags), base, { ...source, file: resolve('flags') })

/** What the schema cannot say of a configuration, and what is left out of it. */
const said = async (written: Written.ConfigurationFile, base: Configuration, source: Source): Promise<Configuration> => {
  const { listen, auth, audit, telemetry, tls, allowHosts = [], allowOrigins = [], admin } = written
  const path = (file: string) => pathFrom(source, file)
  const limits = { ...base.limits, ...written.limits }
  return freeze({
    file: base.file,
    listen: listen === undefined ? base.listen : readListen(listen, ['listen'], source),
    workers: written.workers ?? base.workers,
    policy: (await readBasePolicy(written.policy, ['policy'], source)) ?? base.policy,
    rules: new Map([...base.rules, ...readRules(written.rules, ['rules'])]),
    limits,
    trust: [...base.trust, ...readTrust(written.trust)],
    lock: readLockSetting(written.lock, source) ?? base.lock,
    servers: new Map([...base.servers, ...(await readServers(written.servers, source, limits))]),
    tokens: auth?.tokens ?? base.tokens,
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
      ...(telemetry?.endpoint !== undefined && { endpoint: readServerUrl(telemetry.endpoint, ['telemetry', 'endpoint']) }),
      ...(telemetry?.headers !== undefined && { headers: readHeaders(telemetry.headers, ['telemetry', 'headers']) }),
    },
    tls: tls === undefined ? base.tls : { cert: path(tls.cert), key: path(tls.key), clientCa: tls.clientCa === undefined ? undefined : path(tls.clientCa) },
    allowHosts: [...base.allowHosts, ...allowHosts.map((host, index) => readHost(host, ['allowHosts', index]))],
    allowOrigins: [...base.allowOrigins, ...allowOrigins.map((origin, index) => readOrigin(origin, ['allowOrigins', index]))],
    admin: admin === undefined ? base.admin : readAddress(admin, ['admin']),
    sessions: { ...base.sessions, ...written.sessions },
  })
}

const readServers = async (written: Readonly<Record<string, Written.Server>> = {}, source: Source, limits: Limits) => {
  const servers: [string, ServerConfiguration][] = []
  for (const [name, server] of Object.entries(written)) servers.push([name, await readServer(name, server, source, limits)])
  return servers
}

/** A stream, nothing, or a file. */
const readLog = (file: string, source: Source): string => (file === '-' || file === 'none' ? file : pathFrom(source, file))

/** A module is named by its path, a package by its name. */
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
