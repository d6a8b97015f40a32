import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { openLog } from '#relay/audit/log.js'
import type { Configuration } from '#relay/config/configuration.js'
import { type Condition, together } from '#relay/session/health.js'
import type { FrontCalls, RelayCalls } from '../processes/calls.js'
import { endingSignals } from '#relay/base/platform/programs.js'
import { explained } from '#relay/rules/index.js'
import { countingMetrics, type Metrics, noMetrics } from '#relay/telemetry/metrics.js'
import { inBatches } from '#relay/transport/channel/calls.js'
import { RelayEnd } from '#relay/transport/channel/relay-end.js'
import { reportGroups } from '#relay/transport/process/group.js'
import { realTimers } from '#relay/transport/timers.js'
import type { MergedFindings } from '../merge/findings.js'
import type { RelaySettings } from '../settings.js'
import { Lifetime } from '../lifetime.js'
import { acceptedAtOnce, judgedBy, type ServerSettings } from '../server/judgement.js'
import type { Setup } from '../server/setup.js'
import { recordsFor } from './audits.js'
import { openGateway } from './gateway.js'
import type { Relayed } from './merged.js'

/** What the front sends to a relay process: its server's configuration, as data. */
export interface RelaySetup {
  readonly configuration: Configuration
  /** Its server; none once the configuration no longer names it. */
  readonly servers: readonly ServerSettings[]
  readonly isOnly: boolean
  /** It serves the endpoint of several servers, and asks their endpoints. */
  readonly isMerged?: true
  /** Number of this process, when the server has several. */
  readonly number: number | undefined
  readonly flags: Pick<RelaySettings, 'capture' | 'logLevel'>
}

/** Runs a relay process: serves the front's requests until the channel closes. */
export const serveAsRelay = async (channel: Duplex): Promise<number> => {
  const lifetime = new Lifetime()
  // Signals to the process group are ignored: the front ends this process, or its exit does.
  for (const signal of endingSignals) process.on(signal, () => undefined)
  let gateway: Relayed | undefined
  let metrics: Metrics = noMetrics
  let tellOpened: (opened: Relayed) => void = () => undefined
  const opened = new Promise<Relayed>(resolve => (tellOpened = resolve))
  /** The generation of the last setup. */
  let latest = 0
  /** Resolves when the last setup is applied. */
  let applied: Promise<void> = Promise.resolve()
  const apply = async (said: RelaySetup): Promise<void> => {
    const setup = await setupOf(said)
    if (gateway) return (await gateway.prepare(setup))()
    gateway = await begin(said, setup)
    tellOpened(gateway)
  }
  const begin = async ({ flags, number, isMerged }: RelaySetup, setup: Setup): Promise<Relayed> => {
    const log = openLog(flags.logLevel, explained)
    lifetime.add(() => log.close())
    if (setup.configuration.admin) metrics = countingMetrics()
    const followers = setup.configuration.admin
      ? [recordsFor(inBatches<object>(records => end.calls.call('records', records)))]
      : []
    const newSessionId = number === undefined ? undefined : () => `${number}.${randomUUID()}`
    if (isMerged) {
      const record = (found: MergedFindings) => void end.calls.call('found', found).catch(() => undefined)
      const { openMerged } = await import('./merged.js')
      return openMerged({ setup, log, metrics, newSessionId, asks: end.asks, record }, lifetime)
    }
    return openGateway({ flags, setup, log, metrics, followers, newSessionId }, lifetime)
  }
  const calls: RelayCalls = {
    setup: ({ generation, setup }) => {
      if (generation > latest) applied = applied.then(() => apply(setup))
      latest = Math.max(latest, generation)
      return applied
    },
    vitals: () => ({ rss: process.memoryUsage.rss(), sessions: gateway?.endpoints.sessions ?? 0 }),
    ready: async () => {
      const conditions: ReadonlyMap<string, Condition> = (await gateway?.upstreams.ready()) ?? new Map()
      return together([...conditions.values()])
    },
    counted: async () => {
      await gateway?.measure()
      return metrics.registry?.snapshot() ?? []
    },
    endStreams: async () => (await opened).endpoints.endStreams(),
    giveUp: async reason => {
      await (await opened).endpoints.giveUp(reason)
    },
    endIfIdle: () => {
      const isIdle = end.inFlight === 0 && (gateway?.endpoints.sessions ?? 0) === 0
      // This process may end within this turn: the answer must be written first.
      if (isIdle) realTimers.endOfTurn(() => lifetime.hurry())
      return isIdle
    },
    hurry: () => lifetime.hurry(),
  }
  const end: RelayEnd<FrontCalls> = new RelayEnd(channel, {
    // The front hands requests over when this process has a setup.
    serve: (...request) => gateway?.endpoints.serve(...request),
    calls,
    // The front is gone: end at once.
    closed: () => {
      lifetime.hurry()
      lifetime.hurry()
    },
  })
  reportGroups((pid, isAlive) => {
    end.calls.call('group', { pid, isAlive }).catch(() => undefined)
    // Flushed now, so that the front knows the group even if this process is killed in this turn.
    end.flush()
  })
  await lifetime.ended
  return 0
}

const setupOf = async ({ servers, configuration, isOnly }: RelaySetup): Promise<Setup> => ({
  configuration, isOnly,
  servers: await Promise.all(servers.map(async settings =>
    judgedBy(settings, configuration, await acceptedAtOnce(settings, configuration)))),
})
