import type { Health } from '#relay/core/vocabulary.js'

/** Why a server does not work. */
export interface HealthProblem {
  readonly kind: Exclude<Health, 'restored'>
  /** In words; it may quote names, and holds nothing of the server's output. */
  readonly reason: string
  /** ISO 8601. */
  readonly since: string
}

/** How a server is. It may have a problem although it can be reached: its last process or request failed. */
export interface Condition {
  readonly isReachable: boolean
  readonly problem?: HealthProblem | undefined
}

/** Whether each server is well: it can be reached and has no problem. */
export const wellIn = (conditions: ReadonlyMap<string, Condition>): ReadonlyMap<string, boolean> =>
  new Map([...conditions].map(([name, { isReachable, problem }]) => [name, isReachable && !problem]))

/** @returns the condition of a server with several relay processes */
export const together = (conditions: readonly Condition[]): Condition => ({
  isReachable: conditions.every(({ isReachable }) => isReachable),
  problem: conditions.find(({ problem }) => problem !== undefined)?.problem,
})

/**
 * Follows one server. Reports each end of its process, and when the server begins and ceases to fail. A
 * server that fails every request is reported once, so that nobody can fill a log with it.
 */
export class ServerHealth {
  #problem: HealthProblem | undefined
  #isStopping = false

  /**
   * @param isProcess the server is our child process. Its requests are lost only when the process ends,
   * which `ended` reports
   */
  constructor(
    private readonly report: (health: Health, reason: string, stderr?: readonly string[]) => void,
    readonly isProcess: boolean,
  ) {}

  get problem(): HealthProblem | undefined {
    return this.#problem
  }

  /** The sessions are being ended: requests that are lost now say nothing of the server. */
  stopping(): void {
    this.#isStopping = true
  }

  /** Its process ended by itself, or could not be started. @param stderr its last lines */
  ended(reason: string, hasStarted: boolean, stderr: readonly string[]): void {
    this.#fails(hasStarted ? 'exit' : 'refusal', reason, stderr)
  }

  /** A request got no response. Reported once, until the server answers. */
  failed(kind: 'refusal' | 'silence', reason: string): void {
    if (this.#isStopping || this.#problem !== undefined || (this.isProcess && kind === 'refusal')) return
    this.#fails(kind, reason)
  }

  answered(): void {
    const problem = this.#problem
    if (problem === undefined) return
    this.#problem = undefined
    this.report('restored', `the server answers again, after: ${problem.reason}`)
  }

  #fails(kind: HealthProblem['kind'], reason: string, stderr?: readonly string[]): void {
    this.#problem = { kind, reason, since: new Date().toISOString() }
    this.report(kind, reason, stderr)
  }
}
