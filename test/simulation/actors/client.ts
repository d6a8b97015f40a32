import type { Asked, Book, Question } from '../book.js'
import { HttpAsk, type HttpQuestion } from '../http.js'
import type { Gateway } from '../worlds/gateway.js'
import type { Action, Actor } from '../world.js'
import { answerOf, declared, garbled, type Message } from './server.js'

interface Open {
  /** Of a stream: the server sees it too. */
  readonly name: string
  readonly http: HttpAsk
  readonly asked: Asked | undefined
  /** `resumed`: of a stream that goes on after an event id (2025-11-25, Resumability and Redelivery). */
  readonly kind: 'initialize' | 'request' | 'stream' | 'resumed' | 'notification'
  readonly begun: number
  readonly at: number
  readonly token: string | undefined
  /** It was cancelled before it was at its server: the cancellation may overtake it. */
  isOvertaken: boolean
}

const prefix = 'io.modelcontextprotocol/'
const accept = 'application/json, text/event-stream'
const idlePart = 0.9
/** Tells the server which stream it is, and which token its client has shown to the relay. */
export const streamHeader = 'x-request-id'
export const tokenHeader = 'user-agent'

export interface ClientKind {
  readonly isModern: boolean
  readonly server: string
  readonly authorization: string | undefined
  readonly isImpatient: boolean
  readonly isLong: boolean
  readonly logs: boolean
  /** Servers may ask it. */
  readonly declares: boolean
}

/** A client over HTTP: one request on each connection. */
export class ClientActor implements Actor {
  #id = 0
  readonly open: Open[] = []
  session: { readonly id: string; readonly begun: string; usedAt: number } | undefined
  /** Requests to begin a session that this client has left. */
  readonly #left: Open[] = []
  /** The session whose end it has asked for, and whether it waits for the answer. */
  readonly #ended = new Map<string, HttpAsk>()
  #isBeginning = false
  /** Ids of sessions that ended by its own doing. */
  isStopped = false

  constructor(
    readonly name: string, readonly world: Gateway, readonly book: Book, readonly kind: ClientKind,
    readonly address: string,
  ) {
    if (kind.declares) book.declaring.add(name)
  }

