import { headersOf } from '#relay/transport/http/headers.js'
import { ResponseBody } from '#relay/transport/upstream/body.js'
import type { HttpAsk, HttpReply, HttpUpstream } from '#relay/transport/upstream/pool.js'
import { listMs, Tools, type Book } from '../book.js'
import type { Chance } from '../chance.js'
import type { Owner } from '../clock.js'
import type { Action, World } from '../world.js'
import { streamHeader, tokenHeader } from './client.js'
import { type Manners, type Message, type Received, ServerActor } from './server.js'

/** What was sent on a stream with event ids, to send it again (2025-11-25, resumability). */
interface StreamLog {
  /** The response on which it goes on. */
  current: Exchange
  readonly events: { readonly id: number; readonly text: string }[]
  isEnded: boolean
}

/** One HTTP request to the server, and its response. */
class Exchange {
  body: ResponseBody | undefined
  isStream = false
  isOver = false
  log: StreamLog | undefined
  /** The server has cut its stream, and goes on where the client asks for it with the last event id. */
  isInterrupted = false
  /** So much was sent on it that its client may hold the rest up. */
  mayStall = false
  readonly lastEventId: string
  readonly method: string
  readonly session: string | undefined
  /** The token that the client has shown to the relay. */
  readonly authorization: string
  readonly isListing: boolean
  readonly asksForTools: boolean
  readonly stream: string

  constructor(
    ask: HttpAsk, readonly at: number, readonly owner: Owner, readonly resolve: (reply: HttpReply) => void,
    readonly reject: (error: Error) => void,
  ) {
    this.method = ask.method
    this.session = ask.headers.get('mcp-session-id')
    this.lastEventId = ask.headers.get('last-event-id') ?? ''
    this.stream = ask.headers.get(streamHeader) ?? ''
    this.authorization = ask.headers.get(tokenHeader) ?? ''
    this.isListing = ask.body?.includes('subscriptions/listen') === true
    this.asksForTools = ask.body?.includes('"tools/list"') === true
  }

  begin(status: number, headers: Record<string, string>): ResponseBody {
    const body = new ResponseBody({
      paused: false, pause: () => undefined, resume: () => undefined,
      abort: (error: Error) => this.cut(error),
    })
    this.body = body
    this.resolve({ status, headers: headersOf(headers), body })
    return body
  }

  openStream(): void {
    if (this.body !== undefined) return
    this.begin(200, { 'content-type': 'text/event-stream' })
    this.isStream = true
  }

  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.body?.end()
  }

  cut(error: Error): void {
    if (this.isOver) return
    this.isOver = true
    if (this.body === undefined) this.reject(error)
    else this.body.end(error)
  }
}

interface HttpReceived extends Received {
  readonly exchange: Exchange
}

/** A remote server. */
export class HttpActor extends ServerActor {
  readonly exchanges = new Set<Exchange>()
  readonly sessions = new Set<string>()
  readonly isRunning = true
  #lastSession = 0
  #lastEvent = 0
  hasForgotten = false
  /** Its streams may begin with an id, and no data (2025-11-25, sending messages to the server). */
  readonly #primes: boolean
  readonly #resumable = new Set<Exchange>()

  /** @param only one relay uses all of its sessions @param forgets it forgets them */
  constructor(
    name: string, world: World, book: Book, manners: Manners, readonly isPrivate: boolean,
    readonly only?: string, readonly forgets = false,
  ) {
    super(name, world, book, new Tools(['t0', 't1']), manners)
    this.#primes = world.setting.is(0.5)
  }

  /** The program's connections to it. */
  upstream(url: URL): Pick<HttpUpstream, keyof HttpUpstream> {
    const pool = new Set<Exchange>()
    return {
      url, request: ask => this.#request(ask, pool), reachable: () => Promise.resolve(true),
      close: () => Promise.resolve(pool.forEach(exchange => exchange.cut(new Error('closed')))),
    }
  }

