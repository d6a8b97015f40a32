import { openLog } from '#relay/audit/log.js'
import { openAudit } from '#relay/audit/sink.js'
import type { RemoteServer } from '#relay/config/configuration.js'
import { CustomsError } from '#relay/base/errors.js'
import { optimizeLater } from '#relay/base/tier-up.js'
import { type Guard, openSession } from '#relay/session/open.js'
import type { Session } from '#relay/session/session.js'
import { standardOutput } from '#relay/base/platform/standard-output.js'
import type { FrameLimits } from '#relay/protocol/frame.js'
import { explained } from '#relay/rules/index.js'
import { noMetrics } from '#relay/telemetry/metrics.js'
import { connectionTo, pipe } from '#relay/telemetry/place.js'
import { exitCodeOf } from '#relay/transport/process/spawn.js'
import { stdioClient } from '#relay/transport/stdio/client.js'
import type { StdioServer } from '#relay/transport/stdio/server.js'
import { stderrWritten } from '#relay/transport/stdio/stderr.js'
import type { Transport } from '#relay/transport/transport.js'
import type { RelaySettings } from './settings.js'
import type { Target } from '#relay/config/target.js'
import {
  captureOf, healthOf, openGuard, tellOfCapture, watchByteValidator, type Witness,
} from './guard.js'
import { endAt, Lifetime } from './lifetime.js'
import { openTelemetry, patientUrgency } from './telemetry.js'
import { authorizerOf } from './server/login.js'
import { setUp } from './server/setup.js'
import { processOf, tlsOf } from './server/upstream.js'

/**
 * `wrap`: relays between a stdio client and one server.
 * @param watching gets the events of the session in place of a capture
 * @returns the exit code of the server's process; 0 for a remote server
 */
export const wrap = async (flags: RelaySettings, target: Target, watching?: Witness): Promise<number> => {
  optimizeLater()
  const { session, lifetime, server } = await prepare(flags, target, watching)
    .catch(async (reason: unknown) => (await import('./not-started.js')).answerInitialize(reason))
  await run(session, lifetime)
  return server === undefined ? 0 : exitOf(server)
}

interface Prepared {
  readonly session: Session
  readonly lifetime: Lifetime
  /** Undefined for a remote server. */
  readonly server?: StdioServer
}

/** Finds all that can be wrong with options and files, before the client's first message is read. */
const prepare = async (flags: RelaySettings, target: Target, watching?: Witness): Promise<Prepared> => {
  const { configuration, servers: [setup] } = await setUp(flags, target, 'relay')
  if (setup === undefined) throw new CustomsError('BAD_USAGE', 'which server?')
  const { limits, sessions: { graceMs } } = configuration
  const log = openLog(flags.logLevel, explained)
  const telemetry = await openTelemetry(configuration, log)
  const { name } = setup.server
  const audit = await openAudit({ ...configuration.audit, server: name, log, followers: telemetry.followers })
  const witness = watching ?? (await captureOf(flags, configuration))
  if (!watching) tellOfCapture(flags, configuration)
  const toServer = connectionTo('url' in setup.server ? setup.server.url : undefined)
  const health = healthOf(setup.server, { audit, log, metrics: noMetrics })
  const guard = openGuard(setup, configuration, {
    audit, log, health, metrics: noMetrics, witness,
    observe: telemetry.observe?.({ server: name, toClient: pipe, toServer }),
  })
  const lifetime = new Lifetime()
  lifetime.add(() => log.close())
  lifetime.add(stderrWritten)
  lifetime.add(watchByteValidator(log, noMetrics))
  lifetime.add(urgency => (urgency <= patientUrgency ? telemetry.close() : undefined))
  lifetime.add(() => audit.close())
  lifetime.add(() => witness?.close())
  lifetime.add(() => guard.close())
  const warn = (message: string) => log.warn(`${name}: ${message}`)
  const client = () => stdioClient({ input: process.stdin, output: standardOutput(), limits, graceMs })
  if ('url' in setup.server) {
    return { session: await remoteSession(guard, client, setup.server, limits, warn), lifetime }
  }
  const server = processOf(setup.server, limits, (reason, lastLines) => {
    health.ended(reason, server.failure === undefined, lastLines)
    // If the command cannot be started, `wrap` fails with that error: it is not logged here.
    if (server.failure === undefined) log.warn(`${name}: ${reason}`)
  }, warn)
  return { session: openSession(guard, client(), () => server), lifetime, server }
}

/** The HTTP client is loaded only for a remote server: other relays start sooner without it. */
const remoteSession = async (
  guard: Guard, client: () => Transport, server: RemoteServer, limits: FrameLimits,
  warn: (message: string) => void,
): Promise<Session> => {
  const [{ httpSession }, authorizer] = await Promise.all([
    import('#relay/transport/upstream/session/session.js'), authorizerOf(server, warn),
  ])
  const tls = tlsOf(server)
  const { url, headers } = server
  return openSession(guard, client(), inputSchemaOf =>
    httpSession({ url: new URL(url), headers, limits, inputSchemaOf, authorizer, ...(tls && { tls }) }),
  )
}

const run = async (session: Session, lifetime: Lifetime): Promise<void> => {
  lifetime.add(urgency => {
    session.stop(urgency)
    return session.ended
  })
  // Ctrl-C lets the server end by itself; SIGTERM and SIGHUP terminate it.
  endAt({ SIGINT: 1, SIGTERM: 2, SIGHUP: 2, SIGBREAK: 2 }, lifetime)
  session.start()
  void session.ended.then(({ failure }) => (failure === undefined ? lifetime.end() : lifetime.fail(failure)))
  await lifetime.ended
}

const exitOf = ({ failure, exit }: StdioServer): number => {
  if (failure !== undefined) throw failure
  return exit === undefined ? 0 : exitCodeOf(exit)
}
