import type { Batch, ErrorResponse, IdKey, Notification, Page, Request, Result, Unusable } from './json-rpc.js'

/** What is wrong with a frame as such; `rules/wire.ts` makes findings of it. */
export interface Fault {
  readonly kind: 'json' | 'json-rpc' | 'ambiguous' | 'size' | 'http'
  /** JSON Pointer into the frame; empty for the whole. */
  readonly path: string
  /** Ours; text from the wire appears in it only through `quote`. */
  readonly message: string
}

export type Message = Request | Notification | Result | ErrorResponse | Batch<Frame> | Unusable | Page

/** One message as it crossed the wire: its bytes, and the one reading of them on which everything is decided. */
export interface Frame {
  /** Exactly as received, without the line end or the fields of the SSE event. */
  readonly bytes: Buffer
  readonly message: Message
  readonly faults: readonly Fault[]
  /** What the scan of the bytes found; undefined of a frame that we made or changed. */
  readonly facts?: Facts | undefined
  /** Further ids of a frame that names more than one: a duplicated `id`. */
  readonly otherKeys?: readonly IdKey[] | undefined
  /** An answer of ours, in the place of the server's or without one. */
  readonly own?: true
  /** What a transport wrapped round it: handed on unread, with whatever leaves in its place, for the transport on the other side. */
  readonly envelope?: Envelope
}

/** Found once, when the bytes are read: nobody looks through them again for it. */
export interface Facts {
  /** No string holds a character that may be hidden. */
  readonly plain: boolean
  /** No key is there twice, and of all members one alone is an object or array: it can be cut out from both ends, unread. */
  readonly onlyContainer: boolean
  /** Of a tool's result, the blocks of its content whose text is that of structuredContent, white space apart: by index, some of them. */
  readonly repeats?: readonly number[]
}

export interface Envelope {
  /** Of the HTTP request that it came in, by lower-case name. */
  readonly headers?: ReadonlyMap<string, string>
  /** The head of the HTTP response whose one JSON text it is. */
  readonly response?: ResponseHead
  /** The lines of the SSE event's fields other than `data`, written anew from what was parsed. */
  readonly event?: string
  /** Of a request that is followed through systems. */
  readonly trace?: Trace | undefined
}

/** Where a request belongs for those who follow it through systems; who made it knows more of it, and nobody else needs to. */
export interface Trace {
  /** What tells the next system so, by HTTP (W3C Trace Context): asked when the request leaves for it, and never throws. The names in lower case. */
  headers(): ReadonlyMap<string, string>
}

export interface ResponseHead {
  readonly status: number
  /** End-to-end headers by lower-case name; one that was sent more than once has more than one value. */
  readonly headers: ReadonlyMap<string, readonly string[]>
}

export interface FrameLimits {
  /** Longest frame, in bytes. */
  readonly messageBytes: number
  /** Deepest nesting of arrays and objects. */
  readonly depth: number
  /** Longest frame that is judged from its bytes, and not parsed as far as nothing is wrong with it; 0 for none. */
  readonly judgedBytes?: number
}
