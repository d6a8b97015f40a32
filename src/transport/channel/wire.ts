import type { Duplex } from 'node:stream'

/**
 * The channel between the front and a relay process: one socket pair, which the relay process inherits as descriptor 3. It
 * has no name, so nobody else can write to it, and both ends are of the same build.
 *
 * The front keeps the HTTP side: it admits a request and makes an exchange of it. The relay process runs the endpoints as
 * one process would (`front/endpoints.ts`), with a request and a response that come over the channel (`exchange.ts`)
 * in the place of Node's own (`front.ts` is the other end). So sessions, statuses and streams are made in one place.
 *
 * A frame is a length (4 bytes), a kind (1), the number of its exchange (4) and its payload:
 *   front -> relay   open (head), body and bodyEnd, gone (the HTTP response is over), unread (its client may not have got it)
 *   relay -> front   head, flush, piece, last, cut, goOn (100 Continue), owes (the id that waits), keep and leave (a process)
 *   both             taken (so many bytes of the exchange were passed on), ping and pong, note (a call, an answer: `calls.ts`)
 * Heads are JSON, which the relay process makes of its own values and the front reads; neither holds a message.
 *
 * Frames of one turn of the event loop are written together. A body is handed on as it comes, also a part of a frame, and
 * is not copied. Back-pressure belongs to an exchange: at most `windowBytes` of its body, in each direction, are sent and
 * not yet taken; the rest waits with the sender, which counts it as Node counts what a socket has not taken. So a slow
 * client delays neither others nor heartbeats, and neither end holds more than a window for each exchange.
 */
export const kinds = [
  'open', 'body', 'bodyEnd', 'gone', 'unread', 'head', 'flush', 'piece', 'last', 'cut', 'goOn', 'owes', 'keep', 'leave', 'taken', 'ping', 'pong', 'note',
] as const
export type Kind = (typeof kinds)[number]

/** Bytes of one body that are on their way in one direction. */
export const windowBytes = 256 * 1024

const headBytes = 9
/** Longest payload that is kept until it is whole, in bytes: a configuration, a list of records. */
const longestWhole = 64 * 1024 * 1024
/** Shorter payloads are copied together, in bytes; and so much is taken for that at a time. */
const shortBytes = 8 * 1024
const batchBytes = 64 * 1024
/** What is not urgent waits so long at most, in milliseconds. */
const lateMs = 2

const codes: ReadonlyMap<Kind, number> = new Map(kinds.map((kind, code) => [kind, code]))
/** Handed on in parts. */
const isStreamed: ReadonlySet<Kind | undefined> = new Set<Kind>(['body', 'piece', 'last'])
const nothing = Buffer.alloc(0)

export interface WireEvents {
  /** @param isWhole false: more of the same frame follows */
  readonly frame: (kind: Kind, exchange: number, payload: Buffer, isWhole: boolean) => void
  /** The other end is gone, or has sent what it may not. */
  readonly closed: () => void
}

/** One end of the channel: frames in, frames out. */
export class Wire {
  readonly #stream: Duplex
  readonly #events: WireEvents
  #queue: Buffer[] = []
  /** Short frames are written here, one behind the other; what is behind `#written` is not in the queue yet. */
  #batch = nothing
  #used = 0
  #written = 0
  #isDue = false
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** What came of a frame that is not whole. */
  #parts: Buffer[] = []
  #partsBytes = 0
  /** The frame that is being read; undefined: its head is to come. */
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
   * @param urgent false: with whatever is sent next, and soon in any case; a write of its own would wake the other process for it
   */
  send(kind: Kind, exchange: number, payload: Buffer = nothing, urgent = true): void {
    if (this.#closed) return
    if (urgent) this.#flushSoon()
    else this.#timer ??= setTimeout(() => this.flush(), lateMs)
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
    // At most three bytes for each unit of UTF-16.
    if (text.length * 3 > shortBytes) return this.send(kind, exchange, Buffer.from(text))
    if (this.#closed) return
    this.#flushSoon()
    const at = this.#head(kind, exchange, 0, text.length * 3)
    const length = this.#batch.write(text, this.#used)
    this.#batch.writeUInt32LE(length, at)
    this.#used += length
  }

  /** @param bytes of the body of the exchange that were passed on */
  taken(exchange: number, bytes: number): void {
    const payload = Buffer.allocUnsafe(4)
    payload.writeUInt32LE(bytes, 0)
    // The sender has room for three quarters of a window meanwhile.
    this.send('taken', exchange, payload, bytes >= windowBytes / 4)
  }

  /** Writes what is not urgent, where nothing urgent will take it along in this turn. */
  flushLate(): void {
    if (this.#timer !== undefined && !this.#isDue) this.flush()
  }

  /** Writes what waits for the end of the turn. */
  flush(): void {
    this.#isDue = false
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#endBatch()
    const queue = this.#queue
    if (this.#closed || queue.length === 0) return
    this.#queue = []
    if (queue.length > 1) this.#stream.cork()
    for (const one of queue) this.#stream.write(one)
    if (queue.length > 1) this.#stream.uncork()
  }

  /** @param room for what of the payload is copied behind it @returns where it stands */
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
    setImmediate(() => this.flush())
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
    while (at < chunk.length && !this.#closed) at = this.#kind === undefined ? this.#readHead(chunk, at) : this.#readPayload(chunk, at)
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
    if (this.#kind === undefined || (this.#left > longestWhole && !isStreamed.has(this.#kind))) this.close()
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
