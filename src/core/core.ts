import { askFor, type Ask } from './ask.js'
import { Checks } from './checks.js'
import { Findings } from './findings.js'
import { Driver } from './flow.js'
import type { RelayOptions } from './options.js'
import { mendsFor, unmended, type Mends } from './mend.js'
import { Output } from './output.js'
import type { Policy } from './policy.js'
import { Records } from './records.js'
import { Handshake } from './terms.js'

/** What all parts of a relay share. */
export class Core {
  readonly output = new Output()
  readonly driver = new Driver()
  readonly checks: Checks
  readonly records: Records
  readonly handshake: Handshake
  readonly ask: Ask
  readonly mends: Mends
  readonly #unmended: Policy

  constructor(readonly options: RelayOptions) {
    this.handshake = new Handshake(!options.stateless)
    this.checks = new Checks(options, this.output, this.driver)
    this.records = new Records(options, this.output, this.handshake)
    this.ask = askFor(options.rules, options.policy)
    this.mends = mendsFor(options.rules, options.policy)
    this.#unmended = unmended(options.rules, options.policy)
  }

  readonly findings = (): Findings => new Findings(this.#unmended)
}
