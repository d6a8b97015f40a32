import type { Log } from '#relay/audit/log.js'
import type { Audit, Follower } from '#relay/audit/audit.js'
import type { Capture } from '#relay/capture/capture.js'
import {
  asksForTokens, type Configuration, type ProcessServer, type RemoteServer,
} from '#relay/config/configuration.js'
import type { Policy } from '#relay/core/vocabulary.js'
import { CallRates } from '#relay/core/call-rates.js'
import { type ServerHealth, wellIn } from '#relay/session/health.js'
import { type Connector, Upstream, Upstreams } from '../upstreams.js'
import type { FrameLimits } from '#relay/protocol/frame.js'
import type { Metrics } from '#relay/telemetry/metrics.js'
import { connectionTo, httpPlace } from '#relay/telemetry/place.js'
import { identifiesClient } from '#relay/transport/front/credentials.js'
import { type Endpoint, Endpoints, type NewSession, type Refused } from '#relay/transport/front/front.js'
import { canStart } from '#relay/transport/process/spawn.js'
import { machine } from '#relay/transport/machine.js'
import type { Credentials } from '#relay/transport/upstream/guarded.js'
import { SharedServer } from '#relay/transport/one-process/server.js'
import { stderrWritten } from '#relay/transport/stdio/stderr.js'
import type { RelaySettings } from '../settings.js'
import {
  captureOf, type CurrentRuling, healthOf, openGuard, rulingOf, watchByteValidator,
} from '../guard.js'
import type { Lifetime } from '../lifetime.js'
import { openTelemetry, patientUrgency, type Telemetry } from '../telemetry.js'
import type { ServerSetup } from '../server/judgement.js'
import type { Setup } from '../server/setup.js'
import { loginsOf } from '../server/login.js'
import { commandLineOf, processOf, tlsOf } from '../server/upstream.js'
import { Audits, refusalsTo, writeBeside } from './audits.js'
import { endpointsSettingsOf } from './front.js'
import { sessionKeyFor } from './session-key.js'
import { openState, type SharedState } from './state.js'

interface GatewayOptions {
  readonly flags: Pick<RelaySettings, 'capture' | 'logLevel'>
  readonly setup: Setup
  readonly log: Log
  readonly metrics: Metrics
  /** Followers of the audit logs, besides telemetry's. */
  readonly followers: readonly Follower[]
  /** Makes the ids of sessions (default: UUIDs). */
  readonly newSessionId?: (() => string) | undefined
  /** This process serves the endpoint of several servers too: there are no relay processes. */
  readonly merges?: boolean
}

/** The servers of a setup, served by one process until its lifetime ends. */
export interface Gateway {
  readonly endpoints: Endpoints
  readonly upstreams: Upstreams
  /** The current configuration. */
  readonly configuration: Configuration
  /** Updates the metrics of readiness and log sizes. */
  measure(): Promise<void>
  readonly refused: (refused: Refused) => void
  /**
   * Prepares a changed configuration. Nothing changes until the returned function applies it, at once; it
   * cannot fail. What needs a restart is as before in it (`untilRestart`).
   */
  prepare(changed: Setup): Promise<() => void>
}

/** @throws CustomsError when something of it cannot be opened */
export const openGateway = async (options: GatewayOptions, lifetime: Lifetime): Promise<Gateway> => {
  const { flags, setup, log, metrics, newSessionId } = options
  let { configuration } = setup
  const telemetry = await openTelemetry(configuration, log, metrics)
  const audits = new Audits({
    log, followers: [...telemetry.followers, ...options.followers],
    failed: records => metrics.auditFailed(records),
  })
  const capture = await captureOf(flags, configuration)
  const state = configuration.state && await openState(configuration.state, log, metrics, lifetime)
  const credentials = () => credentialsOf(configuration)
  const parts: Parts = { credentials, state, audits, telemetry, rulings: new Map(), metrics, log, capture }
  const upstreams = new Upstreams(await upstreamsOf(setup, parts))
  const { refused, flush } = refusalsTo({ audits, metrics, log, nameAt: path => upstreams.nameAt(path) })
  let sessionKey = await sessionKeyFor(setup, log)
  const merges = options.merges === true
    ? await mergesWithin(parts, (...request) => endpoints.serve(...request))
    : undefined
  const offered = (isOnly: boolean | undefined): ReadonlyMap<string, Endpoint> =>
    new Map([...upstreams.endpoints(isOnly), ...merges?.endpoints(configuration) ?? []])
  const endpoints: Endpoints = new Endpoints({
    ...endpointsSettingsOf(configuration), sessionKey, endpoints: offered(setup.isOnly), refused,
    ...(newSessionId && { newSessionId }),
  })

  lifetime.add(urgency => (urgency <= patientUrgency ? telemetry.close() : undefined))
  lifetime.add(stderrWritten)
  lifetime.add(() => audits.close())
  lifetime.add(watchByteValidator(log, metrics))
  lifetime.add(() => capture?.close())
  lifetime.add(urgency => upstreams.stop(urgency))
  lifetime.add(urgency => merges?.stop(urgency))
  lifetime.add(flush)

  return {
    endpoints,
    upstreams,
    measure: async () => {
      metrics.logs(audits.usage())
      metrics.ready(wellIn(await upstreams.ready()))
    },
    get configuration() { return configuration },
    refused,
    async prepare(changed) {
      // A key that cannot be read now is still known.
      sessionKey = await sessionKeyFor(changed, log) ?? sessionKey
      const changedUpstreams = await upstreamsOf(changed, parts)
      return () => {
        configuration = changed.configuration
        for (const one of changed.servers.map(asHttpServer)) {
          currentRuling(parts, one, configuration).now = rulingOf(one, configuration)
        }
        endpoints.reload({ ...endpointsSettingsOf(configuration), sessionKey })
        upstreams.replace(changedUpstreams, configuration.sessions.onReload)
        endpoints.offer(offered(changed.isOnly))
      }
    },
  }
}

