import { basename, resolve } from 'node:path'
import { readServerUrl } from '#relay/config/address.js'
import { beginning, noServer } from '#relay/config/check.js'
import {
  type Configuration, type Limits, type LockSetting, type ServerConfiguration, usual,
} from '#relay/config/configuration.js'
import { type Circumstances, type PolicyLayer, resolvePolicy } from '#relay/config/policy.js'
import type { MergeConfiguration } from '#relay/config/merge.js'
import { ConfigurationProblem, wayTo } from '#relay/config/source.js'
import type { Accepted, Policy } from '#relay/core/vocabulary.js'
import { actionOf } from '#relay/core/findings.js'
import { badUsage, CustomsError } from '#relay/base/errors.js'
import type { Environment } from '#relay/base/platform/machine.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import type { RelaySettings } from '../settings.js'
import type { Target } from '#relay/config/target.js'
import { serverNameOf } from '#relay/config/subject.js'
import { acceptedAtOnce, judgedBy, type ServerSettings, type ServerSetup } from './judgement.js'

/** The flags and the configuration file combined; flags win. */
export interface Setup {
  readonly configuration: Configuration
  /** One for wrap and inspect; all servers of the file for `serve --config` and `lock`. */
  readonly servers: readonly ServerSetup[]
  /** True when it is the only server offered; undefined: derived from `servers`. */
  readonly isOnly?: boolean
}

/** By the names of the servers. */
export const policiesOf = ({ servers }: Pick<Setup, 'servers'>): ReadonlyMap<string, Policy> =>
  new Map(servers.map(({ server, judgement }) => [server.name, judgement.ruling.policy] as const))

/**
 * @param purpose advice/ rules are on in `inspect` only
 * @param many every server of the file is wanted, where none is named; `merged`: at one endpoint
 * @param environment what `${env:NAME}` stands for
 * @throws CustomsError BAD_USAGE or BAD_CONFIG
 */
export const setUp = async (
  flags: RelaySettings,
  target: Target,
  purpose: Circumstances['purpose'],
  many: boolean | 'merged' = false,
  environment: Environment = process.env,
): Promise<Setup> => {
  const configuration = await readAll(flags, environment, many === 'merged')
  const flagLayer = await layerOf(flags, environment)
  const trusts = await readTrust(configuration, flags, environment)
  const named = chosen(flags, target, configuration, many !== false)
  const hasServerFlags = flags.header.length > 0 || flags.env.length > 0 || flags.ca !== undefined
  const lockOf = ({ lock }: ServerConfiguration) =>
    (purpose === 'relay' ? lockSetting(flags, lock ?? configuration.lock) : undefined)
  const given = (hasServerFlags ? await withFlags(named, flags, environment) : named).map(relaxedBy(flags))
  const { merge } = configuration
  const servers = merge ? await inOwnNamesOf(given, merge, flags) : given
  const settings = await Promise.all(servers.map(async (server): Promise<ServerSettings> => ({
    server,
    // Later layers win: file, server, flags.
    policy: resolvePolicy([configuration, server, flagLayer], { purpose, locked: !!lockOf(server) }),
    profiles: flags.profile.length > 0 ? flags.profile : (server.profiles ?? configuration.profiles),
    trusted: await trusts(server),
    translate: flags.translate ?? server.translate ?? configuration.translate,
    lock: lockOf(server),
  })))
  // The merged endpoint has the profiles of all its servers whose policy changes tools.
  const inMerge = settings.filter(({ server }) => merge?.servers.some(({ name }) => name === server.name))
  const profiles = [...new Set(inMerge.flatMap(one => (changesTools(one) ? one.profiles : [])))]
  const used = merge ? { ...configuration, profiles } : configuration
  const setups = await Promise.all(settings.map(async (one): Promise<ServerSetup> => {
    const found: Pick<ServerSetup, 'refusal'> & { readonly accepted?: Accepted | undefined } =
      await acceptedAtOnce(one, used).then(accepted => ({ accepted }), refusalIn)
    return { ...await judgedBy(one, used, found.accepted), refusal: found.refusal }
  }))
  const [first] = setups.flatMap(({ refusal }) => refusal ?? [])
  if (first !== undefined && setups.every(({ refusal }) => refusal !== undefined)) throw first
  // The merged endpoint shows names with their prefixes, also of one server.
  return { configuration: used, servers: setups, ...(merge && { isOnly: false }) }
}

/** Whether tools are changed for clients, and not only compared with what they accept. */
const changesTools = ({ policy }: ServerSettings): boolean =>
  ['mend', 'block'].includes(actionOf(policy, 'tool/profile'))

