import type { Exchange, HttpEvent } from '#relay/core/vocabulary.js'
import type { Frame, FrameLimits } from '#relay/protocol/frame.js'
import type { JsonObject } from '#relay/protocol/json.js'
import type { Request } from '#relay/protocol/json-rpc.js'
import type { TransportEvent } from '#relay/transport/transport.js'

/**
 * Translates between a client of one era and a relay that speaks the server's era (docs/eras.md). A state
 * machine without IO, clock and randomness.
 */
export interface Translator {
  /** @returns what happens in place of the event; undefined: the event passes, which is so within one era */
  handle(event: EraEvent): readonly EraAction[] | undefined
}

export type EraEvent =
  /** Of the client's transport. `drained` stays in the stage. */
  | { readonly from: 'client'; readonly event: TransportEvent }
  /** Of the relay: the calls of `Transport`. */
  | { readonly from: 'relay'; readonly type: 'frame'; readonly exchange: Exchange; readonly frame: Frame }
  | { readonly from: 'relay'; readonly type: 'hand'; readonly event: HttpEvent }
  | { readonly from: 'relay'; readonly type: 'complete'; readonly exchange: Exchange }
  /** The relay has refused a request of the server: `Transport.refused`. */
  | { readonly from: 'refusal'; readonly exchange: Exchange; readonly request: Request }
  | { readonly from: 'timer'; readonly timer: string }
  /** The session ends: what the relay does not know of gets its answer now. */
  | { readonly from: 'closing' }

/** Performed in order. */
export type EraAction =
  /** The relay gets the event as if the client's transport had reported it. */
  | { readonly type: 'report'; readonly event: TransportEvent }
  /** To the client, on an exchange of its transport. */
  | { readonly type: 'send'; readonly exchange: Exchange; readonly frame: Frame }
  | { readonly type: 'hand'; readonly event: HttpEvent }
  | { readonly type: 'complete'; readonly exchange: Exchange }
  | { readonly type: 'start-timer'; readonly timer: string; readonly ms: number }
  | { readonly type: 'stop-timer'; readonly timer: string }
  /** A tool cannot be translated, so that the client does not get it. */
  | { readonly type: 'left-out'; readonly tool: string }
  /** The translation begins. Tells the operator, once. */
  | { readonly type: 'began'; readonly client: string; readonly server: string }

export interface EraOptions {
  /** The server's name in the configuration. */
  readonly server: string
  readonly limits: FrameLimits
  /** An id for a request of ours. It cannot be guessed, so it is no other request's. */
  readonly newId: () => string
  /** Makes the `Mcp-Session-Id` of a client; undefined where its transport has made one, or needs none. */
  readonly newSessionId?: (() => string) | undefined
  /** Many clients share the session, and send no session id. */
  readonly isShared: boolean
  /** The output schema of a tool, as the catalogue has it; undefined while it is not known. */
  readonly outputSchemaOf: (tool: string) => JsonObject | boolean | undefined
}

export type MakeTranslator = (options: EraOptions) => Translator

/** An exchange for what is not sent in the client's own words. No client sees it. */
export class OwnExchange implements Exchange {
  constructor(readonly name: string, readonly context: string | undefined) {}
}
