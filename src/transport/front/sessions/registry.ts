import { ChurnMap } from '../../../core/memory.js'
import type { Timers } from '../../timers.js'
import { Quota } from '../quota.js'

export interface SessionsOptions {
  /** Most sessions at a time. */
  readonly max: () => number
  /** A session without an open exchange ends after so many milliseconds. */
  readonly idleMs: () => number
  readonly timers: Timers
}

/** What ends by itself when nobody uses it. */
export interface Endable {
  end(reason: string): void
}

/** Names of a session; of more than that the oldest is forgotten. A server names it anew where its client begins anew. */
const mostNames = 4

interface Entry {
  /** Who began it. */
  readonly client: string
  /** Nothing is lost with it that would not come again. */
  readonly expendable: boolean
  readonly names: Set<string>
  /** Stops the clock of an idle session; undefined while it is in use. */
  stop: (() => void) | undefined
}

/** The sessions of one endpoint, by name. Names come from the wire and are keys of a Map, never of an object. */
export class Sessions<Session extends Endable> {
  readonly #options: SessionsOptions
  readonly #quota: Quota
  readonly #byName = new ChurnMap<string, Session>()
  /** Those that are idle stand in the order in which they became it, behind those that were idle before. */
  readonly #entries = new ChurnMap<Session, Entry>()

  constructor(options: SessionsOptions) {
    this.#options = options
    this.#quota = new Quota(options.max)
  }

  get size(): number {
    return this.#entries.size
  }

  find(name: string): Session | undefined {
    return this.#byName.get(name)
  }

  all(): readonly Session[] {
    return this.#entries.keys()
  }

  /**
   * No session ends for want of a place: it is another's, or this client's own. Only what is expendable and idle does.
   * @returns false when there is no place for it
   */
  add(session: Session, client: string, expendable: boolean): boolean {
    if (!this.#quota.take(client) && !(this.#makeRoom(client) && this.#quota.take(client))) return false
    this.#entries.set(session, { client, expendable, names: new Set(), stop: undefined })
    return true
  }

  /** A name that was another session's is this one's from now on. */
  name(session: Session, name: string): void {
    const entry = this.#entries.get(session)
    if (!entry) return
    entry.names.add(name)
    this.#byName.set(name, session)
    const [oldest] = entry.names
    if (entry.names.size <= mostNames || oldest === undefined) return
    entry.names.delete(oldest)
    if (this.#byName.get(oldest) === session) this.#byName.delete(oldest)
  }

  isNamed(session: Session): boolean {
    return (this.#entries.get(session)?.names.size ?? 0) > 0
  }

  setIdle(session: Session, idle: boolean): void {
    const entry = this.#entries.get(session)
    if (!entry) return
    entry.stop?.()
    entry.stop = undefined
    if (!idle) return
    this.#entries.delete(session)
    this.#entries.set(session, entry)
    entry.stop = this.#options.timers.after(this.#options.idleMs(), () => session.end('nobody used the session'))
  }

  remove(session: Session): void {
    const entry = this.#entries.get(session)
    if (!entry) return
    entry.stop?.()
    this.#entries.delete(session)
    this.#quota.leave(entry.client)
    for (const name of entry.names) if (this.#byName.get(name) === session) this.#byName.delete(name)
  }

  /** Ends what is expendable and was idle longest: the client's own, or else anybody's. */
  #makeRoom(client: string): boolean {
    const idle = this.#entries.entries().filter(([, { expendable, stop }]) => expendable && stop)
    const [session] = idle.find(([, entry]) => entry.client === client) ?? idle[0] ?? []
    if (session === undefined) return false
    session.end('another session needed its place')
    this.remove(session)
    return true
  }
}
