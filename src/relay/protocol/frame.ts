import type {
  Batch, ErrorResponse, HttpPage, Id, IdKey, Notification, Request, Result, Unusable,
} from './json-rpc.js'

/** A fault of the frame itself; rules/wire.ts turns it into a finding. */
export interface Fault {
  readonly kind: 'json' | 'json-rpc' | 'ambiguous' | 'size' | 'http'
  /** JSON Pointer into the frame; empty for the whole. */
  readonly path: string
  /** Text from the wire appears in it only through `quote`. */
  readonly message: string
  /** Never stops the frame. */
  readonly isMinor?: true
}

export type Message = Request | Notification | Result | ErrorResponse | Batch<Frame> | Unusable | HttpPage

/** One message as received: its bytes, and what they were parsed to. */
export interface Frame {
  /** Exactly as received, without the line end or the fields of the SSE event. */
  readonly bytes: Buffer
  readonly message: Message
  readonly faults: readonly Fault[]
  /** Undefined for a frame that we made or changed. */
  readonly facts?: Facts | undefined
  /** Further ids of a frame that names more than one: a duplicated `id`. */
  readonly otherKeys?: readonly IdKey[] | undefined
  /** Made by the relay. A frame that the relay changed is still its sender's. */
  readonly relayMade?: true
  /** Data for the transport on the other side. A frame that is sent instead of this one gets it too. */
  readonly envelope?: Envelope
}

/** Found once, when the bytes are read. */
export interface Facts {
  /** No string has a character that may hide text. */
  readonly plain: boolean
  /** Only one member is an object or array, so that it can be cut out unparsed. No key is duplicated. */
  readonly onlyContainer: boolean
  /** Indexes of some blocks of content whose text is that of structuredContent, ignoring white space. */
  readonly repeats?: readonly number[]
}

export interface Envelope {
  /** Headers of the HTTP request that it came in, by lower-case name. */
  readonly headers?: ReadonlyMap<string, string>
  /** The scopes that the client's token grants; undefined where scopes are not checked. */
  readonly scopes?: readonly string[] | undefined
  /** All scopes that the call needs. Only set on an error for a call whose client lacks a scope. */
  readonly neededScopes?: readonly string[]
  /** A key for the client that sent it; undefined where there is only one. */
  readonly client?: string | undefined
  /** The head of the HTTP response whose one JSON text it is. */
  readonly response?: ResponseHead
  /** The lines of the SSE event's fields other than `data`, serialised after parsing. */
  readonly event?: string
  /** Of an error of the relay: the server's request that the client did not get. */
  readonly refused?: Request
  /** The client's revision, of a message that the relay has translated from it. */
  readonly translatedFrom?: string | undefined
  /** The client's id of a request that the relay sent under another id; for records only. */
  readonly clientId?: Id | undefined
  /** Another request of the client has this id, so that the relay sent it under another id. */
  readonly isRepeated?: boolean | undefined
  /** Of a request of 2026-07-28 that the relay has translated: its headers, to compare with the call only. */
  readonly modernHeaders?: ReadonlyMap<string, string> | undefined
  /** Of a request that is traced. */
  readonly trace?: Trace | undefined
}

/** A request's place in a distributed trace; telemetry/ knows more of it. */
export interface Trace {
  /** HTTP headers of W3C Trace Context for the next system, by lower-case name. Never throws. */
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
  /** Longest frame that `readFast` reads; 0 turns it off. */
  readonly judgedBytes?: number
  /** The table by which `structuredContent` of the response with this id will be checked. Never throws. */
  readonly expected?: (key: IdKey, length: number) => Buffer | undefined
}
