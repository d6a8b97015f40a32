import type { Duplex } from 'node:stream'
import { atEndOfTurn, realTimers } from '../timers.js'

/**
 * The channel between the front and a relay process: a socket pair, which the relay process inherits as
 * descriptor 3. No other process can open it, and both ends are of the same build.
 *
 * The front owns HTTP: it admits a request and gives it an exchange number. The relay process runs the
 * endpoints (`front/endpoints.ts`) as a single process would, but its requests and responses come over the
 * channel (`relay-end.ts`, `exchange.ts`); `front-end.ts` connects them with Node's.
 *
 * A frame is a length (4 bytes), a kind (1), the number of its exchange (4) and its payload. From the front:
 *   open (head), body, bodyEnd, gone (the HTTP response is over), unread (the client may not have got it)
 * From the relay process:
 *   head, flush, piece, last, cut, continue (100 Continue), pending and answered (ids of requests), keep and
 *   leave (a place)
 * From both:
 *   taken (bytes of the exchange that were passed on), ping and pong, note (`calls.ts`)
 * The payloads of `open` and `head` are JSON. They hold no MCP message.
 *
 * Frames of one turn of the event loop are written together. Bodies are passed on in parts as they come,
 * without copies. Backpressure belongs to an exchange: in each direction, at most `windowBytes` of its body
 * are sent and not yet taken; the sender keeps the rest. So a slow client delays neither other clients nor
 * heartbeats.
 */
export const kinds = [
  'open', 'body', 'bodyEnd', 'gone', 'unread', 'head', 'flush', 'piece', 'last', 'cut', 'continue', 'pending',
  'answered', 'keep', 'leave', 'taken', 'ping', 'pong', 'note',
] as const
export type Kind = (typeof kinds)[number]

/** Bytes of one body that may be sent in one direction and not yet taken. */
export const windowBytes = 256 * 1024

const headBytes = 9
/** Longest payload that is not streamed, in bytes: a configuration, a list of records. */
const maxWholeBytes = 64 * 1024 * 1024
/** The longest payload that is copied into a batch, and the size of a batch, in bytes. */
const shortBytes = 8 * 1024
const batchBytes = 64 * 1024
/** Longest delay of frames that are not urgent, in milliseconds. */
const lateMs = 2

const codes: ReadonlyMap<Kind, number> = new Map(kinds.map((kind, code) => [kind, code]))
/** Passed on in parts. */
const isStreamed: ReadonlySet<Kind | undefined> = new Set<Kind>(['body', 'piece', 'last'])
const nothing = Buffer.alloc(0)

interface WireEvents {
  /** @param isWhole false: more parts of the same frame follow */
  readonly frame: (kind: Kind, exchange: number, payload: Buffer, isWhole: boolean) => void
  /** The other end is gone, or has broken the protocol. */
  readonly closed: () => void
}

/** One end of the channel: frames in, frames out. */
export class Wire {
  readonly #stream: Duplex
  readonly #events: WireEvents
  #queue: Buffer[] = []
  /** Short frames are written here one after another; `#written` to `#used` are not queued yet. */
  #batch = nothing
  #used = 0
  #written = 0
  #isDue = false
  #timer: (() => void) | undefined
  #closed = false
  /** Parts of an incomplete head or payload. */
  #parts: Buffer[] = []
  #partsBytes = 0
  /** Kind of the frame that is being read; undefined before its head is complete. */
  #kind: Kind | undefined
  #exchange = 0
  #left = 0

