import { openSession } from '#relay/session/open.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { machine } from '#relay/transport/machine.js'
import { httpSession } from '#relay/transport/upstream/session/session.js'
import { usual } from '#relay/config/configuration.js'
import { DirectClient } from '../actors/direct.js'
import { mannersBy } from '../actors/server.js'
import { HttpActor } from '../actors/upstream.js'
import { Book, listMs } from '../book.js'
import { World } from '../world.js'
import { Side } from './session.js'
import { judgementOf } from '../../judgement.js'

const engine = createSchemaChecker(usual.limits)

/** `wrap URL`: a client over stdio in front of an HTTP server, which forgets sessions and cuts streams. */
export class WrapWorld extends World {
  readonly book = new Book(this)
  readonly isGroup = false
  readonly isBatching = false
  readonly server: HttpActor
  readonly clientSide: Side
  readonly client: DirectClient

  constructor(seed: number) {
    super(seed)
    const chance = this.setting
    const manners =
      { ...mannersBy(chance), changes: chance.is(0.7), dies: false, isLong: false, isNoisy: false }
    // What the client's requests need may be forgotten with their session.
    this.book.isForgetful = () => this.server.hasForgotten
    this.server = new HttpActor('s', this, this.book, manners, false, 'session', chance.is(0.6))
    this.clientSide = new Side(
      (exchange, { bytes }) => this.client.hear(exchange, bytes.toString()), () => undefined,
    )
    this.client = new DirectClient('c1', this, false, chance.is(0.3), chance.is(0.7))
    this.say(`wrap: ${Object.entries(manners).filter(([, is]) => is).map(([name]) => name).join(' ')}`)
  }

  open(): Promise<void> {
    machine.httpServer = url => this.server.upstream(url)
    const session = openSession({
      judgement: judgementOf({ server: 's', listMs }), checker: engine, audit: () => () => undefined,
      failed: this.failed,
    }, this.clientSide, inputSchemaOf => httpSession({
      url: new URL('http://s.localhost/mcp'), headers: new Map(), inputSchemaOf, limits: { messageBytes: 1 << 24, depth: 64 },
    }))
    this.actors.push(this.server, this.client)
    session.start()
    return Promise.resolve()
  }

  check(): void {}

  async checkAtRest(): Promise<void> {
    await this.rest(40_000)
    this.client.checkAnswers()
    this.book.checkQuestions(() => true)
    this.book.checkNotices(to => to === '' || this.book.asked.get(to)?.isLoose !== true)
    this.book.isShaky = true
    this.clientSide.tell({ type: 'ended', reason: 'the client has gone' })
    await this.rest(10_000)
    for (const open of this.server.openRequests)
      this.violate('zero', `the server is still asked although nobody waits: ${open}`)
    this.checkNothingLeft()
  }

  override async close(): Promise<void> {
    await super.close()
    Reflect.deleteProperty(machine, 'httpServer')
  }
}
