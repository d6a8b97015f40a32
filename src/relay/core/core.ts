import { clip } from '#relay/protocol/quote.js'
import { Meter, OverBudget, Turn } from '#relay/protocol/json.js'
import type { Places } from '#relay/protocol/places.js'
import { Driver, type Flow } from './flow.js'
import type {
  Checked, Exchange, Policy, Power, Powers, Problem, Rule, RuleName, Side, Subject, Subjects,
} from './vocabulary.js'
import { actionOf, Findings } from './findings.js'
import { type Ledger, processLedger } from './memory.js'
import { accessRules, type Judgement, type RelayOptions, type Ruling, settingOf } from './options.js'
import { type Mending, mendingFor, type Mends, relaxed } from './mend.js'
import { Order, Replies } from './order.js'
import { Records } from './records.js'
import { Output } from './output.js'
import { Shared, termsOf } from './shared.js'
import { Handshake, type Spoken } from './terms.js'

/** Most bytes of memory for a session. */
const sessionBytes = 192 * 1024 * 1024

/** The state and the services that all parts of a relay share. */
export class Core {
  readonly output = new Output()
  readonly driver = new Driver()
  readonly ledger: Ledger
  readonly order: Order
  readonly #checks: Replies<readonly Checked[]>
  readonly shared: Shared
  readonly records: Records
  readonly handshake: Handshake
  readonly judgement: Judgement
  readonly #turns: Readonly<Record<Side, Turn>> = { client: new Turn(), server: new Turn() }
  #mending: Mending
  /** For tools that the operator has relaxed. */
  #relaxed: Mending | undefined
  /** The rules that the policy does not turn off. */
  #on: { readonly policy: Policy; readonly rules: RulesByPower } | undefined

  constructor(readonly options: RelayOptions) {
    this.judgement = options.judgement
    this.ledger = (options.ledger ?? processLedger).account(sessionBytes)
    this.handshake = new Handshake(!options.stateless && options.joined !== true, options.stateless)
    const { agreed } = options
    const terms = agreed && termsOf(agreed)
    if (terms !== undefined) this.handshake.adopt(terms)
    this.order = new Order(this.ledger)
    const { output, driver, order } = this
    this.shared = new Shared(options, output, new Replies(driver, order))
    this.#checks = new Replies(driver, order)
    this.records = new Records(options, this.output, this.handshake)
    this.#mending = mendingFor(this.judgement.rules, this.ruling.policy)
  }

  /** The settings of now: the operator may replace them between two frames. */
  get ruling(): Ruling {
    return this.judgement.ruling
  }

  get mends(): Mends {
    return this.#current.mends
  }

