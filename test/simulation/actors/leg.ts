import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { Chance } from '../chance.js'
import { Side } from '../worlds/session.js'
import type { MergeWorld } from '../worlds/merge.js'
import type { Action, Actor } from '../world.js'

export interface LegMessage {
  readonly id?: unknown
  readonly method?: string
  readonly result?: unknown
  readonly params?: {
    readonly name?: string; readonly uri?: string; readonly requestId?: unknown
    readonly arguments?: { readonly marker?: string }
  }
}

/** A request that the server has not answered. */
interface LegReceived {
  readonly side: Side
  readonly exchange: Exchange
  readonly message: LegMessage
  isForgotten: boolean
}

/** What a server asks of the client. */
export interface LegQuestion {
  readonly side: Side
  readonly id: number
  readonly marker: string
  /** The client has answered before it was withdrawn. */
  given: string | undefined
  isOff: boolean
  answers: number
}

const all: readonly string[] = ['x', 'y', 'b__c', 'c']

/** A server behind the merged endpoint, as its relay shows it: it dies, and comes back when it is asked. */
export class LegActor implements Actor {
  /** Its connection; undefined: it has none. */
  side: Side | undefined
  tools: readonly string[] = all
  /** Everything that it is asked stays without an answer. */
  readonly isMute: boolean
  readonly questions: LegQuestion[] = []
  /** When it last said that its list has changed. */
  announcedAt = -1
  readonly received: LegReceived[] = []
  /** The ids of cancelled requests, in the form that the connection knows. */
  readonly cancelled = new Set<string>()
  readonly #world: MergeWorld
  #isTold = false

  constructor(readonly name: string, world: MergeWorld) {
    this.#world = world
    this.isMute = world.setting.is(0.1)
  }

  /** It will never list. */
  get isLate(): boolean {
    return this.received.some(({ message: { method }, isForgotten }) => isForgotten && method !== 'tools/call')
  }

  connect(): Side {
    const side: Side = new Side(
      (exchange, frame) => (side === this.side ? this.#hears(side, exchange, frame) : undefined),
      () => undefined,
    )
    this.#lose()
    this.side = side
    return side
  }

  #lose(): void {
    for (const question of this.questions) question.isOff ||= question.side === this.side
    this.received.splice(0)
    this.side = undefined
    this.#isTold = false
  }

  #hears(side: Side, exchange: Exchange, { bytes }: Frame): void {
    const message = JSON.parse(bytes.toString()) as LegMessage
    const { id, method, params } = message
    if (method === 'notifications/initialized') this.#isTold = true
    if (method === 'notifications/cancelled') {
      this.cancelled.add(`${side.number} ${String(params?.requestId)}`)
      const at = this.received.findIndex(one => one.message.id === params?.requestId)
      if (at >= 0) this.received.splice(at, 1)
    }
    if (method === undefined) return this.#answered(side, message)
    if (id === undefined) return
    if (method === 'tools/call') this.#world.called({ leg: this, side, message })
    this.received.push({ side, exchange, message, isForgotten: this.isMute })
  }

  #answered(side: Side, { id, result }: LegMessage): void {
    const question = this.questions.find(one => one.id === id && one.side === side)
    if (question === undefined)
      return this.#world.violate('one answer of clients', `${this.name} gets an answer to ${String(id)}, which it has not asked`)
    question.answers += 1
    if (question.answers > 1) this.#world.violate('one answer of clients', `${question.marker} is answered twice`)
    if (JSON.stringify(result) !== question.given)
      this.#world.violate('own bytes', `${question.marker} gets ${JSON.stringify(result)}`)
  }

  actions(): readonly Action[] {
    const { side } = this
    if (side === undefined) return []
    const actions: Action[] = []
    const add = (what: string, weight: number, act: (chance: Chance) => void) =>
      actions.push({ label: `${this.name} ${what}`, weight, act })
    const open = this.#due
    if (open.length > 0) {
      add('answers', 3, chance => this.#answer(chance.pick(open)))
      add('gives an error', 0.2, chance => this.#answer(chance.pick(open), true))
    }
    const slow = open.filter(({ message: { method = '' } }) => /call$|list$/.test(method))
    if (slow.length > 0) add('forgets', 0.2, chance => this.#forget(chance.pick(slow)))
    add('dies', 0.25, () => this.#die(side))
    if (!this.#isTold) return actions
    add('changes its list', 0.5, chance => {
      this.tools = all.filter(() => chance.is(0.6))
      this.announcedAt = this.#world.clock.time
      side.say(stdioExchange, { method: 'notifications/tools/list_changed' })
    })
    add('asks', 0.5, () => this.#ask(side))
    const questions = this.questions.filter(one => one.side === side && !one.isOff && one.given === undefined)
    if (questions.length > 0) add('withdraws', 0.2, chance => this.#withdraw(chance.pick(questions)))
    return actions
  }

  rest(): readonly Action[] {
    const [first] = this.#due
    return first === undefined ? [] : [{ label: `${this.name} answers`, weight: 1, act: () => this.#answer(first) }]
  }

  get #due(): readonly LegReceived[] {
    return this.received.filter(({ isForgotten }) => !isForgotten)
  }

  #die(side: Side): void {
    this.#lose()
    side.tell({ type: 'ended', reason: 'it was killed' })
    for (const question of this.questions) if (question.side === side) this.#world.withdrawn(question)
  }

  #forget(one: LegReceived): void {
    one.isForgotten = true
    this.#world.forgotten(one.message)
  }

  #answer(one: LegReceived, isError = false): void {
    this.received.splice(this.received.indexOf(one), 1)
    const { side, exchange, message: { id, method, params } } = one
    this.#world.answering(side, id)
    const { marker } = params?.arguments ?? {}
    const message = marker === undefined ? 'failed' : `<<${marker}>>`
    if (isError) return side.say(exchange, { id, error: { code: -32603, message } })
    side.say(exchange, { id, result: this.#resultOf(method, params) })
  }

  #resultOf(method = '', params: LegMessage['params']): object {
    const capabilities = { tools: { listChanged: true }, resources: {} }
    switch (method) {
      case 'initialize': return { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: this.name, version: '1' } }
      case 'server/discover': return { supportedVersions: ['2026-07-28'], capabilities }
      case 'tools/list': return { tools: this.tools.map(name => ({ name, inputSchema: { type: 'object' } })) }
      case 'resources/list': return { resources: ['x://all', `x://${this.name}`].map(uri => ({ uri, name: uri })) }
      case 'resources/templates/list': return { resourceTemplates: [] }
      case 'resources/read': return { contents: [{ uri: params?.uri, text: this.name }] }
      case 'tools/call': return { content: [{ type: 'text', text: `<<${String(params?.arguments?.marker)}>>` }] }
      default: return {}
    }
  }

  /** Ids begin anew with each connection, and are those of the other servers too. */
  #ask(side: Side): void {
    const id = this.questions.filter(one => one.side === side).length
    const marker = `${this.name}-${side.number}-${id}`
    this.questions.push({ side, id, marker, given: undefined, isOff: false, answers: 0 })
    side.say(stdioExchange, { id, method: 'elicitation/create', params: { message: marker } })
  }

  #withdraw(question: LegQuestion): void {
    question.isOff = true
    question.side.say(stdioExchange, { method: 'notifications/cancelled', params: { requestId: question.id } })
    this.#world.withdrawn(question)
  }
}
