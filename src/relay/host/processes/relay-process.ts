import { messageOf } from '#relay/base/errors.js'
import { FrontEnd, answerLost, type Admitted } from '#relay/transport/channel/front-end.js'
import type { FrontBackend } from '#relay/transport/front/front.js'
import type { Quota } from '#relay/transport/front/quota.js'
import { hasLeft } from '#relay/transport/front/request.js'
import { killGroup } from '#relay/transport/process/group.js'
import { machine } from '#relay/transport/machine.js'
import { spawnRelay, type RelayChild } from '#relay/transport/process/relay.js'
import { BackOff } from '#relay/transport/one-process/process.js'
import { realTimers, type Timers } from '#relay/transport/timers.js'
import type { FrontCalls, RelayCalls, Vitals } from './calls.js'

export interface RelayProcessOptions {
  /** The setup that holds now. Each new one has a greater generation, from 1. */
  readonly setup: () => { readonly generation: number; readonly setup: object }
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
  /** What it reports beside its process groups. */
  readonly reports: Omit<FrontCalls, 'group'>
  /** Answers its requests to other endpoints; undefined: it sends none. */
  readonly serve?: FrontBackend['serve'] | undefined
  /** Starts a process (`spawnRelay`). */
  readonly spawn?: () => RelayChild
  readonly timers?: Timers
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}

/**
 * The interval of the watchdog's checks, in milliseconds. Limits are numbers of checks, not times, because
 * all processes may have been suspended for a while.
 */
const lookMs = 500
/** For how many checks a heartbeat may stay unanswered, and a new setup: 5 seconds. */
const maxMissed = 10
/** The most checks to begin, and to end when asked to: 30 and 60 seconds. */
const maxBegin = 60
const maxEnd = 120
/** Longest wait for the response to a call, in milliseconds. */
const askMs = 4000
/** A process that had more checks than this, a minute, is replaced at once: the back-off starts anew. */
const longLife = 120

interface Running {
  readonly child: RelayChild
  readonly end: FrontEnd<RelayCalls>
  readonly groups: Set<number>
  readonly stopLooking: () => void
  readonly gone: Promise<void>
  readonly tellGone: () => void
  /** Checks since it was started. */
  looks: number
  /** The generation of the setup that it has; 0: it is beginning. */
  generation: number
  /** Resolves when it has the setup that holds, or is gone; undefined: it has it. */
  settingUp: Promise<void> | undefined
  /** Checks since it was sent a setup that it does not have yet. */
  late: number
  /** Checks since the pending heartbeat was sent; undefined: no heartbeat is pending. */
  missed: number | undefined
  vitals: Vitals | undefined
  /** Checks since it became idle. */
  idle: number
  /** It was asked whether it is idle, and ends if it is. */
  isAsked: boolean
  /** Checks since it was told to end; undefined: it was not. */
  ending: number | undefined
  /** The reason for its end: the watchdog's, or its own. */
  reason: string | undefined
}

/**
 * Manages one relay process: starts it when it is first needed, replaces it when it fails, ends it when it is
 * idle. The watchdog kills a process that misses heartbeats, does not take its setup, or takes too much
 * memory.
 */
export class RelayProcess {
  readonly #options: RelayProcessOptions
  readonly #backOff: BackOff
  /**
   * Requests wait while the process begins, has an older setup than the one that holds, or may be ending.
   * When it ends they wait for the next process, which starts only when this one is gone: an audit log has
   * one writer.
   */
  readonly #waiting = new Set<Admitted>()
  #running: Running | undefined
  /** Requests that may have begun a session which the process did not tell of yet. */
  #begun = 0
  #hurries = 0
  #cleared: Promise<unknown> = Promise.resolve()

  constructor(options: RelayProcessOptions) {
    this.#options = options
    this.#backOff = new BackOff(options.now ?? (() => realTimers.now()), () => Math.random())
  }

