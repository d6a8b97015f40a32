import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { openLog } from '../../audit/log.js'
import type { Configuration } from '../../config/configuration.js'
import { CustomsError, messageOf } from '../../errors.js'
import type { FrontCalls, RelayCalls } from '../../gateway/processes/calls.js'
import { countingMetrics, type Metrics, noMetrics } from '../../telemetry/metrics.js'
import { inBatches } from '../../transport/channel/calls.js'
import { RelayEnd } from '../../transport/channel/relay-end.js'
import { reportGroups } from '../../transport/process/group.js'
import type { SharedFlags } from '../flags.js'
import { Lifetime } from '../relay/lifetime.js'
import { acceptedOf, type ServerSetup, type Setup } from '../server/setup.js'
import { recordsFor } from './audits.js'
import { type Gateway, openGateway } from './gateway.js'

/** What the front tells a relay process: what the configuration says of its server, as data. */
export interface RelaySetup {
  readonly configuration: Configuration
  /** Its one server; none, where the configuration names it no more. */
  readonly servers: readonly Omit<ServerSetup, 'accepted'>[]
  readonly isOnly: boolean
  /** Its number, where the server has several relay processes. */
  readonly number: number | undefined
  readonly flags: Pick<SharedFlags, 'capture' | 'logLevel'>
}

/** Signals to a group reach it as well: it ends when the front says so, or is gone. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** A relay process: serves what comes over the channel from the front, and ends with it. */
export const serveAsRelay = async (channel: Duplex): Promise<number> => {
  const lifetime = new Lifetime()
  for (const signal of signals) process.on(signal, () => undefined)
  let gateway: Gateway | undefined
  let metrics: Metrics = noMetrics
  /** Came before there was somebody to serve it. */
  const early: (() => void)[] = []
  const begin = async ({ flags, number, ...said }: RelaySetup): Promise<void> => {
    const setup = await setupOf(said)
    const log = openLog(flags.logLevel)
    lifetime.add(() => log.close())
    if (setup.configuration.admin) metrics = countingMetrics()
    const followers = setup.configuration.admin
      ? [recordsFor(inBatches<object>(records => end.calls.call('records', records)))]
      : []
    const mint = number === undefined ? undefined : () => `${number}.${randomUUID()}`
    gateway = await openGateway({ flags, setup, log, metrics, followers, mint }, lifetime)
    for (const serve of early.splice(0)) serve()
  }
  const calls: RelayCalls = {
    begin: setup => begin(setup).catch(async (error: unknown) => {
      const failure =
        { code: error instanceof CustomsError ? error.code : undefined, message: messageOf(error) }
      await end.calls.call('failed', failure).catch(() => undefined)
      lifetime.fail(error)
      throw error
    }),
    reload: async ({ servers, configuration, isOnly }: RelaySetup) =>
      gateway?.reload(await setupOf({ servers, configuration, isOnly })),
    ready: async () =>
      [...((await gateway?.upstreams.ready()) ?? new Map<string, boolean>()).values()].every(Boolean),
    counted: async () => {
      await gateway?.measure()
      return metrics.registry?.snapshot() ?? []
    },
    endStreams: () => gateway?.endpoints.endStreams(),
    giveUp: async reason => {
      await gateway?.endpoints.giveUp(reason)
    },
    hurry: () => lifetime.hurry(),
  }
  const end: RelayEnd<FrontCalls> = new RelayEnd(channel, {
    serve: (...request) => (gateway
      ? gateway.endpoints.serve(...request)
      : void early.push(() => gateway?.endpoints.serve(...request))),
    calls,
    vitals: () => ({ rss: process.memoryUsage.rss(), sessions: gateway?.endpoints.sessions ?? 0 }),
    // Nobody is left to tell it anything.
    closed: () => {
      lifetime.hurry()
      lifetime.hurry()
    },
  })
  reportGroups((pid, isAlive) => {
    end.calls.call('group', { pid, isAlive }).catch(() => undefined)
    // Should this process be killed in this turn, the front knows already.
    end.flush()
  })
  await lifetime.ended
  return 0
}

const setupOf = async ({ servers, ...rest }: Omit<RelaySetup, 'flags' | 'number'>): Promise<Setup> => ({
  ...rest,
  servers: await Promise.all(
    servers.map(async one => ({ ...one, accepted: await acceptedOf(one.server, one.lock) })),
  ),
})
