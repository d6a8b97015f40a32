import { ChurnMap } from '#relay/core/memory.js'
import type { Timers } from '../../timers.js'
import { Quota } from '../quota.js'

interface SessionsOptions {
  /** Most sessions at a time. */
  readonly max: () => number
  /** A session ends after this time without an open exchange, in milliseconds. */
  readonly idleMs: () => number
  readonly timers: Timers
}

/** A session, as far as it is kept here. */
interface Endable {
  end(reason: string): void
}

/** The most names of a session; beyond this the oldest is forgotten. Each initialize may add one. */
const maxNames = 4

interface Entry {
  /** The client that began it. */
  readonly client: string
  /** It has no state that a later request could not restore. */
  readonly expendable: boolean
  readonly names: Set<string>
  /** Stops the timer of an idle session; undefined while it is in use. */
  stop: (() => void) | undefined
}

/** The sessions of one endpoint, by name. Names come from the wire, so they are never keys of an object. */
export class Sessions<Session extends Endable> {
  readonly #quota: Quota
  readonly #byName = new ChurnMap<string, Session>()
  /** Idle sessions are in the order in which they became idle. */
  readonly #entries = new ChurnMap<Session, Entry>()

  constructor(private readonly options: SessionsOptions) {
    this.#quota = new Quota(options.max)
  }

  find(name: string): Session | undefined {
    return this.#byName.get(name)
  }

  all(): readonly Session[] {
    return this.#entries.keys()
  }

  /**
   * To make room, only an expendable idle session is ended; never one with state.
   * @returns false when there is no place
   */
  add(session: Session, client: string, expendable: boolean): boolean {
    const hasPlace = this.#quota.reserve(client) || (this.#makeRoom(client) && this.#quota.reserve(client))
    if (!hasPlace) return false
    this.#entries.set(session, { client, expendable, names: new Set(), stop: undefined })
    return true
  }

  /** Takes the name from the session that has it. */
  name(session: Session, name: string): void {
    const entry = this.#entries.get(session)
    if (!entry) return
    entry.names.add(name)
    this.#byName.set(name, session)
    const [oldest] = entry.names
    if (entry.names.size <= maxNames || oldest === undefined) return
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
    const { timers, idleMs } = this.options
    entry.stop = timers.after(idleMs(), () => session.end('nobody used the session'))
  }

  remove(session: Session): void {
    const entry = this.#entries.get(session)
    if (!entry) return
    entry.stop?.()
    this.#entries.delete(session)
    this.#quota.release(entry.client)
    for (const name of entry.names) if (this.#byName.get(name) === session) this.#byName.delete(name)
  }

  /** Ends the expendable session that was idle longest: one of this client, else one of any client. */
  #makeRoom(client: string): boolean {
    const idle = this.#entries.entries().filter(([, { expendable, stop }]) => expendable && stop)
    const [session] = idle.find(([, entry]) => entry.client === client) ?? idle[0] ?? []
    if (session === undefined) return false
    session.end('another session needed its place')
    this.remove(session)
    return true
  }
}
