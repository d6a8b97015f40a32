/** What is told of what is sent, and by whom it is counted. */
export interface DeliveryOptions {
  /** What is sent, or where to, as messages call it. */
  readonly name: string
  readonly warn: (message: string) => void
  readonly undelivered: (count: number) => void
}

/** So much waits to be sent: in pieces, and in bytes as far as those are counted. More is given up, for traffic does not wait. */
const mostPieces = 2048
const mostBytes = 16 * 1024 * 1024

/** What is on its way to a receiver that may be slow, or down: bounded, counted, and said once for each time that it fails. */
export class Delivery {
  readonly #options: DeliveryOptions
  #pieces = 0
  #bytes = 0
  /** Since it failed; 0 while it works. */
  #lost = 0

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /** @returns false when there is no room for it: it is given up */
  begin(bytes = 0): boolean {
    if (this.#pieces >= mostPieces || this.#bytes + bytes > mostBytes) {
      this.lose(1, 'the receiver is slower than the traffic')
      return false
    }
    this.#pieces += 1
    this.#bytes += bytes
    return true
  }

  /** @param failure why they did not arrive; undefined: they did */
  end(pieces: number, bytes: number, failure: string | undefined): void {
    this.#pieces -= pieces
    this.#bytes -= bytes
    if (failure === undefined) this.recovered()
    else this.lose(pieces, failure)
  }

  lose(pieces: number, reason: string): void {
    const { name, warn, undelivered } = this.#options
    if (this.#lost === 0) warn(`${name}: not delivered: ${reason}`)
    this.#lost += pieces
    undelivered(pieces)
  }

  recovered(): void {
    const { name, warn } = this.#options
    if (this.#lost > 0) warn(`${name}: delivered again; ${this.#lost} before did not arrive`)
    this.#lost = 0
  }

  /** Nothing more is sent: what is still on its way is lost. */
  close(): void {
    const { name, warn, undelivered } = this.#options
    if (this.#pieces > 0) undelivered(this.#pieces)
    this.#lost += this.#pieces
    this.#pieces = 0
    if (this.#lost > 0) warn(`${name}: ${this.#lost} did not arrive`)
  }
}
