import type { Server } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Lifetime } from '#relay/host/lifetime.js'
import { frontSettingsFor, openFront } from '#relay/host/serve/front.js'
import { openGateway } from '#relay/host/serve/gateway.js'
import { openRelays } from '#relay/host/serve/relays.js'
import { keys } from '#relay/host/serve/session-key.js'
import { stores } from '#relay/host/serve/state.js'
import { applyTo } from '#relay/host/serve.js'
import type { Setup } from '#relay/host/server/setup.js'
import { noMetrics } from '#relay/telemetry/metrics.js'
import { machine } from '#relay/transport/machine.js'
import { ClientActor } from '../actors/client.js'
import { Operator } from '../actors/operator.js'
import { RelayProcesses } from '../actors/relays.js'
import { mannersBy, type Manners } from '../actors/server.js'
import { Processes } from '../actors/stdio.js'
import { SlowStore } from '../actors/store.js'
import { HttpActor } from '../actors/upstream.js'
import { Book, type Asked } from '../book.js'
import { HttpAsk } from '../http.js'
import { World } from '../world.js'
import { type Settings, setupOf } from './configuration.js'

const log = {
  decision: () => undefined, warn: () => undefined, info: () => undefined, checkpoint: () => undefined,
  httpRequest: () => undefined, close: () => Promise.resolve(),
}

