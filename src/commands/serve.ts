import type { Follower } from '../audit/sink.js'
import { openLog, type Log } from '../audit/log.js'
import type { Configuration } from '../config/configuration.js'
import { noMetrics } from '../telemetry/metrics.js'
import type { Counted } from '../telemetry/prometheus.js'
import { inheritedChannel } from '../transport/process/relay.js'
import type { FrontBackend, Refused } from '../transport/front/front.js'
import { tellOfCapture } from './capture.js'
import { doubtsAbout } from './doubts.js'
import type { SharedFlags, Target } from './flags.js'
import { frontSettingsOf } from './front-settings.js'
import { openFront, openGateway } from './gateway.js'
import { Lifetime } from './lifetime.js'
import type { LivePage } from './live-page.js'
import { needRestart, onChange, restartFor } from './reload.js'
import { setUp, type Setup } from './setup.js'
import { isShared } from './share.js'
import { endAt } from './signals.js'

/** What stands behind the front, with what belongs to it. */
export interface ServedParts {
  readonly flags: SharedFlags
  readonly setup: Setup
  readonly log: Log
  readonly counted: Counted | undefined
  readonly page: (LivePage & { readonly follower: Follower }) | undefined
}

export interface Served {
  readonly backend: FrontBackend
  readonly refused: (refused: Refused) => void
  /** What is said now. */
  readonly configuration: () => Configuration
  /** Takes notice of another configuration, as far as that takes no restart. */
  readonly reload: (changed: Setup) => Promise<void>
  /** Whether each server can be reached. */
  readonly ready: () => Promise<ReadonlyMap<string, boolean>>
  /** What was counted, as Prometheus reads it. */
  readonly text: () => Promise<string>
}

/**
 * `serve`: Streamable HTTP clients in front of one server, or of every server of a file.
 * @returns 0, when it was told to stop and what was running has ended
 */
export const serve = async (flags: SharedFlags, target: Target): Promise<number> => {
  const channel = inheritedChannel()
  if (channel) return (await import('./relay-process.js')).serveAsRelay(channel)
  const read = () => setUp(flags, target, 'relay', true)
  const setup = await read()
  const isOfFile = (target.command ?? target.url) === undefined
  const { config, logLevel } = flags
  const { admin } = setup.configuration
  const log = openLog(logLevel)
  const lifetime = new Lifetime()
  lifetime.add(() => log.close())
  const counted = admin && (await import('../telemetry/prometheus.js').then(({ prometheusMetrics }) => prometheusMetrics()))
  const page = admin && (await import('./gateway-page.js').then(({ gatewayPage }) => gatewayPage()))
  lifetime.add(() => adminListener?.close())
  lifetime.add(() => page?.close())
  const parts: ServedParts = { flags, setup, log, counted, page }
  // Nothing of several processes is loaded where there is one.
  const served = await (isShared(setup, isOfFile, log) ? (await import('./relays.js')).openRelays(parts, lifetime) : openAlone(parts, lifetime))
  const front = openFront({ ...served, log, logLevel }, lifetime)
  tellOfCapture(flags, setup.configuration)
  for (const doubt of doubtsAbout(setup)) log.warn(doubt)
  const adminListener = admin && counted ? await adminOf(admin, served, counted, page) : undefined
  endAt({ SIGTERM: 1, SIGINT: 1, ...(config === undefined && { SIGHUP: 1 }) }, lifetime)
  const reload = async () => {
    const changed = await read()
    const doubts = doubtsAbout(changed)
    const settings = frontSettingsOf(changed.configuration)
    const late = needRestart(served.configuration(), changed.configuration)
    await served.reload(changed)
    front.reload(settings)
    for (const doubt of doubts) log.warn(doubt)
    if (late.length > 0) log.warn(restartFor(late))
  }
  try {
    const url = await front.listen()
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

const openAlone = async ({ flags, setup, log, counted, page }: ServedParts, lifetime: Lifetime): Promise<Served> => {
  const gateway = await openGateway({ flags, setup, log, metrics: counted?.metrics ?? noMetrics, followers: page ? [page.follower] : [] }, lifetime)
  const { endpoints, upstreams, refused } = gateway
  return {
    backend: endpoints, refused,
    configuration: () => gateway.configuration,
    reload: changed => gateway.reload(changed),
    ready: () => upstreams.ready(),
    text: async () => {
      await gateway.measure()
      return counted?.exposition.text() ?? ''
    },
  }
}

const adminOf = async (
  { host, port }: NonNullable<Configuration['admin']>, { configuration, ready, text }: Served, { exposition: { contentType } }: Counted, page: LivePage | undefined,
) => {
  const { adminServer } = await import('../admin/server.js')
  const allowHosts = () => configuration().allowHosts
  return adminServer({ host, port, allowHosts, state: { ready, exposition: { contentType, text } }, ...(page && { page: page.routes }) })
}
