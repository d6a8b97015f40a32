/**
 * Bytes that are kept because of what clients and servers sent: an account of one kind of thing, of a session, or of the
 * process. What is added to an account is added to all accounts that it belongs to.
 */
export class Ledger {
  #kept = 0

  /** @param most the bound, in bytes */
  constructor(readonly most: number, readonly of?: Ledger) {}

  get kept(): number {
    return this.#kept
  }

  /** @param of the account that is part of this one */
  account(most: number): Ledger {
    return new Ledger(most, this)
  }

  hasRoom(bytes: number): boolean {
    return this.#kept + bytes <= this.most && this.of?.hasRoom(bytes) !== false
  }

  /** @param bytes negative when something is let go */
  add(bytes: number): void {
    this.#kept += bytes
    this.of?.add(bytes)
  }

  /** Everything is let go. */
  clear(): void {
    this.add(-this.#kept)
  }
}

/**
 * What one object costs beside its bytes and texts, in bytes: itself, its place in a Map, the closures and generators that
 * belong to it. Measured by `test/core/ledger.test.ts`.
 */
export const weights = { clientRequest: 3000, heldRequest: 1000, serverRequest: 600, ownId: 150, task: 800 } as const