  /** Exchanges that are not over. */
  get inFlight(): number {
    return (this.#running?.end.inFlight ?? 0) + this.#waiting.size
  }

  /** Sessions that it has, and those that may have begun since it told how many. */
  get sessions(): number {
    return (this.#running?.vitals?.sessions ?? 0) + this.#begun
  }

  get pid(): number | undefined {
    return this.#running?.child.pid
  }

  /** True while a failed process may not be started again yet. */
  get isDown(): boolean {
    return this.#running === undefined && this.#backOff.waitMs > 0
  }

  handOver(admitted: Admitted): void {
    if (hasLeft(admitted.response)) return release(admitted)
    if (this.isDown || (this.#running === undefined && this.#hurries > 0)) return refuseLost(admitted)
    const running = this.#running ?? this.#start()
    if (this.#isServing(running)) return running.end.handOver(admitted)
    this.#waiting.add(admitted)
    admitted.response.once('close', () => {
      if (this.#waiting.delete(admitted)) release(admitted)
    })
  }

  /** Call with each request that may begin a session, before it is handed over. */
  sessionMayBegin(): void {
    this.#begun += 1
  }

  /** @returns undefined when no process is ready, or the call fails or takes too long */
  async ask<Name extends 'ready' | 'counted'>(
    name: Name,
  ): Promise<Awaited<ReturnType<RelayCalls[Name]>> | undefined> {
    const running = this.#running
    if (running === undefined || running.generation === 0) return undefined
    return running.end.calls.call(name, undefined, askMs).catch(() => undefined)
  }

  /**
   * Call when another setup holds. New requests wait for it at once. Resolves when no process serves requests
   * under an older one: a process that does not take it in 5 seconds is replaced. Never rejects.
   */
  async setUp(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    running.settingUp ??= this.#setUp(running)
    // One that is beginning has no requests yet.
    if (running.generation > 0) await running.settingUp
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
    for (; this.#hurries < urgency; this.#hurries += 1) {
      if (!running) continue
      running.ending ??= 0
      running.end.calls.call('hurry', undefined).catch(() => undefined)
    }
    await running?.gone
    // The process groups of a failed process are being killed.
    await this.#cleared
  }

  /** Ends it by force. */
  kill(): void {
    this.#running?.child.kill()
  }

  #start(): Running {
    const { bodies, named, reports, serve, timers = realTimers } = this.#options
    const child = (this.#options.spawn ?? machine.spawnRelay ?? spawnRelay)()
    const groups = new Set<number>()
    const calls: FrontCalls = {
      group: ({ pid, isAlive }) => {
        if (isAlive) groups.add(pid)
        else groups.delete(pid)
      },
      ...reports,
    }
    const end = new FrontEnd<RelayCalls>(child.channel, {
      calls, bodies, named, serve, timers,
    })
    let tellGone = () => {}
    const gone = new Promise<void>(resolve => (tellGone = resolve))
    const running: Running = {
      child, end, gone, tellGone, groups, stopLooking: timers.every(lookMs, () => this.#look(running)),
      looks: 0, generation: 0, settingUp: undefined, late: 0, missed: undefined, vitals: undefined, idle: 0,
      isAsked: false, ending: undefined, reason: undefined,
    }
    this.#running = running
    child.onGone(how => this.#gone(running, how))
    running.settingUp = this.#setUp(running)
    return running
  }

  /** Sends the setup that holds, until the process has it. */
  async #setUp(running: Running): Promise<void> {
    const { setup } = this.#options
    for (let wanted = setup(); running.generation < wanted.generation; wanted = setup()) {
      running.late = 0
      try {
        await running.end.calls.call('setup', wanted as never)
      } catch (error) {
        this.#kill(running, messageOf(error))
        return running.gone
      }
      running.generation = wanted.generation
    }
    running.settingUp = undefined
    this.#handOverWaiting()
  }

  #isServing({ settingUp, isAsked, ending }: Running): boolean {
    return settingUp === undefined && !isAsked && ending === undefined
  }

  #handOverWaiting(): void {
    for (const admitted of this.#takeWaiting()) this.handOver(admitted)
  }

  #takeWaiting(): readonly Admitted[] {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    return waiting
  }

  #look(running: Running): void {
    const { child, end, generation, settingUp, vitals } = running
    running.looks += 1
    const bytes = child.residentBytes() ?? vitals?.rss ?? 0
    if (bytes > child.maxBytes) {
      const [has, may] = [toMebibytes(bytes), toMebibytes(child.maxBytes)]
      return this.#kill(running, `it took ${has} MiB of memory, and may have ${may}`)
    }
    if (running.ending !== undefined && (running.ending += 1) > maxEnd)
      return this.#kill(running, `it did not end within ${inSeconds(maxEnd)} s`)
    if (generation === 0) {
      if (running.looks > maxBegin) this.#kill(running, `it did not begin within ${inSeconds(maxBegin)} s`)
      return
    }
    if (settingUp !== undefined && (running.late += 1) > maxMissed)
      return this.#kill(running, `it did not take its new configuration within ${inSeconds(maxMissed)} s`)
    if (running.missed === undefined) void this.#beat(running)
    running.missed = (running.missed ?? 0) + 1
    if (running.missed > maxMissed)
      return this.#kill(running, `it gave no sign of life for ${inSeconds(maxMissed)} s`)
    if (!this.#isServing(running)) return
    const isIdle = end.inFlight === 0 && vitals?.sessions === 0
    running.idle = isIdle ? running.idle + 1 : 0
    if (isIdle && (running.idle - 1) * lookMs >= this.#options.idleMs()) void this.#endIfIdle(running)
  }

  async #beat(running: Running): Promise<void> {
    // The channel keeps the order: of what was handed over before, the process will tell.
    const told = this.#begun
    const vitals = await running.end.calls.call('vitals', undefined).catch(() => undefined)
    if (vitals === undefined || this.#running !== running) return
    running.vitals = vitals
    this.#begun -= told
    running.missed = undefined
  }

  /**
   * The process decides, because what the front knows of its sessions may be old. Until it has answered,
   * requests wait.
   */
  async #endIfIdle(running: Running): Promise<void> {
    running.isAsked = true
    const isIdle = await running.end.calls.call('endIfIdle', undefined).catch(() => false)
    running.isAsked = false
    running.idle = 0
    if (isIdle) running.ending ??= 0
    else this.#handOverWaiting()
  }

  #kill(running: Running, reason: string): void {
    running.reason ??= reason
    running.child.kill()
  }

  #gone(running: Running, how: string): void {
    if (this.#running !== running) return
    const { end, groups, looks, generation, ending, reason, child } = running
    running.stopLooking()
    this.#running = undefined
    this.#begun = 0
    this.#cleared = Promise.all([...groups].map(killGroup))
    if (ending === undefined) {
      this.#backOff.ended(looks > longLife)
      this.#options.failed({ pid: child.pid, reason: reason ?? how })
    }
    end.lose()
    this.#options.gone()
    running.tellGone()
    // A process that could not begin would have served them.
    if (generation === 0 && ending === undefined) this.#takeWaiting().forEach(refuseLost)
    this.#handOverWaiting()
  }
}

const release = ({ place }: Admitted): void => {
  if (typeof place === 'function') place()
}

const refuseLost = (admitted: Admitted): void => {
  release(admitted)
  answerLost(admitted)
}

const inSeconds = (looks: number): number => (looks * lookMs) / 1000
const toMebibytes = (bytes: number): number => Math.round(bytes / 1024 / 1024)
