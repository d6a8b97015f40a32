import { mergedName } from '#relay/host/merge/names.js'
import { MergeSession } from '#relay/host/merge/session.js'
import { limitsFor } from '#relay/profiles/limits.js'
import { LegActor, type LegMessage, type LegQuestion } from '../actors/leg.js'
import { MergeClient } from '../actors/merge-client.js'
import { World } from '../world.js'
import { Side } from './session.js'

const listMs = 2000
const naming = { separator: '__', longest: 64 }

/** The longest pause before a server that failed is tried again. */
const longestPauseMs = 61_000

interface ArrivedCall {
  readonly leg: LegActor
  readonly side: Side
  readonly message: LegMessage
}

/** The merged endpoint of two to five servers. */
export class MergeWorld extends World {
  readonly legs: readonly LegActor[]
  readonly client: MergeClient
  readonly clientSide: Side
  /** By marker: where a call has arrived, and whether its server has answered. */
  readonly #calls = new Map<string, ArrivedCall & { isAnswered: boolean }>()
  readonly #heard = new Set<string>()

  constructor(seed: number) {
    super(seed)
    const chance = this.setting
    this.legs = ['a', 'a__b', 'b.c', 'd', 'e'].slice(0, 2 + chance.below(4)).map(name => new LegActor(name, this))
    this.client = new MergeClient(this, chance.is(0.35))
    this.clientSide = new Side(
      (exchange, { bytes }) => this.client.hear(exchange, bytes.toString()), () => undefined,
    )
    this.say(`${this.client.isModern ? 'modern' : 'legacy'}: ${this.legs.map(leg => leg.name + (leg.isMute ? ' (mute)' : '')).join()}`)
  }

  get #servers() {
    return this.legs.map(({ name }) => ({ name, prefix: name.replace('.', '_') }))
  }

  get shownNames(): readonly string[] {
    const names = this.#servers.flatMap(server => ['x', 'y', 'b__c', 'c'].map(name => mergedName(server, name, naming)))
    return [...names, 'none']
  }

  open(): Promise<void> {
    const session = new MergeSession({
      servers: this.#servers, separator: naming.separator, limitsOf: limitsFor([], 'merged'), listMs,
      maxItems: 1000, maxBytes: 1 << 20, serverInfo: { name: 'merged', version: '1' }, nonce: 'nonce',
      isStateless: this.client.isModern, hasExchanges: this.client.isModern, translates: true,
      client: this.clientSide, connect: name => this.#legOf(name).connect(),
      missing: () => undefined, found: () => undefined,
      failed: this.failed,
    })
    this.actors.push(...this.legs, this.client)
    session.start()
    this.client.begin()
    return Promise.resolve()
  }

  #legOf(name: string): LegActor {
    const leg = this.legs.find(one => one.name === name)
    if (leg === undefined) throw new Error(`no server ${name}`)
    return leg
  }

  /** A call has come to a server. */
  called(call: ArrivedCall): void {
    const { leg, message: { params } } = call
    const marker = params?.arguments?.marker ?? ''
    const server = this.#servers.find(({ name }) => name === leg.name)
    const shown = server && mergedName(server, params?.name ?? '', naming)
    const asked = this.client.asked.get(marker)
    if (asked?.shown !== shown)
      this.violate('routes', `${marker} for ${String(asked?.shown)} comes to ${leg.name} as ${String(params?.name)}`)
    if (this.#calls.has(marker)) this.violate('runs once', `${marker} comes to ${leg.name} again`)
    this.#calls.set(marker, { ...call, isAnswered: false })
  }

  forgotten({ params }: LegMessage): void {
    const asked = this.client.asked.get(params?.arguments?.marker ?? '')
    if (asked !== undefined) asked.isForgotten = true
  }

  answering(side: Side, id: unknown): void {
    for (const call of this.#calls.values())
      if (call.side === side && call.message.id === id) call.isAnswered = true
  }

  heard(marker: string): void {
    this.#heard.add(marker)
  }

  given(marker: string, given: string): void {
    const question = this.#questions.find(one => one.marker === marker)
    if (question !== undefined) question.given = given
  }

  get #questions(): readonly LegQuestion[] {
    return this.legs.flatMap(({ questions }) => questions)
  }

  withdrawn({ marker }: LegQuestion): void {
    if ([...this.client.questions.values()].includes(marker))
      this.violate('withdrawn reaches', `${marker} is still open at the client`)
  }

  check(): void {
    for (const { side, marker, isOff } of this.#questions)
      if (!isOff && !side.isClosed && !this.#heard.has(marker)) this.violate('question reaches', `${marker} is not at the client`)
  }

  async checkAtRest(): Promise<void> {
    // Some sessions end in the middle of everything.
    if (this.seed % 7 > 0) {
      await this.rest(listMs + 1000)
      this.#checkAnswers()
      this.#checkReaches()
      await this.#checkList()
    }
    const isAwaited = [...this.client.asked.values()].some(one => one.answers === 0 && !one.isCancelled)
    const open = this.legs.flatMap(({ side }) => side ?? [])
    this.clientSide.tell({ type: 'ended', reason: 'the client has gone', graceMs: 5000 })
    if (!isAwaited && open.some(side => !side.isClosed)) this.violate('zero', 'a server is not closed, although nobody waits')
    await this.rest(5000)
    if (open.some(side => !side.isClosed)) this.violate('zero', 'a server is not closed when its client has gone')
    this.checkNothingLeft()
  }

  #checkAnswers(): void {
    for (const { marker, method, answers, isCancelled, isForgotten } of this.client.asked.values()) {
      const { leg } = this.#calls.get(marker) ?? {}
      if (answers === 0 && !isCancelled && !isForgotten && leg?.isMute !== true)
        this.violate('one answer', `${marker} (${method}) has no answer`)
    }
    for (const { marker, given, isOff, answers } of this.#questions)
      if (given !== undefined && !isOff && answers === 0) this.violate('answer of clients reaches', marker)
  }

  #checkReaches(): void {
    for (const [marker, { leg, side, message, isAnswered }] of this.#calls) {
      const isDue = this.client.asked.get(marker)?.isCancelled === true && !isAnswered && side === leg.side
      if (isDue && !leg.cancelled.has(`${side.number} ${String(message.id)}`))
        this.violate('cancelled reaches', `${marker} at ${leg.name}`)
    }
    if (this.client.isModern) return
    for (const { name, announcedAt } of this.legs)
      if (announcedAt > this.client.toldAt) this.violate('changed reaches', `the list of ${name} changed at ${announcedAt}`)
  }

  /** Servers that died are back: the list has all tools, but for names that two claim. */
  async #checkList(): Promise<void> {
    await this.rest(longestPauseMs)
    this.client.ask('tools/list', {})
    await this.rest(listMs)
    this.#checkAnswers()
    if (this.legs.some(({ isLate }) => isLate)) return
    const shown = this.legs.filter(({ isMute }) => !isMute).flatMap(({ name, tools }) =>
      tools.map(tool => mergedName({ prefix: name.replace('.', '_') }, tool, naming)))
    const wanted = shown.filter(name => shown.indexOf(name) === shown.lastIndexOf(name))
    const { tools = [] } = (this.client.listed ?? {}) as { tools?: readonly { name: string }[] }
    const names = tools.map(({ name }) => name)
    if (this.legs.some(({ isMute }) => !isMute) && names.join() !== wanted.join())
      this.violate('whole list', `${names.join()} in place of ${wanted.join()}`)
  }
}
