import { askFor, type Ask } from './ask.js'
import { Checks } from './checks.js'
import { Findings } from './findings.js'
import { Driver } from './flow.js'
import type { RelayOptions } from './options.js'
import { mendingFor, type Mending, type Mends } from './mend.js'
import type { Meter } from '../protocol/meter.js'
import { Output } from './output.js'
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
  #mending: Mending

  constructor(readonly options: RelayOptions) {
    this.handshake = new Handshake(!options.stateless)
    this.checks = new Checks(options, this.output, this.driver)
    this.records = new Records(options, this.output, this.handshake)
    this.ask = askFor(options)
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

  /** @param meter of the frame, where this is about a part of one that is being judged */
  readonly findings = (meter?: Meter): Findings => new Findings(this.#current.unmended, this.options.mostFindings, meter)
}
