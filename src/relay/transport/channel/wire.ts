import type { Duplex } from 'node:stream'
import { realTimers } from '../timers.js'

/**
 * The channel between the front and a relay process: a socket pair, which the relay process inherits as
 * descriptor 3. No other process can open it, and both ends are of the same build.
 *
 * The front owns HTTP: it admits a request and gives it an exchange number. The relay process runs the
 * endpoints (`front/endpoints.ts`) as a single process would, but its requests and responses come over the
 * channel (`relay-end.ts`, `exchange.ts`); `front-end.ts` connects them with Node's.
 *
 * A frame is a length (4 bytes), a kind (1), the number of its exchange (4) and its payload. From the front:
 *   open (head), body, bodyEnd, gone (the HTTP response is over; 1: the client got its head), taken (bytes of
 *   the response that its client took)
 * From the relay process:
 *   head, flush, piece, last, cut, continue (100 Continue), pending and answered (ids of requests), leave
 *   (the place of a request is free again: sent once, when the session that it began is closed, or, where it
 *   began none, after its `gone` at the latest)
 * From both: note (`calls.ts`)
 * The payloads of `open` and `head` are JSON. They hold no MCP message.
 *
 * Frames of one turn of the event loop are written together. Bodies are passed on in parts as they come. A
 * response has at most `windowBytes` that are sent and not yet taken, and the relay process keeps the rest: a
 * slow client delays neither other clients nor heartbeats. A relay process reads all requests that were sent,
 * within the quota for bodies; while it does not read, they stay in the sockets of their clients.
 */
export const kinds = [
  'open', 'body', 'bodyEnd', 'gone', 'head', 'flush', 'piece', 'last', 'cut', 'continue', 'pending',
  'answered', 'leave', 'taken', 'note',
] as const
export type WireKind = (typeof kinds)[number]

/** Bytes of one response that may be sent and not yet taken. */
export const windowBytes = 256 * 1024

const headBytes = 9
/** Longest payload, in bytes: a configuration, a list of records. */
const maxBytes = 64 * 1024 * 1024
/** Frames of one turn with fewer bytes than this are joined, and written at once. */
const joinedBytes = 64 * 1024
/** With more bytes than this that the other process has not read, bodies wait. */
const fullBytes = 1024 * 1024
/** Longest delay of frames that are not urgent, in milliseconds. */
const lateMs = 2

const codes: ReadonlyMap<WireKind, number> = new Map(kinds.map((kind, code) => [kind, code]))
/** Bodies: their frames are not kept until they are whole, but passed on in parts. */
const partOf: ReadonlyMap<WireKind, WireKind> = new Map([['body', 'body'], ['piece', 'piece'], ['last', 'piece']])
const nothing = Buffer.alloc(0)

interface WireEvents {
  readonly frame: (kind: WireKind, exchange: number, payload: Buffer) => void
  /** The other end is gone, or has broken the protocol. */
  readonly closed: () => void
}

/** One end of the channel: frames in, frames out. */
export class Wire {
  /** Heads and payloads of frames that are not written yet. */
  #queue: Buffer[] = []
  #queuedBytes = 0
  readonly #stalled: (() => void)[] = []
  #isDue = false
  #timer: (() => void) | undefined
  #closed = false
  /** The body frame that is being read, and how many of its bytes are still to come. */
  #body: readonly [kind: WireKind, exchange: number] = ['body', 0]
  #bodyBytes = 0
  /** Bytes that were read and are no whole frame, and how many are needed for one. */
  #parts: Buffer[] = []
  #partsBytes = 0
  #neededBytes = headBytes

  constructor(private readonly stream: Duplex, private readonly events: WireEvents) {
    stream.on('data', (chunk: Buffer) => this.#read(chunk))
    stream.on('drain', () => {
      for (const act of this.#stalled.splice(0)) act()
    })
    stream.on('error', () => this.close())
    stream.on('close', () => this.close())
    stream.on('end', () => this.close())
  }

  /**
   * Sends a frame with the others of this turn.
   * @param urgent false: the frame waits up to `lateMs` for an urgent one, to spare the other process a
   * wake-up
   */
  send(kind: WireKind, exchange: number, payload: Buffer | string = nothing, urgent = true): void {
    if (this.#closed) return
    if (!urgent) this.#timer ??= realTimers.after(lateMs, () => this.flush())
    else if (!this.#isDue) {
      this.#isDue = true
      realTimers.endOfTurn(() => this.flush())
    }
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload
    const head = Buffer.allocUnsafe(headBytes)
    head.writeUInt32LE(bytes.length, 0)
    head[4] = codes.get(kind) ?? 0
    head.writeUInt32LE(exchange, 5)
    this.#queue.push(head, bytes)
    this.#queuedBytes += headBytes + bytes.length
  }

  sendJson(kind: WireKind, exchange: number, value: unknown): void {
    this.send(kind, exchange, JSON.stringify(value))
  }

  /** Reports how many bytes of the exchange's body were passed on. */
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
    const [queue, bytes] = [this.#queue, this.#queuedBytes]
    if (this.#closed || bytes === 0) return
    this.#queue = []
    this.#queuedBytes = 0
    if (bytes < joinedBytes) return void this.stream.write(Buffer.concat(queue, bytes))
    this.stream.cork()
    for (const one of queue) this.stream.write(one)
    this.stream.uncork()
  }

  /** The other process does not read. */
  get isFull(): boolean {
    return this.stream.writableLength + this.#queuedBytes > fullBytes
  }

  /** @param act called when everything was written; never when the channel is closed before */
  onceFree(act: () => void): void {
    this.#stalled.push(act)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.stream.destroy()
    this.events.closed()
  }

  #read(chunk: Buffer): void {
    const body = chunk.subarray(0, this.#bodyBytes)
    if (body.length > 0) this.#pass(...this.#body, body, this.#bodyBytes - body.length)
    if (body.length < chunk.length) this.#parts.push(chunk.subarray(body.length))
    this.#partsBytes += chunk.length - body.length
    if (this.#partsBytes < this.#neededBytes) return
    const [first = nothing, ...more] = this.#parts
    const bytes = more.length === 0 ? first : Buffer.concat(this.#parts, this.#partsBytes)
    const rest = bytes.subarray(this.#readFrames(bytes))
    this.#parts = rest.length === 0 ? [] : [rest]
    this.#partsBytes = rest.length
  }

  /** @returns the offset of the first frame that is not whole */
  #readFrames(bytes: Buffer): number {
    let at = 0
    this.#neededBytes = headBytes
    while (bytes.length - at >= headBytes && !this.#closed) {
      const length = bytes.readUInt32LE(at)
      const kind = kinds[bytes[at + 4] ?? -1]
      const exchange = bytes.readUInt32LE(at + 5)
      const [from, to] = [at + headBytes, at + headBytes + length]
      if (kind === undefined || (length > maxBytes && !partOf.has(kind))) {
        this.close()
        return at
      }
      if (to > bytes.length && !partOf.has(kind)) {
        this.#neededBytes = to - at
        return at
      }
      at = Math.min(to, bytes.length)
      this.#pass(kind, exchange, bytes.subarray(from, at), to - at)
    }
    return at
  }

  /** @param left how many bytes of the frame are still to come: only of a body */
  #pass(kind: WireKind, exchange: number, part: Buffer, left: number): void {
    this.#body = [kind, exchange]
    this.#bodyBytes = left
    this.events.frame(left > 0 ? (partOf.get(kind) ?? kind) : kind, exchange, part)
  }
}
