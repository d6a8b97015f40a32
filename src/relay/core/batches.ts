import type { Frame } from '#relay/protocol/frame.js'
import { member } from '#relay/protocol/json.js'
import { errorCode, type IdKey } from '#relay/protocol/json-rpc.js'
import { isCancellation } from '#relay/protocol/message.js'
import type { Effect, Event, Exchange } from './vocabulary.js'
import type { Ledger } from './memory.js'
import { errorFrame } from './refusal.js'
import { parsedWeight } from './request.js'

type Send = Extract<Effect, { readonly type: 'send' }>

/** A batch from the client, until its requests are answered. */
interface Batch {
  readonly exchange: Exchange
  readonly frame: Frame
  readonly members: readonly Frame[]
  /** The ids of the requests in it. */
  readonly keys: readonly IdKey[]
  /** The members that may go to the server; undefined once they were sent. */
  passed: Frame[] | undefined
  readonly responses: Frame[]
  /** The memory of the members that were not sent, and of the responses, in bytes. */
  weight: number
}

/** What the relay knows of the members. */
export interface Stages {
  /** True while a member was not sent to the server. */
  isQueued(exchange: Exchange, frame: Frame): boolean
  /** True while the client waits for the response to a member. */
  isAwaiting(exchange: Exchange, key: IdKey): boolean
}

/**
 * The batches of a client (2025-03-26, Base Protocol, Batching). The relay judges each member by itself.
 * Those that pass go to the server together, and their responses go back as one batch. A batch whose members
 * all pass unchanged keeps its bytes, in both directions.
 */
export class Batches {
  readonly #open = new Set<Batch>()
  readonly #ledger: Ledger
  readonly #stages: Stages

  constructor(ledger: Ledger, stages: Stages) {
    this.#ledger = ledger
    this.#stages = stages
  }

