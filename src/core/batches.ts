import type { Frame } from '#protocol/frame.js'
import { member } from '#protocol/json.js'
import { errorCode, type IdKey } from '#protocol/json-rpc.js'
import { isCancellation } from '#protocol/message.js'
import type { Effect, Event, Exchange, Side } from './event.js'
import type { RelayOptions } from './options.js'
import { errorAnswer } from './refusal.js'
import { parsedWeight } from './request.js'
import { Relay } from './relay.js'

type Send = Extract<Effect, { readonly type: 'send' }>

/** A batch from the client, until its requests are answered. */
interface Batch {
  readonly exchange: Exchange
  /** The ids of the requests in it. */
  readonly asked: readonly IdKey[]
  /** Until every member has a verdict: the batch, its members, and the members that may go to the server. */
  unsent: {
    readonly frame: Frame
    readonly members: readonly Frame[]
    readonly leaving: Frame[]
    /** Their weight in the ledger, in bytes. */
    readonly weight: number
  } | undefined
  readonly answers: Frame[]
  /** The weight of the batch in the ledger, in bytes. */
  kept: number
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
      return this.#open.size === 0 ? effects : this.#gathered(effects, undefined)
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

  #split(
    from: Side, exchange: Exchange, frame: Frame, members: readonly Frame[], now: number,
  ): readonly Effect[] {
    // Members share the headers of the batch's HTTP request, and so its protocol version.
    const split =
      from === 'client'
        ? members.map(one => ({ ...one, envelope: { ...frame.envelope, ...one.envelope } }))
        : members
    if (from === 'client') {
      const asked = split.flatMap(({ message }) => (message.kind === 'request' ? [message.key] : []))
      // Requests have entries of their own in the ledger.
      const others = split.filter(({ message }) => message.kind !== 'request')
      const weight = others.reduce((sum, one) => sum + parsedWeight(one), frame.bytes.length)
      const batch: Batch = {
        exchange, asked, unsent: { frame, members: split, leaving: [], weight }, answers: [], kept: 0,
      }
      this.#open.add(batch)
      this.#keeps(batch, weight)
    }
    const effects = split.flatMap(one =>
      this.#relay.handle({ type: 'frame-received', from, exchange, frame: one }, now),
    )
    return from === 'client'
      ? this.#gathered(effects, undefined)
      : rejoined(this.#gathered(effects, frame), frame, split)
  }

  /** Holds frames back until their batch is complete. @param came the server's batch that is handled now */
  #gathered(effects: readonly Effect[], came: Frame | undefined): readonly Effect[] {
    const done = effects.filter(
      effect => effect.type !== 'send' || ![...this.#open].some(batch => this.#takes(batch, effect)),
    )
    for (const batch of this.#open) {
      const { exchange, asked, unsent, answers } = batch
      if (unsent !== undefined) {
        if (unsent.members.some(one => this.#relay.isQueued(exchange, one))) continue
        const { frame, members, leaving, weight } = unsent
        const left = leaving.filter(
          ({ message }) => message.kind !== 'request' || this.#relay.isAwaiting(exchange, message.key),
        )
        const sent = same(left, members) ? frame : left.length === 0 ? undefined : joined(left)
        if (sent !== undefined)
          done.push({ type: 'send', to: 'server', exchange, frame: sent, cause: 'client' })
        batch.unsent = undefined
        this.#keeps(batch, -weight)
      }
      if (asked.some(key => this.#relay.isAwaiting(exchange, key))) continue
      this.#open.delete(batch)
      this.#keeps(batch, -batch.kept)
      if (answers.length === 0) continue
      const isWhole = came?.message.kind === 'batch' && same(came.message.members, answers)
      done.push({
        type: 'send', to: 'client', exchange, frame: isWhole ? came : joined(answers), cause: 'server',
      })
    }
    return done
  }

  /** Stores the frame in the batch. @returns false when the frame does not belong to it */
  #takes(batch: Batch, { to, exchange: there, frame }: Send): boolean {
    const { exchange, asked, unsent, answers } = batch
    const { message } = frame
    if (to === 'server') {
      // A cancellation removes a request that was not sent yet.
      const id =
        there === exchange && isCancellation(message) ? member(message.params, 'requestId') : undefined
      const taken =
        unsent?.leaving.findIndex(one => one.message.kind === 'request' && one.message.id === id) ?? -1
      if (taken >= 0) {
        unsent?.leaving.splice(taken, 1)
        return true
      }
      // A profile may have changed a call.
      const isMember = there === exchange && frame.relayMade !== true && unsent?.members.some(one =>
        one === frame || (message.kind === 'request' && one.message.kind === 'request' && one.message.key === message.key))
      if (isMember !== true) return false
      unsent?.leaving.push(frame)
      return true
    }
    const isAnswer = message.kind === 'result' || message.kind === 'error'
    if (there !== exchange || !isAnswer || !asked.includes(message.key)) return false
    if (this.#relay.ledger.hasRoom(frame.bytes.length)) {
      // While a response waits for the others, only its bytes are kept.
      answers.push({
        ...frame,
        message: message.kind === 'result' ? { ...message, result: {} } : { ...message, error: noError },
      })
      this.#keeps(batch, frame.bytes.length)
    } else
      answers.push(
        errorAnswer(
          message, errorCode.blocked, 'mcp-customs: the answers of this batch take too much memory',
        ),
      )
    return true
  }

  /** @param bytes negative to release */
  #keeps(batch: Batch, bytes: number): void {
    batch.kept += bytes
    this.#relay.ledger.add(bytes)
  }
}

const noError = { code: 0, message: '' }

const same = (a: readonly Frame[], b: readonly Frame[]): boolean =>
  a.length === b.length && a.every(({ bytes }, index) => bytes === b[index]?.bytes)

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
    !same(members, sends.map(({ frame }) => frame))
  )
    return effects
  return effects.flatMap((effect): readonly Effect[] =>
    effect === last ? [{ ...last, frame: batch }] : sends.some(send => send === effect) ? [] : [effect],
  )
}
