import { isObject, isString, type JsonObject, member } from '#relay/protocol/json.js'
import { nearest } from '#relay/protocol/revisions/index.js'
import type { Output } from './output.js'
import type { CountAsk, Exchange, SharedAsk, SharedOptions, SharedPart, SharedReply } from './vocabulary.js'
import type { Flow } from './flow.js'
import type { Replies } from './order.js'
import { implementation, type Terms } from './terms.js'

interface SharingOptions {
  readonly shared?: SharedOptions | undefined
  readonly sharedCounts?: boolean | undefined
  readonly stateless: boolean
}

export const notShared = 'the state that the replicas share cannot be reached'

/** Questions to the shared state, asked by effects. Without such a state there is nothing to find. */
export class Shared {
  readonly isOn: boolean
  readonly digestOf: SharedOptions['digestOf']
  readonly #output: Output
  readonly #replies: Replies<SharedReply>
  /** Many clients share the session, so that terms and ids are not unique in it. */
  readonly #isOfMany: boolean
  readonly #countsCalls: boolean

  constructor(
    { shared, sharedCounts = false, stateless }: SharingOptions, output: Output,
    replies: Replies<SharedReply>,
  ) {
    this.isOn = shared !== undefined
    this.#isOfMany = stateless
    this.#countsCalls = sharedCounts
    const { digestOf = () => '' } = shared ?? {}
    const known = new WeakMap<JsonObject, string>()
    this.digestOf = definition => {
      const digest = known.get(definition) ?? digestOf(definition)
      known.set(definition, digest)
      return digest
    }
    this.#output = output
    this.#replies = replies
  }

  /** @param exchange of the message that waits for the response */
  *ask(ask: SharedAsk, exchange: Exchange): Flow<SharedReply> {
    if (!this.#has(ask.part)) return 'none'
    return yield* this.#replies.to(share => this.#output.emit({ type: 'share', share, ask }), exchange)
  }

  /** @returns the milliseconds until the client may make the call; undefined: only this replica counts */
  *count(call: Omit<CountAsk, 'kind' | 'part'>, exchange: Exchange): Flow<number | undefined> {
    if (!this.#countsCalls) return undefined
    const ask = { kind: 'count', part: 'calls', ...call } as const
    const emit = (share: number) => this.#output.emit({ type: 'share', share, ask })
    const reply = yield* this.#replies.to(emit, exchange)
    const waitMs = isString(reply) ? undefined : member(reply, 'waitMs')
    return typeof waitMs === 'number' ? waitMs : undefined
  }

  *keep(part: SharedPart, name: string, value: JsonObject, exchange: Exchange): Flow {
    yield* this.ask({ kind: 'keep', part, name, value }, exchange)
  }

  /** As `ask`, for a question whose reply nothing waits for. */
  askWithoutReply(ask: SharedAsk): void {
    if (this.#has(ask.part)) this.#output.emit({ type: 'share', share: undefined, ask })
  }

  #has(part: SharedPart): boolean {
    return this.isOn && (!this.#isOfMany || !ofOneClient.has(part))
  }

  answered(share: number, reply: SharedReply): void {
    this.#replies.arrived(share, reply)
  }
}

const ofOneClient: ReadonlySet<SharedPart> = new Set<SharedPart>(['session', 'asked', 'request'])

/** The terms as they are kept. */
export const termsData = ({ revision, capabilities, client }: Terms): JsonObject => ({
  revision,
  ...(capabilities && { capabilities }),
  ...(client && { client: { name: client.name, version: client.version } }),
})

/** @returns undefined for a value that is none */
export const termsOf = (data: JsonObject): Terms | undefined => {
  const [revision, capabilities] = [member(data, 'revision'), member(data, 'capabilities')]
  if (!isString(revision)) return undefined
  return {
    revision: nearest(revision), capabilities: isObject(capabilities) ? capabilities : undefined,
    client: implementation(member(data, 'client')),
  }
}
