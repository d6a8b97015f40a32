/** Places that one client cannot take from all others: of those that others leave, it may have nine in ten. */
export class Quota {
  readonly #max: () => number
  readonly #taken = new Map<string, number>()
  #all = 0

  constructor(max: () => number) {
    this.#max = max
  }

  /** @returns false when there is no place for this client */
  take(client: string): boolean {
    const own = this.#taken.get(client) ?? 0
    const left = this.#max() - (this.#all - own)
    if (own >= Math.ceil((9 * left) / 10)) return false
    this.#taken.set(client, own + 1)
    this.#all++
    return true
  }

  leave(client: string): void {
    const own = this.#taken.get(client) ?? 0
    if (own === 0) return
    if (own > 1) this.#taken.set(client, own - 1)
    else this.#taken.delete(client)
    this.#all--
  }
}
