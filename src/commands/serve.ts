import type { Exposition } from '../admin/prometheus.js'
import { noMetrics, type Metrics } from '../admin/metrics.js'
import { openLog, type Log } from '../audit/log.js'
import type { Address } from '../config/address.js'
import type { Capture } from '../capture/capture.js'
import { Offer } from '../gateway/offer.js'
import { Offers } from '../gateway/offers.js'
import { httpFront } from '../transport/front/front.js'
import type { SharedFlags, Target } from './flags.js'
import { Audits } from './audits.js'
import { captureOf } from './capture.js'
import { openGuard } from './guard.js'
import { measure } from './measure.js'
import { reachOf } from './reach.js'
import { setUp, type ServerSetup, type Setup } from './setup.js'
import { readPem } from './upstream.js'
import { doubtsAbout } from './doubts.js'
import { onChange } from './reload.js'

/**
 * `serve`: Streamable HTTP clients in front of one server, or of every server of a file.
 * @returns 0, when it was told to stop and what was running has ended
 */
export const serve = async (flags: SharedFlags, target: Target): Promise<number> => {
  const read = () => setUp(flags, target, 'relay', true)
  const setup = await read()
  const { listen, admin, limits, sessions, allowHosts, allowOrigins, tokens, tls } = setup.configuration
  const log = openLog(flags.logLevel)
  const counted = admin && (await import('../admin/prometheus.js').then(({ prometheusMetrics }) => prometheusMetrics()))
  const metrics = counted?.metrics ?? noMetrics
  const audits = new Audits()
  const capture = await captureOf(flags, setup.configuration)
  const offers = new Offers(await offersOf(setup, audits, metrics, log, capture))
  for (const doubt of doubtsAbout(setup)) log.warn(doubt)

  const front = httpFront({
    ...listen,
    endpoints: offers.endpoints(),
    limits,
    maxSessions: sessions.max,
    idleMs: sessions.idleMs,
    allowHosts,
    allowOrigins,
    tokens,
    ...(tls && { tls: { cert: readPem(tls.cert), key: readPem(tls.key) } }),
    refused: (status, message) => {
      metrics.refused(status)
      log.info(`refused with HTTP ${status}: ${message}`)
    },
  })
  const url = await front.listen()
  const adminListener = admin && counted ? await listenAdmin(admin, offers, counted.exposition) : undefined
  const stopWatching = onChange(flags.config, async () => {
    const changed = await read()
    for (const doubt of doubtsAbout(changed)) log.warn(doubt)
    offers.replace(await offersOf(changed, audits, metrics, log, capture))
    front.offer(offers.endpoints())
  }, log)
  process.stderr.write(`mcp-customs listening on ${url}\n`)

  await told(['SIGTERM', 'SIGINT'])
  stopWatching()
  await front.close(sessions.graceMs)
  await offers.stop()
  await adminListener?.close()
  audits.close()
  capture?.close()
  await log.close()
  return 0
}

const offersOf = async (
  { configuration, servers }: Setup,
  audits: Audits,
  metrics: Metrics,
  log: Log,
  capture: Capture | undefined,
): Promise<ReadonlyMap<string, Offer>> => {
  const offers = new Map<string, Offer>()
  for (const setup of servers.map(asHttpServer)) {
    const { name } = setup.server
    const guard = measure(openGuard(setup, configuration, audits.open(configuration.audit, name), log, capture), setup.policy, metrics)
    offers.set(name, new Offer({
      guard,
      reach: await reachOf(setup.server, configuration.limits),
      sessionStarted: () => metrics.sessionStarted(name),
      sessionEnded: ({ failure }) => {
        metrics.sessionEnded(name)
        if (failure === undefined) return
        metrics.auditFailed()
        log.warn(failure.message)
      },
    }))
  }
  return offers
}

/**
 * In front of a process the HTTP server is the relay: a request whose headers lie is its own to refuse, whether the operator
 * means to enforce or only to observe. Behind it stands nobody who could.
 */
const asHttpServer = (setup: ServerSetup): ServerSetup =>
  'url' in setup.server || setup.policy.get('wire/http') !== 'log'
    ? setup
    : { ...setup, policy: new Map([...setup.policy, ['wire/http', 'block']]) }

const listenAdmin = async (
  { host, port }: Address,
  offers: Offers,
  exposition: Exposition,
) => {
  const { adminServer } = await import('../admin/server.js')
  const server = adminServer({ host, port, state: { ready: () => offers.ready(), exposition } })
  await server.listen()
  return server
}

/** Resolves at the first of the signals; a second one ends the process at once. */
const told = (signals: readonly NodeJS.Signals[]): Promise<void> =>
  new Promise(resolve => {
    for (const signal of signals) process.once(signal, () => resolve())
  })
