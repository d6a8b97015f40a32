import { hash } from 'node:crypto'

/** So long, in milliseconds, an answer holds: the shortest time after which a session may end for want of use (`sessions.idleMs`). */
const holdsMs = 1000
/** Answers at a time. */
const most = 10_000

/** Which worker a session is with, as one of them knows it. */
export class Ownership {
  readonly #number: number
  readonly #whose: (key: string) => Promise<number>
  readonly #now: () => number
  /** By a hash of the session's key, which is as long as a client likes; the oldest first. */
  readonly #answers = new Map<string, { readonly owner: number; readonly until: number }>()

  /** @param number this worker's @param whose asks the primary process @param now a monotonic clock, in milliseconds */
  constructor(number: number, whose: (key: string) => Promise<number>, now: () => number = () => performance.now()) {
    this.#number = number
    this.#whose = whose
    this.#now = now
  }

  ownerOf(key: string): number | Promise<number> {
    return this.#known(key) ?? this.#ask(key)
  }

  /** It was given to this worker, which may not have begun it yet. */
  isGranted(key: string): boolean {
    return this.#known(key) === this.#number
  }

  forget(key: string): void {
    this.#answers.delete(digestOf(key))
  }

  #known(key: string): number | undefined {
    const answer = this.#answers.get(digestOf(key))
    return answer !== undefined && answer.until > this.#now() ? answer.owner : undefined
  }

  async #ask(key: string): Promise<number> {
    const owner = await this.#whose(key)
    const digest = digestOf(key)
    this.#answers.delete(digest)
    this.#answers.set(digest, { owner, until: this.#now() + holdsMs })
    for (const [oldest, { until }] of this.#answers) {
      if (until > this.#now() && this.#answers.size <= most) break
      this.#answers.delete(oldest)
    }
    return owner
  }
}

const digestOf = (key: string): string => hash('sha256', key, 'base64')
