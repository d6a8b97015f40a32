import type { PageRoutes } from '../admin/page.js'
import { openLog, type Log } from '../audit/log.js'
import type { Address } from '../config/address.js'
import type { Capture } from '../capture/capture.js'
import type { Configuration } from '../config/configuration.js'
import { Offer, type Reach } from '../gateway/offer.js'
import { Offers } from '../gateway/offers.js'
import { httpFront } from '../transport/front/front.js'
import { withoutSecrets } from '../audit/secrets.js'
import { noMetrics, type Metrics } from '../telemetry/metrics.js'
import { connectionTo, http } from '../telemetry/place.js'
import type { Exposition } from '../telemetry/prometheus.js'
import type { LogLevel, SharedFlags, Target } from './flags.js'
import { Audits } from './audits.js'
import { captureOf } from './capture.js'
import { onRenewal } from './certificates.js'
import { frontSettingsOf } from './front-settings.js'
import { openGuard, rulingOf, type CurrentRuling } from './guard.js'
import { reachOf } from './reach.js'
import { Refusals, type ToldRefusal } from './refusals.js'
import { setUp, type ServerSetup, type Setup } from './setup.js'
import { doubtsAbout } from './doubts.js'
import { Lifetime } from './lifetime.js'
import { needRestart, onChange } from './reload.js'
import { endAt } from './signals.js'
import { openTelemetry, patientUrgency, type Telemetry } from './telemetry.js'

/**
 * `serve`: Streamable HTTP clients in front of one server, or of every server of a file.
 * @returns 0, when it was told to stop and what was running has ended
 */
export const serve = async (flags: SharedFlags, target: Target): Promise<number> => {
  const read = () => setUp(flags, target, 'relay', true)
  const setup = await read()
  let { configuration } = setup
  const { listen, admin } = configuration
  const log = openLog(flags.logLevel)
  const counted = admin && (await import('../telemetry/prometheus.js').then(({ prometheusMetrics }) => prometheusMetrics()))
  const metrics = counted?.metrics ?? noMetrics
  const telemetry = await openTelemetry(configuration, log, metrics)
  const page = admin && (await import('./gateway-page.js').then(({ gatewayPage }) => gatewayPage()))
  const followers = [...telemetry.followers, ...(page ? [page.follower] : [])]
  const audits = new Audits({ log, followers, failed: () => metrics.auditFailed() })
  const capture = await captureOf(flags, configuration)
  const gateway: Gateway = { audits, telemetry, rulings: new Map(), metrics, log, capture }
  const settings = frontSettingsOf(configuration)
  const offers = new Offers(await offersOf(setup, gateway))
  for (const doubt of doubtsAbout(setup)) log.warn(doubt)

  const refusals = new Refusals(refusal => record(refusal, refusal.path === undefined ? undefined : offers.nameAt(refusal.path), gateway))
  const front = httpFront({
    ...settings,
    address: listen,
    endpoints: offers.endpoints(),
    ...(speaks(flags.logLevel) && { served: request => log.access({ ...request, path: withoutSecrets(request.path) }) }),
    refused: refused => {
      metrics.refused(refused.status)
      refusals.note(refused)
    },
  })
  const adminListener = admin && counted ? await adminOf(admin, offers, counted, () => configuration.allowHosts, page?.routes) : undefined

  const lifetime = new Lifetime()
  lifetime.add(() => log.close())
  lifetime.add(urgency => (urgency <= patientUrgency ? telemetry.close() : undefined))
  lifetime.add(() => audits.close())
  lifetime.add(() => capture?.close())
  lifetime.add(() => adminListener?.close())
  lifetime.add(() => page?.close())
  lifetime.add(urgency => offers.stop(urgency))
  lifetime.add(() => refusals.flush())
  // Who is in a hurry does not wait for what is being answered.
  lifetime.add(urgency => (urgency === 1 ? front.close(configuration.sessions.graceMs) : undefined), configuration.sessions.graceMs + closingMs)
  const { config } = flags
  endAt({ SIGTERM: 1, SIGINT: 1, ...(config === undefined && { SIGHUP: 1 }) }, lifetime)
  const reload = async () => {
    const changed = await read()
    const changedSettings = frontSettingsOf(changed.configuration)
    const changedOffers = await offersOf(changed, gateway)
    for (const doubt of doubtsAbout(changed)) log.warn(doubt)
    const late = needRestart(configuration, changed.configuration)
    if (late.length > 0) log.warn(`${late.join(', ')}: changed, which takes a restart`)
    configuration = changed.configuration
    for (const one of changed.servers.map(asHttpServer)) currentRuling(gateway, one, configuration).now = rulingOf(one, configuration)
    front.reload(changedSettings)
    offers.replace(changedOffers, configuration.sessions.onReload)
    front.offer(offers.endpoints())
  }
  try {
    const url = await front.listen()
    const adminUrl = await adminListener?.listen()
    if (config !== undefined) lifetime.add(onChange(config, reload, log))
    if (configuration.tls) lifetime.add(onRenewal(() => certificatesOf(configuration), () => front.reload(frontSettingsOf(configuration)), log))
    process.stderr.write(`mcp-customs listening on ${url}\n`)
    if (page) process.stderr.write(`mcp-customs page on ${adminUrl}/${page.query}\n`)
  } catch (error) {
    lifetime.fail(error)
  }
  await lifetime.ended
  return 0
}

