import type { Follower } from '../audit/follower.js'
import type { Log } from '../audit/log.js'
import { withoutSecrets } from '../audit/secrets.js'
import type { Capture } from '../capture/capture.js'
import type { Configuration } from '../config/configuration.js'
import { Offer, type Reach } from '../gateway/offer.js'
import { Offers } from '../gateway/offers.js'
import type { Metrics } from '../telemetry/metrics.js'
import { connectionTo, http } from '../telemetry/place.js'
import { httpFront, type HttpFront, type HttpFrontOptions } from '../transport/front/front.js'
import { Audits } from './audits.js'
import { captureOf } from './capture.js'
import { onRenewal } from './certificates.js'
import type { LogLevel, SharedFlags } from './flags.js'
import { frontSettingsOf } from './front-settings.js'
import { openGuard, rulingOf, watchByteValidator, type CurrentRuling } from './guard.js'
import type { Lifetime } from './lifetime.js'
import { reachOf } from './reach.js'
import { Refusals, type ToldRefusal } from './refusals.js'
import type { ServerSetup, Setup } from './setup.js'
import { openTelemetry, patientUrgency, type Telemetry } from './telemetry.js'

export interface GatewayOptions {
  readonly flags: SharedFlags
  readonly setup: Setup
  readonly log: Log
  readonly metrics: Metrics
  /** Of the audit logs, besides those of telemetry. */
  readonly followers: readonly Follower[]
  /** To other processes of the same gateway; undefined: it is alone. */
  readonly handover?: HttpFrontOptions['handover']
}

/** The servers of a setup as one process offers them over HTTP, until its lifetime ends. */
export interface Gateway {
  readonly front: HttpFront
  readonly offers: Offers
  /** What is said now. */
  readonly configuration: Configuration
  /** Begins to accept connections. @returns where @throws CustomsError CANNOT_START */
  listen(): Promise<string>
  /** Tells the metrics how things are now: which servers can be reached, what the logs take up. */
  measure(): Promise<void>
  /** Takes notice of another configuration, as far as that takes no restart. */
  reload(changed: Setup): Promise<void>
}

/** @throws CustomsError when something of it cannot be opened */
export const openGateway = async (options: GatewayOptions, lifetime: Lifetime): Promise<Gateway> => {
  const { flags, setup, log, metrics, handover } = options
  let { configuration } = setup
  const telemetry = await openTelemetry(configuration, log, metrics)
  const audits = new Audits({ log, followers: [...telemetry.followers, ...options.followers], failed: records => metrics.auditFailed(records) })
  const capture = await captureOf(flags, configuration)
  const parts: Parts = { audits, telemetry, rulings: new Map(), metrics, log, capture }
  const offers = new Offers(await offersOf(setup, parts))

  const refusals = new Refusals(refusal => record(refusal, refusal.path === undefined ? undefined : offers.nameAt(refusal.path), parts))
  const front = httpFront({
    ...frontSettingsOf(configuration),
    address: configuration.listen,
    endpoints: offers.endpoints(),
    ...(speaks(flags.logLevel) && { served: request => log.access({ ...request, path: withoutSecrets(request.path) }) }),
    refused: refused => {
      metrics.refused(refused.status)
      refusals.note(refused)
    },
    ...(handover && { handover }),
  })

  lifetime.add(urgency => (urgency <= patientUrgency ? telemetry.close() : undefined))
  lifetime.add(() => audits.close())
  lifetime.add(watchByteValidator(log, metrics))
  lifetime.add(() => capture?.close())
  lifetime.add(urgency => offers.stop(urgency))
  lifetime.add(() => refusals.flush())
  // Who is in a hurry does not wait for what is being answered.
  lifetime.add(urgency => (urgency === 1 ? front.close(configuration.sessions.graceMs) : undefined), configuration.sessions.graceMs + closingMs)

  return {
    front,
    offers,
    measure: async () => {
      metrics.logs(audits.usage())
      metrics.ready(await offers.ready())
    },
    get configuration() { return configuration },
    async listen() {
      const url = await front.listen()
      if (configuration.tls) lifetime.add(onRenewal(() => certificatesOf(configuration), () => front.reload(frontSettingsOf(configuration)), log))
      return url
    },
    async reload(changed) {
      const settings = frontSettingsOf(changed.configuration)
      const changedOffers = await offersOf(changed, parts)
      configuration = changed.configuration
      for (const one of changed.servers.map(asHttpServer)) currentRuling(parts, one, configuration).now = rulingOf(one, configuration)
      front.reload(settings)
      offers.replace(changedOffers, configuration.sessions.onReload)
      front.offer(offers.endpoints())
    },
  }
}

const certificatesOf = ({ tls }: Configuration): readonly string[] => (tls ? [tls.cert, tls.key, ...(tls.clientCa === undefined ? [] : [tls.clientCa])] : [])

/** How long the front may take beyond its grace, in milliseconds. */
export const closingMs = 5000

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
const record = ({ status, message, address, times }: ToldRefusal, server: string | undefined, { audits, metrics, log }: Parts): void => {
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

const offersOf = async ({ configuration, servers }: Setup, parts: Parts): Promise<ReadonlyMap<string, Offer>> => {
  const offers = new Map<string, Offer>()
  try {
    for (const setup of servers.map(asHttpServer)) {
      const reach = await reachOf(setup.server, configuration.limits, parts.log, servers.length === 1)
      offers.set(setup.server.name, await offerOf(setup, reach, configuration, parts))
    }
  } catch (error) {
    for (const offer of offers.values()) void offer.retire()
    throw error
  }
  return offers
}

const offerOf = async (setup: ServerSetup, reach: Reach, configuration: Configuration, parts: Parts): Promise<Offer> => {
  const { audits, telemetry, metrics, log, capture } = parts
  const { server } = setup
  const { name } = server
  const audit = await audits.open(configuration.audit, name)
  const place = { server: name, toClient: http, toServer: connectionTo('url' in server ? server.url : undefined) }
  const witnesses = { audit, log, metrics, observe: telemetry.observe?.(place), witness: capture }
  return new Offer({
    guard: openGuard(setup, configuration, witnesses, currentRuling(parts, setup, configuration)),
    reach,
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
