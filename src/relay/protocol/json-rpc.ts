import type { JsonObject } from './json.js'

export type Id = string | number

/**
 * The spelling by which ids are matched: two ids are the same request's when their keys are equal.
 * A number keeps its spelling on the wire, so that `1.0` is not `1` and big integers stay apart; a string is
 * compared by value, as `JSON.stringify` writes it, so that `"1"` is not `1`.
 */
export type IdKey = string

export interface Request {
  readonly kind: 'request'
  readonly id: Id
  readonly key: IdKey
  readonly method: string
  readonly params: JsonObject | undefined
}

export interface Notification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: JsonObject | undefined
}

export interface Result {
  readonly kind: 'result'
  readonly id: Id
  readonly key: IdKey
  readonly result: JsonObject
}

export interface ErrorResponse {
  readonly kind: 'error'
  readonly id: Id
  readonly key: IdKey
  readonly error: JsonObject & { readonly code: number; readonly message: string }
}

/** A JSON-RPC batch (2025-03-26 only); each member is a frame of its own, cut from the batch's bytes. */
export interface Batch<Member> {
  readonly kind: 'batch'
  readonly members: readonly Member[]
}

/**
 * A message that MCP does not allow. `keys`: the ids that could be read from it, likeliest first.
 * `isWholeResponse`: it is the whole HTTP response to the requests with these ids.
 */
export interface Unusable {
  readonly kind: 'unusable'
  readonly keys: readonly IdKey[]
  readonly isWholeResponse?: true
}

/**
 * The body of an HTTP error that is not JSON-RPC: a page for people, or another kind of JSON. It is forwarded
 * unchanged. `key`: the request that it answers; undefined when it answers none.
 */
export interface HttpPage {
  readonly kind: 'page'
  readonly key: IdKey | undefined
  readonly text: string
}

/** Codes of ours lie outside the range that JSON-RPC reserves (-32768 to -32000). */
export const errorCode = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
  /** The message was blocked, or could not be used. */
  blocked: -31000,
  /** The server is gone, or its stream was cut. */
  gone: -31001,
  /** The server did not answer in time. */
  late: -31002,
} as const
