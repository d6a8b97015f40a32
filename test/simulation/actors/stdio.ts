import { EventEmitter } from 'node:events'
import type { ServerChild } from '#relay/transport/process/spawn.js'
import { listMs, Tools, type Book } from '../book.js'
import { Owner } from '../clock.js'
import type { End } from '../pipe.js'
import type { Action, World } from '../world.js'
import { garbled, type Manners, type Message, type Received, ServerActor } from './server.js'

/** A process with pipes, as its parent sees it. */
class Child extends EventEmitter {
  exitCode: number | null = null
  signalCode: NodeJS.Signals | null = null
  readonly stderr = null

  constructor(readonly pid: number, readonly stdin: End, readonly stdout: End) {
    super()
  }

  kill(): boolean {
    return true
  }
}

/** A server that is a process. */
export class StdioActor extends ServerActor {
  isKilled = false
  readonly child: Child
  /** Its own ends of its pipes. */
  readonly #in: End
  readonly #out: End
  readonly #owner: Owner
  #text = ''
  isRunning = true
  /** It has seen a handshake: it is one client's. */
  client: string | undefined
  /** The request that has begun its session. */
  begun: string | undefined
  #announced: number | undefined
  /** Since when something of it was not read. */
  #unreadSince: number | undefined
  /** It was told to end. */
  #isEnding = false

