import { FrontEnd, answerLost, type Admitted } from '#transport/channel/front-end.js'
import type { Vitals } from '#transport/channel/relay-end.js'
import type { Quota } from '#transport/front/quota.js'
import { killGroup } from '#transport/process/group.js'
import { residentBytes, spawnRelay, type RelayChild } from '#transport/process/relay.js'
import { BackOff } from '#transport/one-process/process.js'
import { machine } from '#transport/machine.js'
import { realTimers } from '#transport/timers.js'
import type { FrontCalls, RelayCalls } from './calls.js'

export interface RelayProcessOptions {
  readonly setup: () => object
  /** The quota for the request bodies of all processes. */
  readonly bodies: Quota
  /** Idle milliseconds after which it is ended. */
  readonly idleMs: () => number
  /** It ended without being asked to. */
  readonly failed: (failed: { readonly pid: number | undefined; readonly reason: string }) => void
  /** It is gone, for any reason. */
  readonly gone: () => void
  /** A response has named a session. */
  readonly named: (session: string) => void
  readonly records: FrontCalls['records']
}

/**
 * The interval of the watchdog's checks, in milliseconds, and the number of checks for which a heartbeat
 * may stay unanswered: 5 seconds.
 */
const lookMs = 500
const maxMissed = 10
/** Longest time to begin, and to end when asked to, in milliseconds. */
const beginMs = 30_000
const endMs = 60_000
/** Longest wait for the response to a call, in milliseconds. */
const askMs = 4000
/** A process that ran longer than this, in milliseconds, is replaced at once: the back-off starts anew. */
const longLifeMs = 60_000

interface Running extends RelayChild {
  readonly end: FrontEnd<RelayCalls>
  readonly begunAt: number
  readonly groups: Set<number>
  readonly stopLooking: () => void
  readonly gone: Promise<void>
  readonly tellGone: () => void
  isReady: boolean
  /** When it was asked to end. */
  endingAt: number | undefined
  /** Checks since the pending heartbeat was sent; undefined: no heartbeat is pending. */
  missed: number | undefined
  vitals: Vitals | undefined
  /** When it became idle. */
  idleSince: number | undefined
  /** The reason for its end: the watchdog's, or its own. */
  reason: string | undefined
}

/**
 * Manages one relay process: starts it when it is first needed, replaces it when it fails, ends it when it is
 * idle. The watchdog kills a process that misses heartbeats or takes too much memory.
 */
export class RelayProcess {
  readonly #options: RelayProcessOptions
  readonly #backOff = new BackOff(() => realTimers.now(), () => Math.random())
  /**
   * Requests that arrived while the process was ending. They wait for the next process, which starts only
   * when this one is gone: an audit log has one writer.
   */
  #waiting: Admitted[] = []
  #running: Running | undefined
  #hurries = 0
  #cleared: Promise<unknown> = Promise.resolve()

  constructor(options: RelayProcessOptions) {
    this.#options = options
  }