/** The endpoint of several servers, in the process that serves them. */
const mergesWithin = async ({ audits, log, metrics, rulings }: Parts, serve: Endpoints['serve']) => {
  const [{ MergedEndpoint }, { recorderOfMerge }, { asksWithin }] = await Promise.all([
    import('../merge/endpoint.js'), import('../merge/findings.js'), import('#relay/transport/channel/asks.js'),
  ])
  const record = recorderOfMerge({ audits, log, metrics }, server => rulings.get(server)?.now.policy)
  let merged: InstanceType<typeof MergedEndpoint> | undefined
  return {
    endpoints: (configuration: Configuration): ReadonlyMap<string, Endpoint> => {
      const { merge } = configuration
      if (merge === undefined) return new Map()
      merged ??= new MergedEndpoint({ merge, configuration, log, record, asks: asksWithin(serve) })
      merged.replace(merge, configuration)
      return new Map([[merge.path, merged.endpoint]])
    },
    stop: (urgency: number) => merged?.stop(urgency),
  }
}

/** The parts that survive a reload. */
interface Parts {
  /** By the current configuration. */
  readonly credentials: () => Credentials
  readonly audits: Audits
  readonly telemetry: Telemetry
  readonly metrics: Metrics
  readonly log: Log
  readonly capture: Capture | undefined
  readonly state: SharedState | undefined
  /** By the server's name. */
  readonly rulings: Map<string, CurrentRuling>
}

const credentialsOf = (configuration: Configuration): Credentials => {
  if (configuration.facade !== undefined) return 'exchanged'
  return asksForTokens(configuration) ? 'of the relay' : 'of the server'
}

/** One object for running and later sessions: a tool that is denied on reload is denied to both. */
const currentRuling = (
  { rulings, state }: Parts, setup: ServerSetup, configuration: Configuration,
): CurrentRuling => {
  const { name } = setup.server
  const ruling = rulings.get(name) ?? {
    now: rulingOf(setup, configuration), rates: new CallRates(),
    count: state && (ask => state.calls.count(name, ask)),
  }
  rulings.set(name, ruling)
  return ruling
}

const upstreamsOf = async (
  { configuration, servers, isOnly = servers.length === 1 }: Setup, parts: Parts,
): Promise<ReadonlyMap<string, Upstream>> => {
  const upstreams = new Map<string, Upstream>()
  try {
    for (const setup of servers.map(asHttpServer)) {
      upstreams.set(setup.server.name, await upstreamOf(setup, configuration, parts, isOnly))
    }
  } catch (error) {
    for (const upstream of upstreams.values()) void upstream.retire()
    throw error
  }
  return upstreams
}

const upstreamOf = async (
  setup: ServerSetup, configuration: Configuration, parts: Parts, isAlone: boolean,
): Promise<Upstream> => {
  const { audits, telemetry, metrics, log, capture, state } = parts
  const { server } = setup
  const { name } = server
  const audit = await audits.open(configuration.audit, name)
  const place =
    { server: name, toClient: httpPlace, toServer: connectionTo('url' in server ? server.url : undefined) }
  const health = healthOf(server, { audit, log, metrics })
  const connector = await ('url' in server
    ? remote(server, configuration, isAlone, parts, audit)
    : local(server, configuration.limits, (reason, hasStarted, lines) => {
        log.warn(`${name}: ${reason}`)
        health.ended(reason, hasStarted, lines)
      }, message => log.warn(`${name}: ${message}`)))
  const witnesses = { audit, log, metrics, observe: telemetry.observe?.(place), witness: capture, health }
  return new Upstream({
    health: stateful(health, state),
    guard: openGuard(setup, configuration, witnesses, currentRuling(parts, setup, configuration)),
    connector,
    scopes: server.scopes,
    shared: 'url' in server ? state && ((id, kind) => state.sessions.session(name, id, kind)) : undefined,
    ...('url' in server && {
      passesAuthorization: (server.upstream ?? 'passthrough') === 'passthrough' && !asksForTokens(configuration),
    }),
    sessionStarted: () => metrics.sessionStarted(name),
    sessionEnded: ({ failure, isAuditFailure }) => {
      metrics.sessionEnded(name)
      if (failure === undefined) return
      if (isAuditFailure) metrics.auditFailed()
      else metrics.coreFailed(name)
      log.warn(failure.message)
    },
  })
}

