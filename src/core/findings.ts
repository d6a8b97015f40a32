import { OverBudget, type Meter } from '../protocol/json.js'
import type { Finding, Problem, RuleName } from './rule.js'

/** So many findings about one frame are kept and told (contract section 5), where nobody asks for another number. */
export const maxKept = 100

/** So many characters of each, one with another. */
const usualCharacters = 164

const longestPath = 256

const none: readonly RuleName[] = []

/** What was found about one frame, and what the policy makes of it. Everything counts; the first of it is kept. */
export class Findings {
  readonly #policy: Policy
  readonly #max: number
  readonly #kept: Finding[] = []
  /** What the policy did about each of those that are kept. */
  readonly #actions: Action[] = []
  /** In characters. */
  #room: number
  #more = 0
  #verdict: Verdict = 'pass'
  #found: RuleName[] | undefined
  /** Those that do not let it pass. */
  #stopping: RuleName[] | undefined

  /**
   * @param policy what is done about each rule's findings, unless they are mended
   * @param most findings that are kept
   * @param meter paid for all work on the frame
   */
  constructor(policy: Policy, most: number | undefined, readonly meter: Meter) {
    this.#policy = policy
    this.#max = most ?? maxKept
    this.#room = this.#max * usualCharacters
  }

  get verdict(): Verdict {
    return this.#verdict
  }

  get isStop(): boolean {
    return isStop(this.#verdict)
  }

  get kept(): readonly Finding[] {
    return this.#kept
  }

  /** About the memory that they take, in bytes. */
  get weight(): number {
    return this.#kept.length === 0 ? 0 : 2 * (this.#max * usualCharacters - this.#room) + 100 * this.#kept.length
  }

  /** How many there were beyond those that were kept. */
  get more(): number {
    return this.#more
  }

  /** Each once. */
  get stopping(): readonly RuleName[] {
    return this.#stopping ?? []
  }

  /** Those that have found something, each once. */
  get rules(): readonly RuleName[] {
    return this.#found ?? none
  }

  has(rule: RuleName): boolean {
    return this.#found?.includes(rule) === true
  }

  add(rule: RuleName, problems: readonly Problem[]): void {
    if (problems.length === 0) return
    const action = actionOf(this.#policy, rule)
    this.#note(rule, isStop(action) && problems.every(({ isMinor }) => isMinor === true) ? 'log' : action, problems)
  }

  /** The frame's share of work is spent: said once. @throws any other error */
  spent(error: unknown): void {
    if (!(error instanceof OverBudget)) throw error
    if (!this.has('wire/size')) this.add('wire/size', [{ path: '', message: error.message }])
  }

  /** What a rule found before it was mended. @param change in words of ours */
  mended(rule: RuleName, action: Exclude<Action, 'off'>, before: Findings, change: string): void {
    this.#see(rule)
    this.#decide(action, none)
    for (const finding of before.#kept) if (finding.rule === rule) this.#keep(rule, { ...finding, mended: change }, action)
  }

  /** What other rules had found before a mend. It stays found, whether or not the mend has hidden it. */
  carry(before: Findings, isHealed: (rule: RuleName) => boolean): void {
    for (const rule of before.rules.filter(rule => !this.has(rule) && !isHealed(rule))) {
      this.#note(rule, actionOf(this.#policy, rule), before.#kept.filter(finding => finding.rule === rule))
    }
  }

  /** Whatever was found: it cannot pass. */
  block(): void {
    this.#verdict = 'block'
  }

  /** Those that led to the verdict. */
  told(): readonly Finding[] {
    return this.#kept.filter(({ mended }, index) => mended === undefined && this.#actions[index] === this.#verdict)
  }

  /** Takes in what was found about a part of the frame. */
  include(part: Findings): void {
    if (part.#verdict === 'pass') return
    for (const rule of part.rules) this.#see(rule)
    this.#decide(part.#verdict, part.stopping)
    // What led to its verdict first: there may be no room for more.
    const told = part.told()
    const take = (isTold: boolean) => {
      for (const [index, finding] of part.#kept.entries()) {
        if (told.includes(finding) === isTold) this.#keep(finding.rule, finding, part.#actions[index] ?? 'log')
      }
    }
    take(true)
    take(false)
    this.#more += part.#more
  }

  #note(rule: RuleName, action: Action, problems: readonly Problem[]): void {
    if (action === 'off') return
    this.#see(rule)
    this.#decide(action, isStop(action) ? [rule] : none)
    for (const problem of problems) this.#keep(rule, problem, action)
  }

  #see(rule: RuleName): void {
    if (!this.has(rule)) (this.#found ??= []).push(rule)
  }

  #decide(verdict: Verdict, stopping: readonly RuleName[]): void {
    // What led to the verdict is told, however much was found before it.
    if (this.#isFull && severer(this.#verdict, verdict) !== this.#verdict) {
      this.#room = (this.#kept.pop()?.message.length ?? 0) + longestPath
      this.#actions.pop()
      this.#more++
    }
    this.#verdict = severer(this.#verdict, verdict)
    for (const rule of stopping) if (this.#stopping?.includes(rule) !== true) (this.#stopping ??= []).push(rule)
  }

  get #isFull(): boolean {
    return this.#kept.length >= this.#max || this.#room <= 0
  }

  #keep(rule: RuleName, { path, message, mended }: Omit<Finding, 'rule'>, action: Action): void {
    if (this.#isFull) {
      this.#more++
      return
    }
    const shown = path.length <= longestPath ? path : `${path.slice(0, longestPath - 1)}…`
    this.#actions.push(action)
    this.#room -= shown.length + message.length + (mended?.length ?? 0)
    this.#kept.push(mended === undefined ? { rule, path: shown, message } : { rule, path: shown, message, mended })
  }
}

export const actions = ['off', 'log', 'demote', 'mend', 'block'] as const

export type Action = (typeof actions)[number]

export type Verdict = 'pass' | 'log' | 'mend' | 'demote' | 'block'

export type Policy = ReadonlyMap<RuleName, Action>

/** A rule that nobody configured blocks. */
export const actionOf = (policy: Policy, rule: RuleName): Action => policy.get(rule) ?? 'block'

const severity = { pass: 0, log: 1, mend: 2, demote: 3, block: 4 } as const

export const severer = (a: Verdict, b: Verdict): Verdict => (severity[a] >= severity[b] ? a : b)

/** Of verdicts, from the mildest to the severest. */
export const verdicts = Object.keys(severity) as readonly Verdict[]

/** True of what does not pass, mended or not. */
export const isStop = (decided: Action | Verdict): boolean => decided === 'block' || decided === 'demote'
