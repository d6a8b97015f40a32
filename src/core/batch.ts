import type { Frame } from '../protocol/frame.js'
import type { Batch } from '../protocol/json-rpc.js'
import type { Effect } from './effect.js'

/**
 * The members of a batch on their way (2025-03-26). Each is judged as a frame of its own; where all of them pass as they came, the batch
 * leaves as the bytes that came, once the last of them is judged.
 */
export class Convoy {
  readonly #frame: Frame
  readonly #members: readonly Frame[]
  readonly #passed = new Set<Frame>()
  readonly #send: (frame: Frame) => void
  #left: number

  constructor(frame: Frame, { members }: Batch<Frame>, send: (frame: Frame) => void) {
    this.#frame = frame
    this.#members = members
    this.#send = send
    this.#left = members.length
  }

  judged(member: Frame, passes: boolean): void {
    if (passes) this.#passed.add(member)
    if (--this.#left > 0) return
    if (this.#passed.size === this.#members.length) this.#send(this.#frame)
    else for (const one of this.#members) if (this.#passed.has(one)) this.#send(one)
  }
}

/** What a client asked in one batch, and the answers so far: they go back as one batch. */
export class ClientBatch {
  readonly convoy: Convoy
  readonly #answers: Frame[] = []
  readonly #send: (frame: Frame) => void
  #left: number

  /** @param requests how many answers are owed */
  constructor(convoy: Convoy, requests: number, send: (frame: Frame) => void) {
    this.convoy = convoy
    this.#left = requests
    this.#send = send
  }

  /** @param frame undefined where nobody waits for the answer any more @param arrived the server's batch that is being handled */
  answered(frame: Frame | undefined, arrived: Frame | undefined): void {
    if (frame !== undefined) this.#answers.push(frame)
    if (--this.#left > 0 || this.#answers.length === 0) return
    const isWhole = arrived?.message.kind === 'batch' && same(arrived.message.members, this.#answers)
    this.#send(isWhole ? arrived : joined(this.#answers))
  }
}

const same = (a: readonly Frame[], b: readonly Frame[]): boolean =>
  a.length === b.length && a.every((frame, index) => frame === b[index])

const joined = (members: readonly Frame[]): Frame => {
  const parts = members.flatMap(({ bytes }, index) => [Buffer.from(index === 0 ? '[' : ','), bytes])
  return { bytes: Buffer.concat([...parts, Buffer.from(']')]), message: { kind: 'batch', members }, faults: [] }
}

/** The effects of a server's batch, where all of its members passed as they came: they leave as the bytes that came. */
export const rejoined = (effects: readonly Effect[], batch: Frame, members: readonly Frame[]): readonly Effect[] => {
  const sends = effects.filter(effect => effect.type === 'send' && effect.to === 'client')
  const last = sends.at(-1)
  if (last?.type !== 'send' || !same(members, sends.map(send => send.type === 'send' ? send.frame : batch))) return effects
  return effects.flatMap(effect => (effect === last ? [{ ...last, frame: batch }] : sends.includes(effect) ? [] : [effect]))
}
