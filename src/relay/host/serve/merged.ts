import type { Log } from '#relay/audit/log.js'
import type { Configuration } from '#relay/config/configuration.js'
import type { Metrics } from '#relay/telemetry/metrics.js'
import type { Asks } from '#relay/transport/channel/asks.js'
import { Endpoints, type EndpointsSettings } from '#relay/transport/front/front.js'
import type { Lifetime } from '../lifetime.js'
import { MergedEndpoint } from '../merge/endpoint.js'
import type { MergedFindings } from '../merge/findings.js'
import type { Setup } from '../server/setup.js'
import { endpointsSettingsOf } from './front.js'
import type { Gateway } from './gateway.js'

interface MergedOptions {
  readonly setup: Setup
  readonly log: Log
  readonly metrics: Metrics
  /** Requests to the servers' own endpoints. */
  readonly asks: Asks
  /** Has the front write down what is left out of lists. */
  readonly record: (found: MergedFindings) => void
  readonly newSessionId?: (() => string) | undefined
}

/** A process that serves an endpoint, as its front sees it. */
export type Relayed = Pick<Gateway, 'endpoints' | 'measure' | 'prepare'> & {
  readonly upstreams: Pick<Gateway['upstreams'], 'ready'>
}

/** Serves the endpoint of several servers in a process of its own, until its lifetime ends. */
export const openMerged = (
  { setup: { configuration }, log, metrics, asks, record, newSessionId }: MergedOptions, lifetime: Lifetime,
): Relayed => {
  const { merge } = configuration
  if (merge === undefined) throw new Error('a merged endpoint has its servers')
  const merged = new MergedEndpoint({ merge, configuration, asks, log, record })
  const endpoints = new Endpoints({
    ...settingsOf(configuration), endpoints: new Map([[merge.path, merged.endpoint]]),
    refused: ({ status }) => metrics.refused(status),
    ...(newSessionId && { newSessionId }),
  })
  lifetime.add(urgency => merged.stop(urgency))
  return {
    endpoints,
    measure: () => Promise.resolve(),
    upstreams: {
      ready: () => Promise.resolve(new Map([[merge.path, { isReachable: true, problem: merged.problem }]])),
    },
    prepare: ({ configuration: changed }) => Promise.resolve(() => {
      endpoints.reload(settingsOf(changed))
      if (changed.merge) merged.replace(changed.merge, changed)
    }),
  }
}

/** A merged session has no process of its own: those of its servers are counted at their own endpoints. */
const settingsOf = (configuration: Configuration): EndpointsSettings =>
  ({ ...endpointsSettingsOf(configuration), maxProcesses: Infinity })
