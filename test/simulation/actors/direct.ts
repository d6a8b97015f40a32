import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import type { Frame } from '#relay/protocol/frame.js'
import { type Asked, type Question, Tools, type Book } from '../book.js'
import type { SessionWorld, Side } from '../worlds/session.js'
import type { Chance } from '../chance.js'
import type { Action, Actor, World } from '../world.js'
import { answerOf, declared, logLevelOf, type Manners, type Message, type Received, ServerActor } from './server.js'

interface DirectReceived extends Received {
  readonly exchange: Exchange
}

/** A server whose frames need no wire. */
export class DirectServer extends ServerActor {
  readonly isRunning = true
  readonly #direct: SessionWorld

  constructor(name: string, world: SessionWorld, book: Book, manners: Manners) {
    super(name, world, book, new Tools(['t0', 't1']), manners)
    this.#direct = world
  }

  hears(exchange: Exchange, frame: Frame): void {
    for (const message of messagesOf(frame.bytes.toString())) this.receive(message, { exchange })
  }

  shut(exchange: Exchange): void {
    if (!this.#direct.isGroup) return
    for (const one of [...this.open] as DirectReceived[]) if (one.exchange === exchange) this.close(one)
  }

  protected sessionOf(): string {
    return 'session'
  }

  protected answer(to: Received, message: object): void {
    const { exchange } = to as DirectReceived
    if (this.#gathered !== undefined) return void this.#gathered.push(message)
    this.#direct.serverSide.say(exchange, message)
    if (this.#direct.isGroup) this.#direct.serverSide.tell({ type: 'stream-ended', exchange, resumable: false })
  }

  protected tell(to: Received, message: object): boolean {
    // Over stdio nothing names the request of a log message.
    if (!this.#direct.isGroup && logLevelOf(to.message) !== undefined) return false
    this.#direct.serverSide.say((to as DirectReceived).exchange, message)
    return true
  }

  protected announce(): void {
    this.tools.told.set('session', this.book.step)
    if (!this.#direct.isGroup) return this.changed(stdioExchange, 'c1')
    for (const one of [...this.open] as DirectReceived[])
      if (one.message.method === 'subscriptions/listen' && one.answers > 0) this.changed(one.exchange, one.marker ?? '')
  }

  /** Answers that wait for others of their batch. */
  #gathered: object[] | undefined

  #answersTogether(answers: readonly Action[], chance: Chance): void {
    this.#gathered = []
    for (const { act } of answers) act(chance)
    this.#direct.serverSide.say(stdioExchange, this.#gathered)
    this.#gathered = undefined
  }

  /** In a group, and by a translator, the relay is told on a subscription only. */
  override actions(): readonly Action[] {
    const actions = [...super.actions()]
    const answers = actions.filter(({ label }) => label.endsWith(': answers'))
    if (this.#direct.isBatching && answers.length > 1) actions.push({
      label: `${this.name} answers ${answers.length} in a batch`, weight: 2,
      act: chance => this.#answersTogether(answers, chance),
    })
    const { isGroup, isTranslated } = this.#direct
    const hears = (!isGroup && !isTranslated) || this.open.some(({ message: { method }, answers }) =>
      method === 'subscriptions/listen' && answers > 0)
    return hears ? actions : actions.filter(({ label }) => !label.endsWith('announces'))
  }

  protected changed(exchange: Exchange, to: string, meta: object = {}): void {
    const order = this.book.next()
    this.book.notices.push({ marker: `changed${order}`, kind: 'changed', to, order, isGot: false, isOff: false })
    this.#direct.serverSide.say(exchange, {
      method: 'notifications/tools/list_changed', params: { _meta: { m: `<<changed${order}>>`, ...meta } },
    })
  }
}

/** What a client needs of its world. */
interface ClientWorld extends World {
  readonly book: Book
  readonly isGroup: boolean
  /** Its clients send batches (2025-03-26, Base Protocol, Batching). */
  readonly isBatching: boolean
  readonly server: ServerActor
  readonly clientSide: Side
}

const prefix = 'io.modelcontextprotocol/'

/** A message, or the members of a batch. */
const messagesOf = (text: string): readonly Message[] =>
  [JSON.parse(text) as Message | readonly Message[]].flat()

/** A client whose frames need no wire: over stdio, or with an exchange for each request. */
export class DirectClient implements Actor {
  #id = 0
  readonly #open = new Map<Exchange, Asked>()
  readonly #waiting = new Map<number, Asked>()
  /** The requests that were sent together, by the id of each. */
  readonly #batches = new Map<number, readonly Asked[]>()
  #isReady: boolean

