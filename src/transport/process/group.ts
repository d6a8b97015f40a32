import { spawnSync, type ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'

const windows = process.platform === 'win32'

const steps = ['ask', 'terminate', 'kill'] as const

/** How often to look whether a group without its leader is gone: there is no event for that. */
const pollMs = 20
/** How long to wait after SIGKILL: processes that nobody reaps stay in their group for ever. */
const reapMs = 1000

/** Told of each group that begins, and of its end. */
let told: (pid: number, isAlive: boolean) => void = () => undefined

/** Has somebody told who can end the groups of this process should it be killed. */
export const tellGroups = (tell: typeof told): void => {
  told = tell
}

/** Ends what another process of ours has left behind: its stdin is closed already. Resolves when nobody of it is left, or does not go. */
export const killGroup = async (pid: number): Promise<void> => {
  try {
    if (windows) return void spawnSync('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true })
    process.kill(-pid, 'SIGKILL')
    for (let waited = 0; waited < reapMs; waited += pollMs) {
      await pause(pollMs)
      process.kill(-pid, 0)
    }
  } catch {
    // Nobody of it is left.
  }
}

/**
 * Ends a process and all that it started: its stdin is closed; `stopMs` later the group gets SIGTERM; `stopMs` later
 * SIGKILL. Should this process end first, they are killed with it.
 */
export class Stopper {
  readonly #child: ChildProcess
  readonly #stopMs: number
  #taken = 0
  #timer: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined
  #gone = () => {}
  readonly #forget: () => void
  readonly #whenGone = new Promise<void>(resolve => (this.#gone = resolve))

  constructor(child: ChildProcess, stopMs: number) {
    this.#child = child
    this.#stopMs = stopMs
    this.#forget = atLast(() => this.#signal('SIGKILL'))
    if (child.pid !== undefined) told(child.pid, true)
  }

  /**
   * @param step how far to go at once: 1 closes stdin, 2 terminates, 3 kills
   * @returns when no process of the group is left
   */
  stop(step: number): Promise<void> {
    if (this.#taken === 0) {
      this.#child.once('exit', this.#watch)
      this.#watch()
    }
    while (this.#taken < Math.min(step, steps.length)) this.#next()
    return this.#whenGone
  }

  #next(): void {
    clearTimeout(this.#timer)
    const step = steps[this.#taken]
    if (step === undefined) return this.#finish()
    this.#taken += 1
    if (step === 'ask') this.#child.stdin?.end()
    else this.#signal(step === 'terminate' ? 'SIGTERM' : 'SIGKILL')
    this.#timer = setTimeout(() => this.#next(), step === 'kill' ? reapMs : this.#stopMs)
  }

  readonly #watch = (): void => {
    if (this.#leads()) return
    if (!this.#signal(0)) return this.#finish()
    this.#poll = setTimeout(this.#watch, pollMs)
  }

  #leads(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** @returns false when there is nobody left whom we could signal */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child
    if (pid === undefined) return false
    if (windows) return this.#signalTree(pid, signal)
    try {
      return process.kill(-pid, signal)
    } catch (error) {
      // Who may not be signalled is there.
      return error instanceof Error && 'code' in error && error.code === 'EPERM'
    }
  }

  // Windows has no groups and no signals: a tree is walked while its root lives, and ended by force.
  #signalTree(pid: number, signal: NodeJS.Signals | 0): boolean {
    if (!this.#leads()) return false
    // Waited for: an event loop that could hear of its end may not turn again.
    if (signal !== 0) spawnSync('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true })
    return true
  }

  #finish(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#poll)
    this.#taken = steps.length
    this.#forget()
    if (this.#child.pid !== undefined) told(this.#child.pid, false)
    this.#gone()
  }
}

/** Signals whose default is the end of this process. */
const deadly = [
  'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGABRT', 'SIGALRM', 'SIGUSR2', 'SIGXCPU', 'SIGBREAK',
] as const satisfies readonly NodeJS.Signals[]

const acts = new Set<() => void>()

/**
 * Runs `act` when this process ends in any way but SIGKILL: an exit, an uncaught error, a signal for which
 * nobody else listens. Signals to this process do not reach the process groups that it has started.
 * @returns what takes it back
 */
const atLast = (act: () => void): (() => void) => {
  if (acts.size === 0) listen()
  acts.add(act)
  return () => {
    acts.delete(act)
    if (acts.size === 0) unlisten()
  }
}

const listen = (): void => {
  process.on('exit', actNow)
  for (const signal of deadly) process.on(signal, die)
}

const unlisten = (): void => {
  process.off('exit', actNow)
  for (const signal of deadly) process.off(signal, die)
}

const actNow = (): void => {
  for (const act of acts) act()
}

const die = (signal: NodeJS.Signals): void => {
  if (process.listenerCount(signal) > 1) return
  actNow()
  unlisten()
  process.kill(process.pid, signal)
}
