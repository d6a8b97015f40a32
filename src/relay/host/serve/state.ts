import type { Log } from '#relay/audit/log.js'
import type { StateConfiguration } from '#relay/config/configuration.js'
import { CustomsError } from '#relay/base/errors.js'
import type { HealthProblem } from '#relay/session/health.js'
import { CallCounts } from '../replicas/call-counts.js'
import type { RedisEngine, RedisOptions } from '../replicas/redis.js'
import { type StateOutcome, SharedSessions } from '../replicas/sessions.js'
import { Store } from '../replicas/store.js'
import type { Metrics } from '#relay/telemetry/metrics.js'
import { realTimers } from '#relay/transport/timers.js'
import type { Lifetime } from '../lifetime.js'

/** The state that this process shares with other replicas. */
export interface SharedState {
  readonly sessions: SharedSessions
  readonly calls: CallCounts
  /** Why it cannot be reached now. */
  readonly problem: () => HealthProblem | undefined
}

const redis = () => import('../replicas/redis.js').catch((cause: unknown) => {
  throw new CustomsError('BAD_CONFIG', 'state: needs a package: npm install @redis/client', { cause })
})

/** Where the shared state is kept. A simulation replaces the function. */
export const stores = {
  open: async (options: RedisOptions): Promise<Pick<RedisEngine, keyof RedisEngine>> =>
    new (await redis()).RedisEngine(options),
}

/** What happens while it cannot be reached. */
const without = 'sessions in front of HTTP servers cannot begin, requests of servers are refused, and ' +
  'callsPerMinute holds for each replica alone'
/** Values that are not authentic are logged at most once in this time, in milliseconds. */
const forgedMs = 60_000

/**
 * Connects to the shared state; a store that cannot be reached is tried again and again.
 * @throws CustomsError BAD_CONFIG where the client for it is not installed
 */
export const openState = async (
  { url, prefix, ttlMs, key }: StateConfiguration, log: Pick<Log, 'warn' | 'info'>, metrics: Metrics,
  lifetime: Lifetime,
): Promise<SharedState> => {
  const { host } = new URL(url)
  const said = (reason: string) => `the shared state at ${host} cannot be reached: ${reason}`
  metrics.stateReady(true)
  const engine = await stores.open({
    url,
    told: problem => {
      metrics.stateReady(problem === undefined)
      if (problem === undefined) log.info(`the shared state at ${host} can be reached again`)
      else log.warn(`${said(problem.reason)}: ${without}`)
    },
  })
  lifetime.add(() => engine.close())
  await engine.begun
  let toldUntil = -Infinity
  const store = new Store(engine, key, () => {
    metrics.stateForged()
    if (realTimers.now() < toldUntil) return
    toldUntil = realTimers.now() + forgedMs
    log.warn(`the shared state at ${host} holds a value that was not written with this state.key: it counts ` +
      'as missing (mcp_customs_state_forged_total counts them)')
  })
  const common = {
    store, prefix, secret: key,
    counted: (operation: string, outcome: StateOutcome) => metrics.stateAsked(operation, outcome),
  }
  return {
    sessions: new SharedSessions({ ...common, ttlMs, now: () => realTimers.now() }),
    calls: new CallCounts({ ...common, now: Date.now }),
    problem: () => store.problem && { kind: 'refusal', reason: said(store.problem.reason), since: store.problem.since },
  }
}