  /** Exchanges that are not over. */
  get inFlight(): number {
    return (this.#running?.end.inFlight ?? 0) + this.#waiting.length
  }

  get pid(): number | undefined {
    return this.#running?.child.pid
  }

  /** True while a failed process may not be started again yet. */
  get isDown(): boolean {
    return this.#running === undefined && this.#backOff.waitMs > 0
  }

  handOver(admitted: Admitted): void {
    if (this.#running?.endingAt !== undefined) this.#waiting.push(admitted)
    else if (this.isDown || this.#hurries > 0) {
      if (typeof admitted.place === 'function') admitted.place()
      answerLost(admitted)
    } else (this.#running ?? this.#start()).end.handOver(admitted)
  }

  /** @returns undefined when no process is ready, or the call fails or takes too long */
  async ask<Name extends 'ready' | 'counted'>(
    name: Name,
  ): Promise<Awaited<ReturnType<RelayCalls[Name]>> | undefined> {
    const running = this.#running
    if (running?.isReady !== true) return undefined
    return running.end.calls.call(name, undefined, askMs).catch(() => undefined)
  }

  /** @throws Error when the process rejects the setup */
  async reload(): Promise<void> {
    await this.#running?.end.calls.call('reload', this.#options.setup() as never)
  }

  endStreams(): void {
    this.#running?.end.calls.call('endStreams', undefined).catch(() => undefined)
  }

  async giveUp(reason: string): Promise<void> {
    await this.#running?.end.calls.call('giveUp', reason).catch(() => undefined)
  }

  /** Ends it. @param urgency from 1; each step ends it faster */
  async stop(urgency: number): Promise<void> {
    const running = this.#running
    for (; this.#hurries < urgency; this.#hurries += 1) if (running) this.#hurry(running)
    await running?.gone
    // The process groups of a failed process are being killed.
    await this.#cleared
  }

  /** Ends it by force. */
  kill(): void {
    this.#running?.child.kill('SIGKILL')
  }

  #start(): Running {
    const { bodies, named, records } = this.#options
    const spawned = (machine.spawnRelay ?? spawnRelay)()
    const groups = new Set<number>()
    const calls: FrontCalls = {
      failed: ({ message }) => (running.reason = message),
      group: ({ pid, isAlive }) => {
        if (isAlive) groups.add(pid)
        else groups.delete(pid)
      },
      records,
    }
    const end = new FrontEnd<RelayCalls>(spawned.channel, {
      calls, bodies, named,
      alive: vitals => {
        running.missed = undefined
        running.vitals = vitals
      },
      closed: () => undefined,
    })
    let tellGone = () => {}
    const gone = new Promise<void>(resolve => (tellGone = resolve))
    const running: Running = {
      ...spawned, end, gone, tellGone, groups, begunAt: realTimers.now(),
      stopLooking: realTimers.every(lookMs, () => this.#look(running)), isReady: false, endingAt: undefined,
      missed: undefined, vitals: undefined, idleSince: undefined, reason: undefined,
    }
    this.#running = running
    const { child } = spawned
    child.on('error', error => {
      // A process that failed to start has no `close` event.
      if (child.pid === undefined) this.#gone(running, error.message)
    })
    // Not `exit`: its last messages are read by `close`.
    child.on('close', (code, signal) =>
      this.#gone(running, signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`),
    )
    end.calls.call('begin', this.#options.setup() as never).then(
      () => (running.isReady = true), () => undefined,
    )
    return running
  }

  /**
   * The watchdog. It counts unanswered checks and does not measure time, because all processes may have
   * been suspended for a while.
   */
  #look(running: Running): void {
    const { child, end, maxBytes, isReady, endingAt, vitals } = running
    const now = realTimers.now()
    const bytes = (child.pid === undefined ? undefined : residentBytes(child.pid)) ?? vitals?.rss ?? 0
    if (bytes > maxBytes)
      return this.#kill(
        running, `it took ${toMebibytes(bytes)} MiB of memory, and may have ${toMebibytes(maxBytes)}`,
      )
    if (!isReady && now - running.begunAt > beginMs)
      return this.#kill(running, `it did not begin within ${beginMs / 1000} s`)
    if (endingAt !== undefined && now - endingAt > endMs)
      return this.#kill(running, `it did not end within ${endMs / 1000} s`)
    if (!isReady) return
    if (running.missed === undefined) end.ping()
    running.missed = (running.missed ?? 0) + 1
    if (running.missed > maxMissed)
      return this.#kill(running, `it gave no sign of life for ${(maxMissed * lookMs) / 1000} s`)
    if (endingAt === undefined) this.#endIfIdle(running, now)
  }

  #endIfIdle(running: Running, now: number): void {
    const isIdle = running.end.inFlight === 0 && running.vitals?.sessions === 0
    running.idleSince = isIdle ? (running.idleSince ?? now) : undefined
    if (running.idleSince !== undefined && now - running.idleSince >= this.#options.idleMs())
      this.#hurry(running)
  }

  #hurry(running: Running): void {
    running.endingAt ??= realTimers.now()
    running.end.calls.call('hurry', undefined).catch(() => undefined)
  }

  #kill({ child }: Running, reason: string): void {
    const running = this.#running
    if (running?.child === child) running.reason ??= reason
    child.kill('SIGKILL')
  }

  #gone(running: Running, how: string): void {
    if (this.#running !== running) return
    const { end, groups, stopLooking, begunAt, endingAt, reason, child } = running
    stopLooking()
    this.#running = undefined
    this.#cleared = Promise.all([...groups].map(killGroup))
    if (endingAt === undefined) {
      this.#backOff.ended(realTimers.now() - begunAt > longLifeMs)
      this.#options.failed({ pid: child.pid, reason: reason ?? how })
    }
    end.lose()
    this.#options.gone()
    running.tellGone()
    for (const admitted of this.#waiting.splice(0)) {
      if (!admitted.response.destroyed) this.handOver(admitted)
      else if (typeof admitted.place === 'function') admitted.place()
    }
  }
}

const toMebibytes = (bytes: number): number => Math.round(bytes / 1024 / 1024)
