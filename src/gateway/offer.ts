import { ChurnSet } from '../core/churn.js'
import type { Transport } from '../transport/transport.js'
import type { Opening } from '../transport/front/front.js'
import { openSession, type Guard, type OpenServer } from './open.js'
import type { Ended, Session } from './session.js'

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
    const session = openSession(guard, opening.transport, reach.connect(opening), opening.kind === 'stateless', opening.peer)
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
