import type { Follower } from '../audit/sink.js'
import type { Log } from '../audit/log.js'
import { withoutSecrets } from '../audit/secrets.js'
import type { Capture } from '../capture/capture.js'
import type { Configuration } from '../config/configuration.js'
import { Upstream, Upstreams, type Connector } from '../gateway/upstreams.js'
import type { Metrics } from '../telemetry/metrics.js'
import { connectionTo, http } from '../telemetry/place.js'
import {
  Endpoints, type FrontBackend, httpFront, type HttpFront, type HttpFrontOptions, type Refused,
} from '../transport/front/front.js'
import { Audits } from './audits.js'
import { captureOf } from './capture.js'
import { onRenewal } from './certificates.js'
import type { LogLevel, SharedFlags } from './flags.js'
import { endpointsSettingsOf, frontSettingsOf } from './front-settings.js'
import { type CurrentRuling, openGuard, rulingOf, watchByteValidator } from './guard.js'
import type { Lifetime } from './lifetime.js'
import { connectorFor } from './connector.js'
import { Refusals, type ToldRefusal } from './refusals.js'
import type { ServerSetup, Setup } from './setup.js'
import { openTelemetry, patientUrgency, type Telemetry } from './telemetry.js'

export interface GatewayOptions {
  readonly flags: Pick<SharedFlags, 'capture' | 'logLevel'>
  readonly setup: Setup
  readonly log: Log
  readonly metrics: Metrics
  /** Of the audit logs, besides those of telemetry. */
  readonly followers: readonly Follower[]
  /** Makes the ids of sessions (default: UUIDs). */
  readonly mint?: (() => string) | undefined
}

/** The servers of a setup as one process offers them, until its lifetime ends. */
export interface Gateway {
  readonly endpoints: Endpoints
  readonly upstreams: Upstreams
  /** What is said now. */
  readonly configuration: Configuration
  /** Tells the metrics how things are now: which servers can be reached, what the logs take up. */
  measure(): Promise<void>
  readonly refused: (refused: Refused) => void
  /** Takes notice of another configuration, as far as that takes no restart. */
  reload(changed: Setup): Promise<void>
}

/** @throws CustomsError when something of it cannot be opened */
export const openGateway = async (options: GatewayOptions, lifetime: Lifetime): Promise<Gateway> => {
  const { flags, setup, log, metrics, mint } = options
  let { configuration } = setup
  const telemetry = await openTelemetry(configuration, log, metrics)
  const audits = new Audits({ log, followers: [...telemetry.followers, ...options.followers], failed: records => metrics.auditFailed(records) })
  const capture = await captureOf(flags, configuration)
  const parts: Parts = { audits, telemetry, rulings: new Map(), metrics, log, capture }
  const upstreams = new Upstreams(await upstreamsOf(setup, parts))
  const { refused, flush } = refusalsTo({ audits, metrics, log, nameAt: path => upstreams.nameAt(path) })
  const endpoints = new Endpoints({ ...endpointsSettingsOf(configuration), endpoints: upstreams.endpoints(setup.isOnly), refused, ...(mint && { mint }) })

  lifetime.add(urgency => (urgency <= patientUrgency ? telemetry.close() : undefined))
  lifetime.add(() => audits.close())
  lifetime.add(watchByteValidator(log, metrics))
  lifetime.add(() => capture?.close())
  lifetime.add(urgency => upstreams.stop(urgency))
  lifetime.add(flush)

  return {
    endpoints,
    upstreams,
    measure: async () => {
      metrics.logs(audits.usage())
      metrics.ready(await upstreams.ready())
    },
    get configuration() { return configuration },
    refused,
    async reload(changed) {
      const changedUpstreams = await upstreamsOf(changed, parts)
      configuration = changed.configuration
      for (const one of changed.servers.map(asHttpServer)) currentRuling(parts, one, configuration).now = rulingOf(one, configuration)
      endpoints.reload(endpointsSettingsOf(configuration))
      upstreams.replace(changedUpstreams, configuration.sessions.onReload)
      endpoints.offer(upstreams.endpoints(changed.isOnly))
    },
  }
}

/** Told of refusals: counts them, and puts them on record. */
export const refusalsTo = (places: RefusalPlaces): { readonly refused: (refused: Refused) => void; readonly flush: () => void } => {
  const refusals = new Refusals(refusal => record(refusal, refusal.path === undefined ? undefined : places.nameAt(refusal.path), places))
  return {
    refused: refused => {
      places.metrics.refused(refused.status)
      refusals.note(refused)
    },
    flush: () => refusals.flush(),
  }
}

interface RefusalPlaces {
  readonly audits: Pick<Audits, 'of'>
  readonly metrics: Metrics
  readonly log: Log
  /** Which server stands at a path. */
  readonly nameAt: (path: string) => string | undefined
}

