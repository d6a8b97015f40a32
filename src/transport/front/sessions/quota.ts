import type { ProcessPlace } from '../request.js'

/** Places that one client cannot take from all others: of those that others leave, it may have nine in ten. */
export class Quota {
  readonly #max: () => number
  readonly #taken = new Map<string, number>()
  #all = 0

  constructor(max: () => number) {
    this.#max = max
  }

  /** @returns false when there is no place for this client, or not so many */
  take(client: string, count = 1): boolean {
    const own = this.#taken.get(client) ?? 0
    const left = this.#max() - (this.#all - own)
    if (own + count > Math.ceil((9 * left) / 10)) return false
    this.#taken.set(client, own + count)
    this.#all += count
    return true
  }

  /** A place for a process of this client's. */
  place(client: string): ProcessPlace {
    return { take: () => (this.take(client) ? () => this.leave(client) : undefined) }
  }

  leave(client: string, count = 1): void {
    const own = this.#taken.get(client) ?? 0
    const left = Math.min(count, own)
    if (own > left) this.#taken.set(client, own - left)
    else this.#taken.delete(client)
    this.#all -= left
  }
}
