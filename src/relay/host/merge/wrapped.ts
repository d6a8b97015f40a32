import { openLog } from '#relay/audit/log.js'
import { badUsage } from '#relay/base/errors.js'
import { standardOutput } from '#relay/base/platform/standard-output.js'
import type { Configuration, RemoteServer } from '#relay/config/configuration.js'
import type { Target } from '#relay/config/target.js'
import { explained } from '#relay/rules/index.js'
import { type Guard, openSession } from '#relay/session/open.js'
import { noMetrics } from '#relay/telemetry/metrics.js'
import { connectionTo, pipe as stdioPipe } from '#relay/telemetry/place.js'
import { stdioClient } from '#relay/transport/stdio/client.js'
import { stderrWritten } from '#relay/transport/stdio/stderr.js'
import type { Transport } from '#relay/transport/transport.js'
import { captureOf, healthOf, openGuard, tellOfCapture, watchByteValidator } from '../guard.js'
import { endAt, Lifetime } from '../lifetime.js'
import { Audits } from '../serve/audits.js'
import { authorizerOf } from '../server/login.js'
import type { ServerSetup } from '../server/judgement.js'
import { policiesOf, setUp } from '../server/setup.js'
import { processOf, tlsOf } from '../server/upstream.js'
import type { RelaySettings } from '../settings.js'
import { openTelemetry, patientUrgency } from '../telemetry.js'
import { MergeNews, mergerSettings } from './endpoint.js'
import { recorderOfMerge } from './findings.js'
import { pipeOf } from './pipe.js'
import { MergeSession } from './session.js'

/** Standard error, where `--audit -` of `wrap` goes. */
const standardError = 2

/**
 * `wrap --merge`: all servers of the file as one, for a stdio client. Each has a relay of its own in this
 * process.
 * @returns 0
 */
export const wrapMerged = async (flags: RelaySettings, target: Target): Promise<number> => {
  const { session, lifetime } = await prepare(flags, target)
    .catch(async (reason: unknown) => (await import('../not-started.js')).answerInitialize(reason))
  lifetime.add(urgency => {
    session.stop(urgency)
    return session.ended
  })
  endAt({ SIGINT: 1, SIGTERM: 2, SIGHUP: 2, SIGBREAK: 2 }, lifetime)
  session.start()
  void session.ended.then(() => lifetime.end())
  await lifetime.ended
  return 0
}

interface Prepared {
  readonly session: MergeSession
  readonly lifetime: Lifetime
}

/** Finds all that can be wrong with options and files, before the client's first message is read. */
const prepare = async (flags: RelaySettings, { command, url }: Target): Promise<Prepared> => {
  if (flags.config === undefined || (command ?? url ?? flags.server) !== undefined) {
    return badUsage('--merge takes all servers of a file: give --config FILE alone')
  }
  const { configuration, servers } = await setUp(flags, { command, url }, 'relay', 'merged')
  const { merge } = configuration
  if (merge === undefined) throw new Error('what is merged has its servers')
  const { limits, sessions: { graceMs } } = configuration
  const log = openLog(flags.logLevel, explained)
  const lifetime = new Lifetime()
  const telemetry = await openTelemetry(configuration, log)
  const audits = new Audits({
    log, followers: telemetry.followers, failed: () => undefined, stream: standardError,
  })
  const witness = await captureOf(flags, configuration)
  tellOfCapture(flags, configuration)
  lifetime.add(() => log.close())
  lifetime.add(stderrWritten)
  lifetime.add(watchByteValidator(log, noMetrics))
  lifetime.add(urgency => (urgency <= patientUrgency ? telemetry.close() : undefined))
  lifetime.add(() => audits.close())
  lifetime.add(() => witness?.close())
  const legs = new Map<string, () => Transport>()
  for (const setup of servers) {
    const { server } = setup
    const { name } = server
    const audit = await audits.open(configuration.audit, name)
    const health = healthOf(server, { audit, log, metrics: noMetrics })
    const toServer = connectionTo('url' in server ? server.url : undefined)
    const place = { server: name, toClient: stdioPipe, toServer }
    const guard = openGuard(setup, configuration, {
      audit, log, health, metrics: noMetrics, witness, observe: telemetry.observe?.(place),
    })
    lifetime.add(() => guard.close())
    const warn = (message: string) => log.warn(`${name}: ${message}`)
    const connector = await connectorOf(setup, configuration, (reason, lines) => {
      health.ended(reason, true, lines)
      warn(reason)
    }, warn)
    legs.set(name, () => legIn(setup, guard, connector))
  }
  const policies = policiesOf({ servers })
  const record = recorderOfMerge({ audits, log, metrics: noMetrics }, server => policies.get(server))
  const news = new MergeNews(log, record)
  const session = new MergeSession({
    ...mergerSettings(merge, configuration), isStateless: false, hasExchanges: false,
    client: stdioClient({ input: process.stdin, output: standardOutput(), limits, graceMs }),
    connect: name => legs.get(name)?.() ?? noLeg('it is not configured'),
    missing: news.missing, found: news.found, failed: news.failed,
  })
  return { session, lifetime }
}

/** Opens the server's side of a leg. */
type Opening = (inputSchemaOf: Parameters<Parameters<typeof openSession>[2]>[0]) => Transport

const connectorOf = async (
  { server }: ServerSetup, { limits }: Configuration,
  died: (reason: string, lines: readonly string[]) => void,
  warn: (message: string) => void,
): Promise<Opening> => {
  if (!('url' in server)) return () => processOf(server, limits, died, warn)
  return remote(server, limits, warn)
}

/** The HTTP client is loaded only for a remote server. */
const remote = async (
  server: RemoteServer, limits: Configuration['limits'], warn: (message: string) => void,
): Promise<Opening> => {
  const [{ httpSession }, authorizer] = await Promise.all([
    import('#relay/transport/upstream/session/session.js'), authorizerOf(server, warn),
  ])
  const tls = tlsOf(server)
  const { url, headers } = server
  return inputSchemaOf =>
    httpSession({ url: new URL(url), headers, limits, inputSchemaOf, authorizer, ...(tls && { tls }) })
}

/** A session with the server's relay, whose client is the merger. */
const legIn = ({ refusal }: ServerSetup, guard: Guard, open: Opening): Transport => {
  if (refusal !== undefined) return noLeg(refusal.message)
  const { client, server, end } = pipeOf(() => session.ended)
  const session = openSession(guard, client, open)
  session.start()
  void session.ended.then(({ reason }) => end(reason))
  return server
}

const noLeg = (reason: string): Transport => {
  const { server, end } = pipeOf(() => Promise.resolve())
  end(reason)
  return server
}