  /** @returns the members, each of which is to be judged */
  open(exchange: Exchange, frame: Frame, given: readonly Frame[]): readonly Frame[] {
    // Members share the headers of the batch's HTTP request, and so its protocol version.
    const members = given.map(one => ({ ...one, envelope: { ...frame.envelope, ...one.envelope } }))
    // An id that another request has is answered by that request.
    const keys = members.flatMap(({ message }) =>
      (message.kind === 'request' && !this.#stages.isAwaiting(exchange, message.key) ? [message.key] : []))
    const batch: Batch = { exchange, frame, members, keys, passed: [], responses: [], weight: 0 }
    this.#open.add(batch)
    // Requests have entries of their own in the ledger.
    const others = members.filter(({ message }) => message.kind !== 'request')
    this.#weigh(batch, others.reduce((sum, one) => sum + parsedWeight(one), frame.bytes.length))
    return members
  }

  /**
   * Holds members of batches back until all of a batch have a verdict, and responses until all have come.
   * @param event that had these effects
   */
  gathered(effects: readonly Effect[], event: Event): readonly Effect[] {
    const isServerBatch =
      event.type === 'frame-received' && event.from === 'server' && event.frame.message.kind === 'batch'
    const serverBatch = isServerBatch ? event.frame : undefined
    if (this.#open.size === 0 && serverBatch === undefined) return effects
    const done = effects.filter(
      effect => effect.type !== 'send' || ![...this.#open].some(batch => this.#keep(batch, effect)),
    )
    for (const batch of this.#open) {
      const { exchange, frame, members, keys, passed, responses } = batch
      if (passed !== undefined) {
        if (members.some(one => this.#stages.isQueued(exchange, one))) continue
        const sent = passed.filter(
          ({ message }) => message.kind !== 'request' || this.#stages.isAwaiting(exchange, message.key),
        )
        batch.passed = undefined
        this.#weigh(batch, -batch.weight)
        if (sent.length > 0)
          done.push({ type: 'send', to: 'server', exchange, frame: joined(sent, frame), cause: 'client' })
      }
      if (keys.some(key => this.#stages.isAwaiting(exchange, key))) continue
      this.#open.delete(batch)
      this.#weigh(batch, -batch.weight)
      if (responses.length > 0)
        done.push({
          type: 'send', to: 'client', exchange, frame: joined(responses, serverBatch), cause: 'server',
        })
    }
    // The end of an exchange follows the responses to its batch.
    done.sort((one, other) => Number(one.type === 'complete') - Number(other.type === 'complete'))
    return serverBatch === undefined ? done : rejoined(done, serverBatch)
  }

  /** Keeps the frame for its batch. @returns false when it belongs to another */
  #keep(batch: Batch, { to, exchange, frame }: Send): boolean {
    if (exchange !== batch.exchange) return false
    return to === 'server' ? this.#keepMember(batch, frame) : this.#keepResponse(batch, frame)
  }

  #keepMember({ members, passed }: Batch, frame: Frame): boolean {
    const { message } = frame
    if (passed === undefined) return false
    // A cancellation takes back a request that was not sent yet.
    const id = isCancellation(message) ? member(message.params, 'requestId') : undefined
    const at = passed.findIndex(one => one.message.kind === 'request' && one.message.id === id)
    if (at >= 0) passed.splice(at, 1)
    // A profile may have changed a call.
    else if (frame.relayMade !== true && members.some(one => one === frame || isSameRequest(one, frame)))
      passed.push(frame)
    else return false
    return true
  }

  #keepResponse(batch: Batch, frame: Frame): boolean {
    const { message } = frame
    if ((message.kind !== 'result' && message.kind !== 'error') || !batch.keys.includes(message.key)) return false
    if (this.#ledger.hasRoom(frame.bytes.length)) {
      // While a response waits for the others, only its bytes are kept.
      batch.responses.push({
        ...frame,
        message: message.kind === 'result' ? { ...message, result: {} } : { ...message, error: noError },
      })
      this.#weigh(batch, frame.bytes.length)
    } else
      batch.responses.push(errorFrame(
        message, errorCode.blocked, 'mcp-customs: the responses to this batch take too much memory',
      ))
    return true
  }

  /** @param bytes negative to release */
  #weigh(batch: Batch, bytes: number): void {
    batch.weight += bytes
    this.#ledger.add(bytes)
  }
}

const noError = { code: 0, message: '' }

const isSameRequest = ({ message: one }: Frame, { message: other }: Frame): boolean =>
  one.kind === 'request' && other.kind === 'request' && one.key === other.key

/**
 * Joins messages to a batch, with the SSE event id of the last.
 * @param whole a batch that is used if the messages are its members, unchanged, in any order
 */
export const joined = (members: readonly Frame[], whole?: Frame): Frame => {
  if (whole?.message.kind === 'batch' && whole.message.members.length === members.length) {
    const buffers = new Set(whole.message.members.map(({ bytes }) => bytes))
    if (members.every(({ bytes }) => buffers.has(bytes))) return whole
  }
  const parts = members.flatMap(({ bytes }, index) => [Buffer.from(index === 0 ? '[' : ','), bytes])
  const event = members.flatMap(({ envelope }) => envelope?.event ?? []).at(-1)
  const bytes = Buffer.concat([...parts, Buffer.from(']')])
  return {
    bytes, message: { kind: 'batch', members }, faults: [],
    ...(event !== undefined && { envelope: { event } }),
  }
}

/** Sends the server's batch with its original bytes if all its members pass unchanged to one exchange. */
const rejoined = (effects: readonly Effect[], batch: Frame): readonly Effect[] => {
  const sends = effects.filter((effect): effect is Send => effect.type === 'send' && effect.to === 'client')
  const last = sends.at(-1)
  const isWhole = last !== undefined && sends.every(({ exchange }) => exchange === last.exchange)
    && joined(sends.map(({ frame }) => frame), batch) === batch
  if (!isWhole) return effects
  return effects.flatMap((effect): readonly Effect[] =>
    effect === last ? [{ ...last, frame: batch }] : sends.some(send => send === effect) ? [] : [effect])
}
