import type { Endpoint } from '../transport/front/front.js'
import { turnAway, type Offer } from './offer.js'

/** The servers that are offered now, by name: replaced as a whole when the configuration changes. */
export class Offers {
  #current: ReadonlyMap<string, Offer>
  /** Those of before, in front of which sessions still run. */
  readonly #retired = new Set<Offer>()
  #urgency = 0

  constructor(offers: ReadonlyMap<string, Offer>) {
    this.#current = offers
  }

  /** New sessions get the new offers; those that run finish in front of the old ones, which close after the last; or they end. */
  replace(offers: ReadonlyMap<string, Offer>, running: 'finish' | 'end' = 'finish'): void {
    for (const offer of this.#current.values()) {
      this.#retired.add(offer)
      void offer.retire().then(() => this.#retired.delete(offer))
    }
    if (running === 'end') for (const offer of this.#retired) void offer.stop(1)
    this.#current = offers
    if (this.#urgency > 0) void this.stop(this.#urgency)
  }

  /** By path: `/NAME/mcp`, and `/mcp` for the only one. */
  endpoints(isOnly = this.#current.size === 1): ReadonlyMap<string, Endpoint> {
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
      if (isOnly) paths.set('/mcp', endpoint)
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

  /** Ends what runs, in front of retired offers too. @param urgency as that of a session's `stop` */
  async stop(urgency: number): Promise<void> {
    this.#urgency = urgency
    await Promise.all([...this.#current.values(), ...this.#retired].map(offer => offer.stop(urgency)))
  }
}
