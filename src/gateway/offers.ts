import type { Endpoint } from '../transport/front/front.js'
import { turnAway, type Offer } from './offer.js'

/** The servers that are offered now, by name: replaced as a whole when the configuration changes. */
export class Offers {
  #current: ReadonlyMap<string, Offer>
  /** Those that were replaced, and still have sessions. */
  readonly #leaving = new Set<Offer>()

  constructor(offers: ReadonlyMap<string, Offer>) {
    this.#current = offers
  }

  /** New sessions get the new offers; those that run finish in front of the old ones, which close after the last; or they end. */
  replace(offers: ReadonlyMap<string, Offer>, running: 'finish' | 'end' = 'finish'): void {
    for (const offer of this.#current.values()) {
      this.#leaving.add(offer)
      void offer.retire().then(() => this.#leaving.delete(offer))
    }
    if (running === 'end') for (const offer of this.#leaving) void offer.stop()
    this.#current = offers
  }

  /** By path: `/NAME/mcp`, and `/mcp` for the only one. */
  endpoints(): ReadonlyMap<string, Endpoint> {
    const paths = new Map<string, Endpoint>()
    for (const [name, offer] of this.#current) {
      const endpoint: Endpoint = {
        server: offer.kind,
        open: opening => {
          const now = this.#current.get(name)
          if (now?.kind === offer.kind) now.open(opening)
          else turnAway(opening.transport)
        },
      }
      paths.set(`/${name}/mcp`, endpoint)
      if (this.#current.size === 1) paths.set('/mcp', endpoint)
    }
    return paths
  }

  /** Which server stands at a path. */
  nameAt(path: string): string | undefined {
    const [first] = this.#current.keys()
    return path === '/mcp' ? first : [...this.#current.keys()].find(name => path === `/${name}/mcp`)
  }

  /** Whether each server can be reached. */
  async ready(): Promise<ReadonlyMap<string, boolean>> {
    return new Map(await Promise.all([...this.#current].map(async ([name, offer]) => [name, await offer.ready()] as const)))
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#leaving, ...this.#current.values()].map(offer => offer.stop()))
  }
}
