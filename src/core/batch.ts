import type { Frame } from '../protocol/frame.js'
import type { Effect } from './effect.js'
import { Slot } from './flow.js'

/**
 * What a client sent as one batch (2025-03-26). Each member is judged as a frame of its own. Those that pass leave together, once the last
 * of them is judged: where all pass as they came, as the bytes that came. What was asked is answered as one batch.
 */
export class ClientBatch {
  /** Filled when the members that pass have left. */
  readonly left = new Slot<undefined>()
  readonly #frame: Frame
  readonly #members: readonly Frame[]
  readonly #undecided: Set<Frame>
  readonly #passed = new Set<Frame>()
  readonly #answers: { readonly frame: Frame; readonly batch: Frame | undefined }[] = []
  readonly #forward: (frames: readonly Frame[]) => void
  readonly #reply: (frame: Frame) => void
  #due: number

  constructor(frame: Frame, members: readonly Frame[], forward: (frames: readonly Frame[]) => void, reply: (frame: Frame) => void) {
    this.#frame = frame
    this.#members = members
    this.#undecided = new Set(members)
    this.#forward = forward
    this.#reply = reply
    this.#due = members.filter(({ message }) => message.kind === 'request').length
  }

  /** A member may go to the server, or may not, or may not any more. */
  judged(member: Frame, passes: boolean): void {
    if (passes) this.#passed.add(member)
    else this.#passed.delete(member)
    if (!this.#undecided.delete(member) || this.#undecided.size > 0) return
    const isWhole = this.#passed.size === this.#members.length
    this.#forward(isWhole ? [this.#frame] : this.#members.filter(one => this.#passed.has(one)))
  }

  /**
   * A request in it is answered; each once.
   * @param frame undefined where nobody waits for the answer any more
   * @param batch of the server's, in which the answer came
   */
  answered(frame: Frame | undefined, batch?: Frame): void {
    if (frame !== undefined) this.#answers.push({ frame, batch })
    if (--this.#due > 0 || this.#answers.length === 0) return
    const frames = this.#answers.map(answer => answer.frame)
    const [first] = this.#answers
    const came = this.#answers.every(answer => answer.batch === first?.batch) ? first?.batch : undefined
    this.#reply(came?.message.kind === 'batch' && same(came.message.members, frames) ? came : joined(frames))
  }
}

const same = (a: readonly Frame[], b: readonly Frame[]): boolean =>
  a.length === b.length && a.every((frame, index) => frame === b[index])

/** Several messages as one batch. */
export const joined = (members: readonly Frame[]): Frame => {
  const parts = members.flatMap(({ bytes }, index) => [Buffer.from(index === 0 ? '[' : ','), bytes])
  return { bytes: Buffer.concat([...parts, Buffer.from(']')]), message: { kind: 'batch', members }, faults: [] }
}

/** The effects of a server's batch, where all of its members passed as they came, to one reader: they leave as the bytes that came. */
export const rejoined = (effects: readonly Effect[], batch: Frame, members: readonly Frame[]): readonly Effect[] => {
  const sends = effects.flatMap(effect => (effect.type === 'send' && effect.to === 'client' ? [effect] : []))
  const last = sends.at(-1)
  if (last === undefined || sends.some(({ exchange }) => exchange !== last.exchange)) return effects
  if (!same(members, sends.map(({ frame }) => frame))) return effects
  return effects.flatMap((effect): readonly Effect[] => (effect === last ? [{ ...last, frame: batch }] : effect.type === 'send' && effect.to === 'client' ? [] : [effect]))
}
