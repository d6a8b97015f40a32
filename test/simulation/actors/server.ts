import { digestOf, listMs, type Asked, type Book, type Kind, type Tools } from '../book.js'
import type { Chance } from '../chance.js'
import type { Action, Actor, World } from '../world.js'

/** A message of JSON-RPC. */
export interface Message {
  readonly id?: number | string | null
  readonly method?: string
  readonly params?: { readonly [key: string]: unknown }
  readonly result?: unknown
  readonly error?: unknown
}

/** A request that a server has received. */
export interface Received {
  readonly name: string
  readonly message: Message
  readonly marker: string | undefined
  readonly asked: Asked | undefined
  /** The list as it was when the server looked. */
  snapshot: object | undefined
  answers: number
  isCancelled: boolean
  readonly at: number
  /** Never answered. */
  isForgotten: boolean
}

export const metaOf = ({ params }: Message): { readonly [key: string]: unknown } =>
  (params?.['_meta'] ?? {}) as { readonly [key: string]: unknown }

const prefix = 'io.modelcontextprotocol/'
export const logLevelOf = (message: Message): unknown => metaOf(message)[`${prefix}logLevel`]

/** More than what is freed by hand. */
const longText = 80 * 1024
/** So long that a session that keeps some is too heavy. */
const longestText = 400 * 1024

/** What a line that cannot be read is filled with. */
export const garbled = 'g'.repeat(150 * 1024)

const requestedSchema = { type: 'object', properties: {} }
const messages = [{ role: 'user', content: { type: 'text', text: 'well?' } }]

/** What a client declares that servers may ask for, and its answer to all of it. */
export const declared = { roots: {}, elicitation: {}, sampling: {} }
export const answerOf = (name: string, id: string): object => ({
  roots: [], action: 'decline', role: 'assistant', model: 'm', content: { type: 'text', text: '' },
  _meta: { m: `<<${name}-${id}>>` },
})

/** How a server behaves; chosen by the seed. */
export interface Manners {
  /** It looks at its tools when a list is asked for, and answers later. */
  readonly isThreaded: boolean
  readonly changes: boolean
  readonly lies: boolean
  readonly isNoisy: boolean
  readonly answersTwice: boolean
  readonly forgets: boolean
  readonly isLong: boolean
  readonly dies: boolean
  readonly logs: boolean
  /** HTTP: answers on another stream. */
  readonly wanders: boolean
  readonly eventIds: boolean
  /** Asks its clients. */
  readonly asks: boolean
}

export const mannersBy = (chance: Chance): Manners => ({
  isThreaded: chance.is(0.6), changes: chance.is(0.6), lies: chance.is(0.4), isNoisy: chance.is(0.25),
  answersTwice: chance.is(0.15), forgets: chance.is(0.2), isLong: chance.is(0.25), dies: chance.is(0.1),
  logs: chance.is(0.4), wanders: chance.is(0.3), eventIds: chance.is(0.3), asks: chance.is(0.3),
})

/** What every server does, over whatever connection. */
export abstract class ServerActor implements Actor {
  readonly open: Received[] = []
  #answered: Received | undefined
  #number = 0

  constructor(
    readonly name: string, readonly world: World, readonly book: Book, readonly tools: Tools,
    readonly manners: Manners,
  ) {}

  /** What the client hears of a result. */
  protected heard(result: object): object {
    return result
  }

  /** Sends the last message for a request. */
  protected abstract answer(to: Received, message: object, chance: Chance): void

  /** Sends a message for a request, before its answer. @returns whether there is a way */
  protected abstract tell(to: Received, message: object): boolean

  /** Sends list_changed to whom it concerns. */
  protected abstract announce(): void

  protected abstract sessionOf(one: Received): string

  /** Whether whoever asks may use the tool. */
  protected isAllowed(one: Received, tool: string): boolean {
    return one.message.method !== undefined && tool !== ''
  }

  /** Whether it may leave the request without an answer; any, where a server does not say. */
  protected mayForget?(one: Received): boolean

  abstract readonly isRunning: boolean

  receive(message: Message, more: object = {}): Received | undefined {
    if (message.method === undefined) {
      this.book.questionAnswered(message)
      return undefined
    }
    if (message.method === 'notifications/cancelled') {
      const one = this.open.find(({ message: { id } }) => id === message.params?.['requestId'])
      if (one !== undefined) one.isCancelled = true
      return undefined
    }
    if (message.id === undefined) return undefined
    const given = message.params?.['arguments'] as { readonly m?: string; pad?: string } | undefined
    if (given?.pad !== undefined) given.pad = ''
    if (message.params?.['pad'] !== undefined) Reflect.deleteProperty(message.params, 'pad')
    const named = given?.m ?? (metaOf(message)['m'] as string | undefined)
    const found = named === undefined ? undefined : this.book.asked.get(named)
    // The relay makes its own listings from the call for which it lists.
    const asked = found?.method === message.method ? found : undefined
    const marker = asked?.marker
    this.#number += 1
    const received: Received = {
      ...more, name: marker ?? `of the relay ${this.#number}`, message, marker, asked, snapshot: undefined, answers: 0,
      isCancelled: false, isForgotten: false, at: this.world.clock.time,
    }
    this.open.push(received)
    if (asked !== undefined) {
      if (asked.arrivedAt !== undefined && message.method === 'tools/call')
        this.world.violate('runs once', `${asked.marker} is called twice at its server`)
      asked.tools = this.tools
      asked.session = this.sessionOf(received)
      asked.arrivedAt = this.world.clock.time
    }
    this.arrived?.(received)
    this.world.arrived?.(received)
    return received
  }

