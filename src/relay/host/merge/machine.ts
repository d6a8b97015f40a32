import type { Exchange } from '#relay/core/vocabulary.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { IdKey } from '#relay/protocol/json-rpc.js'
import type { MergedFindings } from './findings.js'
import type { MergedServer } from './names.js'
import type { ClientLimits } from '#relay/profiles/limits.js'

/** What the configuration says of a merged session. */
export interface MergerSettings {
  /** In the order of the file. */
  readonly servers: readonly MergedServer[]
  /** Stands between a server's prefix and the names of its tools and prompts. */
  readonly separator: string
  readonly limitsOf: ClientLimits
  /** How long a list waits for a server, in milliseconds. */
  readonly listMs: number
  /** Most elements and bytes of a page of a merged list, and of what is read of one server at a time. */
  readonly maxItems: number
  readonly maxBytes: number
  readonly serverInfo: { readonly name: string; readonly version: string }
  /** Unguessable, and another after each reload. */
  readonly nonce: string
  /** Servers of the other era are translated for legacy clients at least. */
  readonly translates: boolean
}

export interface MergerOptions extends MergerSettings {
  /** Request ids are unique only within an exchange (HTTP without a session). */
  readonly isStateless: boolean
  /** A modern request to a leg has an exchange of its own (HTTP). */
  readonly hasExchanges: boolean
}

/** The input of the merger. */
export type MergeEvent =
  | { readonly type: 'client-frame'; readonly exchange: Exchange; readonly frame: Frame }
  /** The client reads no more on this exchange. */
  | { readonly type: 'exchange-ended'; readonly exchange: Exchange }
  | { readonly type: 'leg-frame'; readonly leg: string; readonly frame: Frame }
  /** A request on the leg will not be answered. */
  | { readonly type: 'leg-lost'; readonly leg: string; readonly key: IdKey; readonly reason: string }
  | { readonly type: 'leg-ended'; readonly leg: string; readonly reason: string }
  | { readonly type: 'timer-fired'; readonly timer: number }
  /** The configuration was replaced. */
  | { readonly type: 'settings-changed'; readonly settings: MergerSettings }

/** The output of the merger, to be performed in order. */
export type MergeEffect =
  /** Connects a leg anew; an earlier connection is closed. */
  | { readonly type: 'open' | 'close'; readonly leg: string }
  | { readonly type: 'send-to-leg'; readonly leg: string; readonly exchange: Exchange; readonly frame: Frame }
  /** Ends the leg's HTTP request: its client's has ended. */
  | { readonly type: 'abandon'; readonly leg: string; readonly exchange: Exchange; readonly key: IdKey }
  | { readonly type: 'send'; readonly exchange: Exchange; readonly frame: Frame }
  /** No message follows on this exchange. */
  | { readonly type: 'complete'; readonly exchange: Exchange }
  | { readonly type: 'start-timer'; readonly timer: number; readonly ms: number }
  | { readonly type: 'stop-timer'; readonly timer: number }
  /** A server is missing for a reason; undefined: it is not missing any more. */
  | { readonly type: 'missing'; readonly leg: string; readonly reason: string | undefined }
  /** What clients do not get of a merged list. */
  | ({ readonly type: 'found' } & MergedFindings)

/** Most open requests of servers, and subscriptions that are made again when their server comes back. */
export const maxOpen = 10_000

/** What the parts of the merger share. */
export interface Host {
  readonly options: MergerOptions
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  readonly emit: (effect: MergeEffect) => void
  /** @returns a function that stops the timer */
  readonly after: (ms: number, act: () => void) => () => void
}
