import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import { isArray, member } from '#relay/protocol/json.js'
import { isReading, readFrame, type FrameReading } from '#relay/protocol/parse.js'

/** The result of a `Gathering`. */
export type Gathered =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  /** Over the limit: its first and last bytes (4096 at most), and its size in bytes. */
  | { readonly kind: 'oversized'; readonly head: Buffer; readonly tail: Buffer; readonly size: number }

/** Bytes kept of the beginning and of the end of an oversized frame. */
const kept = 4096

/** Smaller pieces are joined as they come, in bytes: a peer that sends single bytes must not fill memory. */
const small = 16 * 1024

/** Shorter bodies come in one or two pieces, in bytes: no buffer is allocated for them in advance. */
const long = 128 * 1024
/** This part of a body must arrive before its announced size is allocated: a peer can announce any size. */
const earnest = 1 / 8

/** Smaller buffers are left to the garbage collector, in bytes. */
const largeBytes = 32 * 1024

/** Frees what is transferred to it, because nobody can receive it (HTML, message port post message steps). */
let closedPort: MessagePort | undefined

/**
 * Frees the memory of a large buffer that nobody reads any more; its length is 0 from now on. The garbage
 * collector would free it too. But V8 marks the whole heap whenever 24 MB of such memory wait, which costs
 * more than reading the messages. A buffer that shares its memory is left alone.
 */
const free = ({ buffer, length }: Buffer): void => {
  if (length < largeBytes || length < buffer.byteLength || !(buffer instanceof ArrayBuffer)) return
  if (closedPort === undefined) {
    closedPort = new MessageChannel().port1
    closedPort.close()
  }
  closedPort.postMessage(undefined, [buffer])
}

/** Results whose reader allocated their bytes, and which alone hold those bytes. */
const owners = new WeakSet<Frame>()

/**
 * Marks the frame as the owner of its bytes. Only the reader of a server's bytes calls this, with the last
 * frame that it makes of them. A frame that is made of another one is no owner, even with the same bytes.
 * Only tools' results are marked: what is kept of them (a digest, a record) is made before they are sent.
 */
export const owning = (frame: Frame): Frame => {
  const { message, bytes } = frame
  const isLong = message.kind === 'result' && bytes.length >= largeBytes
  if (isLong && isArray(member(message.result, 'content'))) owners.add(frame)
  return frame
}

/** Frees the bytes of a frame that was sent, if it owns them. */
export const release = (frame: Frame): void => {
  if (owners.delete(frame)) free(frame.bytes)
}

/**
 * Joins pieces up to a limit. The result may share their memory, so the pieces must not be modified. Large
 * pieces are freed when they were copied.
 */
export class Gathering {
  #pieces: Buffer[] = []
  #size = 0
  #expected: number
  /** Buffer of the announced size, and how much of it is filled. */
  #room: Buffer | undefined
  #filled = 0
  /** Set beyond the limit. */
  #ends: { readonly head: Buffer; readonly tail: Buffer } | undefined

  /** @param expected announced size of the first result, in bytes */
  constructor(private readonly maxBytes: number, expected = 0) {
    this.#expected = expected > long && expected <= maxBytes ? expected : 0
  }

  get size(): number {
    return this.#size
  }

  add(piece: Buffer): void {
    if (piece.length === 0) return
    this.#size += piece.length
    if (this.#ends !== undefined) {
      const { head, tail } = this.#ends
      // With a small limit, the head may still be short.
      this.#ends = { head: head.length < kept ? firstOf([head, piece]) : head, tail: lastOf([tail, piece]) }
      return
    }
    this.#pieces.push(piece)
    if (this.#size > this.maxBytes) {
      this.#ends = { head: firstOf(this.#pieces), tail: lastOf(this.#pieces) }
      this.#pieces = []
    } else if (this.#size <= this.#expected && this.#size >= this.#expected * earnest) this.#fill()
    else this.#join()
  }

  /** Returns the joined pieces, undefined when there were none, and begins anew. */
  take(): Gathered | undefined {
    const size = this.#size
    const ends = this.#ends
    const [first, ...more] = this.#pieces
    this.#pieces = []
    this.#size = this.#expected = this.#filled = 0
    this.#ends = this.#room = undefined
    if (ends !== undefined) return { kind: 'oversized', ...ends, size }
    if (first === undefined || more.length === 0) return first && { kind: 'whole', bytes: first }
    const pieces = [first, ...more]
    const bytes = Buffer.concat(pieces, size)
    // The last piece may be a part of a chunk whose rest is still to be read.
    for (const piece of pieces.slice(0, -1)) free(piece)
    return { kind: 'whole', bytes }
  }

  #fill(): void {
    this.#room ??= Buffer.allocUnsafeSlow(this.#expected)
    const added = this.#filled === 0 ? this.#pieces : this.#pieces.slice(1)
    for (const piece of added) {
      // A chunk of a body with an announced size belongs to that body alone, so even the last piece is freed.
      this.#filled += piece.copy(this.#room, this.#filled)
      free(piece)
    }
    this.#pieces = [this.#room.subarray(0, this.#filled)]
  }

  // A piece is joined only with a shorter or equal one before it: each byte is copied a logarithmic number of
  // times.
  #join(): void {
    for (;;) {
      const last = this.#pieces.at(-1)
      const before = this.#pieces.at(-2)
      if (last === undefined || before === undefined) return
      if (last.length < before.length || last.length > small) return
      this.#pieces.splice(-2, 2, Buffer.concat([before, last]))
    }
  }
}

const firstOf = (pieces: readonly Buffer[]): Buffer =>
  Buffer.concat(pieces, Math.min(kept, pieces.reduce((size, piece) => size + piece.length, 0)))

const lastOf = (pieces: readonly Buffer[]): Buffer => {
  const last: Buffer[] = []
  let size = 0
  for (let index = pieces.length - 1; index >= 0 && size < kept; index--) {
    const piece = pieces[index]?.subarray(-(kept - size))
    if (piece === undefined) break
    last.unshift(piece)
    size += piece.length
  }
  return Buffer.concat(last)
}

/** Parses one message; a large one in several turns of the event loop, which makes the result a promise. */
export const parseInTurns = (bytes: Buffer, limits: FrameLimits): Frame | Promise<Frame> => {
  const frame = readFrame(bytes, limits)
  return isReading(frame) ? finished(frame) : frame
}

export const finished = async (reading: FrameReading): Promise<Frame> => {
  for (;;) {
    await new Promise(setImmediate)
    const { done, value } = reading.next()
    if (done === true) return value
  }
}

export const requestKeys = ({ message }: Frame): readonly IdKey[] => {
  if (message.kind === 'batch') return message.members.flatMap(requestKeys)
  return message.kind === 'request' ? [message.key] : []
}

/** The ids of the requests that a message answers. */
export const responseKeys = ({ message }: Frame): readonly IdKey[] => {
  if (message.kind === 'batch') return message.members.flatMap(responseKeys)
  if (message.kind === 'page') return message.key === undefined ? [] : [message.key]
  return message.kind === 'result' || message.kind === 'error' ? [message.key] : []
}
