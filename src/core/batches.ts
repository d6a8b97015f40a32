import type { Batch, IdKey } from '../protocol/json-rpc.js'
import type { Frame } from '../protocol/frame.js'
import type { Effect } from './effect.js'
import type { Exchange, Side } from './event.js'

type Send = Extract<Effect, { type: 'send' }>

/** What a client asked in one batch (2025-03-26), and the answers so far: they go back as one batch. */
interface Group {
  readonly exchange: Exchange
  readonly waiting: Set<IdKey>
  readonly answers: Frame[]
}

/**
 * JSON-RPC batches. Their members are judged one by one, as frames of their own; here is only how the frames travel:
 * a batch that passes whole leaves as the bytes that came, and the answers to a client's batch leave as one.
 */
export class Batches {
  readonly #groups = new Set<Group>()

  /** A batch of the client's is about to be handled: its answers are gathered. */
  opened(exchange: Exchange, { members }: Batch<Frame>): void {
    const keys = members.flatMap(({ message }) => (message.kind === 'request' ? [message.key] : []))
    if (keys.length > 0) this.#groups.add({ exchange, waiting: new Set(keys), answers: [] })
  }

  /** The client no longer waits for this answer. */
  forget(key: IdKey): readonly Effect[] {
    const group = this.#groupOf(key)
    group?.waiting.delete(key)
    return group ? this.#complete(group, undefined) : []
  }

  /** Gathers the answers among the effects of one event. @param whole the batch that the event brought, if any */
  gather(effects: readonly Effect[], whole?: { readonly from: Side; readonly frame: Frame }): readonly Effect[] {
    const kept = whole ? rejoin(effects, whole.frame, whole.from === 'client' ? 'server' : 'client') : effects
    if (this.#groups.size === 0) return kept
    return kept.flatMap(effect => (effect.type === 'send' && effect.to === 'client' ? this.#gather(effect) : [effect]))
  }

  #gather(send: Send): readonly Effect[] {
    const { message } = send.frame
    const answers = message.kind === 'batch' ? message.members : [send.frame]
    const groups = new Set<Group>()
    const others: Frame[] = []
    for (const answer of answers) {
      const key = answer.message.kind === 'result' || answer.message.kind === 'error' ? answer.message.key : undefined
      const group = key === undefined ? undefined : this.#groupOf(key)
      if (group === undefined || key === undefined) others.push(answer)
      else {
        group.waiting.delete(key)
        group.answers.push(answer)
        groups.add(group)
      }
    }
    if (groups.size === 0) return [send]
    return [
      ...others.map(frame => ({ ...send, frame })),
      ...[...groups].flatMap(group => this.#complete(group, send.frame)),
    ]
  }

  #complete(group: Group, arrived: Frame | undefined): readonly Effect[] {
    if (group.waiting.size > 0) return []
    this.#groups.delete(group)
    if (group.answers.length === 0) return []
    const sameAs = arrived?.message.kind === 'batch' && same(arrived.message.members, group.answers)
    const frame = sameAs ? arrived : joined(group.answers)
    return [{ type: 'send', to: 'client', exchange: group.exchange, frame }]
  }

  #groupOf(key: IdKey): Group | undefined {
    for (const group of this.#groups) if (group.waiting.has(key)) return group
    return undefined
  }
}

/** Where every member passed as it came, the batch itself leaves in their place. */
const rejoin = (effects: readonly Effect[], batch: Frame, to: Side): readonly Effect[] => {
  if (batch.message.kind !== 'batch') return effects
  const sends = effects.filter((effect): effect is Send => effect.type === 'send' && effect.to === to)
  const [first] = sends
  if (first === undefined || !same(batch.message.members, sends.map(({ frame }) => frame))) return effects
  const last = sends[sends.length - 1]
  return effects.flatMap((effect): readonly Effect[] =>
    effect === last ? [{ ...first, frame: batch }] : effect.type === 'send' && sends.includes(effect) ? [] : [effect],
  )
}

const same = (a: readonly Frame[], b: readonly Frame[]): boolean =>
  a.length === b.length && a.every((frame, index) => frame === b[index])

const joined = (members: readonly Frame[]): Frame => {
  const parts = members.flatMap(({ bytes }, index) => [Buffer.from(index === 0 ? '[' : ','), bytes])
  return { bytes: Buffer.concat([...parts, Buffer.from(']')]), message: { kind: 'batch', members }, faults: [] }
}