/** Without the shared state a server is served in part only. */
const stateful = (health: ServerHealth, state: SharedState | undefined) => ({
  get problem() { return health.problem ?? state?.problem() },
  stopping: () => health.stopping(),
})

/**
 * Before a stdio server the relay is the HTTP server, so it refuses requests whose headers and body disagree
 * even when the operator only observes: nothing behind it would.
 */
const asHttpServer = (setup: ServerSetup): ServerSetup => {
  const { server, judgement, judgement: { ruling } } = setup
  if ('url' in server || ruling.policy.get('wire/http') !== 'log') return setup
  const policy: Policy = new Map([...ruling.policy, ['wire/http', 'block']])
  return { ...setup, judgement: { ...judgement, ruling: { ...ruling, policy } } }
}

/**
 * Each session has its own process, because a handshake binds a process to one client; all stateless clients
 * share one, because a process that was used without a handshake may refuse one later.
 */
const local = (
  server: ProcessServer, limits: FrameLimits, ended: ServerHealth['ended'], warn: (message: string) => void,
): Connector => {
  const make = () => {
    const child = processOf(
      server, limits, (reason, lines) => ended(reason, child.failure === undefined, lines), warn,
    )
    return child
  }
  const shared = new SharedServer({ make })
  return {
    kind: 'stdio',
    connect: ({ kind }) => (kind === 'stateless' ? () => shared.connect() : make),
    connectAlone: () => make,
    ready: () => Promise.resolve(canStart(commandLineOf(server)) && shared.isReady),
    close: () => shared.close(),
  }
}

/** The HTTP client is loaded only for a remote server. @param isAlone no other server is offered beside it */
const remote = async (
  server: RemoteServer, configuration: Configuration, isAlone: boolean,
  { credentials, log, metrics }: Parts, audit: Pick<Audit, 'write'>,
): Promise<Connector> => {
  const [
    { HttpUpstream }, { AuthorizedUpstream }, { GuardedUpstream }, { httpServer }, { httpSession },
  ] = await Promise.all([
    import('#relay/transport/upstream/pool.js'),
    import('#relay/transport/upstream/authorized.js'),
    import('#relay/transport/upstream/guarded.js'),
    import('#relay/transport/upstream/forward.js'),
    import('#relay/transport/upstream/session/session.js'),
  ])
  const { limits } = configuration
  const logins = await loginsOf(server, configuration, message => log.warn(`${server.name}: ${message}`))
  const url = new URL(server.url)
  const upstream = machine.httpServer?.(url) ?? new HttpUpstream(url, tlsOf(server))
  const { headers, name } = server
  const passHeaders = new Set(server.passHeaders?.map(header => header.toLowerCase()))
  const cookiePath = isAlone ? undefined : `/${name}/`
  const refused = (reason: string): void => {
    log.warn(`${name}: ${reason}`)
    writeBeside({ audit, log, metrics }, {
      event: 'http/refused', from: 'server', server: name, session: '', client: undefined, peer: undefined,
      revision: undefined, verdict: 'block', findings: [], reason,
    })
  }
  const guardedFor = ({ peer }: NewSession) => {
    const asked = logins ? new AuthorizedUpstream(upstream, logins.of(peer.subject), true) : upstream
    return new GuardedUpstream(asked, credentials, refused)
  }
  return {
    kind: 'http',
    connect: opening => inputSchemaOf =>
      httpServer({ upstream: guardedFor(opening), headers, limits, inputSchemaOf, cookiePath, passHeaders }),
    connectAlone: opening => {
      const shown = [...opening.headers].filter(([name]) => identifiesClient(name) && name !== 'mcp-session-id')
      return inputSchemaOf => httpSession({
        url, upstream: guardedFor(opening), headers: new Map([...shown, ...headers]), limits, inputSchemaOf,
      })
    },
    ready: () => upstream.reachable(),
    close: async () => {
      await logins?.close()
      await upstream.close()
    },
  }
}
