import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { diag, DiagLogLevel } from '@opentelemetry/api'
import { getNumberFromEnv, setGlobalErrorHandler, ExportResultCode, type ExportResult } from '@opentelemetry/core'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { InstrumentType, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { Follower } from '../audit/sink.js'
import { Delivery } from '../audit/delivery.js'
import { recordsTo } from './logs.js'
import type { Tracing } from './observing.js'
import { collectorOf } from './otlp-metrics.js'
import type { Registry } from './registry.js'
import { shown } from '../audit/secrets.js'
import type { OtlpSettings, Signal } from './signals.js'
import { tracingWith } from './traces.js'

export interface OpenTelemetryOptions {
  readonly settings: OtlpSettings
  readonly signals: readonly Signal[]
  readonly version: string
  readonly warn: (message: string) => void
  readonly undelivered: (to: string, count: number) => void
  /** Exported, where metrics are wanted. */
  readonly registry: Registry | undefined
}

/** What goes out by OTLP; undefined: not wanted. */
export interface OpenTelemetry {
  readonly tracing: Tracing | undefined
  /** Of the audit log. */
  readonly follower: Follower | undefined
  /** Sends what is left, as far as there is time. */
  close(): Promise<void>
}

/** How long the end waits for a receiver, in milliseconds, unless the environment says it: a client kills a process after two seconds. */
const closeMs = () => getNumberFromEnv('OTEL_EXPORTER_OTLP_TIMEOUT') ?? 1500

/**
 * OpenTelemetry, by the official packages, sent to a collector by OTLP over HTTP. What concerns neither the endpoint nor whether a signal is sent
 * at all is read from the environment by the packages themselves: sampler, headers, certificates, timeouts, batches, resource.
 */
export const openTelemetry = (options: OpenTelemetryOptions): OpenTelemetry => {
  const { settings: { payloads }, signals, version, warn, undelivered, registry } = options
  hearWarnings(warn)
  if (process.env['OTEL_EXPORTER_OTLP_PROTOCOL'] === 'grpc') warn('telemetry: OTLP is sent over HTTP, as JSON, to the same endpoint: gRPC (OTEL_EXPORTER_OTLP_PROTOCOL) is not spoken')
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'mcp-customs', 'service.version': version, 'service.instance.id': randomUUID() }))
    .merge(detectResources({ detectors: [envDetector] }))
  const closing: (() => Promise<void>)[] = []
  const deliveries: Delivery[] = []
  const deliveryOf = (signal: Signal): Delivery => {
    const delivery = new Delivery({ name: `telemetry (${signal})`, warn, undelivered: count => undelivered(signal, count) })
    deliveries.push(delivery)
    return delivery
  }

  const openTraces = (): Tracing => {
    const delivery = deliveryOf('traces')
    const exporter = new OTLPTraceExporter(reach(options, 'traces'))
    watch(exporter, (spans, failure) => delivery.end(spans.length, 0, failure))
    const batches = new BatchSpanProcessor(exporter, { maxQueueSize: longestQueue })
    const onEnd = (span: ReadableSpan) => {
      if ((span.spanContext().traceFlags & 1) === 1 && delivery.begin()) batches.onEnd(span)
    }
    const processor = { onStart: () => undefined, onEnd, forceFlush: () => batches.forceFlush(), shutdown: () => batches.shutdown() }
    const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] })
    closing.push(() => provider.shutdown())
    return tracingWith(provider.getTracer('mcp-customs', version), payloads)
  }

  const openMetrics = (registry: Registry): void => {
    const delivery = deliveryOf('metrics')
    const exporter = new OTLPMetricExporter(reach(options, 'metrics'))
    watch(exporter, (_, failure) => delivery.end(1, 0, failure), () => delivery.begin())
    const exportIntervalMillis = getNumberFromEnv('OTEL_METRIC_EXPORT_INTERVAL') ?? 60_000
    const exportTimeoutMillis = Math.min(getNumberFromEnv('OTEL_METRIC_EXPORT_TIMEOUT') ?? 30_000, exportIntervalMillis)
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis, exportTimeoutMillis })
    const temporality = exporter.selectAggregationTemporality(InstrumentType.HISTOGRAM)
    reader.setMetricProducer({ collect: collectorOf(registry, { resource, scope: { name: 'mcp-customs', version }, temporality }) })
    closing.push(() => reader.shutdown())
  }

  const openLogs = (): Follower => {
    const delivery = deliveryOf('logs')
    const exporter = new OTLPLogExporter(reach(options, 'logs'))
    watch(exporter, (records, failure) => delivery.end(records.length, records.reduce((sum, { body }) => sum + bytesOf(body), 0), failure))
    const provider = new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter, maxQueueSize: longestQueue })] })
    closing.push(() => provider.shutdown())
    return recordsTo(provider.getLogger('mcp-customs', version), delivery)
  }

  if (registry && signals.includes('metrics')) openMetrics(registry)
  return {
    tracing: signals.includes('traces') ? openTraces() : undefined,
    follower: signals.includes('logs') ? openLogs() : undefined,
    close: async () => {
      await Promise.race([Promise.allSettled(closing.map(close => close())), setTimeout(closeMs(), undefined, { ref: false })])
      for (const delivery of deliveries) delivery.close()
    },
  }
}

/** Longer than what we let wait: nothing is given up that we do not count. */
const longestQueue = 4096

const bytesOf = (body: unknown): number => (typeof body === 'string' ? body.length : 0)

/** Where a signal goes; what is left out is the environment's to say. */
const reach = ({ settings: { endpoint, headers } }: OpenTelemetryOptions, signal: Signal) => ({
  ...(endpoint !== undefined && { url: `${endpoint.replace(/\/$/, '')}/v1/${signal}` }),
  ...(headers.size > 0 && { headers: Object.fromEntries(headers) }),
})

interface Exporter<Items> {
  export: (items: Items, done: (result: ExportResult) => void) => void
}

/** Tells what becomes of what the exporter is given. @param ended failure undefined: it arrived */
const watch = <Items>(exporter: Exporter<Items>, ended: (items: Items, failure: string | undefined) => void, begun: () => void = () => undefined): void => {
  const send = exporter.export.bind(exporter)
  exporter.export = (items, done) => {
    begun()
    send(items, result => {
      ended(items, result.code === ExportResultCode.SUCCESS ? undefined : reasonOf(result.error))
      done(result)
    })
  }
}

/** The receiver's own words are not repeated: they may be long, and quote what was sent. */
const reasonOf = (error: Error | undefined): string => {
  const code = error !== undefined && 'code' in error ? error.code : undefined
  if (typeof code === 'number') return `HTTP ${code}`
  return typeof code === 'string' ? code : shown(error?.message ?? 'failed')
}

/** What the packages have to say of the environment's variables, once each; what they say of deliveries is said by those. */
const hearWarnings = (warn: (message: string) => void): void => {
  const said = new Set<string>()
  const tell = (message: string) => {
    if (said.size >= mostWarnings || said.has(message)) return
    said.add(message)
    warn(`telemetry: ${shown(message)}`)
  }
  const silent = () => undefined
  diag.setLogger({ error: tell, warn: tell, info: silent, debug: silent, verbose: silent }, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  setGlobalErrorHandler(silent)
}

const mostWarnings = 20
