import { clip } from '../protocol/quote.js'
import { Meter, OverBudget, Turn } from '../protocol/meter.js'
import { Checks, Driver, type Flow } from './flow.js'
import type { Exchange, Side } from './event.js'
import { Findings } from './findings.js'
import { Ledger } from './ledger.js'
import type { RelayOptions } from './options.js'
import { mendingFor, type Mending, type Mends } from './mend.js'
import { Output } from './output.js'
import { actionOf, type Policy } from './policy.js'
import { Records } from './records.js'
import type { Power, Powers, Rule, Subjects } from './rule.js'
import { Handshake } from './terms.js'

/** What a session may keep in memory, in bytes, and what all sessions of a process may keep where nobody says otherwise. */
const sessionBytes = 192 * 1024 * 1024
const processBytes = 1024 * 1024 * 1024

const ofProcess = new Ledger(processBytes)

/** What all parts of a relay share. */
export class Core {
  readonly output = new Output()
  readonly driver = new Driver()
  readonly ledger: Ledger
  readonly checks: Checks
  readonly records: Records
  readonly handshake: Handshake
  readonly #turns: Readonly<Record<Side, Turn>> = { client: new Turn(), server: new Turn() }
  #mending: Mending
  #asked: Policy | undefined
  /** The rules that the policy has on, by their powers. */
  #having: ReadonlyMap<Power, readonly Rule[]> = new Map()

  constructor(readonly options: RelayOptions) {
    this.ledger = (options.ledger ?? ofProcess).account(sessionBytes)
    this.handshake = new Handshake(!options.stateless && options.joined !== true, options.stateless)
    this.checks = new Checks(options, this.output, this.driver)
    this.records = new Records(options, this.output, this.handshake)
    this.#mending = mendingFor(options.rules, options.policy)
  }

  get mends(): Mends {
    return this.#current.mends
  }

  /** The policy may be another one by now. */
  get #current(): Mending {
    const { rules, policy } = this.options
    if (this.#mending.policy !== policy) this.#mending = mendingFor(rules, policy)
    return this.#mending
  }

  /** @param from the side that sent the frame; or the meter of the frame, where this is about a part of a frame */
  readonly findings = (from: Side | Meter): Findings =>
    new Findings(this.#current.unmended, this.options.mostFindings, from instanceof Meter ? from : new Meter(this.#turns[from]))

  /**
   * Asks every rule that has the power. A rule that throws is a finding of that rule: a check that cannot be done never
   * passes in silence. @param path where a rule is reported that failed
   */
  readonly ask = <Asked extends Power>(power: Asked, subject: Subjects[Asked], into: Findings, path: string): void => {
    for (const rule of this.#rulesOf(power)) askRule(rule, power, subject, into, path)
  }

  /** As `ask`; other sessions get a turn between two rules where much is to be looked at. @param exchange of the frame */
  *judge<Asked extends Power>(power: Asked, subject: Subjects[Asked], into: Findings, path: string, exchange: Exchange): Flow {
    for (const rule of this.#rulesOf(power)) {
      askRule(rule, power, subject, into, path)
      if (into.meter.isTurnSpent) yield* this.turn(into.meter, exchange)
    }
  }

  /** Gives other sessions a turn. */
  *turn(meter: Meter, exchange: Exchange): Flow {
    yield* this.checks.turn(exchange)
    meter.newTurn()
  }

  /** An exception was contained: its cause goes to the operator, and is counted. */
  failed(cause: unknown): string {
    this.output.emit({ type: 'failed', cause })
    return `the relay failed on this message (${cause instanceof Error ? clip(cause.name) : 'an unknown cause'})`
  }

  #rulesOf(power: Power): readonly Rule[] {
    const { policy, rules } = this.options
    if (this.#asked !== policy) {
      this.#asked = policy
      const on = rules.filter(({ name }) => actionOf(policy, name) !== 'off')
      this.#having = new Map(powers.map(one => [one, on.filter(rule => rule[one] !== undefined)]))
    }
    return this.#having.get(power) ?? []
  }
}

const powers: readonly Power[] = [
  'onFrame', 'onId', 'onTool', 'onDrift', 'onSurplus', 'onList', 'onCall', 'onArguments', 'onResult', 'onReading', 'onServerRequest',
]

const askRule = <Asked extends Power>(rule: Rule, power: Asked, subject: Subjects[Asked], into: Findings, path: string): void => {
  const asked: Powers = rule
  try {
    const problems = asked[power]?.(subject, into.meter)
    if (problems !== undefined) into.add(rule.name, problems)
  } catch (error) {
    if (error instanceof OverBudget) into.overBudget(error.message)
    else into.add(rule.name, [{ path, message: 'the rule failed on this message' }])
  }
}
