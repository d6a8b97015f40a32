/** Holds readers back while it is closed. */
export class Latch {
  #opened: Promise<void> | undefined
  #open: (() => void) | undefined

  close(): void {
    this.#opened ??= new Promise(resolve => (this.#open = resolve))
  }

  open(): void {
    this.#opened = undefined
    this.#open?.()
  }

  get isClosed(): boolean {
    return this.#opened !== undefined
  }

  /** Resolves at once while it is open; never rejects. */
  async passed(): Promise<void> {
    // It may have been closed again by the time that the reader goes on.
    while (this.#opened !== undefined) await this.#opened
  }
}
