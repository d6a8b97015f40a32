import { ValueType } from '@opentelemetry/api'
import { millisToHrTime, type InstrumentationScope } from '@opentelemetry/core'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality, DataPointType, type CollectionResult, type HistogramMetricData,
} from '@opentelemetry/sdk-metrics'
import type { Metric, Registry, Series } from './registry.js'

interface CollectorOptions {
  readonly resource: Resource
  readonly scope: InstrumentationScope
  /** Delta: each export has only what was added since the export before. */
  readonly temporality: AggregationTemporality
}

/** @returns collects the histograms of a registry that are exported by OTLP */
export const collectorOf = (registry: Registry, { resource, scope, temporality }: CollectorOptions) => {
  const exported = new Map<Series, Pick<Series, 'value' | 'counts'>>()
  let exportedAt = 0

  const pointOf = (series: Series, boundaries: readonly number[], now: number) => {
    const { attributes, value, counts, min, max, startedAt } = series
    const before = temporality === AggregationTemporality.DELTA ? exported.get(series) : undefined
    exported.set(series, { value, counts: [...counts] })
    const added = counts.map((count, index) => count - (before?.counts[index] ?? 0))
    return {
      startTime: millisToHrTime(before ? exportedAt : startedAt),
      endTime: millisToHrTime(now),
      attributes: { ...attributes },
      value: {
        buckets: { boundaries: [...boundaries], counts: added },
        sum: value - (before?.value ?? 0),
        count: added.reduce((sum, count) => sum + count, 0),
        // Of a delta after the first export, the minimum and maximum are not known. OTLP has them as
        // optional.
        ...(!before && { min, max }),
      },
    }
  }

  const metricOf = (
    { bounds = [], otlp }: Metric, all: readonly Series[], now: number,
  ): HistogramMetricData[] => {
    const dataPoints =
      otlp ? all.map(series => pointOf(series, bounds, now)).filter(({ value }) => value.count > 0) : []
    if (otlp === undefined || dataPoints.length === 0) return []
    const descriptor = { ...otlp, description: '', valueType: ValueType.DOUBLE }
    return [{
      descriptor, aggregationTemporality: temporality, dataPointType: DataPointType.HISTOGRAM, dataPoints,
    }]
  }

  return (): Promise<CollectionResult> => {
    const now = Date.now()
    const metrics = [...registry.collect()].flatMap(([metric, series]) => metricOf(metric, series, now))
    exportedAt = now
    return Promise.resolve({
      resourceMetrics: { resource, scopeMetrics: metrics.length === 0 ? [] : [{ scope, metrics }] },
      errors: [],
    })
  }
}
