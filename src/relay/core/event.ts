import type { Exchange } from './vocabulary.js'

export const exchangeNamed = (name: string): Exchange => Object.freeze({ name })

/** The one exchange of a stdio connection. */
export const stdioExchange = exchangeNamed('stdio')

/** Maps names back to the exchanges of one session. */
export class NamedExchanges {
  /** Weak, because no event marks the last use of an exchange. */
  readonly #known = new Map<string, WeakRef<Exchange>>()
  readonly #forgotten = new FinalizationRegistry<string>(name => {
    if (this.#known.get(name)?.deref() === undefined) this.#known.delete(name)
  })

  of(name: string): Exchange {
    const known = name === stdioExchange.name ? stdioExchange : this.#known.get(name)?.deref()
    if (known !== undefined) return known
    const exchange = exchangeNamed(name)
    this.#known.set(name, new WeakRef(exchange))
    this.#forgotten.register(exchange, name)
    return exchange
  }
}

/** The reason in the record of a line on stdout that is no message and that concerns no request. */
export const noise = 'noise on stdout'
