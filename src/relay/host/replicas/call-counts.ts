import type { CountAsk, SharedReply } from '#relay/core/vocabulary.js'
import type { StateOutcome } from './sessions.js'
import { keyedHash, type Store } from './store.js'

export interface CallCountsOptions {
  readonly store: Store
  /** Begins every key. */
  readonly prefix: string
  readonly secret: string
  /** The time of day in milliseconds, as all replicas have it. */
  readonly now: () => number
  /** Told of each operation; for metrics. */
  readonly counted?: (operation: 'count', outcome: StateOutcome) => void
}

const minuteMs = 60_000
/** Calls within this time are kept as one number, so that a value stays short. */
const sliceMs = 1000

/** Calls by the end of their slice, in milliseconds; the oldest first. */
type Counts = readonly (readonly [until: number, calls: number])[]

/**
 * The calls of each tool by each client in the last minute, over all replicas. A call counts for up to a
 * second more than a minute, so that no minute has more calls than the limit.
 */
export class CallCounts {
  readonly #options: CallCountsOptions
  /** The last operation of each key: operations of this replica do not disturb one another. */
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(options: CallCountsOptions) {
    this.#options = options
  }

  /** Never rejects. */
  async count(server: string, ask: CountAsk): Promise<SharedReply> {
    const { store, prefix, secret, now, counted } = this.#options
    const hash = keyedHash(secret, ['calls', server, ask.client, ask.name])
    const key = `${prefix}:{${hash}}:c`
    const change = (before: string | undefined) => countedIn(countsIn(before), ask, now())
    const done = (this.#last.get(key) ?? Promise.resolve())
      .then(() => store.update(key, minuteMs + 2 * sliceMs, change))
      .then(
        waitMs => {
          counted?.('count', 'ok')
          return { waitMs }
        },
        () => {
          counted?.('count', 'failed')
          return 'unreachable' as const
        },
      )
    this.#last.set(key, done)
    const reply = await done
    if (this.#last.get(key) === done) this.#last.delete(key)
    return reply
  }
}

const countsIn = (text: string | undefined): Counts => (text ?? '').split(' ').flatMap(one => {
  const [until, calls] = one.split(':').map(Number)
  return until === undefined || calls === undefined ? [] : [[until, calls] as const]
})

/** Counts one call, if it is made. @returns the time until it may be made as the result */
const countedIn = (
  counts: Counts, { perMinute, isHeld }: Pick<CountAsk, 'perMinute' | 'isHeld'>, now: number,
): { readonly value: string | undefined; readonly result: number } => {
  // A slice that far in the future is of a replica whose clock is wrong.
  const kept = counts.filter(([until]) => until + minuteMs > now && until <= now + minuteMs)
  let calls = 0
  // The call that has to leave the minute first.
  const blocking = kept.findLast(([, more]) => (calls += more) >= perMinute)
  const result = blocking === undefined ? 0 : blocking[0] + minuteMs - now
  if (result > 0 && isHeld) return { value: undefined, result }
  const until = Math.ceil(now / sliceMs) * sliceMs
  const more = new Map([...kept, [until, (kept.find(([slice]) => slice === until)?.[1] ?? 0) + 1]])
  const value = [...more].sort(([a], [b]) => a - b).map(one => one.join(':')).join(' ')
  return { value, result }
}
