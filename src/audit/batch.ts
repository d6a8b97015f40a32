import type { Entry } from '../core/effect.js'
import type { Failures } from './lenient.js'
import type { Line, Position } from './record.js'

/**
 * Returns when the records are with the operating system, or when it is known that they are not and that is no error; asked again, it says the
 * same again. @throws CustomsError CANNOT_AUDIT
 */
export type Flush = () => void

export interface Recorded {
  readonly text: string
  /** Undefined for what the log says of itself. */
  readonly entry: Entry | undefined
  readonly now: Date
}

/** Records that are written together: all of them, or none. */
export class Batch {
  readonly records: Recorded[] = []
  /** How many records before them could not be written, as one of them says. */
  lost = 0
  /** The records, with their line ends. */
  text = ''
  bytes = 0
  #state: 'open' | 'written' | { readonly failure: unknown } = 'open'
  #isCounted = false
  readonly #write: (batch: Batch) => void
  readonly #failures: Failures

  /** @param before where the log stands without it */
  constructor(readonly before: Position, write: (batch: Batch) => void, failures: Failures) {
    this.#write = write
    this.#failures = failures
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  add({ text }: Line, now: Date, entry: Entry | undefined): void {
    this.text += text
    this.bytes += Buffer.byteLength(text)
    this.records.push({ text, entry, now })
  }

  /** For those to whom it is an error in any case. @throws CustomsError CANNOT_AUDIT */
  write(): void {
    if (this.#state === 'open') {
      this.#state = 'written'
      try {
        this.#write(this)
      } catch (failure) {
        this.#state = { failure }
      }
    }
    if (this.#state !== 'written') throw this.#state.failure
  }

  readonly flush: Flush = () => {
    try {
      this.write()
      this.#failures.recovered()
    } catch (failure) {
      const records = this.records.filter(({ entry }) => entry !== undefined).length
      this.#failures.failed(failure, this.#isCounted ? 0 : records, this.#isCounted ? 0 : this.lost)
      this.#isCounted = true
    }
  }
}
