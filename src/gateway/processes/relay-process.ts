import { FrontEnd, answerLost, type Admitted } from '../../transport/channel/front-end.js'
import type { Vitals } from '../../transport/channel/relay-end.js'
import type { Quota } from '../../transport/front/connections.js'
import { killGroup } from '../../transport/process/group.js'
import { residentBytes, spawnRelay, type RelayChild } from '../../transport/process/relay.js'
import { BackOff } from '../../transport/shared/process.js'
import type { FrontCalls, RelayCalls } from './calls.js'

export interface RelayProcessOptions {
  /** What it is told when it begins. */
  readonly setup: () => object
  /** For the bodies of all requests, whichever process has them. */
  readonly bodies: Quota
  /** It ends when it had nothing to do for so many milliseconds. */
  readonly idleMs: () => number
  /** It ended, and was not told to. */
  readonly failed: (failed: { readonly pid: number | undefined; readonly reason: string }) => void
  /** It is gone, however it ended. */
  readonly gone: () => void
  /** A response has named a session. */
  readonly named: (session: string) => void
  readonly records: FrontCalls['records']
}

/** From one look at a process to the next, in milliseconds, and how many heartbeats it may leave unanswered: 5 seconds. */
const lookMs = 500
const maxMissed = 10
/** It may take so long to begin, in milliseconds, and, when it was asked to, to end. */
const beginMs = 30_000
const endMs = 60_000
/** Longest wait for the answer to what is asked of it, in milliseconds. */
const askMs = 4000
/** One that lived so long, in milliseconds, has worked: should it end, another is started at once. */
const longLifeMs = 60_000

interface Running extends RelayChild {
  readonly end: FrontEnd<RelayCalls>
  readonly begunAt: number
  readonly groups: Set<number>
  readonly timer: NodeJS.Timeout
  readonly gone: Promise<void>
  readonly tellGone: () => void
  isReady: boolean
  /** When it was asked to end. */
  endingAt: number | undefined
  /** Looks since the last heartbeat was answered; undefined: none is due. */
  missed: number | undefined
  vitals: Vitals | undefined
  /** Since when it has nothing to do. */
  idleSince: number | undefined
  /** Why it was killed, or what it said of its end. */
  reason: string | undefined
}

/**
 * The place of one relay process: started when it is first needed, watched, replaced when it fails, ended when it is idle. The
 * watchdog kills a process that does not answer heartbeats, or that has taken too much memory.
 */
export class RelayProcess {
  readonly #options: RelayProcessOptions
  readonly #backOff = new BackOff(() => performance.now(), Math.random)
  /** Requests that came while it was ending: another process gets them, for a log has one writer. */
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

  /** It failed, and may not be started again yet. */
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

  /** @returns undefined when there is no process that serves; or it fails, or takes too long */
  async ask<Name extends 'ready' | 'counted'>(name: Name): Promise<Awaited<ReturnType<RelayCalls[Name]>> | undefined> {
    const running = this.#running
    if (running?.isReady !== true) return undefined
    return running.end.calls.call(name, undefined, askMs).catch(() => undefined)
  }

  /** @throws Error what the process has against the setup */
  async reload(): Promise<void> {
    await this.#running?.end.calls.call('reload', this.#options.setup() as never)
  }

  endStreams(): void {
    this.#running?.end.calls.call('endStreams', undefined).catch(() => undefined)
  }

  async giveUp(reason: string): Promise<void> {
    await this.#running?.end.calls.call('giveUp', reason).catch(() => undefined)
  }

  /** Has it end. @param urgency 1 is polite; each more is in more of a hurry */
  async stop(urgency: number): Promise<void> {
    const running = this.#running
    for (; this.#hurries < urgency; this.#hurries += 1) if (running) this.#hurry(running)
    await running?.gone
    // What a process that failed has left behind is being ended.
    await this.#cleared
  }

  /** Ends it by force. */
  kill(): void {
    this.#running?.child.kill('SIGKILL')
  }

  #start(): Running {
    const { bodies, named, records } = this.#options
    const spawned = spawnRelay()
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
      ...spawned, end, gone, tellGone, groups, begunAt: performance.now(), timer: setInterval(() => this.#look(running), lookMs),
      isReady: false, endingAt: undefined, missed: undefined, vitals: undefined, idleSince: undefined, reason: undefined,
    }
    this.#running = running
    const { child } = spawned
    child.on('error', error => {
      // One that was never born has no exit.
      if (child.pid === undefined) this.#gone(running, error.message)
    })
    // What it said last is read by then.
    child.on('close', (code, signal) => this.#gone(running, signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`))
    end.calls.call('begin', this.#options.setup() as never).then(() => (running.isReady = true), () => undefined)
    return running
  }

  /** The watchdog. It counts looks, and no time: when all processes were stopped for a while, nobody is late. */
  #look(running: Running): void {
    const { child, end, mostBytes, isReady, endingAt, vitals } = running
    const now = performance.now()
    const bytes = (child.pid === undefined ? undefined : residentBytes(child.pid)) ?? vitals?.rss ?? 0
    if (bytes > mostBytes) return this.#kill(running, `it took ${toMebibytes(bytes)} MiB of memory, and may have ${toMebibytes(mostBytes)}`)
    if (!isReady && now - running.begunAt > beginMs) return this.#kill(running, `it did not begin within ${beginMs / 1000} s`)
    if (endingAt !== undefined && now - endingAt > endMs) return this.#kill(running, `it did not end within ${endMs / 1000} s`)
    if (!isReady) return
    if (running.missed === undefined) end.ping()
    running.missed = (running.missed ?? 0) + 1
    if (running.missed > maxMissed) return this.#kill(running, `it gave no sign of life for ${maxMissed * lookMs / 1000} s`)
    if (endingAt === undefined) this.#endIfIdle(running, now)
  }

  #endIfIdle(running: Running, now: number): void {
    const isIdle = running.end.inFlight === 0 && running.vitals?.sessions === 0
    running.idleSince = isIdle ? running.idleSince ?? now : undefined
    if (running.idleSince !== undefined && now - running.idleSince >= this.#options.idleMs()) this.#hurry(running)
  }

  #hurry(running: Running): void {
    running.endingAt ??= performance.now()
    running.end.calls.call('hurry', undefined).catch(() => undefined)
  }

  #kill({ child }: Running, reason: string): void {
    const running = this.#running
    if (running?.child === child) running.reason ??= reason
    child.kill('SIGKILL')
  }

  #gone(running: Running, how: string): void {
    if (this.#running !== running) return
    const { end, groups, timer, begunAt, endingAt, reason, child } = running
    clearInterval(timer)
    this.#running = undefined
    this.#cleared = Promise.all([...groups].map(killGroup))
    if (endingAt === undefined) {
      this.#backOff.ended(performance.now() - begunAt > longLifeMs)
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
