import type { Exchange } from '#relay/core/vocabulary.js'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'

const exchanges = new Map([[stdioExchange.name, stdioExchange]])

/** The exchange of that name: the same one, whenever it is asked for. */
export const exchange = (name: string): Exchange => {
  const known = exchanges.get(name) ?? exchangeNamed(name)
  exchanges.set(name, known)
  return known
}
