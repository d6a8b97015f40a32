import { hash } from 'node:crypto'
import type { FrontBackend } from '#relay/transport/front/front.js'
import { quotaClientOf, Quota } from '#relay/transport/front/quota.js'
import { refusal, refuse } from '#relay/transport/front/refusal.js'
import { isModernVersion } from '#relay/transport/http/headers.js'
import { realTimers } from '#relay/transport/timers.js'
import { type Condition, type HealthProblem, together } from '#relay/session/health.js'
import type { FrontCalls } from './calls.js'
import { RelayProcess } from './relay-process.js'

/** A configured server that has relay processes. */
export interface RelayedServer {
  readonly name: string
  /** `merged`: it is all servers, whose endpoints it asks. */
  readonly kind: 'stdio' | 'http' | 'merged'
  /** Where it is served; undefined: at `/NAME/mcp`. */
  readonly path?: string
  /** The number of its relay processes. */
  readonly workers: number
  /** The setup of a process. @param number from 1 @param isOffered false: for its present sessions only */
  readonly setup: (number: number, isOffered: boolean) => object
  /** Why it may not be started; its requests are refused. */
  readonly refusal?: HealthProblem | undefined
  /** Whether it can be reached, as known without a relay process. */
  readonly reachable: () => Promise<boolean>
}

export interface RelaysOptions {
  readonly servers: readonly RelayedServer[]
  /** Most concurrent sessions with a server process of their own, over all servers. */
  readonly maxProcesses: () => number
  /** Most bytes of buffered request bodies, over all servers. */
  readonly bufferedBytes: () => number
  /** See `RelayProcessOptions`. */
  readonly idleMs: () => number
  readonly failed: (failed: FailedRelay) => void
  /** A relay process is gone. @param id as in `counted` */
  readonly gone: (id: number) => void
  readonly reports: Omit<FrontCalls, 'group'>
}

export interface FailedRelay {
  readonly server: string
  readonly pid: number | undefined
  readonly reason: string
}

interface Served {
  server: RelayedServer
  /** False when it is no longer configured: it serves its present sessions only. */
  isOffered: boolean
  readonly members: readonly Member[]
  /**
   * The number of the relay process of each session whose id an HTTP server has chosen, by the hash of the
   * id; the oldest first.
   */
  readonly homes: Map<string, number>
  /** The last problem that the server's relay processes reported. */
  problem?: HealthProblem | undefined
}

interface Member {
  /** From 1. */
  readonly number: number
  /** Unique over all relay processes. */
  readonly id: number
  readonly process: RelayProcess
}

/** Session ids that are remembered for each server. */
const maxHomes = 10_000

/** The relay processes of a gateway. Routes requests by path and session, and never reads their bodies. */
export class Relays implements FrontBackend {
  readonly #options: RelaysOptions
  readonly #processes: Quota
  readonly #bodies: Quota
  readonly #served = new Map<string, Served>()
  #paths: ReadonlyMap<string, Served> = new Map()
  #lastId = 0
  /** How often the setups were replaced, from 1. */
  #generation = 1

  constructor(options: RelaysOptions) {
    this.#options = options
    this.#processes = new Quota(options.maxProcesses)
    this.#bodies = new Quota(options.bufferedBytes)
    this.#offer(options.servers)
  }

  has(path: string): boolean {
    const served = this.#paths.get(path)
    return (
      served !== undefined
      && (served.isOffered || served.members.some(({ process }) => process.pid !== undefined))
    )
  }

  nameAt(path: string): string | undefined {
    return this.#paths.get(path)?.server.name
  }

