import type { Frame } from '#protocol/frame.js'
import { member } from '#protocol/json.js'
import { errorCode, type IdKey } from '#protocol/json-rpc.js'
import { isCancellation } from '#protocol/message.js'
import type { Effect, Event, Exchange, Side } from './event.js'
import type { RelayOptions } from './options.js'
import { errorFrame } from './refusal.js'
import { parsedWeight } from './request.js'
import { Relay } from './relay.js'

type Send = Extract<Effect, { readonly type: 'send' }>

/** A batch from the client, until its requests are answered. */
interface Batch {
  readonly exchange: Exchange
  /** The ids of the requests in it. */
  readonly requestKeys: readonly IdKey[]
  /**
   * The parts of a batch that is not sent, until every member has a verdict. `passed`: the members that may
   * go to the server. `weight`: the memory of frame and members, counted in the session's ledger, in bytes.
   */
  unsent: {
    readonly frame: Frame
    readonly members: readonly Frame[]
    readonly passed: Frame[]
    readonly weight: number
  } | undefined
  readonly responses: Frame[]
  /** The memory of the batch, counted in the session's ledger, in bytes. */
  weight: number
}

/**
 * JSON-RPC batches (2025-03-26, Base Protocol, Batching) in front of a relay for single messages. A client's
 * batch is split. The members that pass go to the server together, and their responses go back as one batch.
 * A batch whose members all pass unchanged keeps its bytes, in both directions.
 */
export class Batches {
  readonly #relay: Relay
  readonly #open = new Set<Batch>()

  constructor(options: RelayOptions) {
    this.#relay = new Relay(options)
  }