  /** The process that has asked is dead. */
  cut(owner: Owner): void {
    for (const exchange of this.exchanges) if (exchange.owner === owner) exchange.isOver = true
  }

  /** Which requests are open. */
  get openRequests(): readonly string[] {
    return [...this.exchanges].filter(({ isOver }) => !isOver)
      .map(({ method, session, isListing }) => `${method} ${session ?? ''} ${isListing ? 'subscription' : ''}`)
  }

  /** Open responses, by method. */
  count(method: 'GET' | 'POST'): number {
    return [...this.exchanges].filter(one => !one.isOver && one.method === method).length
  }

  #request(ask: HttpAsk, pool: Set<Exchange>): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const { owner } = this.world.clock
      if (owner.isDead) return
      const exchange = new Exchange(ask, this.world.clock.time, owner, resolve, reject)
      const abort = () => {
        // What it has sent with event ids it can send again.
        if (exchange.log !== undefined && !exchange.isOver) this.#keep(exchange)
        exchange.cut(Object.assign(new Error('aborted'), { code: 'UND_ERR_ABORTED' }))
      }
      if (ask.signal.aborted) return abort()
      if (ask.signal instanceof AbortSignal) ask.signal.addEventListener('abort', abort)
      else ask.signal.onAbort = abort
      this.exchanges.add(exchange)
      for (const one of pool) if (one.isOver) pool.delete(one)
      pool.add(exchange)
      this.world.soon(`${this.name} gets a ${ask.method}`, this.world.main, () => this.#arrives(exchange, ask.body?.toString() ?? ''))
    })
  }

  #arrives(exchange: Exchange, text: string): void {
    const { method, session } = exchange
    if (exchange.isOver) return
    if (session !== undefined && !this.sessions.has(session)) return this.#reply(exchange, 404)
    if (method === 'GET') return this.#opens(exchange)
    if (method === 'DELETE') {
      if (session !== undefined) this.sessions.delete(session)
      return this.#reply(exchange, 200)
    }
    if (text === '') {
      this.#reply(exchange, 400)
      return this.world.violate('own requests', `${this.name} gets an empty request that no client has sent`)
    }
    const message = JSON.parse(text) as Message
    // A session that was begun anew knows no list once its client has said that it is initialized.
    if (message.method === 'notifications/initialized' && this.only !== undefined)
      this.tools.told.set(this.only, this.book.step)
    const received = this.receive(message, { exchange })
    if (received === undefined) this.#reply(exchange, 202)
  }

  #opens(exchange: Exchange): void {
    exchange.openStream()
    for (const { log } of this.#resumable) {
      const at = log?.events.findIndex(({ id }) => String(id) === exchange.lastEventId) ?? -1
      if (log === undefined || at < 0) continue
      log.current = exchange
      for (const { id, text } of log.events.slice(at + 1)) this.#write(exchange, id, text)
      if (log.isEnded) exchange.end()
    }
  }

  #reply(exchange: Exchange, status: number, text = ''): void {
    const headers = { 'content-type': 'application/json' }
    const body = exchange.begin(status, text === '' ? { 'content-length': '0' } : headers)
    if (text !== '') body.push(ownBuffer(text))
    exchange.end()
  }

  protected sessionOf(one: Received): string {
    const { exchange } = one as HttpReceived
    return this.only ?? exchange.session ?? `${this.isModern(one) ? 'modern' : 'legacy'} ${exchange.authorization}`
  }

  protected override isAllowed(one: Received, tool: string): boolean {
    const { authorization } = (one as HttpReceived).exchange
    return !this.isPrivate || tool !== 't1' || !authorization.includes('forged')
  }

  protected answer(to: Received, message: object, chance: Chance): void {
    const one = to as HttpReceived
    const { exchange } = one
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    const other = this.#otherStream(exchange)
    if (exchange.isInterrupted && exchange.log !== undefined) {
      this.#event(exchange, text)
      exchange.log.isEnded = true
      return exchange.log.current.end()
    }
    if (exchange.isOver) {
      if (other) this.#event(other, text)
      return
    }
    if (to.message.method === 'initialize') return this.#named(exchange, text)
    // How the relay's own listings end does not matter to a client.
    if (this.manners.wanders && one.asked !== undefined && other !== undefined && chance.is(0.5)) {
      if (exchange.body === undefined) this.#reply(exchange, 202)
      else exchange.end()
      const later = () => {
        if (!other.isOver) this.#event(other, text)
        // The program may not have seen yet that its client has left it.
        if (to.asked && (other.isOver || this.world.isRead?.(other.stream) === false)) to.asked.isLoose = true
      }
      return this.world.soon(`${this.name} answers ${one.name} elsewhere`, exchange.owner, later)
    }
    const isJson = exchange.body === undefined && !this.manners.eventIds && chance.is(0.5)
    if (isJson) return this.#reply(exchange, 200, text)
    exchange.openStream()
    this.#event(exchange, text)
    exchange.end()
    // Its client may have lost the connection: it can ask for the answer again.
    if (exchange.log === undefined) return
    exchange.log.isEnded = true
    this.#resumable.add(exchange)
  }

  /** Requests that it has begun are answered all the same. */
  #forgetSessions(): void {
    this.hasForgotten = true
    this.sessions.clear()
    this.#blindFor(4 * listMs)
    this.book.dismiss('')
    // What comes on other streams is lost with them.
    if (this.manners.wanders || this.manners.eventIds)
      for (const asked of this.book.asked.values())
        if (!asked.isAnswered && asked.arrivedAt !== undefined) asked.isLoose = true
    for (const exchange of this.exchanges) if (exchange.method === 'GET') exchange.end()
  }

  #blindFor(ms: number): void {
    if (this.only !== undefined) this.tools.blind(this.only, this.world.clock.time + ms)
  }

  #named(exchange: Exchange, text: string): void {
    this.#lastSession += 1
    const session = `${this.name}-session-${this.#lastSession}`
    this.sessions.add(session)
    // Whoever begins a session knows no list of it. What follows may overtake `initialized`.
    this.tools.told.set(session, this.book.step)
    // While a session is begun anew, a listing of the relay waits, and its time may be over.
    if (this.hasForgotten) this.#blindFor(2 * listMs)
    const body = exchange.begin(200, { 'content-type': 'application/json', 'mcp-session-id': session })
    body.push(ownBuffer(text))
    exchange.end()
  }

  /** An open stream of the same session. */
  #otherStream({ session }: Exchange): Exchange | undefined {
    return session === undefined ? undefined : this.#streams().find(one => one.session === session)
  }

  /** Open streams that are not the rest of another response. */
  #streams(): readonly Exchange[] {
    const rests = new Set([...this.#resumable].map(({ log }) => log?.current))
    return [...this.exchanges].filter(one =>
      one.method === 'GET' && one.isStream && !one.isOver && !rests.has(one))
  }

  #event(exchange: Exchange, text: string): void {
    if (!this.manners.eventIds) return this.#write(exchange, undefined, text)
    const id = (this.#lastEvent += 1)
    exchange.log ??= { current: exchange, events: [], isEnded: false }
    if (exchange.method === 'POST') exchange.log.events.push({ id, text })
    this.#write(exchange.log.current, id, text)
  }

  #write(exchange: Exchange, id: number | undefined, text: string): void {
    if (exchange.isOver) return
    exchange.mayStall ||= text.length > longText
    const named = id === undefined ? '' : `id: ${id}\n`
    this.world.clock.as(exchange.owner, () => exchange.body?.push(ownBuffer(`${named}data: ${text}\n\n`)))
  }

  #interrupt(exchange: Exchange): void {
    this.#keep(exchange)
    exchange.cut(new Error('cut'))
  }

  #keep(exchange: Exchange): void {
    exchange.isInterrupted = true
    this.#resumable.add(exchange)
  }

  protected tell(to: Received, message: object): boolean {
    const { exchange } = to as HttpReceived
    if (exchange.isOver && !exchange.isInterrupted) return false
    exchange.openStream()
    this.#event(exchange, JSON.stringify({ jsonrpc: '2.0', ...message }))
    return true
  }

  protected announce(): void {
    const told = new Set<string>()
    for (const exchange of this.#streams()) {
      const { session } = exchange
      if (session === undefined || told.has(session)) continue
      told.add(session)
      if (!exchange.mayStall) this.tools.told.set(this.only ?? session, this.book.step)
      this.#changed(exchange, exchange.stream, undefined)
    }
    for (const one of this.open as HttpReceived[]) {
      const { exchange, message, answers } = one
      if (message.method !== 'subscriptions/listen' || exchange.isOver || answers === 0) continue
      this.tools.told.set(this.sessionOf(one), this.book.step)
      this.#changed(exchange, one.marker ?? '', message.id)
    }
  }

  #changed(exchange: Exchange, to: string, subscription: Message['id']): void {
    const order = this.book.next()
    this.book.notices.push({ marker: `changed${order}`, kind: 'changed', to, order, isGot: false, isOff: false })
    this.#event(exchange, JSON.stringify({
      jsonrpc: '2.0', method: 'notifications/tools/list_changed',
      params: { _meta: {
        m: `<<changed${order}>>`,
        ...(subscription !== undefined && { 'io.modelcontextprotocol/subscriptionId': subscription }),
      } },
    }))
  }

  /** The time of a listing begins when the relay asks, and not when the question is here. */
  protected override look(): void {
    super.look()
    const { time } = this.world.clock
    for (const { asksForTools, at, body, session, authorization } of this.exchanges) {
      if (!asksForTools || body !== undefined || time - at < listMs) continue
      for (const key of [this.only ?? session ?? `modern ${authorization}`, `legacy ${authorization}`])
        this.tools.blind(key, time + listMs)
    }
  }

  override actions(): readonly Action[] {
    this.look()
    for (const exchange of this.exchanges) if (exchange.isOver) this.exchanges.delete(exchange)
    for (const one of [...this.open] as HttpReceived[]) {
      // A server sees that its client has gone.
      if (one.exchange.isOver && one.exchange.session === undefined) this.close(one)
    }
    const actions = [...super.actions()]
    // A call goes on in a new session once.
    if (this.forgets && !this.hasForgotten && this.sessions.size > 0)
      actions.push({ label: `${this.name} forgets its sessions`, weight: 0.5, act: () => this.#forgetSessions() })
    for (const one of this.manners.eventIds ? this.open as HttpReceived[] : []) {
      const { exchange, message, name } = one
      if (message.method !== 'tools/call' || exchange.isOver || this.isModern(one)) continue
      if (exchange.body === undefined) {
        if (this.#primes) actions.push({ label: `${this.name} begins the stream of ${name}`, weight: 1, act: () => {
          exchange.openStream()
          this.#event(exchange, '')
        } })
      } else if (exchange.log !== undefined) {
        // Behind a question more often, since the relay may answer that itself.
        const weight = exchange.log.events.at(-1)?.text.includes('"id":"q') === true ? 4 : 1
        actions.push({ label: `${this.name} interrupts ${name}`, weight, act: () => this.#interrupt(exchange) })
      }
    }
    if (this.manners.dies) {
      for (const one of this.open as HttpReceived[]) {
        if (one.message.method !== 'tools/call') continue
        actions.push({ label: `${this.name} cuts ${one.name}`, weight: 0.1, act: () => {
          if (one.asked) one.asked.isLoose = true
          this.close(one)
          one.exchange.cut(new Error('cut'))
        } })
      }
    }
    return actions
  }
}

/** Shorter texts never fill what may be on its way to a client. */
const longText = 16 * 1024

const ownBuffer = (text: string): Buffer => {
  const buffer = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  buffer.write(text)
  return buffer
}