/** @throws the error, unless it is about this server alone */
const refusalIn = (error: unknown): Pick<ServerSetup, 'refusal'> => {
  if (!(error instanceof CustomsError) || error.code !== 'NOT_ACCEPTED') throw error
  return { refusal: error }
}

const lockSetting = (
  { lock, frozen, trustAccepted }: RelaySettings, setting: LockSetting | undefined,
): LockSetting | undefined => {
  const file = lock === undefined ? setting?.file : resolve(lock)
  const dependent = frozen ? '--frozen' : trustAccepted ? '--trust-accepted' : undefined
  if (file === undefined) {
    return dependent === undefined ? undefined : badUsage(`${dependent} needs a lock: give --lock FILE`)
  }
  return {
    file, isFrozen: frozen || setting?.isFrozen === true,
    trustAccepted: trustAccepted || setting?.trustAccepted === true, actions: setting?.actions ?? {},
  }
}

// Readers are loaded on demand: a relay without a file starts sooner.
const readAll = async (
  flags: RelaySettings, environment: Environment, isMerged: boolean,
): Promise<Configuration> => {
  const source = { environment, judgeSchema }
  const base = flags.config === undefined
    ? usual
    : await (await import('#relay/config/read.js')).readConfiguration(flags.config, source)
  const { refusal } = flags.settings
  const written = { ...(isMerged && base.merge === undefined && { merge: true }), ...flags.settings.written }
  const overridden = async () => (await import('#relay/config/read.js')).overridden(base, written, source)
  const merged = Object.keys(written).length === 0 ? base : await overridden().catch((error: unknown) => {
    if (!(error instanceof ConfigurationProblem)) throw error
    throw error.keys[0] === 'merge' ? inFile(flags, error) : refusal(error)
  })
  const ofServers = [...merged.servers.values()].flatMap(({ names }) => names?.clients ?? [])
  const isByToken = [merged.clients, ...ofServers].flat().some(({ match }) => match.token !== undefined)
  if (flags.tokenFile !== undefined && isByToken)
    return badUsage('--token-file: its tokens have no names, by which the configuration\'s clients match')
  return {
    ...merged,
    audit: { ...merged.audit, file: flags.audit ?? merged.audit.file },
    tokens: flags.tokenFile === undefined
      ? merged.tokens
      : await (await import('#relay/config/auth.js')).readTokens(flags.tokenFile),
  }
}

const layerOf = async ({ policy, rule }: RelaySettings, environment: Environment): Promise<PolicyLayer> => ({
  policy: policy === undefined
    ? undefined
    : await (await import('#relay/config/policy-file.js')).readPolicy(policy, environment),
  rules: rule.length === 0 ? undefined : (await import('#relay/config/policy-file.js')).parseRules(rule),
})

const readTrust = async (
  configuration: Configuration, { trust, trustList }: RelaySettings, environment: Environment,
): Promise<(server: ServerConfiguration) => boolean | Promise<boolean>> => {
  if (trust) return () => true
  const entries = [
    ...configuration.trust,
    ...(trustList === undefined
      ? []
      : await (await import('#relay/config/trust.js')).readTrustList(trustList, environment)),
  ]
  if (entries.length === 0) return () => false
  const { isTrusted } = await import('#relay/config/trust.js')
  return server => isTrusted(server, entries)
}

const chosen = (
  flags: RelaySettings, target: Target, { file, servers, clients }: Configuration, many: boolean,
): readonly ServerConfiguration[] => {
  const { command, url, file: saved } = target
  if (command !== undefined && (url ?? saved) !== undefined) {
    return badUsage(`give either a ${url === undefined ? 'file' : 'URL'} or a command, not both`)
  }
  if ((command ?? url ?? saved) !== undefined) {
    const named = flags.server === undefined ? undefined : servers.get(flags.server)
    return [fromTarget(target, flags.server, named, clients)]
  }
  if (file === undefined) return badUsage('which server? give a command, a URL, or --config FILE')
  const names = [...servers.keys()].join(', ')
  if (flags.server !== undefined) {
    const server = servers.get(flags.server)
    return [server ?? badUsage(`${file}: no server ${JSON.stringify(flags.server)} (there is: ${names})`)]
  }
  const all = [...servers.values()]
  if (all.length === 0) return badUsage(`${file}: ${noServer}: write ${beginning}`)
  if (all.length > 1 && !many) {
    return badUsage(`${file} has several servers: choose one with --server (${names})`)
  }
  return many ? all.map(isolated) : all
}

/** In a gateway a server does not inherit the relay's environment, which may hold other servers' secrets. */
const isolated = (server: ServerConfiguration): ServerConfiguration =>
  'url' in server ? server : { ...server, inheritEnv: server.inheritEnv ?? [] }