  protected arrived?(one: Received): void

  protected close(one: Received): void {
    const at = this.open.indexOf(one)
    if (at >= 0) this.open.splice(at, 1)
    this.#answered = one
  }

  actions(): readonly Action[] {
    this.look()
    if (!this.isRunning) return []
    const { manners, name } = this
    const actions: Action[] = []
    for (const one of this.open) {
      if (one.isForgotten) continue
      const { method } = one.message
      const of = `${name} ${method} ${one.name}`
      if (method === 'tools/list' && manners.isThreaded && one.snapshot === undefined) {
        actions.push({ label: `${of}: looks`, weight: 2, act: () => this.#look(one) })
      } else if (method === 'subscriptions/listen') this.#subscription(one, of, actions)
      else actions.push({ label: `${of}: answers`, weight: this.world.pace > 1 ? 6 : 2, act: chance => this.#answerNow(one, chance) })
      if (manners.forgets && this.mayForget?.(one) !== false) actions.push({ label: `${of}: forgets`, weight: one.asked === undefined ? 0.5 : 0.1, act: () => this.#forget(one) })
      if (manners.logs && method === 'tools/call') {
        actions.push({ label: `${of}: logs`, weight: 0.5, act: () => this.#log(one) })
        if (metaOf(one.message)['progressToken'] !== undefined)
          actions.push({ label: `${of}: progress`, weight: 0.5, act: () => this.#progress(one) })
      }
    }
    if (manners.asks) {
      for (const one of this.open) {
        const { asked, message: { method }, name: of, isCancelled } = one
        if (asked === undefined || method !== 'tools/call' || isCancelled || this.isModern(one)) continue
        actions.push({ label: `${name} ${method} ${of}: asks`, weight: 0.5, act: chance => this.#ask(one, asked, chance) })
      }
    }
    if (manners.changes) actions.push(...this.#changes())
    if (manners.answersTwice && this.#answered !== undefined && this.#answered.message.method === 'tools/call') {
      const again = this.#answered
      actions.push({ label: `${name} answers ${again.name} again`, weight: 0.3, act: chance => this.#again(again, chance) })
    }
    return actions
  }

  #changes(): readonly Action[] {
    const actions: Action[] = []
    for (const tool of ['t0', 't1']) {
      const now = this.tools.kinds.get(tool)
      const next: Kind | undefined = now === 'integer' ? 'string' : now === 'string' && tool === 't1' ? undefined : 'integer'
      actions.push({
        label: `${this.name} changes ${tool} to ${next ?? 'none'}`, weight: 0.3,
        act: () => this.tools.change(tool, next, this.book.step),
      })
    }
    // A change while a listing of the relay has no answer makes it list again.
    const isAwaited = this.open.some(({ asked, isForgotten }) => isForgotten && asked === undefined)
    const weight = this.tools.unannounced !== undefined || isAwaited ? 1.5 : 0.2
    actions.push({ label: `${this.name} announces`, weight, act: () => {
      this.tools.unannounced = undefined
      this.announce()
    } })
    return actions
  }

  rest(): readonly Action[] {
    this.look()
    if (!this.isRunning) return []
    if (this.tools.unannounced !== undefined) {
      this.tools.unannounced = undefined
      return [{ label: `${this.name} announces`, weight: 1, act: () => this.announce() }]
    }
    const [one] = this.open.filter(({ isForgotten, message: { method } }) =>
      !isForgotten && method !== 'subscriptions/listen')
    return one === undefined ? [] : [
      { label: `${this.name} ${one.message.method} ${one.name}: answers`, weight: 1, act: chance => this.#answerNow(one, chance) },
    ]
  }

  #subscription(one: Received, of: string, actions: Action[]): void {
    if (one.answers > 0) return
    actions.push({ label: `${of}: acknowledges`, weight: 2, act: () => {
      one.answers = 1
      this.tell(one, {
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { toolsListChanged: true }, _meta: { [`${prefix}subscriptionId`]: one.message.id } },
      })
    } })
  }

  #look(one: Received): void {
    one.snapshot = this.tools.page(one.marker, name => this.isAllowed(one, name))
  }

  #forget(one: Received): void {
    one.isForgotten = true
    if (one.asked) one.asked.isLoose = one.asked.isForgotten = true
  }

  /** The relay does not know the tools for a while after a listing of its own had no answer. */
  protected look(): void {
    const { time } = this.world.clock
    for (const one of this.open) {
      if (one.message.method === 'tools/list' && one.asked === undefined && time - one.at >= listMs)
        this.tools.blind(this.sessionOf(one), time + listMs)
    }
  }

  #log(one: Received): void {
    if (one.isCancelled) return
    // Only the sole taker can be meant, where nothing names it: also of those that are on their way.
    const takers = [...this.book.asked.values()].filter(asked => asked.takesLogs && !asked.isAnswered
      && (!asked.isLoose || asked.isForgotten || asked.arrivedAt === undefined
        || this.open.some(other => other.asked === asked)))
    if (logLevelOf(one.message) !== undefined && (takers.length !== 1 || takers[0] !== one.asked)) return
    if (logLevelOf(one.message) === undefined && this.isModern(one)) return
    const notice = this.#notice('log', one)
    const isSent = this.tell(one, {
      method: 'notifications/message', params: { level: 'error', data: `<<${notice}>>` },
    })
    if (!isSent) this.#unsend()
  }

  #ask(one: Received, asked: Asked, chance: Chance): void {
    const id = `q${this.book.next()}`
    const marker = `${one.marker}.${id}`
    const _meta = { m: `<<${marker}>>` }
    const isSent = this.tell(one, { id, ...chance.pick([
      { method: 'roots/list', params: { _meta } },
      { method: 'elicitation/create', params: { message: 'well?', requestedSchema, _meta } },
      { method: 'sampling/createMessage', params: { messages, maxTokens: 9, _meta } },
    ]) })
    if (isSent) this.book.asks(id, marker, this.name, asked)
  }

  #progress(one: Received): void {
    const notice = this.#notice('progress', one)
    const isSent = this.tell(one, {
      method: 'notifications/progress',
      params: { progressToken: metaOf(one.message)['progressToken'], progress: this.book.next(), message: `<<${notice}>>` },
    })
    if (!isSent) this.#unsend()
  }

  #unsend(): void {
    this.book.notices.pop()
  }

  #notice(kind: 'log' | 'progress', one: Received): string {
    const order = this.book.next()
    const marker = `${one.marker}.${kind}${order}`
    // What names no request may be written to a connection that is breaking, and counts as sent.
    const isOff = kind === 'log' && this.world.isBreaking?.(one.asked?.client ?? '') === true
    this.book.notices.push({ marker, kind, to: one.marker ?? '', order, isGot: false, isOff })
    return marker
  }

  protected isModern(one: Received): boolean {
    return metaOf(one.message)[`${prefix}protocolVersion`] !== undefined
  }

  #again(one: Received, chance: Chance): void {
    if (one.asked) one.asked.isLoose = true
    this.book.strayAt = this.world.clock.time
    this.#give(one, chance)
  }

  #answerNow(one: Received, chance: Chance): void {
    this.close(one)
    this.#give(one, chance)
  }

  #give(one: Received, chance: Chance): void {
    one.answers += 1
    const { method } = one.message
    const modern = this.isModern(one) ? { resultType: 'complete' } : {}
    const result = method === 'initialize'
      ? {
          protocolVersion: one.message.params?.['protocolVersion'],
          capabilities: { tools: { listChanged: true }, logging: {} }, serverInfo: { name: 's', version: '1' },
        }
      : method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } }, ...modern }
        : method === 'tools/list'
          ? { ...(one.snapshot ?? this.tools.page(one.marker, name => this.isAllowed(one, name))), ...modern }
          : method === 'tools/call' ? this.#resultOf(one, modern, chance) : modern
    if (result === 'unknown') {
      const error = { code: -32602, message: `Unknown tool <<${one.marker}>>` }
      one.asked?.given.push({ digest: digestOf(JSON.stringify(error)), kind: 'other', step: this.book.step })
      return this.answer(one, { id: one.message.id, error }, chance)
    }
    this.answer(one, { id: one.message.id, result }, chance)
  }

  #resultOf(one: Received, modern: object, chance: Chance): object | 'unknown' {
    const tool = one.asked?.tool ?? ''
    const now = this.tools.kinds.get(tool)
    if (now === undefined || !this.isAllowed(one, tool)) return 'unknown'
    const kind = this.manners.lies && chance.is(0.4) ? (now === 'integer' ? 'string' : 'integer') : now
    const text = `<<${one.marker}>>`
    const length = this.manners.eventIds ? longestText : longText
    const pad = this.manners.isLong && chance.is(0.5) ? text.repeat(Math.ceil(length / text.length)) : ''
    const result = {
      content: [{ type: 'text', text: text + pad }],
      structuredContent: { v: kind === 'integer' ? 5 : 'five' }, ...modern,
    }
    const digest = digestOf(JSON.stringify(this.heard(result)))
    one.asked?.given.push({ digest, kind, step: this.book.step })
    return result
  }
}
