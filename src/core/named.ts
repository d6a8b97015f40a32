import { exchangeNamed, wholePipe, type Exchange } from './event.js'

/** The same in writing, and for those who embed the relay: its exchange by name. */
export type Named<One> = One extends { readonly exchange: Exchange } ? Omit<One, 'exchange'> & { readonly exchange: string } : One

/** The exchanges of one session, by their names. */
export class NamedExchanges {
  /** Nobody says when the last is said of one: it is forgotten with the last who holds it. */
  readonly #known = new Map<string, WeakRef<Exchange>>()
  readonly #forgotten = new FinalizationRegistry<string>(name => {
    if (this.#known.get(name)?.deref() === undefined) this.#known.delete(name)
  })

  of(name: string): Exchange {
    const known = name === wholePipe.name ? wholePipe : this.#known.get(name)?.deref()
    if (known !== undefined) return known
    const exchange = exchangeNamed(name)
    this.#known.set(name, new WeakRef(exchange))
    this.#forgotten.register(exchange, name)
    return exchange
  }
}
