import { Duplex } from 'node:stream'
import type { Owner } from './clock.js'

/** Bytes that the system takes before the other end has read them. */
const roomBytes = 64 * 1024

/** One end of a connection in memory. Bytes arrive at the other end only when they are delivered. */
export class End extends Duplex {
  /** Told of bytes whose memory was freed before they were sent. */
  static freed: (name: string) => void = () => undefined
  peer: End | undefined
  readonly remoteAddress: string
  readonly connecting = false
  readonly encrypted?: true
  /** Bytes on the way to this end. */
  #inbox: Buffer[] = []
  #inboxBytes = 0
  /** The write of the other end for which there was no room. */
  #held:
    { readonly chunk: Buffer; at: number; readonly length: number; readonly done: () => void } | undefined
  #isEndComing = false
  #isCutComing = false
  #wants = true
  /** False: this end does not read. */
  isReading = true
  /** It was written to when the other end was gone, and this end did not know. */
  isWrittenInVain = false
  /** Bytes had arrived that were not read when it was closed. */
  hadUnread = false

  constructor(readonly name: string, readonly owner: Owner, allowHalfOpen = true, address = '127.0.0.1') {
    super({ allowHalfOpen, decodeStrings: true })
    this.remoteAddress = address
    this.on('error', () => undefined)
  }

  setTimeout(): this { return this }
  setNoDelay(): this { return this }
  setKeepAlive(): this { return this }
  ref(): this { return this }
  unref(): this { return this }
  address(): object { return {} }

  destroySoon(): void {
    if (this.writableFinished) this.destroy()
    else this.end(() => this.destroy())
  }

  /** Whether something can be delivered to this end. */
  get isDue(): boolean {
    if (this.destroyed || !this.owner.isRunning) return false
    if (this.#isCutComing && this.#inboxBytes === 0) return true
    return this.isReading && this.#wants && (this.#inboxBytes > 0 || this.#isEndComing)
  }

  get unread(): number {
    return this.#inboxBytes + this.readableLength
  }

  /** Delivers what is on the way, or so many bytes of it. */
  deliver(maxBytes = Infinity): void {
    if (this.#inboxBytes === 0) {
      if (this.#isCutComing) this.destroy()
      else if (this.#isEndComing) {
        this.#isEndComing = false
        this.push(null)
      }
      return
    }
    const first = this.#inbox.shift() ?? Buffer.alloc(0)
    let bytes = first.length <= maxBytes ? first : first.subarray(0, maxBytes)
    if (bytes.length < first.length) this.#inbox.unshift(first.subarray(maxBytes))
    else if (maxBytes === Infinity && this.#inbox.length > 0)
      bytes = Buffer.concat([first, ...this.#inbox.splice(0)])
    this.#inboxBytes -= bytes.length
    this.#takeHeld()
    // As the kernel does, each read gives memory of its own.
    this.#wants = this.push(ownCopy(bytes))
  }

  override _read(): void {
    this.#wants = true
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    const { peer } = this
    if (peer === undefined || peer.destroyed) {
      this.isWrittenInVain = true
      return done()
    }
    peer.#held = { chunk, at: 0, length: chunk.length, done }
    peer.#takeHeld()
  }

  override _final(done: () => void): void {
    if (this.peer !== undefined) this.peer.#isEndComing = true
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.peer !== undefined) {
      this.peer.#isCutComing = true
      // What the kernel has not taken yet is lost.
      this.peer.#held = undefined
    }
    this.hadUnread = this.#inboxBytes > 0
    const held = this.#held
    this.#held = undefined
    this.#inbox = []
    this.#inboxBytes = 0
    held?.done()
    done(error)
  }

  /** The kernel copies what it has room for; the rest stays where it is until there is room. */
  #takeHeld(): void {
    const held = this.#held
    if (held === undefined || this.#inboxBytes >= roomBytes) return
    if (held.chunk.length < held.length) {
      End.freed(this.name)
      this.#held = undefined
      return held.done()
    }
    const bytes = Buffer.from(held.chunk.subarray(held.at, held.at + roomBytes - this.#inboxBytes))
    held.at += bytes.length
    this.#inbox.push(bytes)
    this.#inboxBytes += bytes.length
    if (held.at < held.length) return
    this.#held = undefined
    held.done()
  }
}

const ownCopy = (bytes: Buffer): Buffer => {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

export const pair = (near: End, far: End): void => {
  near.peer = far
  far.peer = near
}
