import type { Frame } from '../protocol/frame.js'
import type { IdKey } from '../protocol/json-rpc.js'

/** More than that is not taken from the pipe while something is held, in bytes. */
const crowdedBytes = 1024 * 1024

interface Waiting {
  readonly frame: Frame
  /** The frame itself, or those of its members that have neither gone ahead nor been taken back. */
  readonly members: Set<Frame>
}

/** What came by a pipe after a request that is still held: the server gets it in the order in which it came. */
export class Queue {
  readonly #waiting: Waiting[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  get isCrowded(): boolean {
    return this.#bytes > crowdedBytes
  }

  add(frame: Frame): Waiting {
    const waiting = { frame, members: new Set(membersOf(frame)) }
    this.#waiting.push(waiting)
    this.#bytes += frame.bytes.length
    return waiting
  }

  next(): Waiting | undefined {
    const next = this.#waiting.shift()
    this.#bytes -= next?.frame.bytes.length ?? 0
    return next
  }

  /** Takes back a request. @returns it, unless none of this id waits here */
  cancel(key: IdKey): Frame | undefined {
    for (const { members } of this.#waiting) {
      for (const one of members) {
        if (one.message.kind !== 'request' || one.message.key !== key) continue
        members.delete(one)
        return one
      }
    }
    return undefined
  }
}

/** The messages in a frame. */
export const membersOf = (frame: Frame): readonly Frame[] => (frame.message.kind === 'batch' ? frame.message.members : [frame])
