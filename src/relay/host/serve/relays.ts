import { rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { openAudit } from '#relay/audit/sink.js'
import type { Health } from '#relay/core/vocabulary.js'
import { wellIn } from '#relay/session/health.js'
import { type FailedRelay, type RelayedServer, Relays } from '../processes/relays.js'
import type { LogRecord } from '#relay/audit/read/record.js'
import { allMetrics } from '#relay/telemetry/metrics.js'
import { type MetricRow, MetricTotals } from '#relay/telemetry/registry.js'
import { canStart } from '#relay/transport/process/spawn.js'
import type { Lifetime } from '../lifetime.js'
import { openTelemetry, patientUrgency } from '../telemetry.js'
import type { Served, ServedParts } from '../serve.js'
import type { ServerSetup, ServerSettings } from '../server/judgement.js'
import { policiesOf, type Setup } from '../server/setup.js'
import { commandLineOf, tlsOf } from '../server/upstream.js'
import { recorderOfMerge } from '../merge/findings.js'
import { refusalsTo, writeBeside } from './audits.js'
import type { RelaySetup } from './relay-process.js'
import { fileOf, fileOfFront, shareOf, workersOf } from './share.js'

/** The milliseconds after which an idle relay process ends, unless `sessions.idleMs` is less. */
const idleMs = 60_000
/** How long relay processes may take to end beyond their own grace, in milliseconds. */
const patienceMs = 70_000
/** Key of the front's own counts, beside those of relay processes. */
const ownId = 0
const connectMs = 4000

/**
 * Opens the servers of a setup, each in relay processes of its own.
 * @throws CustomsError when something of it cannot be opened
 */
export const openRelays = async (
  { flags, setup, log, metrics, page }: ServedParts, lifetime: Lifetime,
): Promise<Served> => {
  let { configuration } = setup
  const telemetry = await openTelemetry(configuration, log, metrics)
  lifetime.add(urgency => (urgency <= patientUrgency ? telemetry.close() : undefined))
  const followers = [...telemetry.followers, ...(page ? [page.follower] : [])]
  const audit = await openAudit({
    ...configuration.audit, file: fileOfFront(configuration.audit.file), server: 'front', log, followers,
    failed: records => metrics.auditFailed(records),
  })
  lifetime.add(() => {
    audit.close()
    removeEmpty(audit.file)
  })
  const records = { audit, audits: { of: () => audit }, log, metrics }
  let policies = policiesOf(setup)
  const totals = new MetricTotals(allMetrics)
  const failed = ({ server, pid, reason }: FailedRelay): void => {
    log.warn(`${server}: the relay process ${pid ?? ''} has ended: ${reason}; its sessions are over, and ` +
      'another takes its place')
    metrics.relayFailed(server)
    writeHealth(server, 'relay', reason)
  }
  const tellRefused = (server: string, reason: string): void => {
    log.warn(`${server}: ${reason}`)
    writeHealth(server, 'refusal', reason)
  }
  const writeHealth = (server: string, health: Health, reason: string): void => writeBeside(records, {
    event: 'server/health', from: 'relay', server, session: '', client: undefined, peer: undefined,
    revision: undefined, verdict: 'log', findings: [], health, reason,
  })
  // The log file stays undivided for one server at most: one that a reload adds needs a file of its own.
  const [only] =
    setup.servers.length === 1 ? setup.servers.filter(one => workersOf(one.server, configuration) === 1) : []
  const serverOf = (one: ServerSetup, from: Setup): RelayedServer => {
    const { server } = one
    // Reads the certificates now, so that a failure changes nothing.
    if ('url' in server) tlsOf(server)
    const count = workersOf(server, from.configuration)
    const { profiles, translate, lock, refusal, judgement: { trusted, ruling: { policy } } } = one
    const settings: ServerSettings = { server, policy, profiles, trusted, translate, lock }
    const reason = refusal && `mcp-customs did not start the server: ${refusal.message}`
    if (reason !== undefined) tellRefused(server.name, reason)
    return {
      name: server.name, kind: 'url' in server ? 'http' : 'stdio', workers: count,
      refusal: reason === undefined ? undefined : { kind: 'refusal', reason, since: new Date().toISOString() },
      reachable: () => ('url' in server
        ? canConnect(new URL(server.url))
        : Promise.resolve(canStart(commandLineOf(server)))),
      setup: (number, isOffered): RelaySetup => {
        const part = { server: server.name, number, count, isOnly: server.name === only?.server.name }
        return {
          configuration: shareOf(configuration, part),
          servers: isOffered && refusal === undefined ? [settings] : [],
          isOnly: from.isOnly ?? from.servers.length === 1,
          number: count === 1 ? undefined : number,
          flags: { logLevel: flags.logLevel, capture: fileOf(flags.capture, part) },
        }
      },
    }
  }
  const mergedOf = ({ configuration: { merge, workers: count } }: Setup): readonly RelayedServer[] => (merge
    ? [{
        name: merge.path, path: merge.path, kind: 'merged', workers: count, reachable: () => Promise.resolve(true),
        setup: number => ({
          configuration: {
            ...shareOf(configuration, { server: merge.path, number, count, isOnly: false }), merge,
          },
          isMerged: true, servers: [], isOnly: false, number: count === 1 ? undefined : number,
          flags: { logLevel: flags.logLevel, capture: undefined },
        } satisfies RelaySetup),
      }]
    : [])
  const serversOf = (from: Setup) => [...from.servers.map(one => serverOf(one, from)), ...mergedOf(from)]
  const relays = new Relays({
    servers: serversOf(setup),
    maxProcesses: () => configuration.sessions.maxProcesses,
    bufferedBytes: () => configuration.limits.bufferedBytes,
    idleMs: () => Math.min(idleMs, configuration.sessions.idleMs),
    failed,
    gone: id => totals.retire(id),
    reports: {
      // Relay processes send records made by `recordsFor`.
      records: all => all.forEach(one => page?.take(one as LogRecord)),
      found: recorderOfMerge(records, server => policies.get(server)),
    },
  })
  const { refused, flush } =
    refusalsTo({ ...records, nameAt: path => relays.nameAt(path) })
  lifetime.add(() => relays.kill())
  lifetime.add(urgency => relays.stop(urgency), configuration.sessions.graceMs + patienceMs)
  lifetime.add(flush)
  return {
    backend: relays, refused,
    configuration: () => configuration,
    prepare: changed => {
      const servers = serversOf(changed)
      return () => {
        configuration = changed.configuration
        policies = policiesOf(changed)
        return relays.replace(servers)
      }
    },
    ready: () => relays.ready(),
    text: async () => {
      metrics.ready(wellIn(await relays.ready()))
      metrics.relays(relays.running())
      // A relay process sends the snapshot of its own registry.
      const counted = await relays.counted() as ReadonlyMap<number, readonly MetricRow[]>
      return totals.text(new Map([[ownId, metrics.registry?.snapshot() ?? []], ...counted]))
    },
  }
}

/** The front's log is removed if nothing was recorded. */
const removeEmpty = (file: string | undefined): void => {
  if (file !== undefined && statSync(file, { throwIfNoEntry: false })?.size === 0) {
    rmSync(file, { force: true })
  }
}

const canConnect = ({ hostname, port, protocol }: URL): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80),
      timeout: connectMs,
    })
    const done = (isConnected: boolean) => {
      socket.destroy()
      resolve(isConnected)
    }
    socket.once('connect', () => done(true)).once('error', () => done(false))
      .once('timeout', () => done(false))
  })
