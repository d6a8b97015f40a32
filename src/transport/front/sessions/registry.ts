import type { Timers } from '../timers.js'

export interface SessionsOptions {
  /** Most sessions at a time; when there are as many, the one that was idle longest makes room. */
  readonly max: number
  /** A session without an open exchange ends after so many milliseconds. */
  readonly idleMs: number
  readonly timers: Timers
}

/** What ends by itself when nobody uses it. */
export interface Endable {
  end(reason: string): void
}

interface Entry {
  readonly names: Set<string>
  /** Stops the clock of an idle session; undefined while it is in use. */
  stop: (() => void) | undefined
}

/** The sessions of one endpoint, by name. Names come from the wire and are keys of a Map, never of an object. */
export class Sessions<Session extends Endable> {
  readonly #options: SessionsOptions
  readonly #byName = new Map<string, Session>()
  /** Those that are idle stand in the order in which they became it, behind those that were idle before. */
  readonly #entries = new Map<Session, Entry>()

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#entries.size
  }

  find(name: string): Session | undefined {
    return this.#byName.get(name)
  }

  all(): readonly Session[] {
    return [...this.#entries.keys()]
  }

  /** @returns false when there are too many, and all of them are in use */
  makeRoom(): boolean {
    if (this.#entries.size < this.#options.max) return true
    for (const [session, { stop }] of this.#entries) {
      if (!stop) continue
      session.end('another session needed its place')
      this.remove(session)
      return true
    }
    return false
  }

  add(session: Session): void {
    this.#entries.set(session, { names: new Set(), stop: undefined })
  }

  /** A name that was another session's is this one's from now on. */
  name(session: Session, name: string): void {
    const entry = this.#entries.get(session)
    if (!entry) return
    entry.names.add(name)
    this.#byName.set(name, session)
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
    entry.stop = this.#options.timers.after(this.#options.idleMs, () => session.end('nobody used the session'))
  }

  remove(session: Session): void {
    const entry = this.#entries.get(session)
    if (!entry) return
    entry.stop?.()
    this.#entries.delete(session)
    for (const name of entry.names) if (this.#byName.get(name) === session) this.#byName.delete(name)
  }
}