  get #path(): string {
    return `/${this.kind.server}/mcp`
  }

  get hasStream(): boolean {
    return this.open.some(({ kind, http }) => kind === 'stream' && http.session === this.session?.id)
  }

  /** How many of its streams a server has open for it beside its requests. */
  get streams(): number {
    return this.open.filter(({ kind }) => kind === 'stream' || kind === 'resumed').length
  }

  /** Requests whose stream was cut, by the last event id that it has got. */
  readonly #cut = new Map<Asked, string>()

  /** It knows the session that this request has begun, or nobody can know whether it does. */
  mayKnow(begun: string | undefined): boolean {
    if (this.session?.begun === begun || this.open.some(({ asked }) => asked?.marker === begun)) return true
    // Whoever leaves at once may not be heard, and whoever has no valid token is not.
    const end = this.#ended.get(begun ?? '')
    if (end?.hasLeft === true || end?.status === 401) return true
    // Its token was revoked before the end of its session was at its server.
    if (end?.isCut === true && this.world.operator?.isRevoked(this.kind.authorization) === true) return true
    // What is written after it left counts as sent, until the program sees that the connection is broken.
    return this.#left.some(({ asked, http: { near, headers } }) =>
      asked?.marker === begun
        && (headers.has('mcp-session-id') || near.hadUnread || near.peer?.isWrittenInVain === true))
  }

  actions(): readonly Action[] {
    this.#tidy()
    if (this.isStopped) return []
    const { kind: { isModern, isImpatient } } = this
    const actions: Action[] = []
    const isReady = isModern || this.session !== undefined
    const add = (what: string, weight: number, act: Action['act']) =>
      actions.push({ label: `${this.name} ${what}`, weight, act })
    if (!isReady && !this.#isBeginning) add('begins', 3, () => this.begin())
    const pending = this.open.filter(({ asked }) => asked !== undefined)
    // Where much time passes, clients come and go.
    const isBrief = this.world.pace > 1
    if (isReady && pending.length < (isBrief ? 1 : 3)) {
      add('lists', 0.7, () => this.#ask('tools/list', undefined))
      for (const tool of ['t0', 't1']) add(`calls ${tool}`, 1.5, chance => this.#ask('tools/call', tool, chance.next()))
    }
    if (isReady && !this.hasStream) {
      if (isModern) add('subscribes', isBrief ? 0.1 : 0.7, () => this.#ask('subscriptions/listen', undefined))
      else add('opens a stream', isBrief ? 0.1 : 0.7, () => this.#bare('GET'))
    }
    if (!isModern && this.session !== undefined) {
      add('ends its session', isBrief ? 1 : 0.05, () => this.#bare('DELETE'))
      for (const { asked } of pending) {
        if (asked?.method === 'tools/call' && !asked.isCancelled)
          add(`cancels ${asked.marker}`, 0.15, () => this.#cancel(asked))
      }
      for (const question of this.book.questions.values()) {
        const { id, marker, client, given } = question
        const isOwn = client === this.name && this.#questions.has(id)
        if (isOwn && given === undefined) add(`answers ${marker}`, 1, () => this.#reply(question))
        else if (isOwn || client !== this.name) add(`answers ${marker} too`, 0.05, () => this.#reply(question))
      }
    }
    for (const asked of this.#resumable()) add(`resumes ${asked.marker}`, 2, () => this.#resume(asked))
    for (const one of this.open) {
      if (this.#isResumable(one)) add(`loses the connection of ${one.asked?.marker}`, 0.2, () => this.#lose(one))
      const what = one.asked?.marker ?? one.kind
      add(`leaves ${what}`, isImpatient ? 0.5 : 0.05, () => this.#leave(one))
    }
    return actions
  }

  /** At the end it opens a stream, to get what waits for it. */
  rest(): readonly Action[] {
    this.#tidy()
    if (this.isStopped) return []
    const [cut] = this.#resumable()
    if (cut !== undefined) {
      const label = `${this.name} resumes ${cut.marker}`
      return [{ label, weight: 1, act: () => this.#resume(cut) }]
    }
    if (!this.kind.isModern && this.session !== undefined && !this.hasStream)
      return this.#hasOpenedLast ? [] : [{ label: `${this.name} opens a stream`, weight: 1, act: () => {
        this.#hasOpenedLast = true
        this.#bare('GET')
      } }]
    return []
  }

  #hasOpenedLast = false
  #broken: HttpAsk[] = []
  /** It has closed a connection before the end of a response. */
  hasLeft = false

  /** The program does not know yet that a connection of this client is broken. */
  get isBreaking(): boolean {
    this.#broken = this.#broken.filter(({ near }) => near.peer?.destroyed === false)
    return this.#broken.length > 0
  }

  begin(): void {
    this.#isBeginning = true
    this.#ask('initialize', undefined)
  }

  /** Leaves everything. */
  stop(): void {
    this.isStopped = true
    for (const one of [...this.open]) this.#leave(one)
  }

  end(): void {
    if (this.session !== undefined) this.#bare('DELETE')
  }

  #ask(method: string, tool: string | undefined, chance = 0): void {
    const id = (this.#id += 1)
    const marker = `${this.name}-${id}`
    const takesLogs = this.kind.isModern && this.kind.logs && method === 'tools/call' && chance > 0.5
    const asked: Asked = {
      marker, client: this.name, id, method, tool, sent: this.book.step, sentAt: this.world.clock.time,
      arrivedAt: undefined, tools: undefined, session: undefined,
      given: [], isAnswered: false, isCancelled: false, isForgotten: false, isLoose: false, takesLogs,
    }
    if (takesLogs) this.book.dismissLogs()
    this.world.place(asked, this)
    this.book.asked.set(marker, asked)
    const meta = {
      m: marker,
      ...(method === 'tools/call' && chance > 0.3 && { progressToken: `p${id}` }),
      ...(this.kind.isModern && {
        [`${prefix}protocolVersion`]: '2026-07-28', [`${prefix}clientInfo`]: { name: this.name, version: '1' },
        [`${prefix}clientCapabilities`]: {}, ...(takesLogs && { [`${prefix}logLevel`]: 'debug' }),
      }),
    }
    const pad = this.kind.isLong && chance > 0.6 ? 'x'.repeat(150_000) : ''
    const params = {
      ...(method === 'initialize' && {
        protocolVersion: '2025-11-25', capabilities: this.kind.declares ? declared : {}, clientInfo: { name: this.name, version: '1' },
      }),
      ...(method === 'subscriptions/listen' && { notifications: { toolsListChanged: true } }),
      ...(tool !== undefined && { name: tool, arguments: { m: marker, ...(pad !== '' && { pad }) } }),
      _meta: meta,
    }
    const kind = method === 'initialize' ? 'initialize' : method === 'subscriptions/listen' ? 'stream' : 'request'
    this.#post(kind, JSON.stringify({ jsonrpc: '2.0', id, method, params }), asked, method, tool)
  }

  /** The requests of servers that it has got. */
  readonly #questions = new Set<string>()

  #reply(question: Question): void {
    const { id, client } = question
    const result = answerOf(this.name, id)
    if (client === this.name) question.given = JSON.stringify(result)
    this.#post('notification', JSON.stringify({ jsonrpc: '2.0', id, result }), undefined)
  }

  #cancel(asked: Asked): void {
    asked.isCancelled = true
    asked.isLoose = true
    for (const one of this.open) if (one.asked === asked) one.isOvertaken = asked.arrivedAt === undefined
    this.book.dismiss(asked.marker)
    this.#post('notification', JSON.stringify({
      jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: asked.id },
    }), undefined)
  }

  #headers(): Record<string, string> {
    const { isModern, authorization } = this.kind
    return {
      ...(authorization !== undefined && { authorization, [tokenHeader]: authorization }),
      ...(this.session !== undefined && { 'mcp-session-id': this.session.id }),
      'mcp-protocol-version': isModern ? '2026-07-28' : '2025-11-25',
    }
  }

  #post(kind: Open['kind'], body: string, asked: Asked | undefined, method?: string, tool?: string): void {
    const headers = {
      ...this.#headers(), 'content-type': 'application/json', accept,
      ...(this.kind.isModern && method !== undefined && { 'mcp-method': method }),
      ...(this.kind.isModern && tool !== undefined && { 'mcp-name': tool }),
    }
    this.#send(kind, { method: 'POST', path: this.#path, headers, body }, asked)
  }

  #bare(method: 'GET' | 'DELETE'): void {
    const name = `${this.name}.${this.#id += 1}`
    const headers = { ...this.#headers(), accept: 'text/event-stream', [streamHeader]: name }
    const kind = method === 'GET' ? 'stream' : 'notification'
    const http = this.#send(kind, { method, path: this.#path, headers }, undefined, name)
    if (method === 'GET' || this.session === undefined) return
    this.#ended.set(this.session.begun, http)
    this.#forgetSession()
  }

  /** Its connection breaks, and it will ask for the rest. */
  #lose(one: Open): void {
    const { asked, http } = one
    if (asked === undefined || http.lastId === undefined) return
    this.#cut.set(asked, http.lastId)
    // Nothing names the stream of a log message.
    this.book.dismissLogs(this.name)
    http.leave()
    this.hasLeft = true
    this.#broken.push(http)
    this.open.splice(this.open.indexOf(one), 1)
  }

  #isResumable({ asked, kind, http }: Open): boolean {
    return (kind === 'request' || kind === 'resumed') && !this.kind.isModern && this.session !== undefined
      && http.lastId !== undefined && asked?.isAnswered === false && !asked.isLoose
  }

  #resumable(): readonly Asked[] {
    if (this.session === undefined) return []
    return [...this.#cut.keys()].filter(one => !one.isLoose && !one.isAnswered)
  }

  #resume(asked: Asked): void {
    const lastEventId = this.#cut.get(asked) ?? ''
    this.#cut.delete(asked)
    const headers = { ...this.#headers(), accept: 'text/event-stream', 'last-event-id': lastEventId }
    this.#send('resumed', { method: 'GET', path: this.#path, headers }, asked)
  }

  #forgetSession(): void {
    this.session = undefined
    for (const asked of this.#cut.keys()) asked.isLoose = true
    this.#cut.clear()
    this.#isBeginning = false
    for (const { asked } of this.open) if (asked) asked.isLoose = true
    this.book.dismiss(`/${this.name}`)
    this.book.dismissQuestions(this.name)
    for (const { asked } of this.open) if (asked) this.book.dismiss(asked.marker)
  }

  #send(kind: Open['kind'], question: HttpQuestion, asked: Asked | undefined, name = asked?.marker ?? ''): HttpAsk {
    const label = `${this.name}:${asked?.id ?? kind}`
    const http: HttpAsk = new HttpAsk(
      this.world, this.world.listener(), label, question, this.address, text => this.#hear(text, one),
    )
    const one: Open = {
      name, http, asked, kind, begun: this.world.steps.length, at: this.world.clock.time,
      token: this.kind.authorization, isOvertaken: false,
    }
    this.open.push(one)
    return http
  }

  #leave(one: Open): void {
    if (one.kind === 'initialize') this.#left.push(one)
    one.http.leave()
    this.hasLeft = true
    this.book.dismissQuestions(this.name)
    // What was sent to a connection that breaks is lost.
    this.book.dismiss(`/${this.name}`)
    this.book.dismissLogs(this.name)
    this.#broken.push(one.http)
    if (one.asked) {
      one.asked.isLoose = true
      this.book.dismiss(one.asked.marker)
    }
    if (one.kind === 'initialize') this.#isBeginning = false
    if (one.kind === 'stream') {
      this.book.dismiss(`/${this.name}`)
      this.book.dismissAsked(this.name)
      this.#loosen()
    }
    this.open.splice(this.open.indexOf(one), 1)
  }

  /** Looks at the responses that are over. */
  #tidy(): void {
    for (const one of [...this.open]) {
      const { http, kind } = one
      if (this.session !== undefined && kind !== 'stream' && http.status === 200) this.session.usedAt = Math.max(this.session.usedAt, one.at)
      if (http.status !== undefined) this.#status(one, http.status)
      if (kind === 'initialize' && http.headers.has('mcp-session-id') && this.session === undefined && http.isOver)
        this.#begun(one)
      if (!http.isOver) continue
      this.open.splice(this.open.indexOf(one), 1)
      if (kind === 'initialize' && this.session === undefined) this.#isBeginning = false
      this.#over(one)
    }
  }

  #begun({ http, asked, at }: Open): void {
    const id = http.headers.get('mcp-session-id') ?? ''
    this.session = { id, begun: asked?.marker ?? '', usedAt: at }
    this.#post('notification', JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), undefined)
  }

  #status({ asked, token, begun, http }: Open, status: number): void {
    if (status === 502 && asked?.isLoose === false && this.world.isCalm)
      this.world.violate('answer reaches', `${asked.marker}: its server lives, and the client gets HTTP 502`)
    if (status >= 400 && asked) asked.isLoose = true
    if (status === 401 || status === 404 || status === 503) this.book.dismissQuestions(this.name)
    if (status === 404 && this.session !== undefined && http.session === this.session.id) {
      const age = this.world.clock.time - this.session.usedAt
      if (age < this.world.idleMs * idlePart && this.world.sessionsLast(this))
        this.world.violate('session lives', `${this.name}: its session is unknown ${age} ms after its last use`)
      this.#forgetSession()
    }
    this.world.checkToken(token, begun, status, `${this.name} ${asked?.marker ?? ''}`)
  }

  #over(one: Open): void {
    const { http, asked, kind } = one
    if (asked && http.lastId !== undefined && http.status === 200 && this.#isResumable(one)) {
      this.#cut.set(asked, http.lastId)
      return
    }
    if (http.isCut && asked !== undefined && !this.world.isWhole) {
      asked.isLoose = true
      this.book.dismiss(asked.marker)
    }
    if (kind === 'stream') {
      this.book.dismiss(`/${this.name}`)
      if (asked) this.book.dismiss(asked.marker)
      if (!this.world.isWhole && this.world.manners.wanders) this.#loosen()
    }
    if (http.isCut && asked?.isLoose === false && this.world.isWhole)
      this.world.violate('whole response', `${asked.marker}: its response is cut`)
  }

  /** A stream is over on which answers may have been. */
  #loosen(): void {
    for (const asked of this.book.asked.values())
      if (asked.client === this.name && !asked.isAnswered) asked.isLoose = asked.isForgotten = true
  }

  #hear(text: string, one: Open): void {
    let message: Message
    try {
      message = JSON.parse(text) as Message
    } catch {
      this.#unread(text, one)
      return
    }
    this.#markers(text, one)
    if (message.method !== undefined) {
      if (message.id !== undefined) this.#asks(String(message.id))
      return this.book.noticed(message.method, message.params)
    }
    const asked = one.asked ?? this.#elsewhere(message)
    if (asked === undefined || (message.id !== asked.id && message.id !== null)) {
      if (asked?.isLoose === false)
        this.world.violate('one answer', `${this.name}: a response with the id ${String(message.id)} instead of ${asked.id}`)
      return
    }
    if ((one.http.status ?? 0) < 400) this.book.answered(asked, message as never)
  }

  #asks(id: string): void {
    this.#questions.add(id)
    this.book.asksClient(id, this.name)
  }

  /** A response on another stream than its request's. */
  #elsewhere({ id }: Message): Asked | undefined {
    return this.kind.isModern ? undefined : this.book.asked.get(`${this.name}-${String(id)}`)
  }

  /** What is no JSON passes only as its server has written it. */
  #unread(text: string, { asked }: Open): void {
    const isWhole = text.startsWith('debug') || (text.includes('garbled') && text.includes(garbled))
    if (!isWhole) this.world.violate('own bytes', `${this.name} ${asked?.marker ?? ''}: ${text.length} bytes, no JSON: ${text.slice(0, 80)}`)
    this.#markers(text, { asked } as Open)
  }

  /** Every byte belongs to the request, or to another one of the same session. */
  #markers(text: string, { asked }: Open): void {
    this.book.owned(text, `${this.name} ${asked?.marker ?? 'stream'}`, marker =>
      (this.kind.isModern ? marker === asked?.marker : marker.startsWith(`${this.name}-`)))
  }
}