interface FrontParts extends Pick<HttpFrontOptions, 'refused'> {
  readonly backend: FrontBackend
  readonly log: Log
  readonly logLevel: LogLevel
  /** What is said now. */
  readonly configuration: () => Configuration
}

/** The network side of `serve`, in front of whatever serves. */
export const openFront = ({ backend, refused, log, logLevel, configuration }: FrontParts, lifetime: Lifetime): HttpFront => {
  const { listen, sessions: { graceMs } } = configuration()
  const front = httpFront({
    ...frontSettingsOf(configuration()), address: listen, backend,
    ...(refused && { refused }),
    ...(speaks(logLevel) && { served: request => log.access({ ...request, path: withoutSecrets(request.path) }) }),
  })
  // Who is in a hurry does not wait for what is being answered.
  lifetime.add(urgency => (urgency === 1 ? front.close(configuration().sessions.graceMs) : undefined), graceMs + closingMs)
  if (configuration().tls) lifetime.add(onRenewal(() => certificatesOf(configuration()), () => front.reload(frontSettingsOf(configuration())), log))
  return front
}

const certificatesOf = ({ tls }: Configuration): readonly string[] => (tls ? [tls.cert, tls.key, ...(tls.clientCa === undefined ? [] : [tls.clientCa])] : [])

/** How long the front may take beyond its grace, in milliseconds. */
const closingMs = 5000

/** Whether anybody reads what is said at level info. */
const speaks = (level: LogLevel): boolean => ['info', 'debug', 'trace'].includes(level)

/** What outlives a change of the configuration. */
interface Parts {
  readonly audits: Audits
  readonly telemetry: Telemetry
  readonly metrics: Metrics
  readonly log: Log
  readonly capture: Capture | undefined
  /** By the server's name. */
  readonly rulings: Map<string, CurrentRuling>
}

/** Shared by the sessions that run and those that begin later: what is denied now is denied to both. */
const currentRuling = ({ rulings }: Parts, setup: ServerSetup, configuration: Configuration): CurrentRuling => {
  const { name } = setup.server
  const ruling = rulings.get(name) ?? { now: rulingOf(setup, configuration) }
  rulings.set(name, ruling)
  return ruling
}

/** On stderr, and in the log of the server that was meant. */
const record = ({ status, message, address, times }: ToldRefusal, server: string | undefined, { audits, metrics, log }: RefusalPlaces): void => {
  const reason = `HTTP ${status}: ${message}${times > 1 ? ` (${times} times)` : ''}`
  log.warn(`refused ${address || 'a program of this machine'}: ${reason}`)
  if (server === undefined) return
  try {
    audits.of(server)?.write({
      event: 'http/refused', from: 'client', server, session: '', client: undefined, peer: { address, token: undefined }, revision: undefined, verdict: 'block', findings: [], reason,
    })
  } catch (failure) {
    metrics.auditFailed()
    log.warn(failure instanceof Error ? failure.message : String(failure))
  }
}

const upstreamsOf = async ({ configuration, servers, isOnly = servers.length === 1 }: Setup, parts: Parts): Promise<ReadonlyMap<string, Upstream>> => {
  const upstreams = new Map<string, Upstream>()
  try {
    for (const setup of servers.map(asHttpServer)) {
      const connector = await connectorFor(setup.server, configuration.limits, parts.log, isOnly)
      upstreams.set(setup.server.name, await upstreamOf(setup, connector, configuration, parts))
    }
  } catch (error) {
    for (const upstream of upstreams.values()) void upstream.retire()
    throw error
  }
  return upstreams
}

const upstreamOf = async (setup: ServerSetup, connector: Connector, configuration: Configuration, parts: Parts): Promise<Upstream> => {
  const { audits, telemetry, metrics, log, capture } = parts
  const { server } = setup
  const { name } = server
  const audit = await audits.open(configuration.audit, name)
  const place = { server: name, toClient: http, toServer: connectionTo('url' in server ? server.url : undefined) }
  const witnesses = { audit, log, metrics, observe: telemetry.observe?.(place), witness: capture }
  return new Upstream({
    guard: openGuard(setup, configuration, witnesses, currentRuling(parts, setup, configuration)),
    connector,
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

/**
 * In front of a process the HTTP server is the relay: a request whose headers lie is its own to refuse, whether the operator
 * means to enforce or only to observe. Behind it stands nobody who could.
 */
const asHttpServer = (setup: ServerSetup): ServerSetup =>
  'url' in setup.server || setup.policy.get('wire/http') !== 'log'
    ? setup
    : { ...setup, policy: new Map([...setup.policy, ['wire/http', 'block']]) }
