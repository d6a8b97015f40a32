import type { Entry, Operation } from '#relay/core/vocabulary.js'
import { messageOf } from '#relay/base/errors.js'
import type { ObservedSession } from '#relay/session/open.js'
import type { Observer } from '#relay/session/hooks.js'
import type { Trace } from '#relay/protocol/frame.js'
import type { Request } from '#relay/protocol/json-rpc.js'
import { type Attributes, measured, other, type Role, revisionAttributes, placeAttributes } from './attributes.js'
import { countedMethod, type Metrics } from './metrics.js'
import type { MeasuredPlace } from './place.js'

/** Follows requests through the relay, and on to the server. */
export interface Tracing {
  begun(
    request: Request, headers: ReadonlyMap<string, string> | undefined, place: MeasuredPlace,
    session: ObservedSession,
  ): Trace
  done(operation: Operation, session: ObservedSession): void
}

interface ObservingOptions {
  readonly metrics: Metrics
  readonly tracing?: Tracing | undefined
  /** Called once, with the reason of the first failure. Traffic goes on. */
  readonly failed: (reason: string) => void
}

export type Observe = (place: MeasuredPlace) => (session: ObservedSession) => Observer

const roles: readonly Role[] = ['server', 'client']

/** Makes an observer for each session of a server. */
export const observing = ({ metrics, tracing, failed }: ObservingOptions): Observe => {
  /** By the server's name: kept when the configuration is reloaded. */
  const series = new Map<string, ReturnType<typeof bounded>>()
  let hasFailed = false
  const quietly = <Value>(act: () => Value): Value | undefined => {
    try {
      return act()
    } catch (error) {
      if (!hasFailed) failed(messageOf(error))
      hasFailed = true
      return undefined
    }
  }

  return place => {
    const { server } = place
    const boundedBy = series.get(server) ?? bounded()
    series.set(server, boundedBy)

    const count = (operation: Operation): void => {
      const { entry: { ms, event, verdict }, atServer } = operation
      metrics.answered({
        server, method: countedMethod(event), verdict, relayMs: ms - (atServer?.ms ?? 0),
        serverMs: atServer?.ms,
      })
      for (const role of roles) {
        const tookMs = role === 'server' ? ms : atServer?.ms
        if (tookMs === undefined) continue
        const attributes = boundedBy(measured(operation, role, place))
        metrics.operation(role, attributes, tookMs / 1000)
      }
    }

    return session => {
      const startedAt = performance.now()
      let spoken: Pick<Entry, 'revision' | 'clientRevision'> = { revision: undefined }
      return {
        moved: (from, bytes) => metrics.moved(server, from, bytes),
        ...(tracing && { begun: (
          request, headers,
        ) => quietly(() => tracing.begun(request, headers, place, session)) }),
        done: operation => {
          const { revision, clientRevision } = operation.entry
          if (revision !== undefined) spoken = { revision, clientRevision }
          quietly(() => count(operation))
          quietly(() => tracing?.done(operation, session))
        },
        ended: hasFailed => {
          // Stateless clients share a session.
          if (session.stateless) return
          const seconds = (performance.now() - startedAt) / 1000
          for (const role of roles) {
            const attributes = {
              ...placeAttributes(role, place),
              ...revisionAttributes(spoken, role),
              ...(hasFailed && { 'error.type': 'relay_failed' }),
            }
            quietly(() => metrics.session(role, attributes, seconds))
          }
        },
      }
    }
  }
}

/** Time series per server: a hundred tools with ten outcomes each. */
const maxSeries = 1000

/** Values that a server chooses, without limit: beyond `maxSeries` they are counted together. */
const unbounded =
  ['gen_ai.tool.name', 'mcp_customs.shown_tool', 'error.type', 'rpc.response.status_code'] as const

/** Bounds the number of time series of one server. @returns the attributes to count by */
const bounded = () => {
  const known = new Set<string>()
  return (attributes: Attributes): Attributes => {
    const key = JSON.stringify(attributes)
    if (known.size < maxSeries) known.add(key)
    if (known.has(key)) return attributes
    return {
      ...attributes,
      ...Object.fromEntries(unbounded.filter(name => name in attributes).map(name => [name, other])),
    }
  }
}
