import { messageOf } from '#relay/base/errors.js'
import { realTimers, type Timers } from '../timers.js'

/** The procedures that one end offers to the other; parameter and result are JSON values. */
export type ChannelCalls = Readonly<Record<string, (given: never) => unknown>>

type Given<Of extends ChannelCalls, Name extends keyof Of> = Parameters<Of[Name]>[0]
type Answer<Of extends ChannelCalls, Name extends keyof Of> = Awaited<ReturnType<Of[Name]>>

export type ChannelMessage =
  | { readonly call: number; readonly name: string; readonly given: unknown }
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly error: string }

interface Waiting {
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
  readonly stopTimer: (() => void) | undefined
}

/**
 * Remote procedure calls between the front and a relay process, as `note` frames. Both ends are of the same
 * build, so messages have the types that were sent.
 */
export class Channel<Theirs extends ChannelCalls> {
  readonly #send: (message: ChannelMessage) => void
  readonly #mine: ReadonlyMap<string, (given: never) => unknown>
  readonly #waiting = new Map<number, Waiting>()
  #last = 0
  #closed = false

  /** @param mine the procedures that the other end may call */
  constructor(
    send: (message: object) => void, mine: ChannelCalls, private readonly timers: Timers = realTimers,
  ) {
    this.#send = send
    this.#mine = new Map(Object.entries(mine))
  }

  /**
   * Rejects when the procedure fails, the other process is gone, or the time is over.
   * @param maxMs longest wait for the response, in milliseconds (no limit)
   */
  call<Name extends keyof Theirs & string>(
    name: Name, given: Given<Theirs, Name>, maxMs?: number,
  ): Promise<Answer<Theirs, Name>> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(gone())
      const call = (this.#last += 1)
      const expire = () => this.onMessage({ answer: call, error: 'the other process does not answer' })
      const stopTimer = maxMs === undefined ? undefined : this.timers.after(maxMs, expire)
      this.#waiting.set(call, { resolve, reject, stopTimer })
      this.#send({ call, name, given })
    })
  }

  onMessage(message: ChannelMessage): void {
    if ('call' in message) return void this.#answer(message)
    const waiting = this.#waiting.get(message.answer)
    this.#waiting.delete(message.answer)
    waiting?.stopTimer?.()
    if ('error' in message) waiting?.reject(new Error(message.error))
    else waiting?.resolve(message.value as never)
  }

  /** The other end is gone. */
  close(): void {
    this.#closed = true
    for (const { reject, stopTimer } of this.#waiting.values()) {
      stopTimer?.()
      reject(gone())
    }
    this.#waiting.clear()
  }

  async #answer({ call, name, given }: Extract<ChannelMessage, { readonly call: number }>): Promise<void> {
    // If a response was read together with this call, the caller that waits for the response continues
    // first, in a microtask.
    await Promise.resolve()
    const answer = await this.#done(call, name, given)
    if (!this.#closed) this.#send(answer)
  }

  async #done(call: number, name: string, given: unknown): Promise<ChannelMessage> {
    try {
      return { answer: call, value: await this.#mine.get(name)?.(given as never) }
    } catch (error) {
      return { answer: call, error: messageOf(error) }
    }
  }
}

const gone = (): Error => new Error('the other process is gone')

/** Longest queue of `inBatches`; further items are dropped. */
const maxWaiting = 10_000

/** Sends items in batches: one batch at a time, each with all items that came before it was sent. */
export const inBatches = <One>(send: (batch: readonly One[]) => Promise<unknown>): ((one: One) => void) => {
  let waiting: One[] = []
  let isSending = false
  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await send(batch).catch(() => undefined)
    }
    isSending = false
  }
  return one => {
    if (waiting.length < maxWaiting) waiting.push(one)
    if (isSending) return
    isSending = true
    setImmediate(() => void sendAll())
  }
}
