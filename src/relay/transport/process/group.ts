import { spawnSync, type ChildProcess } from 'node:child_process'
import { codeOf } from '#relay/base/errors.js'
import { isWindows } from '#relay/base/platform/machine.js'
import { endingSignals, killTreeCommand } from '#relay/base/platform/programs.js'
import { type Groups, machine } from '../machine.js'
import { realTimers } from '../timers.js'

const windows = isWindows()

const steps = ['ask', 'terminate', 'kill'] as const

/** Interval of the checks whether a group without its leader is gone: there is no event for that. */
const pollMs = 20
/** Longest wait after SIGKILL: processes that are never reaped stay in their group for ever. */
const reapMs = 1000

/** Reports the groups of this process to another process, which can end them if this one is killed. */
export const reportGroups = (to: Groups['report']): void => {
  groups().report = to
}

/** @throws ESRCH when no process of the group is left */
const signalGroup = (pid: number, signal: NodeJS.Signals | 0): boolean =>
  (machine.signalGroup === undefined ? process.kill(-pid, signal) : machine.signalGroup(pid, signal))

/** Synchronous, because this process may be exiting. @returns whether the tree was ended */
const killTree = (pid: number): boolean => {
  const [program, ...args] = killTreeCommand(pid, process.env)
  return spawnSync(program, args, { stdio: 'ignore', windowsHide: true }).status === 0
}

/** Kills a group whose owner is gone. Resolves when no process of it is left, or after `reapMs`. */
export const killGroup = async (pid: number): Promise<void> => {
  try {
    if (windows) {
      if (!killTree(pid)) process.kill(pid)
      return
    }
    signalGroup(pid, 'SIGKILL')
    for (let waited = 0; waited < reapMs; waited += pollMs) {
      await new Promise<void>(resolve => realTimers.after(pollMs, resolve))
      signalGroup(pid, 0)
    }
  } catch {
    // No process of the group is left.
  }
}

/**
 * Ends a process and all that it started: closes its stdin; sends the group SIGTERM `stopMs` later, and
 * SIGKILL `stopMs` after that. If this process ends first, the group is killed with it.
 */
export class Stopper {
  readonly #groups = groups()
  #taken = 0
  /** Windows: its tree of processes was ended. */
  #isTreeEnded = false
  #stopTimer: (() => void) | undefined
  #stopPoll: (() => void) | undefined
  #gone = () => {}
  readonly #forget: () => void
  readonly #whenGone = new Promise<void>(resolve => (this.#gone = resolve))

  constructor(private readonly child: ChildProcess, private readonly stopMs: number) {
    this.#forget = this.#groups.atLast(() => this.#signal('SIGKILL'))
    if (child.pid !== undefined) this.#groups.report(child.pid, true)
  }

  /**
   * @param step how far to go at once: 1 closes stdin, 2 terminates, 3 kills
   * @returns when no process of the group is left
   */
  stop(step: number): Promise<void> {
    if (this.#taken === 0) {
      this.child.once('exit', this.#watch)
      this.#watch()
    }
    while (this.#taken < Math.min(step, steps.length)) this.#next()
    return this.#whenGone
  }

  #next(): void {
    this.#stopTimer?.()
    const step = steps[this.#taken]
    if (step === undefined) return this.#finish()
    this.#taken += 1
    if (step === 'ask') this.child.stdin?.end()
    else this.#signal(step === 'terminate' ? 'SIGTERM' : 'SIGKILL')
    this.#stopTimer = realTimers.after(step === 'kill' ? reapMs : this.stopMs, () => this.#next())
  }

  readonly #watch = (): void => {
    if (this.#leads()) return
    if (!this.#signal(0)) return this.#finish()
    this.#stopPoll = realTimers.after(pollMs, this.#watch)
  }

  #leads(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null
  }

  /** @returns false when no process of the group is left */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.child
    if (pid === undefined) return false
    if (windows) return this.#signalTree(pid, signal)
    try {
      return signalGroup(pid, signal)
    } catch (error) {
      // EPERM: the process exists.
      return codeOf(error) === 'EPERM'
    }
  }

  // Windows has no groups and no signals: the tree of processes is killed while its root lives.
  #signalTree(pid: number, signal: NodeJS.Signals | 0): boolean {
    if (!this.#leads()) return false
    if (signal !== 0 && !this.#isTreeEnded) {
      this.#isTreeEnded = killTree(pid)
      if (!this.#isTreeEnded) this.child.kill('SIGKILL')
    }
    return true
  }

  #finish(): void {
    this.#stopTimer?.()
    this.#stopPoll?.()
    this.#taken = steps.length
    this.#forget()
    if (this.child.pid !== undefined) this.#groups.report(this.child.pid, false)
    this.#gone()
  }
}

/** Signals that end a process by default. */
const deadly = [
  ...endingSignals, 'SIGQUIT', 'SIGABRT', 'SIGALRM', 'SIGUSR2', 'SIGXCPU',
] as const satisfies readonly NodeJS.Signals[]

const acts = new Set<() => void>()

const atLast: Groups['atLast'] = act => {
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
  // Windows knows no signals but those that kill: they have codes, and no names, there.
  if (windows) process.exit(1)
  process.kill(process.pid, signal)
}

const own: Groups = { report: () => undefined, atLast }

const groups = (): Groups => machine.groups?.() ?? own
