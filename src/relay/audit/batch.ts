import type { Entry } from '#relay/core/vocabulary.js'
import type { RecordLine, Position } from './record.js'

/** A record that was written, or is about to be. */
export interface Recorded {
  /** Its line in the log, with the line end. */
  readonly text: string
  /** Undefined for records about the log itself. */
  readonly entry: Entry | undefined
  readonly now: Date
}

/** Records that are written with one system call: either all of them are written, or none. */
export class RecordBatch {
  readonly records: Recorded[] = []
  /** All lines, with their line ends. */
  text = ''
  bytes = 0
  /** The sum of the counts in this batch's `audit/lost` records. */
  lost = 0
  /** Whether the records of this batch were already counted as lost. */
  isCounted = false
  #state: 'open' | 'written' | { readonly failure: unknown } = 'open'

  /**
   * @param before the position in the log before the first record of this batch
   * @param flush writes this batch. All records of a batch have the same function, so that a session that
   * waits for a record can tell whether a later record is in the same batch
   */
  constructor(readonly before: Position, readonly flush: () => void) {}

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  add({ text }: RecordLine, now: Date, entry: Entry | undefined): void {
    this.text += text
    this.bytes += Buffer.byteLength(text)
    this.records.push({ text, entry, now })
  }

  /**
   * Writes the batch at the first call; every later call reports the same outcome.
   * @throws CustomsError CANNOT_AUDIT, also when the operator chose `onFailure: continue`: the caller applies
   * that option
   */
  write(append: (batch: RecordBatch) => void): void {
    if (this.#state === 'open') {
      this.#state = 'written'
      try {
        append(this)
      } catch (failure) {
        this.#state = { failure }
      }
    }
    if (this.#state !== 'written') throw this.#state.failure
  }
}