  constructor(name: string, pid: number, parent: Owner, world: World, book: Book, manners: Manners) {
    super(`${name}#${pid - 5_000_000}${parent.name === 'main' ? '' : ` of ${parent.name}`}`, world, book, new Tools(['t0', 't1']), manners)
    // Each second process is of another version.
    if (pid % 2 === 0) this.tools.kinds.set('t0', 'string')
    this.#owner = new Owner(this.name)
    const [near, into] = world.connect(`stdin of ${this.name}`, [parent, 'server in'], [this.#owner, 'server in'])
    const [out, read] = world.connect(`stdout of ${this.name}`, [this.#owner, 'server out'], [parent, 'server out'])
    this.#in = into
    this.#out = out
    this.child = new Child(pid, near, read)
    into.on('data', (chunk: Buffer) => this.#read(chunk))
    into.on('end', () => world.soon(`${this.name} exits`, this.#owner, () => this.exit(0, null)))
  }

  get process(): ServerChild {
    return this.child as unknown as ServerChild
  }

  /** Whether it reads its input. */
  set isReading(is: boolean) {
    this.#in.isReading = is
  }

  get isReading(): boolean {
    return this.#in.isReading
  }

  exit(code: number | null, signal: NodeJS.Signals | null): void {
    if (!this.isRunning) return
    this.isRunning = false
    if (code !== 0) this.book.isShaky = true
    this.lost()
    this.child.exitCode = code
    this.child.signalCode = signal
    this.#out.end()
    this.#in.destroy()
    this.world.clock.as(this.child.stdin.owner, () => {
      this.child.emit('exit', code, signal)
      this.child.emit('close', code, signal)
    })
  }

  /** Its open requests will not be answered. */
  lost(): void {
    for (const asked of this.book.asked.values())
      if (!asked.isAnswered) asked.isLoose = true
    this.book.blindUntil = this.world.clock.time + listMs
    this.tools.blind(this.name, Infinity)
    for (const notice of this.book.notices) if (notice.to.startsWith(`${this.name}/`)) notice.isOff = true
  }

  override actions(): readonly Action[] {
    this.#poll()
    if (!this.isRunning || this.#isEnding) return []
    const actions = [...super.actions()]
    if (this.manners.isNoisy) {
      actions.push({ label: `${this.name} makes noise`, weight: 0.2, act: () => void this.#out.write('debug: hello\n') })
      actions.push({ label: `${this.name} sends an anonymous error`, weight: 0.1, act: () => {
        this.book.isMuddled = true
        this.book.strayAt = this.world.clock.time
        for (const asked of this.book.asked.values()) if (!asked.isAnswered) asked.isLoose = true
        for (const { message } of this.open) if (message.method === 'tools/list') this.tools.blind(this.name, this.world.clock.time + listMs)
        this.#write({ id: null, error: { code: -32700, message: 'Parse error' } })
      } })
      const two = this.open.filter(({ message: { method } }) => method === 'tools/call').slice(0, 2)
      if (two.length === 2) actions.push({ label: `${this.name} garbles`, weight: 0.5, act: () => this.#garble(two) })
    }
    if (this.manners.dies) actions.push({ label: `${this.name} dies`, weight: 0.1, act: () => this.exit(1, null) })
    actions.push(this.isReading
      ? { label: `${this.name} stops reading`, weight: 0.1, act: () => (this.isReading = false) }
      : { label: `${this.name} reads again`, weight: 0.5, act: () => (this.isReading = true) })
    return actions
  }

  override rest(): readonly Action[] {
    this.#poll()
    if (!this.isReading) return [{ label: `${this.name} reads again`, weight: 1, act: () => (this.isReading = true) }]
    return super.rest()
  }

  /** What is read of it is known to its client's relay. */
  #poll(): void {
    this.#blindWhileUnread()
    if (this.#announced === undefined || this.child.stdout.unread > 0) return
    this.tools.told.set(this.name, this.book.step)
    this.#announced = undefined
  }

  /** A listing of the relay may have failed whose answer is still on its way. */
  #blindWhileUnread(): void {
    const { time } = this.world.clock
    this.#unreadSince = this.child.stdout.unread > 0 ? this.#unreadSince ?? time : undefined
    if (time - (this.#unreadSince ?? time) >= listMs) this.tools.blind(this.name, time + listMs)
  }

  #garble(two: readonly Received[]): void {
    // Of several open requests none can be meant: they get no answer.
    for (const { asked } of two) if (asked) asked.isLoose = asked.isForgotten = true
    const texts = two.map(({ message: { id } }) =>
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"garbled"}]}}`)
    for (const one of two) this.close(one)
    this.#out.write(Buffer.concat([
      Buffer.from(texts.join(' ')), Buffer.from(garbled), Buffer.from([0xff, 0x0a]),
    ]))
  }

  #read(chunk: Buffer): void {
    this.#text += chunk.toString()
    const lines = this.#text.split('\n')
    this.#text = lines.pop() ?? ''
    for (const line of lines) this.#line(line)
  }

  #line(line: string): void {
    try {
      this.receive(JSON.parse(line) as Message)
    } catch {
      this.world.violate('own requests', `${this.name} gets ${line.length} bytes that no client has sent`)
    }
  }

  protected override arrived({ message, asked }: Received): void {
    if (message.method !== 'initialize') return
    this.client = asked?.client
    this.begun = asked?.marker
  }

  protected sessionOf(): string {
    return this.name
  }

  protected override answer(_: Received, message: object): void {
    this.#write(message)
  }

  protected tell(_: Received, message: object): boolean {
    this.#write(message)
    return true
  }

  protected override announce(): void {
    this.#announced = this.book.step
    const listens = this.open.filter(({ message: { method }, answers }) =>
      method === 'subscriptions/listen' && answers > 0)
    if (listens.length === 0 && this.client === undefined) this.#write({ method: 'notifications/tools/list_changed' })
    for (const one of listens) this.#changed(one.marker ?? '', one.message.id)
    if (this.client !== undefined) this.#changed(`${this.name}/${this.client}`, undefined)
  }

  #changed(to: string, subscription: Message['id']): void {
    const order = this.book.next()
    const marker = `changed${order}`
    const isOff = this.world.isBreaking?.(this.client ?? '') === true
    this.book.notices.push({ marker, kind: 'changed', to, order, isGot: false, isOff })
    this.#write({
      method: 'notifications/tools/list_changed',
      params: { _meta: {
        m: `<<${marker}>>`,
        ...(subscription !== undefined && { 'io.modelcontextprotocol/subscriptionId': subscription }),
      } },
    })
  }

  #write(message: object): void {
    if (this.isRunning) this.#out.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}

/** The processes of a simulated machine. */
export class Processes {
  readonly all: StdioActor[] = []
  #last = 5_000_000

  constructor(readonly world: World, readonly book: Book, readonly manners: (name: string) => Manners) {}

  start(name: string): StdioActor {
    const parent = this.world.clock.owner
    this.#last += 1
    const actor = new StdioActor(name, this.#last, parent, this.world, this.book, this.manners(name))
    if (parent.isDead) actor.isRunning = false
    else {
      this.all.push(actor)
      this.world.actors.push(actor)
    }
    return actor
  }

  get running(): readonly StdioActor[] {
    return this.all.filter(({ isRunning }) => isRunning)
  }

  signal(pid: number, signal: NodeJS.Signals | 0): boolean {
    const actor = this.running.find(({ child }) => child.pid === pid)
    if (actor === undefined) throw Object.assign(new Error('no such process'), { code: 'ESRCH' })
    // The kernel ends it at once; that its parent hears of it takes a while.
    if (signal === 'SIGKILL') actor.isKilled = true
    if (signal !== 0) this.world.soon(`${actor.name} is killed`, this.world.main, () => actor.exit(null, signal))
    return true
  }
}
