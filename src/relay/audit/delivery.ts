export interface DeliveryOptions {
  /** Names the receiver in warnings. */
  readonly name: string
  readonly warn: (message: string) => void
  readonly undelivered: (count: number) => void
}

/** What may be queued for sending. More is dropped: traffic does not wait for telemetry. */
const maxPieces = 2048
const maxBytes = 16 * 1024 * 1024

/** Counts what is on its way to a slow or failing receiver, bounds it, and warns once each time it fails. */
export class Delivery {
  readonly #options: DeliveryOptions
  #pieces = 0
  #bytes = 0
  /** Pieces lost since the receiver failed; 0 while it works. */
  #lost = 0

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /** @returns false when the queue is full: then the piece is dropped */
  begin(bytes = 0): boolean {
    if (this.#pieces >= maxPieces || this.#bytes + bytes > maxBytes) {
      this.lose(1, 'the receiver is slower than the traffic')
      return false
    }
    this.#pieces += 1
    this.#bytes += bytes
    return true
  }

  /** @param failure why the pieces did not arrive; undefined: they did */
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

  /** Nothing more is sent: the pieces still queued are lost. */
  close(): void {
    const { name, warn, undelivered } = this.#options
    if (this.#pieces > 0) undelivered(this.#pieces)
    this.#lost += this.#pieces
    this.#pieces = 0
    if (this.#lost > 0) warn(`${name}: ${this.#lost} did not arrive`)
  }
}
