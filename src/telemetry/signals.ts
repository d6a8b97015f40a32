import type { TelemetryConfiguration } from '../config/configuration.js'

export const signals = ['traces', 'metrics', 'logs'] as const

export type Signal = (typeof signals)[number]

type Environment = Readonly<Record<string, string | undefined>>

/**
 * What is sent by OTLP: what has an endpoint, and is not turned off (OpenTelemetry, environment variable specification). Asked at
 * every start, so that nothing of OpenTelemetry is loaded where the answer is: nothing.
 */
export const signalsWanted = ({ endpoint }: TelemetryConfiguration, environment: Environment): readonly Signal[] => {
  const said = (name: string) => environment[name]?.trim().toLowerCase() ?? ''
  if (said('OTEL_SDK_DISABLED') === 'true') return []
  const isEverywhere = endpoint !== undefined || said('OTEL_EXPORTER_OTLP_ENDPOINT') !== ''
  return signals.filter(signal => {
    const name = signal.toUpperCase()
    return said(`OTEL_${name}_EXPORTER`) !== 'none' && (isEverywhere || said(`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`) !== '')
  })
}