/** A server given as an argument; it takes rules and tools from the file's server of the same name. */
const fromTarget = (
  { url, command, file }: Target, name: string | undefined, named: ServerConfiguration | undefined,
  clients: Configuration['clients'],
): ServerConfiguration => {
  const common = {
    name: name ?? (file === undefined ? serverNameOf({ url, command }) : basename(file)),
    policy: named?.policy,
    rules: named?.rules ?? new Map(),
    tools: named?.tools ?? new Map(),
    names: named === undefined && clients.length > 0 ? { clients: [clients] } : named?.names,
    minRevision: named?.minRevision,
    translate: named?.translate,
    lock: named?.lock,
  }
  if (url !== undefined) {
    const login = named !== undefined && 'url' in named ? named.login : undefined
    return { ...common, url: asServerUrl(url), headers: new Map(), tls: undefined, login }
  }
  // A saved list is not started: its name stands for the command.
  const [program, ...args] = file === undefined ? (command ?? []) : [file]
  if (program === undefined || program === '') return badUsage('no command after --')
  return { ...common, command: [program, ...args], env: new Map(), inheritEnv: undefined, cwd: undefined }
}

const asServerUrl = (url: string): string => {
  try {
    return readServerUrl(url, [])
  } catch (error) {
    throw error instanceof ConfigurationProblem
      ? new CustomsError('BAD_USAGE', `the URL of the server ${error.reason}`, { cause: error })
      : error
  }
}

/**
 * Adds the values of `--header`, `--ca` and `--env` to the server.
 * @throws CustomsError BAD_USAGE
 */
const withFlags = async (
  [server, ...others]: readonly ServerConfiguration[], { header, ca, env }: RelaySettings,
  environment: Environment,
): Promise<readonly ServerConfiguration[]> => {
  if (server === undefined || others.length > 0) {
    return badUsage('--header, --ca and --env are for one server: choose it with --server')
  }
  const { parseHeaders, parseVariables } = await import('#relay/config/server.js')
  if ('url' in server) {
    if (env.length > 0) return badUsage('--env goes with a command, not with a URL')
    const headers = new Map([...server.headers, ...at('header', () => parseHeaders(header, environment))])
    return [{
      ...server, headers,
      tls: ca === undefined ? server.tls : { ca: resolve(ca), client: server.tls?.client },
    }]
  }
  if (header.length > 0 || ca !== undefined) {
    return badUsage(`--${ca === undefined ? 'header' : 'ca'} goes with a URL, not with a command`)
  }
  return [{ ...server, env: new Map([...server.env, ...at('env', () => parseVariables(env, environment))]) }]
}

const relaxedBy = ({ relax }: RelaySettings) => (server: ServerConfiguration): ServerConfiguration => {
  if (relax.length === 0) return server
  const usual = { denied: false, outputSchema: undefined, annotations: undefined }
  const relaxed = relax.map(tool => [tool, { ...usual, ...server.tools.get(tool), relaxed: true }] as const)
  return { ...server, tools: new Map([...server.tools, ...relaxed]) }
}

const inOwnNamesOf = async (
  servers: readonly ServerConfiguration[], merge: MergeConfiguration, flags: RelaySettings,
): Promise<readonly ServerConfiguration[]> => {
  const { inOwnNames } = await import('../merge/own-names.js')
  return refusing(() => servers.map(server => inOwnNames(server, merge)), problem => inFile(flags, problem))
}

const inFile = ({ config }: RelaySettings, problem: ConfigurationProblem): CustomsError =>
  new CustomsError('BAD_CONFIG', `${config}: ${problem.message}`, { cause: problem })

/** Reports a problem at a flag without quoting its value, which may be a secret. */
const at = <Read>(flag: string, read: () => Read): Read => refusing(read, problem => {
  const way = problem.keys.length === 0 ? '' : ` ${wayTo(problem.keys)}`
  return new CustomsError('BAD_USAGE', `--${flag}${way}: ${problem.reason}`, { cause: problem })
})

const refusing = <Read>(read: () => Read, refusal: (problem: ConfigurationProblem) => CustomsError): Read => {
  try {
    return read()
  } catch (error) {
    throw error instanceof ConfigurationProblem ? refusal(error) : error
  }
}

/** Why an operator's schema cannot be used; undefined if it can. */
export const judgeSchema = async (
  schema: DataObject | boolean, limits: Limits,
): Promise<string | undefined> => {
  const { createSchemaChecker } = await import('#relay/schema/index.js')
  const checker = createSchemaChecker(limits)
  try {
    const [problem] = await checker.check({ kind: 'schema', schema, path: '' })
    return problem && `${problem.path === '' ? '' : `${problem.path}: `}${problem.message}`
  } finally {
    await checker.close()
  }
}
