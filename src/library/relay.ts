import { randomUUID } from 'node:crypto'
import type { Checked, Subject } from '../core/check.js'
import {
  type Effect as CoreEffect, type Event as CoreEvent, type Named, NamedExchanges,
} from '../core/event.js'
import { Batches } from '../core/batches.js'
import { rules } from '../rules/index.js'
import { type JudgeOptions, readOptions } from './options.js'

/** What can happen. An exchange is named as its embedder likes, the whole of a pipe `'stdio'`. */
export type Event = Named<CoreEvent>

/** What is to be done. */
export type Effect = Named<CoreEffect>

/** The pure core: it is handed what happened, and returns what is to be done, in order. */
export interface Relay {
  /** @param now a monotonic clock, in milliseconds */
  handle(event: Event, now: number): readonly Effect[]
  /** True while a request of the client's waits to be sent to the server: the way there must stay open. */
  readonly holding: boolean
}

export interface RelayOptions extends JudgeOptions {
  /** Names the session in the records. Default: a random UUID. */
  readonly session?: string
  /** Each exchange has ids of its own (HTTP without a session). Default: false. */
  readonly stateless?: boolean
  /** What a check says, where that is known at once. Default: nothing is, and each is asked for by the effect `check`. */
  readonly checkNow?: (subject: Subject) => Checked | undefined
}

/**
 * A relay with every rule, by a preset policy. It does no IO and has no clock: whoever embeds it performs the effects.
 * @throws CustomsError BAD_CONFIG, naming the option
 */
export const createRelay = (options: RelayOptions = {}): Relay => {
  const { limits: { listMs, requestMs, tools: maxTools }, ...judgement } = readOptions(options, { session: 'string', stateless: 'boolean', checkNow: 'function' })
  const { session = randomUUID(), stateless = false, checkNow = () => undefined } = options
  const relay = new Batches({ ...judgement, session, stateless, nonce: randomUUID(), rules, listMs, requestMs, maxTools, intent: false, checkNow })
  const exchanges = new NamedExchanges()
  return {
    handle: (event, now) =>
      relay
        .handle('exchange' in event ? { ...event, exchange: exchanges.of(event.exchange) } : event, now)
        .map(effect => ('exchange' in effect ? { ...effect, exchange: effect.exchange.name } : effect)),
    get holding() {
      return relay.holding
    },
  }
}