const certificatesOf = ({ tls }: Configuration): readonly string[] => (tls ? [tls.cert, tls.key, ...(tls.clientCa === undefined ? [] : [tls.clientCa])] : [])

/** How long the front may take beyond its grace, in milliseconds. */
const closingMs = 5000

/** Whether anybody reads what is said at level info. */
const speaks = (level: LogLevel): boolean => ['info', 'debug', 'trace'].includes(level)

/** What outlives a change of the configuration. */
interface Gateway {
  readonly audits: Audits
  readonly telemetry: Telemetry
  readonly metrics: Metrics
  readonly log: Log
  readonly capture: Capture | undefined
  /** By the server's name. */
  readonly rulings: Map<string, CurrentRuling>
}

/** Shared by the sessions that run and those that begin later: what is denied now is denied to both. */
const currentRuling = ({ rulings }: Gateway, setup: ServerSetup, configuration: Configuration): CurrentRuling => {
  const { name } = setup.server
  const ruling = rulings.get(name) ?? { now: rulingOf(setup, configuration) }
  rulings.set(name, ruling)
  return ruling
}

/** On stderr, and in the log of the server that was meant. */
const record = ({ status, message, address, times }: ToldRefusal, server: string | undefined, { audits, metrics, log }: Gateway): void => {
  const reason = `HTTP ${status}: ${message}${times > 1 ? ` (${times} times)` : ''}`
  log.warn(`refused ${address || 'a program of this machine'}: ${reason}`)
  if (server === undefined) return
  try {
    audits.of(server)?.write({
      event: 'http/refused', server, session: '', client: undefined, peer: { address, token: undefined }, revision: undefined, verdict: 'block', findings: [], reason,
    })
  } catch (failure) {
    metrics.auditFailed()
    log.warn(failure instanceof Error ? failure.message : String(failure))
  }
}

const offersOf = async ({ configuration, servers }: Setup, gateway: Gateway): Promise<ReadonlyMap<string, Offer>> => {
  const offers = new Map<string, Offer>()
  try {
    for (const setup of servers.map(asHttpServer)) {
      const reach = await reachOf(setup.server, configuration.limits, gateway.log, servers.length === 1)
      offers.set(setup.server.name, await offerOf(setup, reach, configuration, gateway))
    }
  } catch (error) {
    for (const offer of offers.values()) void offer.retire()
    throw error
  }
  return offers
}

const offerOf = async (setup: ServerSetup, reach: Reach, configuration: Configuration, gateway: Gateway): Promise<Offer> => {
  const { audits, telemetry, metrics, log, capture } = gateway
  const { server } = setup
  const { name } = server
  const audit = await audits.open(configuration.audit, name)
  const place = { server: name, toClient: http, toServer: connectionTo('url' in server ? server.url : undefined) }
  const witnesses = { audit, log, metrics, observe: telemetry.observe?.(place), witness: capture }
  return new Offer({
    guard: openGuard(setup, configuration, witnesses, currentRuling(gateway, setup, configuration)),
    reach,
    sessionStarted: () => metrics.sessionStarted(name),
    sessionEnded: ({ failure }) => {
      metrics.sessionEnded(name)
      if (failure === undefined) return
      metrics.auditFailed()
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

const adminOf = async ({ host, port }: Address, offers: Offers, { metrics, exposition }: Counted, allowHosts: () => readonly string[], page: PageRoutes | undefined) => {
  const { adminServer } = await import('../admin/server.js')
  const text = async () => {
    metrics.ready(await offers.ready())
    return exposition.text()
  }
  return adminServer({ host, port, allowHosts, state: { ready: () => offers.ready(), exposition: { ...exposition, text } }, ...(page && { page }) })
}

interface Counted {
  readonly metrics: Metrics
  readonly exposition: Exposition
}
