import type { PageRoutes } from './admin/page.js'
import { isLoopback } from '#relay/base/addresses.js'
import { type Log, openLog } from '#relay/audit/log.js'
import type { Follower } from '#relay/audit/audit.js'
import { asksForTokens, type Configuration } from '#relay/config/configuration.js'
import { CustomsError } from '#relay/base/errors.js'
import type { Condition } from '#relay/session/health.js'
import { explained } from '#relay/rules/index.js'
import { countingMetrics, type Metrics, noMetrics } from '#relay/telemetry/metrics.js'
import type { FrontBackend, Refused } from '#relay/transport/front/front.js'
import { inheritedChannel } from '#relay/transport/process/relay.js'
import { canStart } from '#relay/transport/process/spawn.js'
import type { LogRecord } from '#relay/audit/read/record.js'
import type { RelaySettings } from './settings.js'
import type { Target } from '#relay/config/target.js'
import { tellOfCapture } from './guard.js'
import { endAt, Lifetime } from './lifetime.js'
import { recordsFor } from './serve/audits.js'
import { frontSettingsFor, openFront } from './serve/front.js'
import { openGateway } from './serve/gateway.js'
import { onChange } from './serve/reload.js'
import { runningSetup, untilRestart } from './serve/restart.js'
import { isShared } from './serve/share.js'
import { isLocal } from './server/login.js'
import { setUp, type Setup } from './server/setup.js'
import { commandLineOf } from './server/upstream.js'
import { version } from '#relay/base/version.js'

/** What the backend of a front is opened with. */
export interface ServedParts {
  readonly flags: RelaySettings
  readonly setup: Setup
  readonly log: Log
  readonly metrics: Metrics
  readonly page: GatewayPage | undefined
}

type Awaitable<Value> = Value | Promise<Value>
/** A page that shows a gateway's decisions from now on, with all their fields: the desk makes it. */
export interface DecisionPage {
  readonly routes: PageRoutes
  /** The token, to be appended to the listener's address: it grants access to the page. */
  readonly query: string
  readonly take: (record: LogRecord) => void
  /** Sends what was taken to the viewers. */
  readonly changed: () => void
  readonly close: () => void
}

type GatewayPage = DecisionPage & { readonly follower: Follower }

export interface Served {
  readonly backend: FrontBackend
  readonly refused: (refused: Refused) => void
  /** The current configuration. */
  readonly configuration: () => Configuration
  /**
   * Prepares a changed configuration. Nothing changes until the returned function applies it: new requests
   * are under it at once, and all others when its promise resolves. It cannot fail. What needs
   * a restart is as before in it (`untilRestart`).
   */
  readonly prepare: (changed: Setup) => Awaitable<() => Awaitable<void>>
  /** The condition of each server. */
  readonly ready: () => Promise<ReadonlyMap<string, Condition>>
  /** The metrics in Prometheus's text format. */
  readonly text: () => Promise<string>
}

/**
 * `serve`: relays between Streamable HTTP clients and one server, or every server of a file.
 * @param openPage opens the page of the admin listener
 * @returns 0, when it was told to stop and what was running has ended
 */
export const serve = async (
  flags: RelaySettings, target: Target, openPage: () => Promise<DecisionPage>,
): Promise<number> => {
  const channel = inheritedChannel()
  if (channel) return (await import('./serve/relay-process.js')).serveAsRelay(channel)
  const read = () => setUp(flags, target, 'relay', true)
  const setup = await read()
  if (!isLocal(setup.configuration)) {
    await (await import('./server/challenge.js')).refuseSharedLogins(setup)
  }
  const isOfFile = (target.command ?? target.url) === undefined
  const { config, logLevel } = flags
  const { admin } = setup.configuration
  const log = openLog(logLevel, explained)
  const lifetime = new Lifetime()
  lifetime.add(() => log.close())
  const metrics = admin ? countingMetrics() : noMetrics
  metrics.build(version())
  const page = admin && withFollower(await openPage())
  lifetime.add(() => adminListener?.close())
  lifetime.add(() => page?.close())
  const parts: ServedParts = { flags, setup, log, metrics, page }
  const served = await (isShared(setup, isOfFile, log)
    ? (await import('./serve/relays.js')).openRelays(parts, lifetime)
    : openAlone(parts, lifetime))
  const frontSettings = frontSettingsFor(log)
  let current = runningSetup(setup)
  const front = openFront({
    ...served, log, logLevel, settings: await frontSettings(setup), renew: () => inTurn(renew),
  }, lifetime)
  tellOfCapture(flags, setup.configuration)
  for (const doubt of doubtsAbout(setup)) log.warn(doubt)
  const adminListener = admin ? await adminOf(admin, served, page) : undefined
  endAt({ SIGTERM: 1, SIGINT: 1, SIGBREAK: 1, ...(config === undefined && { SIGHUP: 1 }) }, lifetime)
  const inTurn = oneAtATime()
  const renew = async () => front.reload(await frontSettings(current.setup))
  const reload = async () => {
    const changed = untilRestart(current, await read())
    const { setup, late } = changed
    const doubts = doubtsAbout(setup)
    const settings = await frontSettings(setup)
    await applyTo(served, setup, () => {
      current = changed
      front.reload(settings)
    })
    for (const doubt of doubts) log.warn(doubt)
    if (late.length > 0) log.warn(`${late.join(', ')}: changed, which takes a restart`)
  }
  try {
    const url = await front.listen()
    const adminUrl = await adminListener?.listen()
    if (config !== undefined) lifetime.add(onChange(config, () => inTurn(reload), log, metrics))
    process.stderr.write(`mcp-customs listening on ${url}\n`)
    if (isOfFile) process.stderr.write(`mcp-customs serves ${endpointsOf(setup).join(', ')}\n`)
    if (page) process.stderr.write(`mcp-customs page on ${adminUrl}/${page.query}\n`)
  } catch (error) {
    lifetime.fail(error)
  }
  await lifetime.ended
  return 0
}

