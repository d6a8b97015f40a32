/** Time between two answers to a network while its clients are not known, and what may be saved up of it. */
const everyMs = 5
const burstMs = 1000
/** Requests that would wait longer than this are cut off, in milliseconds. */
const longestMs = 10_000
/** Networks that are remembered; beyond these, the oldest is forgotten. */
const maxClients = 10_000

/**
 * Answers clients that are not known yet at a bounded rate for each network. With many connections strangers
 * would take the process from the clients that have shown who they are, however short each answer is. They
 * wait, since a refusal at once would only bring the next request sooner.
 */
export class Pace {
  /** When the next request of a network has its turn. */
  readonly #turns = new Map<string, number>()

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @returns for how many milliseconds the request waits; undefined: it is to be cut off */
  wait(client: string): number | undefined {
    const now = this.now()
    const turn = Math.max(this.#turns.get(client) ?? -Infinity, now - burstMs) + everyMs
    const wait = Math.max(0, turn - now)
    if (wait > longestMs) return undefined
    this.#turns.delete(client)
    this.#turns.set(client, turn)
    if (this.#turns.size > maxClients) this.#turns.delete(this.#turns.keys().next().value ?? '')
    return wait
  }
}
