import { member, type JsonObject } from '#relay/protocol/json.js'
import type { ErrorResponse } from '#relay/protocol/json-rpc.js'
import { clip } from '#relay/protocol/quote.js'
import { firstModern } from '#relay/protocol/revisions/index.js'
import type { ResponseFrame } from './frames.js'
import type { MergedServer } from './names.js'

/** The connection of one client session to one server: a session of its own with that server's relay. */
export class Leg {
  /** `opening`: the server was asked to begin, and has not answered. */
  state: 'closed' | 'opening' | 'ready' | 'down' = 'closed'
  /** Why it is down. */
  reason = 'it is not connected'
  /** Undefined while they are not known: a modern client makes no handshake. */
  capabilities: JsonObject | undefined
  instructions: string | undefined
  version: string = firstModern
  openedAt = 0
  /** Failures in a row. */
  failures = 0
  isTold = false
  /** It refused the client's era. */
  isOfOtherEra = false
  /** The number of the last request that asks what it can do. */
  greeting = 0
  /** Called once when it is no longer opening. */
  readonly waiting = new Set<() => void>()

  constructor(public server: MergedServer) {}

  get name(): string {
    return this.server.name
  }

  /** Whether the server has a capability, or may have it. */
  has(capability: string): boolean {
    return this.capabilities === undefined || member(this.capabilities, capability) !== undefined
  }
}

/** The answer to a request of ours, or the reason why there is none. */
export type LegAnswer = ResponseFrame | string

/** The first pause before a server is tried again, and the longest, in milliseconds. */
export const firstPauseMs = 1000
export const longestPauseMs = 60_000

/** The pause before a failed server is tried again. */
export const pauseMs = ({ failures }: { readonly failures: number }): number =>
  Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, failures - 1))

export const inSeconds = (ms: number): number => Math.round(ms / 100) / 10

/** The error of a server, in words of ours. */
export const errorIn = ({ message }: ErrorResponse['error']): string => `it answered with the error: ${clip(message)}`
