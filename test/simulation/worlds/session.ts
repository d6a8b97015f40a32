import type { Checked, Entry, Exchange, SchemaChecker, Subject } from '#relay/core/vocabulary.js'
import { openSession } from '#relay/session/open.js'
import type { Session } from '#relay/session/session.js'
import type { Frame } from '#relay/protocol/frame.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { usual } from '#relay/config/configuration.js'
import { DirectClient, DirectServer } from '../actors/direct.js'
import { type Manners, mannersBy } from '../actors/server.js'
import { Book, listMs } from '../book.js'
import { World } from '../world.js'
import { judgementOf } from '../../judgement.js'

const frameLimits = { messageBytes: 1 << 24, depth: 64 }
const engine = createSchemaChecker(usual.limits)

/** The schema engine, which may answer late. */
class LateChecker implements SchemaChecker {
  constructor(readonly world: World, readonly isLate: boolean) {}

  check(subject: Subject): Checked | Promise<Checked> {
    const checked = engine.check(subject)
    if (!this.isLate || this.world.setting.is(0.5)) return checked
    return new Promise(resolve =>
      this.world.soon('the schema engine answers', this.world.main, () => resolve(checked), true))
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

let lastSide = 0

/** One side of a session: frames go in and out without bytes on a wire. */
export class Side implements Transport {
  #onEvent: (event: TransportEvent) => void = () => undefined
  isClosed = false
  readonly number = (lastSide += 1)

  constructor(
    readonly sent: (exchange: Exchange, frame: Frame) => void, readonly over: (exchange: Exchange) => void,
  ) {}

  start(onEvent: (event: TransportEvent) => void): void {
    this.#onEvent = onEvent
  }

  tell(event: TransportEvent): void {
    this.#onEvent(event)
  }

  /** @param said a message, or the members of a batch */
  say(exchange: Exchange, said: object): void {
    const whole = Array.isArray(said)
      ? said.map((one: object) => ({ jsonrpc: '2.0', ...one }))
      : { jsonrpc: '2.0', ...said }
    const frame = parseFrame(Buffer.from(JSON.stringify(whole)), frameLimits)
    this.tell({ type: 'frame', exchange, frame })
  }

  send(exchange: Exchange, frame: Frame): boolean {
    this.sent(exchange, frame)
    return true
  }

  shut(exchange: Exchange): void {
    this.over(exchange)
  }

  complete(exchange: Exchange): void {
    this.over(exchange)
  }

  pause(): void {}

  resume(): void {}

  close(): Promise<void> {
    if (!this.isClosed) {
      this.isClosed = true
      this.tell({ type: 'ended', reason: 'closed' })
    }
    return Promise.resolve()
  }
}

/** The core and its session loop: one client over stdio, or several of one group that name no session. */
export class SessionWorld extends World {
  readonly book = new Book(this)
  readonly isGroup: boolean
  readonly isBatching: boolean
  readonly isTranslated: boolean
  readonly #manners: Manners
  readonly clients: DirectClient[] = []
  readonly server: DirectServer
  readonly clientSide: Side
  readonly serverSide: Side
  readonly #recordsLate: boolean
  /** Records that were written, and that wait to be. */
  readonly #written = new Set<string>()
  #unwritten: string[] = []
  session: Session | undefined

  /** @param Server one of 2026-07-28 only: its clients are translated; undefined: it speaks their era */
  constructor(seed: number, Server?: typeof DirectServer) {
    super(seed)
    const chance = this.setting
    this.isTranslated = Server !== undefined
    this.isGroup = chance.is(0.5) && !this.isTranslated
    this.#manners =
      { ...mannersBy(chance), changes: chance.is(0.85), dies: false, isLong: false, isNoisy: false }
    this.#recordsLate = chance.is(0.3)
    this.isBatching = !this.isGroup && !this.isTranslated && chance.is(0.4)
    this.book.isStrict = true
    this.server = new (Server ?? DirectServer)('s', this, this.book, this.#manners)
    this.clientSide = new Side(
      (exchange, frame) => this.#toClient(exchange, frame),
      exchange => this.clients.forEach(one => one.over(exchange)),
    )
    this.serverSide = new Side(
      (exchange, frame) => this.server.hears(exchange, frame), exchange => this.server.shut(exchange),
    )
  }

  async open(): Promise<void> {
    const chance = this.setting
    const guard = {
      judgement: judgementOf({ server: 's', listMs }), checker: new LateChecker(this, chance.is(0.5)),
      audit: (entry: Entry) => this.#record(entry),
      eras: this.isTranslated ? { translate: 'auto' as const, limits: frameLimits } : undefined,
      prepare: () => (this.#recordsLate && this.setting.is(0.3)
        ? new Promise<void>(resolve => this.soon('a record is prepared', this.main, resolve, true))
        : undefined),
      failed: this.failed,
    }
    this.session = openSession(guard, this.clientSide, () => this.serverSide, { stateless: this.isGroup })
    const count = this.isGroup ? 1 + chance.below(3) : 1
    this.say(`${this.isGroup ? `a group of ${count}` : `one client over stdio${this.isBatching ? ', batches' : ''}`}: ` +
      Object.entries(this.#manners).filter(([, is]) => is === true).map(([name]) => name).join(' '))
    this.actors.push(this.server)
    for (let number = 1; number <= count; number++) {
      const client = new DirectClient(`c${number}`, this, this.isGroup, chance.is(0.3), chance.is(0.7))
      this.clients.push(client)
      this.actors.push(client)
    }
    this.session.start()
    return Promise.resolve()
  }

  #record(entry: Entry): () => void {
    const name = `${entry.event} ${String(entry.id)}`
    if (entry.phase !== 'sent') this.#unwritten.push(name)
    return () => {
      for (const one of this.#unwritten) this.#written.add(one)
      this.#unwritten = []
    }
  }

  #toClient(exchange: Exchange, frame: Frame): void {
    const text = frame.bytes.toString()
    for (const { message } of frame.message.kind === 'batch' ? frame.message.members : [frame]) {
      if (message.kind !== 'result' && message.kind !== 'error') continue
      const asked = this.clients.flatMap(client => client.askedOn(exchange, message.id) ?? [])[0]
      if (asked?.method === 'tools/call' && !this.#written.has(`tools/call ${String(message.id)}`))
        this.violate('record first', `${asked.marker} is answered before its record is written`)
    }
    for (const client of this.clients) client.hear(exchange, text)
  }

  check(): void {}

  async checkAtRest(): Promise<void> {
    // Some sessions end in the middle of everything.
    if (this.seed % 7 > 0) {
      await this.rest(8000)
      for (const client of this.clients) client.checkAnswers()
      this.book.checkQuestions(() => true)
      this.book.checkNotices(to => this.book.asked.get(to)?.isLoose !== true)
    }
    this.book.isShaky = true
    this.clientSide.tell({ type: 'ended', reason: 'the client has gone' })
    for (const client of this.clients) client.leaveAll()
    // A call may wait for a list that never comes.
    await this.rest(listMs + 100)
    if (!this.serverSide.isClosed) this.violate('zero', 'the server is not closed when its client has gone')
    this.checkNothingLeft()
  }
}
