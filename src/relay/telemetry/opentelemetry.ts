import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { diag, DiagLogLevel, ROOT_CONTEXT } from '@opentelemetry/api'
import { type Logger, SeverityNumber } from '@opentelemetry/api-logs'
import {
  getNumberFromEnv, setGlobalErrorHandler, ExportResultCode, type ExportResult,
} from '@opentelemetry/core'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource, detectResources, envDetector, resourceFromAttributes,
} from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { InstrumentType, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { Delivery } from '#relay/audit/delivery.js'
import { shown } from '#relay/protocol/text/secrets.js'
import type { Follower } from '#relay/audit/audit.js'
import type { Entry } from '#relay/core/vocabulary.js'
import { type Attributes, judged } from './attributes.js'
import type { Tracing } from './observing.js'
import { collectorOf } from './otlp-metrics.js'
import type { Registry } from './registry.js'
import type { OtlpSettings, Signal } from './signals.js'
import { contextOf, tracingWith } from './traces.js'

interface OpenTelemetryOptions {
  readonly settings: OtlpSettings
  readonly signals: readonly Signal[]
  readonly version: string
  readonly warn: (message: string) => void
  readonly undelivered: (to: string, count: number) => void
  /** Exported, where metrics are wanted. */
  readonly registry: Registry | undefined
}

/** The signals that are exported; undefined: not wanted. */
export interface OpenTelemetry {
  readonly tracing: Tracing | undefined
  /** Receives the records of the audit log. */
  readonly follower: Follower | undefined
  /** Sends the rest, until a time limit. */
  close(): Promise<void>
}

/** How long `close` waits for a receiver, in milliseconds: clients kill a process after two seconds. */
const closeMs = () => getNumberFromEnv('OTEL_EXPORTER_OTLP_TIMEOUT') ?? 1500

/**
 * Exports to a collector by OTLP over HTTP, with the official packages. These read everything but the
 * endpoint and the choice of signals from the environment: sampler, headers, certificates, timeouts, batches,
 * resource.
 */
export const startOpenTelemetry = (options: OpenTelemetryOptions): OpenTelemetry => {
  const { settings: { payloads }, signals, version, warn, undelivered, registry } = options
  printWarnings(warn)
  if (process.env['OTEL_EXPORTER_OTLP_PROTOCOL'] === 'grpc') {
    const refused = 'gRPC (OTEL_EXPORTER_OTLP_PROTOCOL) is not spoken'
    warn(`telemetry: OTLP is sent over HTTP, as JSON, to the same endpoint: ${refused}`)
  }
  const resource = defaultResource()
    .merge(resourceFromAttributes({
      'service.name': 'mcp-customs', 'service.version': version, 'service.instance.id': randomUUID(),
    }))
    .merge(detectResources({ detectors: [envDetector] }))
  const closing: (() => Promise<void>)[] = []
  const deliveries: Delivery[] = []
  const deliveryOf = (signal: Signal): Delivery => {
    const delivery =
      new Delivery({ name: `telemetry (${signal})`, warn, undelivered: count => undelivered(signal, count) })
    deliveries.push(delivery)
    return delivery
  }

  const openTraces = (): Tracing => {
    const delivery = deliveryOf('traces')
    const exporter = new OTLPTraceExporter(reach(options, 'traces'))
    watch(exporter, (spans, failure) => delivery.end(spans.length, 0, failure))
    const batches = new BatchSpanProcessor(exporter, { maxQueueSize: maxQueue })
    const onEnd = (span: ReadableSpan) => {
      if ((span.spanContext().traceFlags & 1) === 1 && delivery.begin()) batches.onEnd(span)
    }
    const processor = {
      onStart: () => undefined, onEnd, forceFlush: () => batches.forceFlush(),
      shutdown: () => batches.shutdown(),
    }
    const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] })
    closing.push(() => provider.shutdown())
    return tracingWith(provider.getTracer('mcp-customs', version), payloads)
  }

  const openMetrics = (registry: Registry): void => {
    const delivery = deliveryOf('metrics')
    const exporter = new OTLPMetricExporter(reach(options, 'metrics'))
    watch(exporter, (_, failure) => delivery.end(1, 0, failure), () => delivery.begin())
    const exportIntervalMillis = getNumberFromEnv('OTEL_METRIC_EXPORT_INTERVAL') ?? 60_000
    const exportTimeoutMillis =
      Math.min(getNumberFromEnv('OTEL_METRIC_EXPORT_TIMEOUT') ?? 30_000, exportIntervalMillis)
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis, exportTimeoutMillis })
    const temporality = exporter.selectAggregationTemporality(InstrumentType.HISTOGRAM)
    reader.setMetricProducer(
      { collect: collectorOf(registry, { resource, scope: { name: 'mcp-customs', version }, temporality }) },
    )
    closing.push(() => reader.shutdown())
  }

  const openLogs = (): Follower => {
    const delivery = deliveryOf('logs')
    const exporter = new OTLPLogExporter(reach(options, 'logs'))
    watch(exporter, (records, failure) =>
      delivery.end(records.length, records.reduce((sum, { body }) => sum + bytesOf(body), 0), failure))
    const provider = new LoggerProvider({
      resource, processors: [new BatchLogRecordProcessor({ exporter, maxQueueSize: maxQueue })],
    })
    closing.push(() => provider.shutdown())
    return recordsTo(provider.getLogger('mcp-customs', version), delivery)
  }

  if (registry && signals.includes('metrics')) openMetrics(registry)
  return {
    tracing: signals.includes('traces') ? openTraces() : undefined,
    follower: signals.includes('logs') ? openLogs() : undefined,
    close: async () => {
      await Promise.race([
        Promise.allSettled(closing.map(close => close())), setTimeout(closeMs()),
      ])
      for (const delivery of deliveries) delivery.close()
    },
  }
}

