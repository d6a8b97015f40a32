import { OverBudget, type Meter } from '#relay/protocol/json.js'
import {
  type Action, type Finding, type Policy, type Problem, type RuleName, type Verdict,
} from './vocabulary.js'

/** Default number of findings kept for one frame (docs/promises.md). */
export const maxKept = 100

/** Characters that a kept finding may have, on average. */
const usualCharacters = 164

const longestPath = 256

const none: readonly RuleName[] = []

/** The findings about one frame, and their verdict. All count for the verdict; the first ones are kept. */
export class Findings {
  readonly #policy: Policy
  readonly #max: number
  readonly #kept: Finding[] = []
  /** The policy's action for each kept finding. */
  readonly #actions: Action[] = []
  /** Characters left for further findings. */
  #room: number
  /** The number of findings that are not kept. */
  #omitted = 0
  #verdict: Verdict = 'pass'
  /** The rules with findings. */
  #found: RuleName[] | undefined
  /** The rules that stop the frame. */
  #stopping: RuleName[] | undefined

  /**
   * @param policy the action for each rule's findings, unless they are mended
   * @param max findings that are kept
   * @param meter counts all work on the frame
   */
  constructor(policy: Policy, max: number | undefined, readonly meter: Meter) {
    this.#policy = policy
    this.#max = max ?? maxKept
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

  /** Estimated memory, in bytes. */
  get weight(): number {
    return this.#kept.length === 0
      ? 0
      : 2 * (this.#max * usualCharacters - this.#room) + 100 * this.#kept.length
  }

  /** The number of findings that were not kept. */
  get more(): number {
    return this.#omitted
  }

  /** The rules that stop the frame, each once. */
  get stopping(): readonly RuleName[] {
    return this.#stopping ?? []
  }

  /** The rules with findings, each once. */
  get rules(): readonly RuleName[] {
    return this.#found ?? none
  }

  has(rule: RuleName): boolean {
    return this.#found?.includes(rule) === true
  }

  add(rule: RuleName, problems: readonly Problem[]): void {
    if (problems.length === 0) return
    const action = actionOf(this.#policy, rule)
    this.#addProblems(
      rule, isStop(action) && problems.every(({ isMinor }) => isMinor === true) ? 'log' : action, problems,
    )
  }

  /** Adds one finding for an exhausted work budget. @throws any other error */
  addOverBudget(error: unknown): void {
    if (!(error instanceof OverBudget)) throw error
    if (!this.has('wire/size')) this.add('wire/size', [{ path: '', message: error.message }])
  }

  /** Copies the findings of a rule from before its mend, and marks them. @param change describes the mend */
  mended(rule: RuleName, before: Findings, change: string): void {
    this.#addRule(rule)
    this.#raiseVerdict('mend', none)
    for (const finding of before.#kept)
      if (finding.rule === rule) this.#keep(rule, { ...finding, mended: change }, 'mend')
  }

  /** Keeps the findings of other rules from before a mend, even if the mend has hidden their cause. */
  carry(before: Findings, isHealed: (rule: RuleName) => boolean): void {
    for (const rule of before.rules.filter(rule => !this.has(rule) && !isHealed(rule))) {
      const kept = before.#kept.filter(finding => finding.rule === rule)
      // What was only minor before stays so.
      const wasLogged = before.#kept.every((finding, at) => finding.rule !== rule || before.#actions[at] === 'log')
      this.#addProblems(rule, wasLogged ? 'log' : actionOf(this.#policy, rule), kept)
    }
  }

  /** Blocks the frame regardless of its findings. */
  block(): void {
    this.#verdict = 'block'
  }

  /** The findings that led to the verdict. */
  decisive(): readonly Finding[] {
    return this.#kept.filter(
      ({ mended }, index) => mended === undefined && this.#actions[index] === this.#verdict,
    )
  }

  /** Adds the findings about a part of the frame. */
  include(part: Findings): void {
    if (part.#verdict === 'pass') return
    for (const rule of part.rules) this.#addRule(rule)
    this.#raiseVerdict(part.#verdict, part.stopping)
    // The decisive findings come first, because there may be no room for all.
    const decisive = part.decisive()
    const take = (isDecisive: boolean) => {
      for (const [index, finding] of part.#kept.entries()) {
        if (decisive.includes(finding) === isDecisive)
          this.#keep(finding.rule, finding, part.#actions[index] ?? 'log')
      }
    }
    take(true)
    take(false)
    this.#omitted += part.#omitted
  }

  #addProblems(rule: RuleName, action: Action, problems: readonly Problem[]): void {
    if (action === 'off') return
    this.#addRule(rule)
    this.#raiseVerdict(action, isStop(action) ? [rule] : none)
    for (const problem of problems) this.#keep(rule, problem, action)
  }

  #addRule(rule: RuleName): void {
    if (!this.has(rule)) (this.#found ??= []).push(rule)
  }

  #raiseVerdict(verdict: Verdict, stopping: readonly RuleName[]): void {
    // When full, the last finding makes room for one that leads to a severer verdict.
    if (this.#isFull && severer(this.#verdict, verdict) !== this.#verdict) {
      this.#room = (this.#kept.pop()?.message.length ?? 0) + longestPath
      this.#actions.pop()
      this.#omitted++
    }
    this.#verdict = severer(this.#verdict, verdict)
    for (const rule of stopping)
      if (this.#stopping?.includes(rule) !== true) (this.#stopping ??= []).push(rule)
  }

  get #isFull(): boolean {
    return this.#kept.length >= this.#max || this.#room <= 0
  }

  #keep(
    rule: RuleName, { path, message, mended, tool, prompt, resource, value, declared }: Omit<Finding, 'rule'>,
    action: Action,
  ): void {
    if (this.#isFull) {
      this.#omitted++
      return
    }
    const shown = path.length <= longestPath ? path : `${path.slice(0, longestPath - 1)}…`
    this.#actions.push(action)
    this.#room -= shown.length + message.length + (mended?.length ?? 0)
    this.#kept.push({
      rule, path: shown, message,
      ...(mended !== undefined && { mended }), ...(tool !== undefined && { tool }),
      ...(prompt !== undefined && { prompt }), ...(resource !== undefined && { resource }),
      ...(value !== undefined && { value }), ...(declared !== undefined && { declared }),
    })
  }
}

/** A policy names every rule. A rule that is missing blocks. */
export const actionOf = (policy: Policy, rule: RuleName): Action => policy.get(rule) ?? 'block'

/** No rule, but a part of list/shape: where it is `mend`, the client gets all pages of a list as one. */
export const pages: RuleName = 'list/pages'

export const joinsPages = (policy: Policy): boolean =>
  policy.get(pages) === 'mend' && policy.get('list/shape') === 'mend'

const severity = { pass: 0, log: 1, mend: 2, demote: 3, block: 4 } as const

export const severer = (a: Verdict, b: Verdict): Verdict => (severity[a] >= severity[b] ? a : b)

/** All verdicts, from the mildest to the severest. */
export const verdicts = Object.keys(severity) as readonly Verdict[]

/** True when the frame does not pass, not even mended. */
export const isStop = (decided: Action | Verdict): boolean => decided === 'block' || decided === 'demote'
