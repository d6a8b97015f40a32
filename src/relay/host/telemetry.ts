import type { Log } from '#relay/audit/log.js'
import { shown } from '#relay/protocol/text/secrets.js'
import type { Follower } from '#relay/audit/audit.js'
import type { Configuration } from '#relay/config/configuration.js'
import { codeOf, CustomsError, messageOf } from '#relay/base/errors.js'
import { countingMetrics, type Metrics, noMetrics } from '#relay/telemetry/metrics.js'
import type { Observe } from '#relay/telemetry/observing.js'
import type { OpenTelemetry } from '#relay/telemetry/opentelemetry.js'
import { signalsWanted } from '#relay/telemetry/signals.js'
import { optionalPackages, version } from '#relay/base/version.js'

/** The relay's telemetry and log shipping. */
export interface Telemetry {
  /** Undefined when neither metrics nor traces are wanted. */
  readonly observe: Observe | undefined
  /** Followers of the audit log. */
  readonly followers: readonly Follower[]
  /** Sends pending data, within seconds. */
  close(): Promise<void>
}

/** SIGTERM counts twice, to terminate the server; pending telemetry is given up only after that. */
export const patientUrgency = 2

/**
 * Opens telemetry; loads only what the configuration asks for.
 * @param served the metrics of the admin listener, where there is one
 * @throws CustomsError CANNOT_START where the configuration names an endpoint, and OpenTelemetry is not
 * installed
 */
export const openTelemetry = async (
  { telemetry, audit }: Configuration, log: Log, served: Metrics = noMetrics,
): Promise<Telemetry> => {
  const warn = (message: string) => log.warn(message)
  const signals = signalsWanted(telemetry, process.env)
  const metrics = served.registry === undefined && signals.includes('metrics') ? countingMetrics() : served
  const undelivered = (to: string, count: number) => metrics.undelivered(to, count)
  const sent = signals.length === 0 ? undefined : await import('#relay/telemetry/opentelemetry.js').then(
    module => module.startOpenTelemetry({
      settings: telemetry, signals, version: version(), warn, undelivered, registry: metrics.registry,
    }),
  ).catch((error: unknown) => {
    if (!isNotInstalled(error)) return warn(`telemetry: not begun: ${shown(messageOf(error))}`)
    const toDo = `OpenTelemetry is not installed: npm install ${optionalPackages('@opentelemetry').join(' ')}`
    // OTEL_ variables may be meant for other programs.
    if (telemetry.endpoint === undefined) return warn(`telemetry: not begun: ${toDo}`)
    throw new CustomsError('CANNOT_START', `telemetry: ${toDo}`, { cause: error })
  })
  const shipped = audit.targets.length === 0
    ? undefined
    : await (await import('#relay/audit/targets.js')).openTargets(audit.targets, { warn, undelivered })
  const { tracing, follower }: Partial<OpenTelemetry> = sent ?? {}
  const isObserved = metrics.registry !== undefined || tracing !== undefined
  const failed = (reason: string) => warn(`telemetry failed on a message: ${reason}`)
  return {
    observe: isObserved
      ? (await import('#relay/telemetry/observing.js')).observing({ metrics, tracing, failed })
      : undefined,
    followers: [...(follower ? [follower] : []), ...(shipped ? [shipped] : [])],
    close: async () => {
      await Promise.all([sent?.close(), shipped?.close()])
    },
  }
}

/** OpenTelemetry's packages are optional. */
const isNotInstalled = (error: unknown): boolean =>
  codeOf(error) === 'ERR_MODULE_NOT_FOUND' && messageOf(error).includes('\'@opentelemetry/')
