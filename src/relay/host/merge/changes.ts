import { stdioExchange } from '#relay/core/event.js'
import { listChanged } from '#relay/protocol/changing-lists.js'
import { notification } from './frames.js'
import type { Legs } from './legs.js'
import type { Listens } from './listens.js'
import type { Host } from './machine.js'

/** How often a client is told that the lists of a capability have changed, in milliseconds. */
const changedMs = 1000

/** Tells the client that lists have changed: once in a second for each capability. */
export class ListChanges {
  readonly #host: Host
  readonly #legs: Legs
  readonly #listens: Listens
  /** By capability: when the client was told last. Infinity: it will be told. */
  readonly #toldAt = new Map<string, number>()

  constructor(host: Host, legs: Legs, listens: Listens) {
    this.#host = host
    this.#legs = legs
    this.#listens = listens
  }

  tell(capability: string): void {
    const now = this.#host.now()
    const last = this.#toldAt.get(capability) ?? -changedMs
    if (last === Infinity) return
    const left = last + changedMs - now
    if (left <= 0) return this.#tellNow(capability)
    this.#toldAt.set(capability, Infinity)
    this.#host.after(left, () => this.#tellNow(capability))
  }

  #tellNow(capability: string): void {
    this.#toldAt.set(capability, this.#host.now())
    const frame = notification(listChanged(capability))
    const { isLegacy, hasAnswered } = this.#legs
    // Nothing comes before the answer to `initialize` (2025-11-25, lifecycle): no list is known until then.
    if (isLegacy && hasAnswered) this.#host.emit({ type: 'send', exchange: stdioExchange, frame })
    this.#listens.changed(capability)
  }
}