/** `Bearer` tokens that are JWTs of one person; the last has another signature. */
const jwt = (signature: string) => `Bearer e30.${Buffer.from('{"iss":"i","sub":"alice"}').toString('base64url')}.${signature}`
export const accessTokens = ['token-a', 'token-b'] as const

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const bytesAfterGc = (): number => {
  // The last match of an expression keeps its text.
  /./.exec('short')
  // The memory of buffers is freed in another thread: the second collection waits for it.
  collect()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
/** Of all sessions together, when nothing is open: lists, and what a replay needs. */
const maxBytesAtRest = 1_500_000

/** `serve`, with its servers, clients and operator. */
export class Gateway extends World {
  readonly book = new Book(this)
  readonly #lifetime = new Lifetime()
  #server: Server | undefined
  settings: Settings
  readonly hasRelays: boolean
  readonly relays: RelayProcesses
  readonly processes: Processes
  readonly upstreams = new Map<string, HttpActor>()
  readonly clients: ClientActor[] = []
  readonly store: SlowStore
  readonly manners: Manners
  operator: Operator | undefined
  #isProbed = false
  #bytesAtRest = 0

  constructor(seed: number) {
    super(seed)
    const chance = this.setting
    this.hasRelays = chance.is(0.4)
    const manners = mannersBy(chance)
    // Together they find more than each alone.
    this.manners = { ...manners, asks: manners.asks || (manners.eventIds && chance.is(0.5)) }
    const asksTokens = chance.is(0.3)
    this.settings = {
      servers: new Map([['a', chance.is(0.55) ? 'stdio' : 'http']]),
      tokens: asksTokens ? accessTokens : [], denied: [], policy: chance.is(0.85) ? 'standard' : 'observe',
      hasState: chance.is(0.3), idleMs: this.pace > 1 ? chance.pick([1000, 3000, 20_000]) : 20_000,
      maxProcesses: 3, bufferedBytes: 400_000, judgedBytes: chance.is(0.5) ? 3_000_000 : 64_000,
    }
    this.book.isStrict = this.settings.policy === 'standard'
    // Shared state may be lost, and a session in front of an HTTP server is forgotten when nobody uses it.
    this.book.isForgetful = () => this.relays.hasFailed || this.settings.hasState
      || (this.settings.servers.get('a') === 'http' && this.clock.time >= this.settings.idleMs * 0.9)
    this.processes = new Processes(this, this.book, () => this.manners)
    this.relays = new RelayProcesses(this)
    this.store = new SlowStore(this)
  }

  get idleMs(): number {
    return this.settings.idleMs
  }

  listener(): Server {
    if (this.#server === undefined) throw new Error('nobody listens')
    return this.#server
  }

  /** Whether the memory of its sessions is weighed at the end. */
  get #isWeighed(): boolean {
    // What a process held that is dead is held here.
    return this.manners.isLong && this.manners.eventIds && this.settings.servers.get('a') === 'http'
      && !this.relays.hasFailed
  }

  async open(): Promise<void> {
    Object.assign(machine, {
      listen: (server: Server) => {
        this.#server = server
        return 'http://simulation'
      },
      spawnGroup: ({ command }: { command: readonly string[] }) =>
        this.processes.start(command[1] ?? '').process,
      signalGroup: (pid: number, signal: NodeJS.Signals | 0) => this.processes.signal(pid, signal),
      groups: () => this.clock.owner.groups,
      spawnRelay: () => this.relays.start(),
      httpServer: (url: URL) => this.upstreamOf(url.hostname.split('.')[0] ?? '').upstream(url),
    })
    Object.assign(keys, { inFolder: () => Promise.resolve('key of sessions') })
    Object.assign(stores, { open: () => Promise.resolve(this.store) })
    const setup = setupOf(this.settings)
    this.say(`${this.hasRelays ? 'relay processes' : 'one process'}, ${[...this.settings.servers.values()].join()}, ` +
      `${this.settings.policy}, ${this.settings.tokens.length} tokens, ${this.settings.hasState ? 'state' : 'no state'}`)
    this.say(Object.entries(this.manners).filter(([, is]) => is).map(([name]) => name).join(' '))
    const parts = {
      flags: { logLevel: 'silent' as const, capture: undefined }, setup, log, metrics: noMetrics, page: undefined,
      followers: [],
    }
    const served = this.hasRelays
      ? await openRelays(parts as never, this.#lifetime)
      : await openGateway(parts as never, this.#lifetime).then(gateway => ({
          backend: gateway.endpoints, refused: gateway.refused, configuration: () => gateway.configuration,
          prepare: (changed: Setup) => gateway.prepare(changed),
        }))
    const settings = frontSettingsFor(log)
    const front = openFront({
      backend: served.backend, refused: served.refused, log, logLevel: 'silent', settings: await settings(setup),
      renew: () => Promise.resolve(), configuration: served.configuration,
    }, this.#lifetime)
    await front.listen()
    this.operator = new Operator(this, this.setting, async changed => {
      const renewed = await settings(changed)
      await applyTo(served, changed, () => front.reload(renewed))
    })
    this.actors.push(this.operator, this.relays, this.store)
    this.#addClients()
    for (const { name, kind } of this.clients) this.say(`${name}: ${kind.isModern ? 'modern' : 'legacy'}, ${kind.authorization ?? 'no token'}`)
  }

  upstreamOf(name: string): HttpActor {
    const known = this.upstreams.get(name)
    if (known !== undefined) return known
    const actor = new HttpActor(name, this, this.book, this.manners, this.seed % 3 > 0)
    this.upstreams.set(name, actor)
    this.actors.push(actor)
    return actor
  }

  #addClients(): void {
    const chance = this.setting
    const count = 1 + chance.below(3)
    const isModern = chance.is(0.5)
    const isMixed = chance.is(0.2)
    const isImpatient = chance.is(0.3)
    const isLong = chance.is(0.2)
    this.#isProbed = isLong || chance.is(0.1)
    const hasJwts = this.settings.servers.get('a') === 'http' && this.settings.tokens.length === 0 && chance.is(0.6)
    for (let number = 1; number <= count; number++) {
      const token = this.settings.tokens.length > 0
        ? `Bearer ${chance.pick(accessTokens)}`
        : hasJwts ? jwt(chance.is(0.5) ? 'real' : 'forged') : undefined
      const client = new ClientActor(`c${number}`, this, this.book, {
        isModern: isMixed ? chance.is(0.5) : isModern, server: 'a', authorization: token, isImpatient, isLong,
        logs: this.manners.logs, declares: chance.is(0.5),
      }, `10.0.0.${number}`)
      this.clients.push(client)
      this.actors.push(client)
    }
  }

  /** Where the request will arrive, as far as it is known. */
  place(asked: Asked, client: ClientActor): void {
    const { server, isModern, authorization = '' } = client.kind
    if (this.settings.servers.get(server) === 'http') {
      if (authorization.endsWith('forged')) return
      asked.tools = this.upstreamOf(server).tools
      // The server's own id, without what binds it to its client.
      asked.session = client.session?.id.replace(/\.[^.]*$/, '') ?? `${isModern ? 'modern' : 'legacy'} ${authorization}`
      return
    }
    const begun = isModern ? undefined : client.session?.begun
    // That of modern clients is not known before the request is there.
    const process = begun === undefined ? undefined : this.processes.running.find(one => one.begun === begun)
    asked.tools = process?.tools
    asked.session = process?.name
  }

  override arrived({ asked, message }: Parameters<NonNullable<World['arrived']>>[0]): void {
    if (message.method !== 'tools/call' || asked === undefined || !this.book.isStrict) return
    if (this.operator?.isDenied(asked.tool ?? '', asked.sent) === true)
      this.violate('reload holds', `${asked.marker}: a call of the denied ${asked.tool} reaches its server`)
  }

  override isBreaking(client: string): boolean {
    return this.clients.some(one =>
      one.name === client && (one.isBreaking || (one.hasLeft && this.relays.isBehind)))
  }

  override isRead(stream: string): boolean {
    return this.clients.some(({ open }) => open.some(({ name }) => name === stream))
  }

  sessionsLast(client: ClientActor): boolean {
    return this.operator?.hasChangedServers !== true && !this.relays.hasFailed
      && !this.manners.dies && !client.kind.isModern
  }

  /** No client is cut off on purpose. */
  get isWhole(): boolean {
    return this.operator?.hasRevoked !== true && !this.relays.hasFailed
  }

  /** No server and no process has failed. */
  get isCalm(): boolean {
    return this.isWhole && !this.book.isShaky && !this.manners.dies && !this.settings.hasState
  }

  checkToken(token: string | undefined, begun: number, status: number, who: string): void {
    this.operator?.checkToken(token, begun, status, who)
  }

  check(): void {
    const own = this.processes.running.filter(one => one.client !== undefined && !one.isKilled).length
    if (own > this.settings.maxProcesses)
      this.violate('places', `${own} processes of sessions run, ${this.settings.maxProcesses} may`)
  }

  async checkAtRest(): Promise<void> {
    await this.rest(8000)
    this.#checkAnswers()
    this.#checkOwners()
    if (this.#isWeighed) this.#bytesAtRest = bytesAfterGc()
    for (const client of this.clients) client.end()
    await this.rest(1000)
    for (const client of this.clients) client.stop()
    await this.rest(this.idleMs + 3000)
    this.#checkZero()
    if (this.#isWeighed) this.#weigh()
    if (this.#isProbed) await this.#probe()
    this.#lifetime.end()
    await this.rest(20_000)
    if (this.processes.running.length > 0)
      this.violate('zero', `${this.processes.running.length} processes run when all is stopped`)
    if (!this.relays.hasFailed) this.checkNothingLeft()
  }

  #checkAnswers(): void {
    for (const client of this.clients) {
      for (const { asked, kind, isOvertaken } of client.open) {
        if (kind === 'stream') continue
        if (asked?.isCancelled === true && !isOvertaken && this.settings.servers.get('a') === 'stdio')
          this.violate('cancelled ends', `${asked.marker}: cancelled, and its response is open`)
        else if (asked !== undefined && !asked.isForgotten && !asked.isCancelled && asked.isLoose)
          this.violate('one answer', `${asked.marker} (${asked.method}) waits for ever`)
      }
    }
    for (const { marker, method, isLoose, isAnswered } of this.book.asked.values()) {
      if (!isLoose && !isAnswered && method !== 'subscriptions/listen')
        this.violate('one answer', `${marker} (${method}) has no answer`)
    }
    if (this.relays.hasFailed) return
    this.book.checkNotices(to => this.#hears(to))
    const isRunning = (server: string) => this.processes.running.some(({ name }) => name === server)
    this.book.checkQuestions(server => this.upstreams.has(server) || isRunning(server))
  }

  /** Whether a client still waits for notifications to here. */
  #hears(to: string): boolean {
    const asked = this.book.asked.get(to)
    const open = this.clients.flatMap(client => client.open)
    if (open.some(({ name }) => name === to)) return asked?.isLoose !== true
    const process = this.processes.running.find(({ name }) => to.startsWith(`${name}/`))
    const isRevoked = (client: ClientActor) => this.operator?.isRevoked(client.kind.authorization) === true
    return this.clients.some(client =>
      client.session !== undefined && client.session.begun === process?.begun && !isRevoked(client))
  }

  /** When everything was answered, sessions held no bytes of results: none are freed by their end. */
  #weigh(): void {
    const bytes = this.#bytesAtRest - bytesAfterGc()
    this.say(`${bytes} bytes are held when all is answered`)
    if (bytes > maxBytesAtRest) this.violate('weight', `${bytes} bytes are held when all is answered`)
  }

  /** Sessions and streams that nobody owns. */
  #checkOwners(): void {
    const own = this.processes.running.filter(({ client }) => client !== undefined)
    for (const process of own) {
      if (!this.clients.some(client => client.mayKnow(process.begun)))
        this.violate('owned sessions', `${process.name} runs for ${process.client}, which does not know its session`)
    }
    const streams = this.clients.filter(client => client.streams > 0 && this.settings.servers.get(client.kind.server) === 'http')
    const open = [...this.upstreams.values()].reduce((sum, one) => sum + one.count('GET'), 0)
    const wanted = streams.filter(({ kind }) => !kind.isModern).reduce((sum, one) => sum + one.streams, 0)
    if (open > wanted) this.violate('owned streams', `${open} streams are open at the server for ${wanted} of clients`)
  }

  #checkZero(): void {
    for (const { name } of this.processes.running)
      this.violate('zero', `${name} runs although nobody uses it`)
    for (const upstream of this.upstreams.values()) {
      for (const open of upstream.openRequests)
        this.violate('zero', `${upstream.name} is still asked although nobody waits: ${open}`)
    }
  }

  /** Afterwards everything is free for a new client. */
  async #probe(): Promise<void> {
    const [token] = this.settings.tokens
    const name = [...this.settings.servers.keys()][0] ?? ''
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { pad: 'x'.repeat(340_000) } })
    const ask = new HttpAsk(this, this.listener(), 'probe', {
      method: 'POST', path: `/${name}/mcp`, body,
      headers: {
        'content-type': 'application/json', accept: 'application/json, text/event-stream',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    }, '10.0.0.1', text => void (said = text))
    let said = ''
    await this.rest(1500)
    if (ask.status === 503 && said.includes('room')) this.violate('zero', `bodies of requests that are over count: ${said}`)
    ask.leave()
  }

  override async close(): Promise<void> {
    await super.close()
    for (const name of Object.keys(machine)) Reflect.deleteProperty(machine, name)
    this.relays.close()
  }
}
