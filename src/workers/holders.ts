import type { SessionName, WorkerCalls } from './calls.js'
import type { Channel } from './channel.js'

interface Holder {
  readonly number: number
  readonly channel: Pick<Channel<WorkerCalls>, 'call'>
}

/** Longest wait, in milliseconds, for one that hangs: it is taken not to have the session. */
const longestMs = 2000

/** Which of the workers has a session: they know, and are asked. */
export class Holders {
  readonly #all: () => readonly Holder[]
  /** Whose each session is that is being asked for: who asks meanwhile is told the same, so that two never begin it. */
  readonly #asking = new Map<string, Promise<number>>()

  constructor(all: () => readonly Holder[]) {
    this.#all = all
  }

  /** @returns the number of the worker that has it; of one that nobody has, the first that asks */
  whose(asker: number, session: SessionName): Promise<number> {
    const key = JSON.stringify([session.path, session.session])
    const before = this.#asking.get(key)
    if (before) return before
    const answer = this.#holderOf(session).then(holder => holder ?? asker)
    this.#asking.set(key, answer)
    // Not before the asker has been told: from then on it says itself that the session is its own.
    void answer.then(() => setImmediate(() => this.#asking.delete(key)))
    return answer
  }

  /** The first that has it: nobody waits for one that is slow to say that it does not. Who was given it only counts where nobody has it. */
  #holderOf(session: SessionName): Promise<number | undefined> {
    let granted: number | undefined
    const asked = this.#all().map(async ({ number, channel }) => {
      const holds = await channel.call('holds', session, longestMs)
      if (holds === 'held') return number
      if (holds === 'granted') granted = number
      throw new Error('not held')
    })
    return Promise.any(asked).catch(() => granted)
  }
}
