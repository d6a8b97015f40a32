import { setTimeout as delay } from 'node:timers/promises'
import type { Cursor } from '../cursor.js'
import { discard, failureOf, type HttpReply } from '../pool.js'

/** How often and how soon a cut stream is asked for again. */
export interface Backoff {
  /** Before the first attempt, in milliseconds; doubled before each further one. */
  readonly firstMs: number
  readonly mostMs: number
  /** In a row that bring nothing. */
  readonly attempts: number
}

/** Half a minute in all. */
export const backoff: Backoff = { firstMs: 500, mostMs: 30_000, attempts: 6 }

export interface Resumable {
  readonly cursor: Cursor
  readonly backoff: Backoff
  readonly signal: AbortSignal
  /** Asks for the rest: a stream, or an error response. */
  readonly open: () => Promise<HttpReply>
  /** Reads what came of it; rejects when it is cut. */
  readonly read: (reply: HttpReply) => Promise<void>
  /** Nothing more is wanted of the stream. */
  readonly done: () => boolean
}

/** Longest wait that a server may ask for, and the shortest, in milliseconds: neither for ever nor in a tight loop. */
const mostRetryMs = 300_000
const leastRetryMs = 10

/**
 * Asks for the rest of a stream until nothing more is wanted of it, or the server does not give it.
 * @returns the response that refused it, or else the reason why it was given up; undefined when it is done
 */
export const resume = async (stream: Resumable): Promise<HttpReply | string | undefined> => {
  const { cursor, backoff, signal } = stream
  let reason = ''
  for (let failures = 0; failures < backoff.attempts; failures++) {
    if (stream.done() || signal.aborted) return undefined
    const before = cursor.events
    try {
      await delay(waitOf(failures, stream), undefined, { signal })
      const reply = await stream.open()
      if (reply.status >= 400 && reply.status < 500 && reply.status !== 429) return reply
      reason = `HTTP ${reply.status}`
      if (reply.status >= 400) discard(reply)
      else await stream.read(reply)
    } catch (error) {
      reason = failureOf(error)
    }
    if (cursor.events > before) failures = -1
  }
  return `the stream was cut and could not be resumed: ${reason}`
}

const waitOf = (failures: number, { cursor: { retryMs }, backoff }: Resumable): number => {
  const asked = retryMs === undefined ? undefined : Math.min(Math.max(retryMs, leastRetryMs), mostRetryMs)
  if (failures === 0) return asked ?? backoff.firstMs
  return Math.max(asked ?? 0, Math.min(backoff.firstMs * 2 ** failures, backoff.mostMs))
}