  constructor(
    readonly name: string, readonly world: ClientWorld, readonly isModern: boolean, readonly leaves: boolean,
    readonly declares: boolean,
  ) {
    if (declares) world.book.declaring.add(name)
    this.#isReady = isModern
    this.#id = Number(name.slice(1)) * 1000
  }

  get #book(): Book {
    return this.world.book
  }

  askedOn(exchange: Exchange, id: number | string): Asked | undefined {
    return this.isModern ? this.#open.get(exchange) : this.#waiting.get(Number(id))
  }

  actions(): readonly Action[] {
    const actions: Action[] = []
    const add = (what: string, weight: number, act: Action['act']) =>
      actions.push({ label: `${this.name} ${what}`, weight, act })
    if (!this.#isReady) {
      if (this.#waiting.size === 0) add('begins', 3, () => this.#ask('initialize', undefined))
      return actions
    }
    if (this.#waiting.size < 4) {
      add('lists', 0.7, () => this.#ask('tools/list', undefined))
      for (const tool of ['t0', 't1']) add(`calls ${tool}`, 1.5, chance => this.#ask('tools/call', tool, chance.next()))
    }
    if (this.world.isBatching && this.#waiting.size < 4)
      add('sends a batch', 2, chance => this.#sendBatch(chance))
    for (const question of this.#book.questions.values()) {
      const { id, marker, given } = question
      if (!this.#questions.has(id)) add(`answers ${marker} before it is asked`, 0.1, () => this.#reply(question, true))
      else add(`answers ${marker}${given === undefined ? '' : ' again'}`, given === undefined ? 1 : 0.1, () => this.#reply(question))
    }
    const listens = [...this.#open.values()].some(({ method }) => method === 'subscriptions/listen')
    if (this.isModern && !listens) add('subscribes', 1, () => this.#ask('subscriptions/listen', undefined))
    if (!this.leaves) return actions
    if (this.isModern) for (const [exchange, asked] of this.#open)
      add(`leaves ${asked.marker}`, 0.2, () => this.#leave(exchange))
    else for (const asked of this.#waiting.values()) {
      if (asked.method === 'tools/call' && !asked.isCancelled) add(`cancels ${asked.marker}`, 0.2, () => this.#cancel(asked))
    }
    return actions
  }

  rest(): readonly Action[] {
    return []
  }

  #ask(method: string, tool: string | undefined, chance = 0): void {
    const [exchange, message] = this.#request(method, tool, chance)
    this.world.clientSide.say(exchange, message)
  }

  #request(method: string, tool: string | undefined, chance: number): [Exchange, object] {
    const id = (this.#id += 1)
    const marker = `${this.name}-${id}`
    const asked: Asked = {
      marker, client: this.name, id, method, tool, sent: this.#book.step, sentAt: this.world.clock.time,
      arrivedAt: undefined, tools: this.world.server.tools, session: 'session', given: [], isAnswered: false,
      isCancelled: false, isForgotten: false, isLoose: false, takesLogs: false,
    }
    this.#book.asked.set(marker, asked)
    const exchange: Exchange = this.isModern ? { name: marker, context: 'one' } : stdioExchange
    this.#waiting.set(id, asked)
    if (this.isModern) this.#open.set(exchange, asked)
    return [exchange, { id, method, params: {
      ...(method === 'initialize' && {
        protocolVersion: this.world.isBatching ? '2025-03-26' : '2025-11-25', capabilities: this.declares ? declared : {}, clientInfo: { name: this.name, version: '1' },
      }),
      ...(method === 'subscriptions/listen' && { notifications: { toolsListChanged: true } }),
      ...(tool !== undefined && { name: tool, arguments: { m: marker } }),
      _meta: {
        m: marker, ...(chance > 0.5 && { progressToken: marker }),
        ...(this.isModern && {
          [`${prefix}protocolVersion`]: '2026-07-28', [`${prefix}clientCapabilities`]: {},
          [`${prefix}clientInfo`]: { name: this.name, version: '1' },
        }),
      },
    } }]
  }

  /** Sends calls, a list and the cancellation of another call together. */
  #sendBatch(chance: Chance): void {
    const last = this.#id
    const [open] = [...this.#waiting.values()].filter(({ method, isCancelled }) => method === 'tools/call' && !isCancelled)
    const tools = ['t0', 't1'].slice(chance.below(2))
    const members = tools.map(tool => this.#request('tools/call', tool, chance.next())[1])
    if (chance.is(0.3)) members.push(this.#request('tools/list', undefined, 0)[1])
    if (open !== undefined && chance.is(0.3)) members.push(this.#cancellation(open))
    const requests = [...this.#waiting.values()].filter(({ id }) => id > last)
    for (const { id } of requests) this.#batches.set(id, requests)
    this.world.clientSide.say(stdioExchange, members)
  }

  /** The requests of the server that it has got. */
  readonly #questions = new Set<string>()

  /** @param isGuess it answers something that it was not asked */
  #reply(question: Question, isGuess = false): void {
    const result = answerOf(this.name, question.id)
    if (!isGuess) question.given = JSON.stringify(result)
    this.world.clientSide.say(stdioExchange, { id: isGuess ? `${question.id}x` : question.id, result })
  }

  #cancel(asked: Asked): void {
    this.world.clientSide.say(stdioExchange, this.#cancellation(asked))
  }

  #cancellation(asked: Asked): object {
    asked.isCancelled = asked.isLoose = true
    this.#book.dismiss(asked.marker)
    return { method: 'notifications/cancelled', params: { requestId: asked.id } }
  }

  #leave(exchange: Exchange): void {
    const asked = this.#open.get(exchange)
    this.over(exchange)
    if (asked) asked.isLoose = true
    this.world.clientSide.tell({ type: 'exchange-ended', exchange })
  }

  leaveAll(): void {
    for (const exchange of this.#open.keys()) this.#leave(exchange)
  }

  /** The exchange is answered as a whole. */
  over(exchange: Exchange): void {
    const asked = this.#open.get(exchange)
    if (asked === undefined) return
    this.#open.delete(exchange)
    this.#waiting.delete(asked.id)
    this.#book.dismiss(asked.marker)
  }

  hear(exchange: Exchange, text: string): void {
    const on = this.isModern ? this.#open.get(exchange) : undefined
    if (this.isModern && on === undefined) return
    const messages = messagesOf(text)
    const isWhole = ({ isLoose, isForgotten, id }: Asked) =>
      isLoose || isForgotten || messages.some(one => one.method === undefined && one.id === id)
    for (const { id, method } of messages) {
      if (method !== undefined || this.#waiting.get(Number(id))?.isLoose === true) continue
      if (this.#batches.get(Number(id))?.every(isWhole) === false)
        this.world.violate('whole batch', `${this.name} gets the response ${String(id)} without others of its batch`)
    }
    for (const message of messages) this.#hearOne(exchange, message, on)
  }

  #hearOne(exchange: Exchange, message: Message, on: Asked | undefined): void {
    const text = JSON.stringify(message)
    this.#book.owned(text, `${this.name} ${on?.marker ?? ''}`, marker =>
      (on === undefined ? marker.startsWith(`${this.name}-`) : marker === on.marker))
    if (message.method !== undefined) {
      if (message.id !== undefined) {
        this.#questions.add(String(message.id))
        this.#book.asksClient(String(message.id), this.name)
      }
      return this.#book.noticed(message.method, message.params)
    }
    const asked = on ?? this.#waiting.get(Number(message.id))
    if (asked === undefined || asked.id !== message.id) {
      // A late answer to what was cancelled passes to nobody.
      return this.world.violate('one answer', `${this.name} gets a response with the id ${String(message.id)}: ${text.slice(0, 100)}`)
    }
    this.#waiting.delete(asked.id)
    this.#book.answered(asked, message as never)
    if (asked.method === 'initialize') {
      this.#isReady = true
      this.world.clientSide.say(stdioExchange, { method: 'notifications/initialized' })
    }
    if (this.isModern && asked.method !== 'subscriptions/listen') this.#open.delete(exchange)
  }

  checkAnswers(): void {
    for (const asked of this.#waiting.values()) {
      if (asked.isLoose || asked.method === 'subscriptions/listen') continue
      // The responses to a batch come together.
      if (this.#batches.get(asked.id)?.some(one => one.isForgotten) === true) continue
      this.world.violate('one answer', `${asked.marker} (${asked.method}) has no answer`)
    }
  }
}
