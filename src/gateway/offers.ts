import type { Endpoint, Opening } from '../transport/front/front.js'
import { ChurnSet } from '../core/memory.js'
import type { Transport } from '../transport/transport.js'
import { type Guard, type OpenServer, openSession } from './open.js'
import type { Ended, Session } from './session.js'

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

/** How one server is reached by the sessions in front of it. */
export interface Reach {
  /** A process, started for a session or for all clients that have none; or an HTTP server. */
  readonly kind: 'stdio' | 'http'
  /** The server's side of a session. */
  connect(opening: Opening): OpenServer
  /** Whether it answers at all. */
  ready(): Promise<boolean>
  /** After the last session. */
  close(): Promise<void>
}

export interface OfferOptions {
  readonly guard: Guard & { close(): Promise<void> }
  readonly reach: Reach
  readonly sessionStarted: () => void
  readonly sessionEnded: (session: Pick<Ended, 'failure' | 'isAuditFailure'>) => void
}

/** One server as it is offered to many clients: the sessions in front of it, and what they share. */
export class Offer {
  readonly #options: OfferOptions
  readonly #sessions = new ChurnSet<Session>()
  #retired = false
  #closed: Promise<void> | undefined
  #tellClosed: () => void = () => undefined
  readonly closed = new Promise<void>(resolve => {
    this.#tellClosed = resolve
  })

  constructor(options: OfferOptions) {
    this.#options = options
  }

  get kind(): Reach['kind'] {
    return this.#options.reach.kind
  }

  ready(): Promise<boolean> {
    return this.#options.reach.ready()
  }

  open(opening: Opening): void {
    const { guard, reach, sessionStarted, sessionEnded } = this.#options
    const { kind, joined, peer } = opening
    const session = openSession(guard, opening.transport, reach.connect(opening), { stateless: kind === 'stateless', joined, peer })
    this.#sessions.add(session)
    sessionStarted()
    session.start()
    void session.ended.then(ended => {
      this.#sessions.delete(session)
      sessionEnded(ended)
      this.#closeIfLast()
    })
  }

  /** Takes no new sessions; what runs may finish. Resolves when nothing is left. */
  retire(): Promise<void> {
    this.#retired = true
    this.#closeIfLast()
    return this.closed
  }

  /** Ends what runs. @param urgency as that of a session's `stop` */
  stop(urgency: number): Promise<void> {
    for (const session of this.#sessions.values()) session.stop(urgency)
    return this.retire()
  }

  #closeIfLast(): void {
    if (!this.#retired || this.#sessions.size > 0) return
    const { guard, reach } = this.#options
    this.#closed ??= Promise.all([reach.close(), guard.close()]).then(this.#tellClosed)
  }
}

/** A client's side that cannot be served: told so by its end. */
export const turnAway = (transport: Transport): void => {
  transport.start(() => undefined)
  void transport.close()
}
