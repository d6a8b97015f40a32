import type { PageRoutes } from '../admin/page.js'
import { openLog } from '../audit/log.js'
import type { Address } from '../config/address.js'
import { noMetrics } from '../telemetry/metrics.js'
import type { Counted } from '../telemetry/prometheus.js'
import { takeRole } from '../workers/role.js'
import { tellOfCapture } from './capture.js'
import { doubtsAbout } from './doubts.js'
import type { SharedFlags, Target } from './flags.js'
import { openGateway, type Gateway } from './gateway.js'
import { Lifetime } from './lifetime.js'
import { needRestart, onChange, restartFor } from './reload.js'
import { setUp, type Setup } from './setup.js'
import { endAt } from './signals.js'

/**
 * `serve`: Streamable HTTP clients in front of one server, or of every server of a file.
 * @returns 0, when it was told to stop and what was running has ended
 */
export const serve = async (flags: SharedFlags, target: Target): Promise<number> => {
  const role = takeRole()
  const read = () => setUp(flags, target, 'relay', true)
  // Nothing of several processes is loaded where there is one.
  if (role) return (await import('./serve-worker.js')).serveAsWorker(flags, read, role)
  const setup = await read()
  if (setup.configuration.workers > 1) return (await import('./serve-workers.js')).serveByWorkers(flags, read, setup)
  return serveAlone(flags, read, setup)
}

const serveAlone = async (flags: SharedFlags, read: () => Promise<Setup>, setup: Setup): Promise<number> => {
  const { config, logLevel } = flags
  const { admin } = setup.configuration
  const log = openLog(logLevel)
  const lifetime = new Lifetime()
  lifetime.add(() => log.close())
  const counted = admin && (await import('../telemetry/prometheus.js').then(({ prometheusMetrics }) => prometheusMetrics()))
  const page = admin && (await import('./gateway-page.js').then(({ gatewayPage }) => gatewayPage()))
  lifetime.add(() => adminListener?.close())
  lifetime.add(() => page?.close())
  const gateway = await openGateway({ flags, setup, log, metrics: counted?.metrics ?? noMetrics, followers: page ? [page.follower] : [] }, lifetime)
  tellOfCapture(flags, setup.configuration)
  for (const doubt of doubtsAbout(setup)) log.warn(doubt)
  const adminListener = admin && counted ? await adminOf(admin, gateway, counted, page?.routes) : undefined
  endAt({ SIGTERM: 1, SIGINT: 1, ...(config === undefined && { SIGHUP: 1 }) }, lifetime)
  const reload = async () => {
    const changed = await read()
    const doubts = doubtsAbout(changed)
    const late = needRestart(gateway.configuration, changed.configuration)
    await gateway.reload(changed)
    for (const doubt of doubts) log.warn(doubt)
    if (late.length > 0) log.warn(restartFor(late))
  }
  try {
    const url = await gateway.listen()
    const adminUrl = await adminListener?.listen()
    if (config !== undefined) lifetime.add(onChange(config, reload, log))
    process.stderr.write(`mcp-customs listening on ${url}\n`)
    if (page) process.stderr.write(`mcp-customs page on ${adminUrl}/${page.query}\n`)
  } catch (error) {
    lifetime.fail(error)
  }
  await lifetime.ended
  return 0
}

const adminOf = async ({ host, port }: Address, gateway: Gateway, { exposition }: Counted, page: PageRoutes | undefined) => {
  const { adminServer } = await import('../admin/server.js')
  const { offers } = gateway
  const text = async () => {
    await gateway.measure()
    return exposition.text()
  }
  const allowHosts = () => gateway.configuration.allowHosts
  return adminServer({ host, port, allowHosts, state: { ready: () => offers.ready(), exposition: { ...exposition, text } }, ...(page && { page }) })
}
