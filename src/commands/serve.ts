import type { Exposition } from '../admin/prometheus.js'
import { noMetrics, type Metrics } from '../admin/metrics.js'
import { openLog, type Log } from '../audit/log.js'
import type { Address } from '../config/address.js'
import { defaultSessionLimits } from '../config/limits.js'
import { Offer } from '../gateway/offer.js'
import { Offers } from '../gateway/offers.js'
import { httpFront } from '../transport/client-http.js'
import type { SharedFlags, Target } from './flags.js'
import { Audits } from './audits.js'
import { openGuard } from './guard.js'
import { measure } from './measure.js'
import { reachOf } from './reach.js'
import type { ServeFlags } from './serve-flags.js'
import { setUp, type ServerSetup, type Setup } from './setup.js'
import { readPem } from './upstream.js'
import { onChange } from './reload.js'

const usual: Address = { host: '127.0.0.1', port: 7400 }

/**
 * `serve`: Streamable HTTP clients in front of one server, or of every server of a file.
 * @returns 0, when it was told to stop and what was running has ended
 */
export const serve = async (flags: SharedFlags, http: ServeFlags, target: Target): Promise<number> => {
  const read = () => setUp(flags, target, 'relay', true)
  const setup = await read()
  const { configuration } = setup
  const log = openLog(flags.logLevel)
  const admin = http.admin ?? configuration?.admin
  const counted = admin && (await import('../admin/prometheus.js').then(({ prometheusMetrics }) => prometheusMetrics()))
  const metrics = counted?.metrics ?? noMetrics
  const audits = new Audits(log)
  const offers = new Offers(await offersOf(setup, audits, metrics, log))

  const { host, port } = http.listen ?? configuration?.listen ?? usual
  const sessions = configuration?.sessions ?? defaultSessionLimits
  const tls = configuration?.tls
  const front = httpFront({
    host,
    port,
    endpoints: offers.endpoints(),
    limits: setup.limits,
    maxSessions: sessions.maxSessions,
    idleMs: sessions.idleMs,
    allowHosts: [...(configuration?.allowHosts ?? []), ...http.allowHosts],
    allowOrigins: [...(configuration?.allowOrigins ?? []), ...http.allowOrigins],
    tokens: configuration?.tokens ?? [],
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
    offers.replace(await offersOf(changed, audits, metrics, log))
    front.offer(offers.endpoints())
  }, log)
  process.stderr.write(`mcp-customs listening on ${url}\n`)

  await told(['SIGTERM', 'SIGINT'])
  stopWatching()
  await front.close(http.graceMs ?? sessions.graceMs)
  await offers.stop()
  await adminListener?.close()
  await audits.close()
  await log.close()
  return 0
}

const offersOf = async (
  all: Setup,
  audits: Audits,
  metrics: Metrics,
  log: Log,
): Promise<ReadonlyMap<string, Offer>> => {
  const { servers, limits, audit } = all
  const offers = new Map<string, Offer>()
  for (const setup of servers.map(asHttpServer)) {
    const { name } = setup.server
    const guard = measure(openGuard(setup, all, await audits.open(audit, name), log), setup.policy, metrics)
    offers.set(name, new Offer({
      guard,
      reach: await reachOf(setup.server, limits),
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
