import type { AuditConfiguration, Configuration, RemoteServer, ServerConfiguration } from '../config/configuration.js'
import { defaultLimits, type Limits } from '../config/limits.js'
import { parseRules, readPolicy, resolvePolicy, type Circumstances, type PolicyLayer } from '../config/policy.js'
import type { Policy } from '../core/policy.js'
import { CustomsError } from '../errors.js'
import type { SharedFlags, Target } from './flags.js'

/** Everything that the flags and the file say, flags first. */
export interface Setup {
  readonly configuration: Configuration | undefined
  readonly limits: Limits
  readonly audit: AuditConfiguration
  /** One for wrap, inspect and lock; all of the file's for `serve --config`. */
  readonly servers: readonly ServerSetup[]
}

export interface ServerSetup {
  readonly server: ServerConfiguration
  readonly policy: Policy
  readonly trusted: boolean
}

/**
 * @param purpose advice/ rules are on in `inspect` only
 * @param many every server of the file is wanted, where none is named
 * @throws CustomsError BAD_USAGE or BAD_CONFIG
 */
export const setUp = async (
  flags: SharedFlags,
  target: Target,
  purpose: Circumstances['purpose'],
  many = false,
): Promise<Setup> => {
  const configuration = flags.config === undefined ? undefined : await readFile(flags.config)
  const flagLayer: PolicyLayer = {
    policy: flags.policy === undefined ? undefined : await readPolicy(flags.policy, process.env),
    rules: parseRules(flags.rule),
  }
  const trusts = await readTrust(configuration, flags)
  const headers = await readHeaders(flags, target)
  return {
    configuration,
    limits: configuration?.limits ?? defaultLimits,
    audit: {
      file: flags.audit ?? configuration?.audit.file,
      payloads: configuration?.audit.payloads ?? 'digest',
      intent: configuration?.audit.intent ?? false,
    },
    servers: await Promise.all(
      chosen(flags, target, configuration, many, headers).map(async server => ({
        server,
        // From the general to the particular: the file, its server, the flags.
        policy: resolvePolicy([configuration ?? {}, server, flagLayer], { purpose, locked: false }),
        trusted: await trusts(server),
      })),
    ),
  }
}

// Readers are loaded where there is something to read: a relay without a file starts sooner.
const readFile = async (file: string): Promise<Configuration> => (await import('../config/read.js')).readConfiguration(file)

const readHeaders = async ({ header }: SharedFlags, { url }: Target): Promise<Headers> => {
  if (header.length === 0) return new Map()
  if (url === undefined) throw new CustomsError('BAD_USAGE', '--header belongs to a URL')
  return (await import('./header-flags.js')).parseHeaders(header, process.env)
}

type Headers = RemoteServer['headers']

const readTrust = async (
  configuration: Configuration | undefined,
  { trust, trustList }: SharedFlags,
): Promise<(server: ServerConfiguration) => boolean | Promise<boolean>> => {
  if (trust) return () => true
  const entries = [
    ...(configuration?.trust ?? []),
    ...(trustList === undefined ? [] : await (await import('../config/trust-list.js')).readTrustList(trustList, process.env)),
  ]
  if (entries.length === 0) return () => false
  const { isTrusted } = await import('../config/trust.js')
  return server => isTrusted(server, entries)
}

const chosen = (
  flags: SharedFlags,
  target: Target,
  configuration: Configuration | undefined,
  many: boolean,
  headers: Headers,
): readonly ServerConfiguration[] => {
  const fail = (reason: string): never => {
    throw new CustomsError('BAD_USAGE', reason)
  }
  if (target.command !== undefined && target.url !== undefined) {
    return fail('give either a URL or a command after --, not both')
  }
  if (target.command !== undefined || target.url !== undefined) {
    const named = flags.server === undefined ? undefined : configuration?.servers.get(flags.server)
    return [fromTarget(target, flags.server, named, headers)]
  }
  if (configuration === undefined) return fail('which server? give a command after --, a URL, or --config FILE')
  const names = [...configuration.servers.keys()].join(', ')
  if (flags.server !== undefined) {
    return [configuration.servers.get(flags.server) ?? fail(`${configuration.file}: no server ${JSON.stringify(flags.server)} (there is: ${names})`)]
  }
  const all = [...configuration.servers.values()]
  if (all.length === 0) return fail(`${configuration.file}: no servers`)
  if (all.length > 1 && !many) return fail(`${configuration.file} has several servers: choose one with --server (${names})`)
  return all
}

/** A server of the arguments; the file's server of the same name lends it its rules and tools. */
const fromTarget = (target: Target, name: string | undefined, named: ServerConfiguration | undefined, headers: Headers): ServerConfiguration => {
  const common = {
    name: name ?? nameOf(target),
    policy: named?.policy,
    rules: named?.rules ?? new Map(),
    tools: named?.tools ?? new Map(),
  }
  if (target.url !== undefined) {
    if (!URL.canParse(target.url) || !/^https?:$/.test(new URL(target.url).protocol)) {
      throw new CustomsError('BAD_USAGE', `${JSON.stringify(target.url)} is no http or https URL`)
    }
    return { ...common, url: target.url, headers, tls: undefined }
  }
  const command = target.command ?? []
  if (command.length === 0) throw new CustomsError('BAD_USAGE', 'no command after --')
  return { ...common, command, env: new Map(), cwd: undefined }
}

/** What the audit log calls a server that nobody named: the host, the package or the script that it is. */
const nameOf = ({ url, command = [] }: Target): string => {
  if (url !== undefined) return URL.canParse(url) ? new URL(url).hostname : url
  const [program = '', ...rest] = command
  const word = launchers.test(program) ? (rest.find(isName) ?? program) : program
  const base = word.replace(/^@[^/]+\//, '').replace(/@[^@]*$/, '').split(/[\\/]/).pop() ?? word
  return base.replace(/\.[cm]?[jt]s$|\.py$|\.exe$/, '') || 'server'
}

const launchers = /(?:^|[\\/])(?:npx|npm|node|bunx|bun|deno|uvx|python3?)(?:\.\w+)?$/

// Neither a flag, nor a subcommand, nor a program given as text (`node -e '…'`).
const isName = (word: string): boolean => /^[\w@.\\/:-]+$/.test(word) && !word.startsWith('-') && word !== 'exec'
