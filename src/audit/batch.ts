import type { Entry } from '../core/effect.js'
import type { Line, Position } from './record.js'

/** Returns when the records are with the operating system; asked again, it says the same again. @throws CustomsError CANNOT_AUDIT */
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
  /** The records, with their line ends. */
  text = ''
  bytes = 0
  #state: 'open' | 'written' | { readonly failure: unknown } = 'open'
  readonly #write: (batch: Batch) => void

  /** @param before where the log stands without it */
  constructor(readonly before: Position, write: (batch: Batch) => void) {
    this.#write = write
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  add({ text }: Line, now: Date, entry: Entry | undefined): void {
    this.text += text
    this.bytes += Buffer.byteLength(text)
    this.records.push({ text, entry, now })
  }

  readonly flush: Flush = () => {
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
}
