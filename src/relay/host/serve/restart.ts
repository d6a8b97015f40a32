import { isDeepStrictEqual } from 'node:util'
import type { Configuration, ListenerTls } from '#relay/config/configuration.js'
import type { Setup } from '../server/setup.js'
import { workersOf } from './share.js'

/** What a gateway runs under: all that needs a restart is as it was at the start. */
export interface RunningSetup {
  readonly setup: Setup
  /** The relay processes of each server by its name, also of those removed: their sessions may go on. */
  readonly workers: ReadonlyMap<string, number>
  /** Settings that are other in the file, and need a restart, by their names in the file. */
  readonly late: readonly string[]
}

export const runningSetup = (setup: Setup): RunningSetup =>
  ({ setup, workers: workersIn(setup), late: [] })

/**
 * What a gateway runs under once the file was read again. Made before anything else of the changed setup, so
 * that no part of the gateway, and no process that starts later, has a value that others do not have yet.
 */
export const untilRestart = (running: RunningSetup, changed: Setup): RunningSetup => {
  const configuration = keptOf(running.setup.configuration, changed.configuration)
  const [kept, wanted] = [restartOnly(configuration), restartOnly(changed.configuration)]
  const late = [...new Set([...kept.keys(), ...wanted.keys()])]
    .filter(key => !isDeepStrictEqual(kept.get(key), wanted.get(key)))
  const servers = changed.servers.map(one => {
    const { server } = one
    const count = workersOf(server, configuration)
    const workers = running.workers.get(server.name) ?? count
    if (count !== workers) late.push(`servers.${server.name}.workers`)
    return { ...one, server: { ...server, workers } }
  })
  const setup = { ...changed, configuration, servers }
  return { setup, workers: new Map([...running.workers, ...workersIn(setup)]), late }
}

const workersIn = ({ configuration, servers }: Setup): ReadonlyMap<string, number> =>
  new Map(servers.map(({ server }) => [server.name, workersOf(server, configuration)]))

const keptOf = (before: Configuration, after: Configuration): Configuration => {
  const { listen, state, workers, admin, telemetry } = before
  const { payloads, intent } = after.audit
  return {
    ...after, listen, state, workers, admin, telemetry,
    tls: keptTls(before.tls, after.tls),
    // A log is opened once. What is recorded of a call is not decided by the log.
    audit: { ...before.audit, payloads, intent },
  }
}

/** Certificates change at once; whether the listener has one, and asks clients for theirs, does not. */
const keptTls = (before: Configuration['tls'], after: Configuration['tls']): Configuration['tls'] => {
  if (before === undefined || after === undefined) return before
  const isAsked = (tls: ListenerTls) => tls.clientCa !== undefined
  return { ...after, clientCa: (isAsked(before) === isAsked(after) ? after : before).clientCa }
}

/** What `keptOf` keeps is in it, by the names in the file. */
const restartOnly = ({
  listen, state, workers, admin, tls, audit, telemetry,
}: Configuration): ReadonlyMap<string, unknown> => new Map(Object.entries({
  listen, state, workers, admin,
  tls: tls !== undefined,
  'tls.clientCa': tls?.clientCa !== undefined,
  ...Object.fromEntries(Object.entries(audit).map(([key, value]) => [`audit.${key}`, value])),
  telemetry,
}))
