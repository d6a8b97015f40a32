import type { Environment } from '#relay/base/platform/machine.js'

export const signals = ['traces', 'metrics', 'logs'] as const

export type Signal = (typeof signals)[number]

/** The operator's settings, besides the environment. */
export interface OtlpSettings {
  /** The collector's URL for every signal; undefined: the environment decides. */
  readonly endpoint: string | undefined
  /** Sent with every request; the names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** How spans show arguments and results. */
  readonly payloads: 'none' | 'redacted' | 'full'
}

/**
 * The signals that have an endpoint and are not turned off (OpenTelemetry, environment variable
 * specification). Without any, no package of OpenTelemetry is loaded.
 */
export const signalsWanted = ({ endpoint }: OtlpSettings, environment: Environment): readonly Signal[] => {
  const valueOf = (name: string) => environment[name]?.trim().toLowerCase() ?? ''
  if (valueOf('OTEL_SDK_DISABLED') === 'true') return []
  const isEverywhere = endpoint !== undefined || valueOf('OTEL_EXPORTER_OTLP_ENDPOINT') !== ''
  return signals.filter(signal => {
    const name = signal.toUpperCase()
    return valueOf(`OTEL_${name}_EXPORTER`) !== 'none'
      && (isEverywhere || valueOf(`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`) !== '')
  })
}
