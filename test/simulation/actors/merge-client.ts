import type { Exchange } from '#relay/core/vocabulary.js'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'
import type { Chance } from '../chance.js'
import type { MergeWorld } from '../worlds/merge.js'
import type { Action, Actor } from '../world.js'
import type { LegMessage } from './leg.js'

/** A request of the client, and what became of it. */
export interface MergeAsked {
  readonly marker: string
  readonly exchange: Exchange
  readonly method: string
  readonly shown: string | undefined
  answers: number
  isCancelled: boolean
  /** Its server never answers. */
  isForgotten: boolean
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
}

/** The client of a merged endpoint: over stdio, or with an exchange for each request. */
export class MergeClient implements Actor {
  readonly asked = new Map<string, MergeAsked>()
  /** By the id that it knows: open questions of servers. */
  readonly questions = new Map<string, string>()
  /** When it was last told that the list of tools has changed. */
  toldAt = -1
  /** The last list of tools, for the check at the end. */
  listed: unknown
  readonly #world: MergeWorld
  #last = 0
  #isReady: boolean

  constructor(world: MergeWorld, readonly isModern: boolean) {
    this.#world = world
    this.#isReady = isModern
  }

  begin(): void {
    if (this.isModern) return
    this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'c', version: '1' } })
  }

  ask(method: string, params: object, shown?: string): void {
    const id = `q${(this.#last += 1)}`
    const exchange = this.isModern ? exchangeNamed(`http-${id}`) : stdioExchange
    const asked = { marker: id, exchange, method, shown, answers: 0, isCancelled: false, isForgotten: false }
    this.asked.set(id, asked)
    const given = { ...params, ...(this.isModern && { _meta: meta }) }
    this.#world.clientSide.say(exchange, { id, method, params: given })
  }

  hear(exchange: Exchange, text: string): void {
    const message = JSON.parse(text) as LegMessage
    const { id, method, params } = message
    if (method === 'notifications/tools/list_changed') this.toldAt = this.#world.clock.time
    if (method === 'notifications/cancelled') this.questions.delete(JSON.stringify(params?.requestId))
    if (method === 'elicitation/create') {
      const key = JSON.stringify(id)
      const { message: marker = '' } = params as { message?: string }
      if (this.questions.has(key))
        this.#world.violate('one answer of clients', `two open questions have the id ${key}`)
      this.questions.set(key, marker)
      this.#world.heard(marker)
    }
    if (method !== undefined) return
    const asked = this.asked.get(String(id))
    if (asked === undefined) return this.#world.violate('one answer', `an answer to ${String(id)}, which was not asked`)
    asked.answers += 1
    if (asked.answers > 1) this.#world.violate('one answer', `${asked.marker} is answered twice`)
    if (asked.exchange !== exchange) this.#world.violate('one answer', `${asked.marker} is answered elsewhere`)
    if (asked.isCancelled) this.#world.violate('one answer', `${asked.marker} was cancelled, and is answered`)
    for (const [, marker = ''] of text.matchAll(/<<([^>]+)>>/g))
      if (marker !== asked.marker) this.#world.violate('own bytes', `${asked.marker} gets the answer to ${marker}`)
    if (asked.method === 'tools/list') this.listed = message.result
    if (asked.method === 'initialize') {
      this.#isReady = true
      this.#world.clientSide.say(stdioExchange, { method: 'notifications/initialized' })
    }
  }

  actions(): readonly Action[] {
    if (!this.#isReady) return []
    const actions: Action[] = []
    const add = (what: string, weight: number, act: (chance: Chance) => void) => actions.push({ label: `c ${what}`, weight, act })
    add('calls', 2, chance => {
      const shown = chance.pick(this.#world.shownNames)
      this.ask('tools/call', { name: shown, arguments: { marker: `q${this.#last + 1}` } }, shown)
    })
    add('lists', 1, chance => this.ask(chance.pick(['tools/list', 'resources/list', 'resources/templates/list']), {}))
    add('reads', 0.5, chance => this.ask('resources/read', { uri: chance.pick(['x://all', 'x://b.c', 'x://a', 'x://none']) }))
    const open = [...this.asked.values()].filter(one => one.answers === 0 && !one.isCancelled && one.method !== 'initialize')
    if (open.length > 0) add('cancels', 0.5, chance => this.#cancel(chance.pick(open)))
    const questions = [...this.questions]
    if (questions.length > 0) add('answers', 1, chance => this.#answer(...chance.pick(questions)))
    return actions
  }

  rest(): readonly Action[] {
    return []
  }

  #cancel(asked: MergeAsked): void {
    asked.isCancelled = true
    const { exchange, marker } = asked
    if (this.isModern) this.#world.clientSide.tell({ type: 'exchange-ended', exchange })
    else this.#world.clientSide.say(exchange, { method: 'notifications/cancelled', params: { requestId: marker } })
  }

  #answer(key: string, marker: string): void {
    this.questions.delete(key)
    const result = { action: 'accept', content: { to: marker } }
    this.#world.given(marker, JSON.stringify(result))
    this.#world.clientSide.say(stdioExchange, { id: JSON.parse(key) as unknown, result })
  }
}