/**
 * Applies a changed setup. Nothing fails after `prepare`. Tokens, scopes and paths change in one turn of the
 * event loop: no request finds a new server under old tokens.
 * @param reloadFront applies the settings of the front
 */
export const applyTo = async (
  served: Pick<Served, 'prepare'>, changed: Setup, reloadFront: () => void,
): Promise<void> => {
  const apply = await served.prepare(changed)
  reloadFront()
  await apply()
}

/** A renewal of certificates during a reload could bring the old settings back. */
const oneAtATime = () => {
  let last: Promise<unknown> = Promise.resolve()
  return (act: () => Promise<void>): Promise<void> => {
    const done = last.then(act)
    last = done.catch(() => undefined)
    return done
  }
}

const endpointsOf = (
  { servers, configuration: { merge }, isOnly = servers.length === 1 }: Setup,
): readonly string[] => [
  ...(merge ? [merge.path] : []), ...(isOnly ? ['/mcp'] : []), ...servers.map(({ server: { name } }) => `/${name}/mcp`),
]

const openAlone = async (
  { flags, setup, log, metrics, page }: ServedParts, lifetime: Lifetime,
): Promise<Served> => {
  const gateway =
    await openGateway({
      flags, setup, log, metrics, followers: page ? [page.follower] : [],
      merges: setup.configuration.merge !== undefined,
    }, lifetime)
  const { endpoints, upstreams, refused } = gateway
  return {
    backend: endpoints, refused,
    configuration: () => gateway.configuration,
    prepare: changed => gateway.prepare(changed),
    ready: () => upstreams.ready(),
    text: async () => {
      await gateway.measure()
      return metrics.registry?.text() ?? ''
    },
  }
}

const adminOf = async (
  { host, port }: NonNullable<Configuration['admin']>, { configuration, ready, text }: Served,
  page: DecisionPage | undefined,
) => {
  const { adminServer } = await import('./admin/server.js')
  const allowHosts = () => configuration().allowHosts
  return adminServer({
    host, port, allowHosts, state: { ready, metrics: text }, ...(page && { page: page.routes }),
  })
}

const withFollower = (page: DecisionPage): GatewayPage => {
  const take = (record: LogRecord): void => {
    page.take(record)
    page.changed()
  }
  return { ...page, follower: recordsFor(take) }
}

/**
 * Warnings about settings that are valid but probably not intended.
 * @throws CustomsError CANNOT_START when none of the servers can be started
 */
export const doubtsAbout = (
  { configuration, servers }: Setup,
): readonly string[] => {
  const missing =
    servers.flatMap(({ server }) => ('url' in server || canStart(commandLineOf(server)) ? [] : [server]))
  const [first] = missing
  if (first !== undefined && missing.length === servers.length) {
    throw new CustomsError('CANNOT_START', cannotStart(first.command[0]))
  }
  const { listen, tokens } = configuration
  const who = strangersAt(listen)
  return [
    ...missing.map(({ name, command: [program] }) => `servers.${name}: ${cannotStart(program)}`),
    ...(!asksForTokens(configuration) && who !== undefined
      ? [`${who}, and no token is asked for: name some with --token-file or auth.tokens, or an auth.issuer`]
      : []),
    ...(tokens.some(({ token }) => token.length < minToken)
      ? [`a token has fewer than ${minToken} characters, and can be guessed: make one with ` +
        'openssl rand -hex 32']
      : []),
  ]
}

const cannotStart = (program: string): string => `cannot start ${JSON.stringify(program)}: command not found`

/** In characters. */
const minToken = 16

/** Who besides this user can connect; undefined for nobody. */
const strangersAt = (listen: Configuration['listen']): string | undefined => {
  if ('socket' in listen) {
    return (listen.mode & 0o002) === 0 ? undefined : `${listen.socket} is open to every user of this machine`
  }
  return isLoopback(listen.host) ? undefined : `${listen.host} is open to the network`
}
