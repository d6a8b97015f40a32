export const signals = ['traces', 'metrics', 'logs'] as const

export type Signal = (typeof signals)[number]

/** What an operator says of it beside the environment. */
export interface OtlpSettings {
  /** Of the collector, for every signal; undefined: as the environment says. */
  readonly endpoint: string | undefined
  /** Sent with every request; the names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** What spans have of arguments and results. */
  readonly payloads: 'none' | 'redacted' | 'full'
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * What is sent by OTLP: what has an endpoint, and is not turned off (OpenTelemetry, environment variable specification). Asked at
 * every start, so that nothing of OpenTelemetry is loaded where the answer is: nothing.
 */
export const signalsWanted = ({ endpoint }: OtlpSettings, environment: Environment): readonly Signal[] => {
  const said = (name: string) => environment[name]?.trim().toLowerCase() ?? ''
  if (said('OTEL_SDK_DISABLED') === 'true') return []
  const isEverywhere = endpoint !== undefined || said('OTEL_EXPORTER_OTLP_ENDPOINT') !== ''
  return signals.filter(signal => {
    const name = signal.toUpperCase()
    return said(`OTEL_${name}_EXPORTER`) !== 'none' && (isEverywhere || said(`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`) !== '')
  })
}
