import type { Operation } from '../core/event.js'
import type { ObservedSession } from '../gateway/open.js'
import type { Observer } from '../gateway/observer.js'
import type { Trace } from '../protocol/frame.js'
import type { Request } from '../protocol/json-rpc.js'
import { measured, type Role, spoken, where } from './attributes.js'
import { countedMethod, type Durations, type Metrics } from './metrics.js'
import type { Place } from './place.js'
import { Series } from './series.js'

/** Follows requests through the relay, and on to the server. */
export interface Tracing {
  begun(request: Request, headers: ReadonlyMap<string, string> | undefined, place: Place, session: ObservedSession): Trace
  done(operation: Operation, session: ObservedSession): void
}

export interface ObservingOptions {
  readonly metrics: Metrics
  /** Beside those that are counted for Prometheus. */
  readonly durations?: Durations | undefined
  readonly tracing?: Tracing | undefined
  /** Told once why something could not be observed: it is nothing that traffic would stop for. */
  readonly failed: (reason: string) => void
}

export type Observe = (place: Place) => (session: ObservedSession) => Observer

const roles: readonly Role[] = ['server', 'client']

/** Makes those who look on, for each session in front of a server. */
export const observing = ({ metrics, durations, tracing, failed }: ObservingOptions): Observe => {
  const counters: readonly Durations[] = [metrics, ...(durations ? [durations] : [])]
  /** By the server's name: they outlive a change of the configuration. */
  const series = new Map<string, Series>()
  let hasFailed = false
  const quietly = <Value>(act: () => Value): Value | undefined => {
    try {
      return act()
    } catch (error) {
      if (!hasFailed) failed(error instanceof Error ? error.message : String(error))
      hasFailed = true
      return undefined
    }
  }

  return place => {
    const { server } = place
    const known = series.get(server) ?? new Series()
    series.set(server, known)

    const count = (operation: Operation): void => {
      const { entry: { ms, event, verdict }, atServer } = operation
      metrics.answered({ server, method: countedMethod(event), verdict, relayMs: ms - (atServer?.ms ?? 0), serverMs: atServer?.ms })
      for (const role of roles) {
        const tookMs = role === 'server' ? ms : atServer?.ms
        if (tookMs === undefined) continue
        const attributes = known.bounded(measured(operation, role, place))
        for (const one of counters) one.operation(role, attributes, tookMs / 1000)
      }
    }

    return session => {
      const startedAt = performance.now()
      let revision: string | undefined
      return {
        moved: (from, bytes) => metrics.moved(server, from, bytes),
        ...(tracing && { begun: (request, headers) => quietly(() => tracing.begun(request, headers, place, session)) }),
        done: operation => {
          revision = operation.entry.revision ?? revision
          quietly(() => count(operation))
          quietly(() => tracing?.done(operation, session))
        },
        ended: hasFailed => {
          // Who has no session shares one of ours with others.
          if (session.stateless) return
          const seconds = (performance.now() - startedAt) / 1000
          for (const role of roles) {
            const attributes = { ...where(role, place), ...spoken(revision), ...(hasFailed && { 'error.type': 'relay_failed' }) }
            quietly(() => counters.forEach(one => one.session(role, attributes, seconds)))
          }
        },
      }
    }
  }
}
