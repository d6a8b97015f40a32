import type { Agreed, HttpHandshake } from './handshake.js'
import { resume, type Backoff } from './resume.js'
import { cursor, type Cursor } from '../cursor.js'
import { discard, type HttpReply } from '../pool.js'

export interface Listening {
  readonly handshake: HttpHandshake
  readonly agreed: Agreed
  readonly backoff: Backoff
  /** Reads a stream to its end; rejects when it is cut. */
  readonly read: (reply: HttpReply, position: Cursor) => Promise<void>
}

/**
 * Reads what the server says unasked, for as long as the session lasts and the server offers it (2025-11-25, listening for
 * messages); `agreed.stream` says how it stands.
 * @returns true when the server has lost the session
 */
export const listen = async ({ handshake, agreed, backoff, read }: Listening): Promise<boolean> => {
  const { signal } = agreed.over
  const position = cursor()
  agreed.stream = 'open'
  try {
    const first = await handshake.get(undefined, signal)
    if (first.status >= 400) {
      discard(first)
      if (first.status < 500 && first.status !== 429) {
        agreed.stream = 'refused'
        return false
      }
    } else await read(first, position)
  } catch {
    // Cut: the rest is asked for, a bounded number of times.
  }
  const outcome = await resume({
    cursor: position,
    backoff,
    signal,
    open: () => handshake.get(position.lastEventId, signal),
    read: reply => read(reply, position),
    done: () => false,
  })
  // Given up for now: the next response to something else shows that the server is back.
  agreed.stream = 'closed'
  if (outcome === undefined || typeof outcome === 'string') return false
  discard(outcome)
  if (outcome.status !== 404 || agreed.id === undefined) agreed.stream = 'refused'
  return agreed.stream === 'closed'
}