/** More than `Delivery` admits: the packages drop nothing themselves, so every loss is counted. */
const maxQueue = 4096

const bytesOf = (body: unknown): number => (typeof body === 'string' ? body.length : 0)

/** Where a signal goes; the environment decides the rest. */
const reach = ({ settings: { endpoint, headers } }: OpenTelemetryOptions, signal: Signal) => ({
  ...(endpoint !== undefined && { url: `${endpoint.replace(/\/$/, '')}/v1/${signal}` }),
  ...(headers.size > 0 && { headers: Object.fromEntries(headers) }),
})

interface Exporter<Items> {
  export: (items: Items, done: (result: ExportResult) => void) => void
}

/** Reports each export. @param ended without a failure: the items arrived */
const watch = <Items>(
  exporter: Exporter<Items>, ended: (items: Items, failure: string | undefined) => void,
  begun: () => void = () => undefined,
): void => {
  const send = exporter.export.bind(exporter)
  exporter.export = (items, done) => {
    begun()
    send(items, result => {
      ended(items, result.code === ExportResultCode.SUCCESS ? undefined : reasonOf(result.error))
      done(result)
    })
  }
}

/** The receiver's message is not repeated: it may be long, and quote the data. */
const reasonOf = (error: Error | undefined): string => {
  const code = error !== undefined && 'code' in error ? error.code : undefined
  if (typeof code === 'number') return `HTTP ${code}`
  return typeof code === 'string' ? code : shown(error?.message ?? 'failed')
}

/** Prints the packages' warnings about environment variables once. `Delivery` reports failed exports. */
const printWarnings = (warn: (message: string) => void): void => {
  const printed = new Set<string>()
  const print = (message: string) => {
    if (printed.size >= maxWarnings || printed.has(message)) return
    printed.add(message)
    warn(`telemetry: ${shown(message)}`)
  }
  const silent = () => undefined
  const logger = { error: print, warn: print, info: silent, debug: silent, verbose: silent }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  setGlobalErrorHandler(silent)
}

const maxWarnings = 20

/** Audit records as OTLP log records. The body is the record's exact text, to verify the chain by. */
const recordsTo = (logger: Logger, delivery: Delivery): Follower => ({
  recorded: (record, entry, now) => {
    if (!delivery.begin(record.length)) return
    const isStopped = entry?.verdict === 'block' || entry?.verdict === 'demote'
    logger.emit({
      eventName: 'mcp_customs.audit',
      timestamp: now,
      observedTimestamp: now,
      severityNumber: isStopped ? SeverityNumber.WARN : SeverityNumber.INFO,
      severityText: isStopped ? 'WARN' : 'INFO',
      body: record,
      ...(entry && { attributes: attributesOf(entry) }),
      context: entry ? contextOf(entry) : ROOT_CONTEXT,
    })
  },
})

/** Attributes to search by. */
const attributesOf = (entry: Entry): Attributes => ({
  'mcp.method.name': shown(entry.event),
  'mcp_customs.server': entry.server,
  'mcp_customs.session': entry.session,
  ...judged(entry, 'client'),
  ...(entry.tool !== undefined && { 'gen_ai.tool.name': shown(entry.tool) }),
})