  /** As `Relay.handle`. */
  handle(event: Event, now: number): readonly Effect[] {
    if (event.type !== 'frame-received' || event.frame.message.kind !== 'batch') {
      const effects = this.#relay.handle(event, now)
      return this.#open.size === 0 ? effects : this.#holdUntilComplete(effects, undefined)
    }
    const { from, exchange, frame } = event
    const { isAdmitted: isFine, effects } = this.#relay.admitBatch(from, exchange, frame, now)
    return isFine
      ? [...effects, ...this.#split(from, exchange, frame, event.frame.message.members, now)]
      : effects
  }

  get hasQueuedFrames(): boolean {
    return this.#relay.hasQueuedFrames
  }

  get hasAwaitedRequest(): boolean {
    return this.#relay.hasAwaitedRequest
  }

  get isAboveHighWater(): boolean {
    return this.#relay.isAboveHighWater
  }

  inputSchemaOf(tool: string): ReturnType<Relay['inputSchemaOf']> {
    return this.#relay.inputSchemaOf(tool)
  }

  outputSchemaFor(exchange: Exchange, key: IdKey): ReturnType<Relay['outputSchemaFor']> {
    return this.#relay.outputSchemaFor(exchange, key)
  }

  #split(
    from: Side, exchange: Exchange, frame: Frame, members: readonly Frame[], now: number,
  ): readonly Effect[] {
    // Members share the headers of the batch's HTTP request, and so its protocol version.
    const split =
      from === 'client'
        ? members.map(one => ({ ...one, envelope: { ...frame.envelope, ...one.envelope } }))
        : members
    if (from === 'client') {
      const requestKeys = split.flatMap(({ message }) => (message.kind === 'request' ? [message.key] : []))
      // Requests have entries of their own in the ledger.
      const others = split.filter(({ message }) => message.kind !== 'request')
      const weight = others.reduce((sum, one) => sum + parsedWeight(one), frame.bytes.length)
      const batch: Batch = {
        exchange, requestKeys, responses: [], weight: 0,
        unsent: { frame, members: split, passed: [], weight },
      }
      this.#open.add(batch)
      this.#account(batch, weight)
    }
    const effects = split.flatMap(one =>
      this.#relay.handle({ type: 'frame-received', from, exchange, frame: one }, now),
    )
    return from === 'client'
      ? this.#holdUntilComplete(effects, undefined)
      : rejoined(this.#holdUntilComplete(effects, frame), frame, split)
  }

  /**
   * Holds frames of a client's batch back: its members until all have a verdict, its responses until all have
   * come.
   * @param serverBatch the server's batch that is being handled
   */
  #holdUntilComplete(effects: readonly Effect[], serverBatch: Frame | undefined): readonly Effect[] {
    const done = effects.filter(
      effect => effect.type !== 'send' || ![...this.#open].some(batch => this.#store(batch, effect)),
    )
    for (const batch of this.#open) {
      const { exchange, requestKeys, unsent, responses } = batch
      if (unsent !== undefined) {
        if (unsent.members.some(one => this.#relay.isQueued(exchange, one))) continue
        const { frame, members, passed, weight } = unsent
        const toSend = passed.filter(
          ({ message }) => message.kind !== 'request' || this.#relay.isAwaiting(exchange, message.key),
        )
        // Members pass in any order: a call may wait for a check. A profile may have changed a call's bytes.
        const isWhole = toSend.length === members.length &&
          toSend.every(({ bytes }) => members.some(one => one.bytes === bytes))
        if (isWhole || toSend.length > 0) {
          const sent = isWhole ? frame : joined(toSend)
          done.push({ type: 'send', to: 'server', exchange, frame: sent, cause: 'client' })
        }
        batch.unsent = undefined
        this.#account(batch, -weight)
      }
      if (requestKeys.some(key => this.#relay.isAwaiting(exchange, key))) continue
      this.#open.delete(batch)
      this.#account(batch, -batch.weight)
      if (responses.length === 0) continue
      const isWhole =
        serverBatch?.message.kind === 'batch' && areSameBuffers(serverBatch.message.members, responses)
      const sent = isWhole ? serverBatch : joined(responses)
      done.push({ type: 'send', to: 'client', exchange, frame: sent, cause: 'server' })
    }
    // The end of an exchange follows the responses to its batch.
    return done.sort((one, other) => Number(one.type === 'complete') - Number(other.type === 'complete'))
  }

  /** Stores the frame in the batch. @returns false when the frame does not belong to it */
  #store(batch: Batch, { to, exchange: sentOn, frame }: Send): boolean {
    const { exchange, requestKeys, unsent, responses } = batch
    const { message } = frame
    if (to === 'server') {
      // A cancellation removes a request that was not sent yet.
      const id =
        sentOn === exchange && isCancellation(message) ? member(message.params, 'requestId') : undefined
      const taken =
        unsent?.passed.findIndex(one => one.message.kind === 'request' && one.message.id === id) ?? -1
      if (taken >= 0) {
        unsent?.passed.splice(taken, 1)
        return true
      }
      // A profile may have changed a call.
      const isMember = sentOn === exchange && frame.relayMade !== true &&
        unsent?.members.some(one => one === frame || isSameRequest(one, frame))
      if (isMember !== true) return false
      unsent?.passed.push(frame)
      return true
    }
    const isResponse = message.kind === 'result' || message.kind === 'error'
    if (sentOn !== exchange || !isResponse || !requestKeys.includes(message.key)) return false
    if (this.#relay.ledger.hasRoom(frame.bytes.length)) {
      // While a response waits for the others, only its bytes are kept.
      responses.push({
        ...frame,
        message: message.kind === 'result' ? { ...message, result: {} } : { ...message, error: noError },
      })
      this.#account(batch, frame.bytes.length)
    } else
      responses.push(
        errorFrame(
          message, errorCode.blocked, 'mcp-customs: the responses to this batch take too much memory',
        ),
      )
    return true
  }

  /** Counts memory of the batch in the session's ledger. @param bytes negative to release */
  #account(batch: Batch, bytes: number): void {
    batch.weight += bytes
    this.#relay.ledger.add(bytes)
  }
}

const noError = { code: 0, message: '' }

const areSameBuffers = (a: readonly Frame[], b: readonly Frame[]): boolean =>
  a.length === b.length && a.every(({ bytes }, index) => bytes === b[index]?.bytes)

const isSameRequest = ({ message: one }: Frame, { message: other }: Frame): boolean =>
  one.kind === 'request' && other.kind === 'request' && one.key === other.key

/** Joins messages to a batch, with the SSE event id of the last. */
export const joined = (members: readonly Frame[]): Frame => {
  const parts = members.flatMap(({ bytes }, index) => [Buffer.from(index === 0 ? '[' : ','), bytes])
  const event = members.flatMap(({ envelope }) => envelope?.event ?? []).at(-1)
  const bytes = Buffer.concat([...parts, Buffer.from(']')])
  return {
    bytes, message: { kind: 'batch', members }, faults: [],
    ...(event !== undefined && { envelope: { event } }),
  }
}

/** Sends the server's batch with its original bytes if all members passed unchanged to one exchange. */
const rejoined = (effects: readonly Effect[], batch: Frame, members: readonly Frame[]): readonly Effect[] => {
  const sends = effects.filter((effect): effect is Send => effect.type === 'send' && effect.to === 'client')
  const last = sends.at(-1)
  if (
    last === undefined ||
    sends.some(({ exchange }) => exchange !== last.exchange) ||
    !areSameBuffers(members, sends.map(({ frame }) => frame))
  )
    return effects
  return effects.flatMap((effect): readonly Effect[] =>
    effect === last ? [{ ...last, frame: batch }] : sends.some(send => send === effect) ? [] : [effect],
  )
}