  constructor(stream: Duplex, events: WireEvents) {
    this.#stream = stream
    this.#events = events
    stream.on('data', (chunk: Buffer) => this.#read(chunk))
    stream.on('error', () => this.close())
    stream.on('close', () => this.close())
    stream.on('end', () => this.close())
  }

  /**
   * Sends a frame with the others of this turn.
   * @param urgent false: the frame waits up to `lateMs` for an urgent one, to spare the other process a
   * wake-up
   */
  send(kind: Kind, exchange: number, payload: Buffer = nothing, urgent = true): void {
    if (this.#closed) return
    if (urgent) this.#flushSoon()
    else this.#timer ??= realTimers.after(lateMs, () => this.flush())
    const isShort = payload.length <= shortBytes
    this.#head(kind, exchange, payload.length, isShort ? payload.length : 0)
    if (isShort) this.#used += payload.copy(this.#batch, this.#used)
    else {
      this.#endBatch()
      this.#queue.push(payload)
    }
  }

  sendJson(kind: Kind, exchange: number, value: unknown): void {
    const text = JSON.stringify(value)
    // UTF-8 has at most three bytes for each unit of UTF-16.
    if (text.length * 3 > shortBytes) return this.send(kind, exchange, Buffer.from(text))
    if (this.#closed) return
    this.#flushSoon()
    const at = this.#head(kind, exchange, 0, text.length * 3)
    const length = this.#batch.write(text, this.#used)
    this.#batch.writeUInt32LE(length, at)
    this.#used += length
  }

  /** Reports that so many bytes of the exchange's body were passed on. */
  taken(exchange: number, bytes: number): void {
    const payload = Buffer.allocUnsafe(4)
    payload.writeUInt32LE(bytes, 0)
    // Less than a quarter of the window is not urgent: the sender can still send the rest.
    this.send('taken', exchange, payload, bytes >= windowBytes / 4)
  }

  /** Writes frames that are not urgent, unless they will be written in this turn anyway. */
  flushLate(): void {
    if (this.#timer !== undefined && !this.#isDue) this.flush()
  }

  /** Writes the queued frames. */
  flush(): void {
    this.#isDue = false
    this.#timer?.()
    this.#timer = undefined
    this.#endBatch()
    const queue = this.#queue
    if (this.#closed || queue.length === 0) return
    this.#queue = []
    if (queue.length > 1) this.#stream.cork()
    for (const one of queue) this.#stream.write(one)
    if (queue.length > 1) this.#stream.uncork()
  }

  /** @param room for the part of the payload that is copied after the head @returns offset of the head */
  #head(kind: Kind, exchange: number, length: number, room: number): number {
    if (this.#used + headBytes + room > this.#batch.length) {
      this.#endBatch()
      this.#batch = Buffer.allocUnsafeSlow(batchBytes)
      this.#used = 0
      this.#written = 0
    }
    const at = this.#used
    this.#batch.writeUInt32LE(length, at)
    this.#batch[at + 4] = codes.get(kind) ?? 0
    this.#batch.writeUInt32LE(exchange, at + 5)
    this.#used += headBytes
    return at
  }

  #flushSoon(): void {
    if (this.#isDue) return
    this.#isDue = true
    atEndOfTurn(() => this.flush())
  }

  #endBatch(): void {
    if (this.#used > this.#written) this.#queue.push(this.#batch.subarray(this.#written, this.#used))
    this.#written = this.#used
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#stream.destroy()
    this.#events.closed()
  }

  #read(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length && !this.#closed) {
      at = this.#kind === undefined ? this.#readHead(chunk, at) : this.#readPayload(chunk, at)
    }
  }

  #readHead(chunk: Buffer, from: number): number {
    const to = from + headBytes - this.#partsBytes
    const isWhole = to <= chunk.length
    const part = chunk.subarray(from, to)
    if (!isWhole) {
      this.#keep(part)
      return chunk.length
    }
    const head = this.#partsBytes === 0 ? part : this.#whole(part)
    this.#left = head.readUInt32LE(0)
    this.#kind = kinds[head[4] ?? -1]
    this.#exchange = head.readUInt32LE(5)
    if (this.#kind === undefined || (this.#left > maxWholeBytes && !isStreamed.has(this.#kind))) this.close()
    else if (this.#left === 0) this.#done(nothing)
    return to
  }

  #readPayload(chunk: Buffer, from: number): number {
    const part = chunk.subarray(from, from + this.#left)
    this.#left -= part.length
    const isStream = isStreamed.has(this.#kind)
    if (this.#left === 0) this.#done(this.#partsBytes === 0 ? part : this.#whole(part))
    else if (isStream && this.#kind !== undefined) this.#events.frame(this.#kind, this.#exchange, part, false)
    else this.#keep(part)
    return from + part.length
  }

  #done(payload: Buffer): void {
    const kind = this.#kind
    this.#kind = undefined
    if (kind !== undefined) this.#events.frame(kind, this.#exchange, payload, true)
  }

  #keep(part: Buffer): void {
    this.#parts.push(part)
    this.#partsBytes += part.length
  }

  #whole(last: Buffer): Buffer {
    const whole = Buffer.concat([...this.#parts, last])
    this.#parts = []
    this.#partsBytes = 0
    return whole
  }
}
