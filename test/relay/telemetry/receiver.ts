import { EventEmitter, once } from 'node:events'
import { serveBodies } from '#test/kit/http.js'

type Value = { stringValue?: string; intValue?: number; arrayValue?: { values: Value[] } }
type Pairs = readonly { key: string; value: Value }[]

export interface ReceivedSpan {
  readonly name: string
  /** SERVER or CLIENT. */
  readonly kind: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code?: number; readonly message?: string }
  readonly start: bigint
  readonly end: bigint
}

export interface ReceivedMetric {
  readonly name: string
  readonly unit: string
  readonly bounds: readonly number[]
  readonly count: number
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface ReceivedLog {
  readonly body: string
  readonly eventName: string
  readonly severityText: string
  readonly traceId: string
  readonly attributes: Readonly<Record<string, unknown>>
}

interface Otlp {
  readonly resourceSpans?: readonly {
    resource: { attributes: Pairs }; scopeSpans: readonly { spans: readonly WireSpan[] }[]
  }[]
  readonly resourceMetrics?: readonly { scopeMetrics: readonly { metrics: readonly WireMetric[] }[] }[]
  readonly resourceLogs?: readonly { scopeLogs: readonly { logRecords: readonly WireLog[] }[] }[]
}
interface WireSpan extends Omit<ReceivedSpan, 'kind' | 'attributes' | 'start' | 'end'> {
  readonly kind: number
  readonly attributes: Pairs
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
}
interface WireMetric {
  readonly name: string
  readonly unit: string
  readonly histogram: { readonly dataPoints: readonly {
    attributes: Pairs; explicitBounds: number[]; count: number
  }[] }
}
interface WireLog extends Omit<ReceivedLog, 'attributes' | 'body'> {
  readonly attributes: Pairs
  readonly body: Value
}

export interface Receiver {
  readonly url: string
  readonly spans: ReceivedSpan[]
  readonly metrics: ReceivedMetric[]
  readonly logs: ReceivedLog[]
  readonly resource: Record<string, unknown>
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, unknown>>[]
  /** Resolves when something holds of what was received. */
  readonly until: (holds: () => boolean) => Promise<void>
}

interface Test {
  teardown(handler: () => void): unknown
}

/** Takes what comes by OTLP over HTTP, as JSON. @param answer its status */
export const receiver = async (t: Test, answer: number | 'never' = 200): Promise<Receiver> => {
  const arrivals = new EventEmitter()
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await once(arrivals, 'arrival')
  }
  const received: Omit<Receiver, 'url'> = {
    spans: [], metrics: [], logs: [], resource: {}, headers: [], until,
  }
  const url = await serveBodies(t, (body, response, { headers }) => {
    received.headers.push(headers)
    take(JSON.parse(body) as Otlp, received)
    arrivals.emit('arrival')
    if (answer !== 'never') response.writeHead(answer, { 'content-type': 'application/json' }).end('{}')
  })
  return { ...received, url: new URL(url).origin }
}

const take = (
  { resourceSpans = [], resourceMetrics = [], resourceLogs = [] }: Otlp, into: Omit<Receiver, 'url'>,
): void => {
  for (const { resource, scopeSpans } of resourceSpans) {
    Object.assign(into.resource, plain(resource.attributes))
    for (const {
      kind, attributes, startTimeUnixNano, endTimeUnixNano, ...span
    } of scopeSpans.flatMap(({ spans }) => spans)) {
      into.spans.push({
        ...span, kind: kinds[kind] ?? String(kind), attributes: plain(attributes),
        start: BigInt(startTimeUnixNano), end: BigInt(endTimeUnixNano),
      })
    }
  }
  for (const {
    name, unit, histogram,
  } of resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))) {
    for (const { attributes, explicitBounds, count } of histogram.dataPoints) {
      into.metrics.push({ name, unit, bounds: explicitBounds, count, attributes: plain(attributes) })
    }
  }
  for (const {
    attributes, body, ...log
  } of resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))) {
    into.logs.push({ ...log, body: body.stringValue ?? '', attributes: plain(attributes) })
  }
}

/** As the wire numbers them. */
const kinds: Readonly<Record<number, string>> = { 2: 'SERVER', 3: 'CLIENT' }

const plain = (pairs: Pairs): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, valueOf(value)]))

const valueOf = ({ stringValue, intValue, arrayValue }: Value): unknown =>
  stringValue ?? intValue ?? arrayValue?.values.map(valueOf)