  serve(...[request, response, arrival]: Parameters<FrontBackend['serve']>): void {
    const served = this.#paths.get(arrival.path)
    if (served === undefined) return
    const { server: { refusal: problem } } = served
    if (problem !== undefined) {
      // Clients show the body of a response that says no.
      return refuse(request, response, refusal(503, problem.reason), realTimers)
    }
    const { headers, method } = request
    const version = headers['mcp-protocol-version']
    const isModern = isModernVersion(typeof version === 'string' ? version : undefined)
    const named = isModern ? undefined : headers['mcp-session-id']
    const session = typeof named === 'string' ? named : undefined
    // A request without a session id may begin a session.
    const mayBegin = method === 'POST' && !isModern && named === undefined
    // The server process of the session needs a place in the quota.
    const place = mayBegin && served.server.kind === 'stdio'
      ? (this.#processes.processSlot(quotaClientOf(arrival)).reserve() ?? 'full')
      : undefined
    memberFor(served, session, mayBegin).process.handOver({ request, response, arrival, place })
  }

  endStreams(): void {
    for (const { process } of this.#members()) process.endStreams()
  }

  giveUp(reason: string): Promise<unknown> {
    return Promise.all(this.#members().map(({ process }) => process.giveUp(reason)))
  }

  /**
   * Replaces the servers at once: later requests find the new ones, and reach none under an older setup.
   * Resolves when no relay process has an older one: 5 seconds later at most, or 10 where a process has yet
   * to take the setup before. Never rejects.
   */
  async replace(servers: readonly RelayedServer[]): Promise<void> {
    this.#offer(servers)
    this.#generation += 1
    await Promise.all(this.#members().map(({ process }) => process.setUp()))
  }

  /** The condition of each server. One whose relay process is down cannot be reached. */
  async ready(): Promise<ReadonlyMap<string, Condition>> {
    const offered = [...this.#served.values()].filter(({ isOffered }) => isOffered)
    return new Map(
      await Promise.all(
        offered.map(async served => [served.server.name, await conditionOf(served)] as const),
      ),
    )
  }

  /** The counts of the running relay processes, by their ids. */
  async counted(): Promise<ReadonlyMap<number, readonly object[]>> {
    const counts = await Promise.all(
      this.#members().map(async ({ id, process }) => [id, await process.ask('counted')] as const),
    )
    return new Map(counts.flatMap(([id, counted]) => (counted === undefined ? [] : [[id, counted] as const])))
  }

  /** The number of running relay processes of each server. */
  running(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#served].map(([name, { members }]) => [
        name, members.filter(({ process }) => process.pid !== undefined).length,
      ]),
    )
  }

  /** @param urgency from 1; each step ends them faster */
  async stop(urgency: number): Promise<void> {
    await Promise.all(this.#members().map(({ process }) => process.stop(urgency)))
  }

  kill(): void {
    for (const { process } of this.#members()) process.kill()
  }

  #members(): readonly Member[] {
    return [...this.#served.values()].flatMap(({ members }) => members)
  }

  #offer(servers: readonly RelayedServer[]): void {
    for (const served of this.#served.values()) served.isOffered = false
    for (const server of servers) {
      const before = this.#served.get(server.name)
      if (before) Object.assign(before, { server, isOffered: true })
      else this.#served.set(server.name, this.#newServed(server))
    }
    const paths = new Map(this.#paths)
    const [only] = servers
    const served = servers.length === 1 && only ? this.#served.get(only.name) : undefined
    const all = [...this.#served.values()]
    const add = (one: Served) => paths.set(one.server.path ?? `/${one.server.name}/mcp`, one)
    // A former server's path may be another's by now.
    all.filter(({ isOffered }) => !isOffered).forEach(add)
    if (served) paths.set('/mcp', served)
    all.filter(({ isOffered }) => isOffered).forEach(add)
    this.#paths = paths
  }

  #newServed(server: RelayedServer): Served {
    const members = Array.from({ length: server.workers }, (_, index) =>
      this.#newMember(() => served, index + 1, server.kind),
    )
    const served: Served = { server, isOffered: true, members, homes: new Map() }
    return served
  }

  #newMember(served: () => Served, number: number, kind: RelayedServer['kind']): Member {
    const id = (this.#lastId += 1)
    const { idleMs, failed, gone, reports } = this.#options
    const process = new RelayProcess({
      bodies: this.#bodies, idleMs,
      // Only the merged endpoint may report about several servers.
      ...(kind === 'merged'
        ? { serve: (...asked) => this.serve(...asked), reports }
        : { reports: { ...reports, found: () => undefined } }),
      setup: () => ({
        generation: this.#generation, setup: served().server.setup(number, served().isOffered),
      }),
      failed: how => failed({ server: served().server.name, ...how }),
      gone: () => {
        const { homes } = served()
        for (const [session, home] of homes) if (home === number) homes.delete(session)
        gone(id)
      },
      named: session => {
        if (served().members.length > 1 && served().server.kind === 'http')
          remember(served(), session, number)
      },
    })
    return { number, id, process }
  }
}

const conditionOf = async (served: Served): Promise<Condition> => {
  const { server, members } = served
  if (server.refusal !== undefined) return { isReachable: true, problem: server.refusal }
  if (members.some(({ process }) => process.isDown)) return { isReachable: false }
  const answers = await Promise.all(members.map(({ process }) => process.ask('ready')))
  const known = answers.filter(answer => answer !== undefined)
  // An idle process has ended: the last problem that it reported still counts.
  const condition = known.length > 0
    ? together(known)
    : { isReachable: await server.reachable(), problem: served.problem }
  served.problem = condition.problem
  return condition
}

/**
 * A session belongs to the process that began it. One that begins goes to the process with the fewest, since
 * idle ones take a place too; a request without a session to the one with the fewest in flight.
 */
const memberFor = (served: Served, session: string | undefined, mayBegin: boolean): Member => {
  const { members, server: { kind } } = served
  const [first, ...more] = members
  if (first !== undefined && more.length === 0) return first
  const home = session === undefined ? undefined : homeOf(served, session)
  if (home) return home
  // The server knows a session that no process has here: the relay was restarted, or there are replicas.
  const isTaken = session !== undefined && kind === 'http'
  const isSession = mayBegin || isTaken
  const least = leastOf(members, isSession)
  if (isSession) least.process.sessionMayBegin()
  if (isTaken) remember(served, session, least.number)
  return least
}

const homeOf = ({ members, homes, server: { kind } }: Served, session: string): Member | undefined => {
  const known = kind === 'http' ? homes.get(digestOf(session)) : numberIn(session)
  return members.find(({ number }) => number === known)
}

/** Of those that are not down, if there are any. */
const leastOf = (members: readonly Member[], isSession: boolean): Member => {
  const up = members.filter(({ process }) => !process.isDown)
  const [first, ...more] = up.length > 0 ? up : members
  if (first === undefined) throw new Error('a server has a relay process')
  return more.reduce((best, one) => (isLess(one.process, best.process, isSession) ? one : best), first)
}

const isLess = (one: RelayProcess, other: RelayProcess, isSession: boolean): boolean =>
  (isSession && one.sessions !== other.sessions
    ? one.sessions < other.sessions
    : one.inFlight < other.inFlight)

const remember = ({ homes }: Served, session: string, number: number): void => {
  const digest = digestOf(session)
  homes.delete(digest)
  homes.set(digest, number)
  for (const oldest of homes.keys()) {
    if (homes.size <= maxHomes) break
    homes.delete(oldest)
  }
}

const digestOf = (session: string): string => hash('sha256', session, 'base64')

/** A session id made by a relay process begins with the number of that process, behind its replica's name. */
const numberIn = (session: string): number | undefined => {
  const number = /^(?:[^:]+:)?(\d+)\.[0-9a-f]{8}-[0-9a-f-]{27}$/.exec(session)?.[1]
  return number === undefined ? undefined : Number(number)
}
