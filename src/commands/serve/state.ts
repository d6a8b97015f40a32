import type { Log } from '#audit/log.js'
import type { StateConfiguration } from '#config/configuration.js'
import { CustomsError } from '#errors.js'
import type { Problem } from '#gateway/health.js'
import type { RedisOptions, RedisStore } from '#state/redis.js'
import { SharedSessions } from '#state/sessions.js'
import type { Metrics } from '#telemetry/metrics.js'
import { realTimers } from '#transport/timers.js'
import type { Lifetime } from '../relay/lifetime.js'

/** The state that this process shares with other replicas. */
export interface State {
  readonly sessions: SharedSessions
  /** Why it cannot be reached now. */
  readonly problem: () => Problem | undefined
}

const redis = () => import('#state/redis.js').catch((cause: unknown) => {
  throw new CustomsError('BAD_CONFIG', 'state: needs a package: npm install @redis/client', { cause })
})

/** Where the shared state is kept. A simulation replaces the function. */
export const stores = {
  open: async (options: RedisOptions): Promise<Pick<RedisStore, keyof RedisStore>> =>
    new (await redis()).RedisStore(options),
}

/**
 * Connects to the shared state; a store that cannot be reached is tried again and again.
 * @throws CustomsError BAD_CONFIG where the client for it is not installed
 */
export const openState = async (
  { url, prefix, ttlMs, key }: StateConfiguration, log: Pick<Log, 'warn' | 'info'>, metrics: Metrics,
  lifetime: Lifetime,
): Promise<State> => {
  const { host } = new URL(url)
  const said = (reason: string) => `the shared state at ${host} cannot be reached: ${reason}`
  metrics.stateReady(true)
  const store = await stores.open({
    url,
    told: problem => {
      metrics.stateReady(problem === undefined)
      if (problem === undefined) log.info(`the shared state at ${host} can be reached again`)
      else log.warn(`${said(problem.reason)}: sessions cannot begin, and servers' requests are refused`)
    },
  })
  lifetime.add(() => store.close())
  await store.begun
  return {
    sessions: new SharedSessions({
      store, prefix, ttlMs, secret: key, now: () => realTimers.now(),
      counted: (operation, outcome) => metrics.stateAsked(operation, outcome),
    }),
    problem: () => store.problem && { kind: 'refusal', reason: said(store.problem.reason), since: store.problem.since },
  }
}