  /** Rebuilt when the operator has replaced the policy. */
  get #current(): Mending {
    const { judgement: { rules }, ruling: { policy } } = this
    if (this.#mending.policy !== policy) {
      this.#mending = mendingFor(rules, policy)
      this.#relaxed = undefined
    }
    return this.#mending
  }

  /** The mends for what concerns one tool. */
  mendingOf(tool: string): Mending {
    const current = this.#current
    if (settingOf(this.ruling, tool)?.relaxed !== true) return current
    const { judgement: { rules }, ruling: { policy } } = this
    return (this.#relaxed ??= mendingFor(rules, relaxed(rules, policy)))
  }

  /** Findings about one tool, or about a result of it. */
  findingsOf({ unmended }: Mending, meter: Meter): Findings {
    return new Findings(unmended, this.judgement.maxFindings, meter)
  }

  /**
   * @param from the side that sent the frame, or the frame's meter for findings about a part of it
   * @param stopping rules that block here, whatever the policy says
   */
  readonly findings = (from: Side | Meter, ...stopping: readonly RuleName[]): Findings =>
    new Findings(
      stopping.length === 0
        ? this.#current.unmended
        : new Map([...this.#current.unmended, ...stopping.map(rule => [rule, 'block'] as const)]),
      this.judgement.maxFindings,
      from instanceof Meter ? from : new Meter(this.#turns[from]),
    )

  /**
   * Asks every rule that has the power. A rule that throws is a finding of that rule.
   * @param path reported for a rule that failed
   */
  readonly ask = <Asked extends Power>(
    power: Asked, subject: Subjects[Asked], into: Findings, path: string,
  ): void => {
    const all = this.#having(power)
    for (let at = 0; at < all.length; at++) ask(all[at] as Having<Asked>, subject, into, path)
  }

  /** As `ask`, but yields to the event loop between rules when the frame's turn is spent. */
  *judge<Asked extends Power>(
    power: Asked, subject: Subjects[Asked], into: Findings, path: string, exchange: Exchange,
  ): Flow {
    const all = this.#having(power)
    for (let at = 0; at < all.length; at++) {
      ask(all[at] as Having<Asked>, subject, into, path)
      if (into.meter.isTurnSpent) yield* this.yieldToLoop(into.meter, exchange)
    }
  }

  /** Lets other sessions run before this frame goes on. */
  *yieldToLoop(meter: Meter, exchange: Exchange): Flow {
    yield* this.pause(exchange)
    meter.newTurn()
  }

  /** As `yieldToLoop`, where no meter counts: a check without subjects. */
  *pause(exchange: Exchange): Flow {
    yield* this.#checked([], exchange)
  }

  /** One verdict for each subject, at once for cheap checks. @param exchange of the judged message */
  *check(subjects: readonly Subject[], exchange: Exchange): Flow<readonly Checked[]> {
    const immediate = subjects.map(this.options.checkNow)
    if (immediate.every(isDone)) return immediate
    const left = subjects.filter((_, index) => immediate[index] === undefined)
    const later = yield* this.#checked(left, exchange)
    let next = 0
    return immediate.map((result, index) => result ?? later[next++] ?? unchecked(subjects[index]))
  }

  checked(check: number, results: readonly Checked[]): void {
    this.#checks.arrived(check, results)
  }

  #checked(subjects: readonly Subject[], exchange: Exchange): Flow<readonly Checked[]> {
    return this.#checks.to(check => this.output.emit({ type: 'check', check, subjects }), exchange)
  }

  /** Walks to the end, and yields to the event loop on long walks. */
  *found(places: Places, exchange: Exchange): Flow<Places> {
    while (!places.find()) yield* this.yieldToLoop(places.meter, exchange)
    return places
  }

  /** Reports a revision that is older than the operator allows. */
  judgeRevision(from: Side, { revision, path }: Spoken, findings: Findings): void {
    const { minRevision: least } = this.judgement
    // Revisions are dates, which sort as text.
    if (least === undefined || revision >= least) return
    this.ask('onRevision', { from, revision, least, path }, findings, path)
  }

  /** Reports a contained exception to the operator. @returns the reason for the client */
  reportException(cause: unknown): string {
    this.output.emit({ type: 'failed', cause })
    const name = cause instanceof Error ? clip(cause.name) : 'an unknown cause'
    return `the relay failed on this message (${name})`
  }

  #having<Asked extends Power>(power: Asked): readonly Having<Asked>[] {
    const { judgement: { rules }, ruling: { policy } } = this
    if (this.#on?.policy !== policy)
      this.#on = { policy, rules: byPower(rules.filter(isOn(policy))) }
    return this.#on.rules[power]
  }
}

const isDone = (result: Checked | undefined): result is Checked => result !== undefined

/** Used when the engine returns too few results. */
const unchecked = (subject: Subject | undefined): Checked =>
  [{ kind: 'unchecked', path: subject?.path ?? '', message: 'the engine gave no verdict' }]

/** One power of one rule. */
interface Having<Asked extends Power> {
  readonly rule: RuleName
  readonly find: (subject: Subjects[Asked], meter: Meter) => readonly Problem[]
}

/** Whether a rule is asked. A rule that is off may still hold for clients whose access is restricted. */
const isOn = (policy: Policy) => ({ name }: Rule): boolean =>
  actionOf(policy, name) !== 'off' || accessRules.includes(name)

type RulesByPower = { readonly [Asked in Power]: readonly Having<Asked>[] }

const byPower = (rules: readonly Rule[]): RulesByPower => {
  const having = <Asked extends Power>(power: Asked): readonly Having<Asked>[] =>
    rules.flatMap(rule => {
      const powers: Powers = rule
      const find: Having<Asked>['find'] | undefined = powers[power]
      return find === undefined ? [] : [{ rule: rule.name, find }]
    })
  return {
    onFrame: having('onFrame'), onId: having('onId'), onRevision: having('onRevision'),
    onTool: having('onTool'), onShown: having('onShown'), onDrift: having('onDrift'),
    onOverLimit: having('onOverLimit'), onList: having('onList'), onCall: having('onCall'),
    onArguments: having('onArguments'), onResult: having('onResult'), onReading: having('onReading'),
    onServerRequest: having('onServerRequest'),
  }
}

const ask = <Asked extends Power>(
  { rule, find }: Having<Asked>, subject: Subjects[Asked], into: Findings, path: string,
): void => {
  try {
    const problems = find(subject, into.meter)
    if (problems.length > 0) into.add(rule, problems)
  } catch (error) {
    if (error instanceof OverBudget) into.addOverBudget(error)
    else into.add(rule, [{ path, message: 'the rule failed on this message' }])
  }
}
