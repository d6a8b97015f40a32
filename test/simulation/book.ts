import { hash } from 'node:crypto'
import type { Message } from './actors/server.js'
import type { World } from './world.js'

/** The longest time of a listing by the relay, in milliseconds. */
export const listMs = 3000

/** How long the right answer may follow a stray frame, in milliseconds. */
const strayMs = 5000

/** The type that a tool's output schema asks for. */
export type Kind = 'integer' | 'string'

/** A text is not kept, because what the program keeps is weighed. */
export const digestOf = (text: string): string => `${text.length} ${hash('sha1', text)}`

/** What a server says of its tools, and since when its clients were told. */
export class Tools {
  readonly kinds = new Map<string, Kind>()
  /** The step of the last change of each tool. */
  readonly changed = new Map<string, number>()
  /** The step of the last change that is not announced yet; undefined: all are. */
  unannounced: number | undefined
  /** By session: the step at which it was told, after the last change. */
  readonly told = new Map<string, number>()
  /** By session: until when the relay may not know the list, for a fault of the server's. */
  readonly blindUntil = new Map<string, number>()

  constructor(names: readonly string[]) {
    for (const name of names) this.kinds.set(name, 'integer')
  }

  change(name: string, kind: Kind | undefined, step: number): void {
    if (kind === undefined) this.kinds.delete(name)
    else this.kinds.set(name, kind)
    this.changed.set(name, step)
    this.unannounced = step
    this.told.clear()
  }

  /** A listing of the relay's has failed. */
  blind(session: string, until: number): void {
    this.blindUntil.set(session, Math.max(until, this.blindUntil.get(session) ?? 0))
  }

  /** The page of all tools. */
  page(marker: string | undefined, allowed: (name: string) => boolean): object {
    const tools = [...this.kinds].filter(([name]) => allowed(name)).map(([name, kind]) => ({
      name, inputSchema: { type: 'object' },
      outputSchema: { type: 'object', properties: { v: { type: kind } }, required: ['v'] },
    }))
    return { tools, ...(marker !== undefined && { _meta: { m: `<<${marker}>>` } }) }
  }
}

export interface Given {
  /** Of its JSON text. */
  readonly digest: string
  readonly kind: Kind | 'other'
  readonly step: number
}

/** A request of a client, and what became of it. */
export interface Asked {
  readonly marker: string
  readonly client: string
  readonly id: number
  readonly method: string
  readonly tool: string | undefined
  readonly sent: number
  readonly sentAt: number
  /** When it came to its server. */
  arrivedAt: number | undefined
  /** Where its server keeps its tools, once it has arrived there; and in which session. */
  tools: Tools | undefined
  session: string | undefined
  readonly given: Given[]
  isAnswered: boolean
  isCancelled: boolean
  /** Its server never answers. */
  isForgotten: boolean
  /** Its server, its process or its connection has failed: an error of the relay's is right. */
  isLoose: boolean
  readonly takesLogs: boolean
}

interface Response {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** A notification of a server, and whether its client got it. */
export interface Notice {
  readonly marker: string
  readonly kind: 'changed' | 'log' | 'progress' | 'question'
  /** The request or stream that it was sent for. */
  readonly to: string
  readonly order: number
  isGot: boolean
  /** The client that it was sent to has gone meanwhile. */
  isOff: boolean
}

/** A request of a server to a client, in its session, and what became of it. */
export interface Question {
  readonly id: string
  readonly marker: string
  /** The server. */
  readonly of: string
  readonly client: string
  /** The JSON text of the client's answer; undefined: it gave none. */
  given: string | undefined
  /** The answer need not arrive: the client has left. */
  isOff: boolean
  /** How often the server got an answer. */
  answers: number
}

/** Everything that was asked and said, to compare with what arrives. */
export class Book {
  readonly asked = new Map<string, Asked>()
  readonly notices: Notice[] = []
  readonly questions = new Map<string, Question>()
  /** The clients that have declared that servers may ask them. */
  readonly declaring = new Set<string>()
  /** The relay may have forgotten what was declared and asked. */
  isForgetful = (): boolean => false
  readonly #world: World
  #last = 0

  constructor(world: World) {
    this.#world = world
  }

  /** A number that no other message has. */
  next(): number {
    return (this.#last += 1)
  }

  get step(): number {
    return this.#world.steps.length
  }

  /**
   * By the newest list that the server has announced; undefined: nobody can say.
   * @param before the step before which the relay must have heard of the last change
   * @param mayBeBlind a listing of the relay's may have failed, so that it knows no list
   */
  kindOf(asked: Asked, before = asked.sent, mayBeBlind = true): Kind | 'none' | undefined {
    const { tool, tools, session, sentAt } = asked
    if (tool === undefined || tools === undefined || session === undefined) return undefined
    const isBlind = () => sentAt <= this.blindUntil || sentAt <= (tools.blindUntil.get(session) ?? -1)
      || this.#hasWaited(session, sentAt)
    if (mayBeBlind && isBlind()) return undefined
    const changed = tools.changed.get(tool)
    if (changed !== undefined) {
      const told = tools.told.get(session)
      if (told === undefined || told < changed || told >= before) return undefined
    }
    return tools.kinds.get(tool) ?? 'none'
  }

  /** A call before this time has waited for a listing of the relay's, which may have failed. */
  #hasWaited(session: string, before: number): boolean {
    for (const { method, session: of, sentAt, arrivedAt = this.#world.clock.time } of this.asked.values()) {
      const isOf = method === 'tools/call' && (of === session || of === undefined)
      if (isOf && arrivedAt - sentAt >= listMs && before <= arrivedAt + listMs) return true
    }
    return false
  }

  /** A response to a request has arrived at its client. */
  answered(asked: Asked, response: Response): void {
    const { marker, given } = asked
    if (asked.isAnswered && !asked.isLoose && (this.isStrict || !this.isMuddled))
      this.#world.violate('one answer', `${marker} is answered twice`)
    asked.isAnswered = true
    const withheld = withheldIn(response.result)
    if (withheld !== undefined) this.#error(asked, { code: -31000, message: withheld }, false)
    else if (response.error === undefined) this.#result(asked, JSON.stringify(response.result))
    else {
      const digest = digestOf(JSON.stringify(response.error))
      this.#error(asked, response.error, given.some(one => one.digest === digest))
    }
  }

  /** A notification has arrived at its client. */
  noticed(method: string, params: unknown): void {
    const marker = /<<([^>]+)>>/.exec(JSON.stringify(params ?? {}))?.[1]
    const notice = this.notices.find(one => one.marker === marker)
    if (notice === undefined) return
    if (method !== 'notifications/tools/list_changed') return void (notice.isGot = true)
    for (const one of this.notices)
      if (one.kind === 'changed' && one.to === notice.to && one.order <= notice.order) one.isGot = true
  }

  /** Every byte that a client gets belongs to what it asked. */
  owned(text: string, who: string, isOwn: (marker: string) => boolean): void {
    const seen = new Set<string>()
    for (const [, marker = ''] of text.matchAll(/<<([^>]+)>>/g)) {
      if (seen.has(marker)) continue
      seen.add(marker)
      const [of = ''] = marker.split('.')
      if (!marker.startsWith('changed') && !isOwn(of)) this.#world.violate('own bytes', `${who} gets bytes of ${marker}`)
    }
  }

  /** Nobody waits for notifications to here any more. */
  dismiss(to: string): void {
    for (const notice of this.notices)
      if (notice.to === to || (to.startsWith('/') && notice.to.endsWith(to))) notice.isOff = true
  }

  /** Nobody knows whose log messages are on their way, or on which stream. @param of this client */
  dismissLogs(of?: string): void {
    for (const notice of this.notices)
      if (notice.kind === 'log' && (of === undefined || this.asked.get(notice.to)?.client === of)) notice.isOff = true
  }

  /** Questions to this client may have been on a stream that it has left. */
  dismissAsked(client: string): void {
    for (const notice of this.notices)
      if (notice.kind === 'question' && this.asked.get(notice.to)?.client === client) notice.isOff = true
  }

  /** Each notification has reached the client that it was sent to. */
  checkNotices(hears: (to: string) => boolean): void {
    for (const { marker, kind, to, isGot, isOff } of this.notices) {
      if (isGot || isOff || (kind === 'changed' ? !hears(to) : this.asked.get(to)?.isLoose !== false)) continue
      this.#world.violate(`${kind} reaches`, `${marker} to ${to} has not arrived`)
    }
  }

  /** A server has sent a request to the client of a call. Undeclared ones are answered by the relay. */
  asks(id: string, marker: string, of: string, { marker: to, client }: Asked): void {
    this.questions.set(id, { id, marker, of, client, given: undefined, isOff: false, answers: 0 })
    if (this.declaring.has(client) && !this.isForgetful())
      this.notices.push({
        marker, kind: 'question', to, order: 0, isGot: false, isOff: this.#world.isBreaking?.(client) === true,
      })
  }

  /** A client has got a request of a server. */
  asksClient(id: string, client: string): void {
    const question = this.questions.get(id)
    if (question?.client !== client) this.#world.violate('own bytes', `${client} gets the request ${id} of another`)
    if (this.isStrict && !this.declaring.has(client) && !this.isForgetful())
      this.#world.violate('declared', `${client} is asked ${id}, and has not declared that it may be`)
  }

  /** A server has got an answer. */
  questionAnswered({ id, result, error }: Message): void {
    const question = this.questions.get(String(id))
    if (question === undefined)
      return this.#world.violate('one answer of clients', `a server gets an answer to ${id}, which it has not asked`)
    question.answers += 1
    if (!this.isStrict || this.isForgetful()) return
    if (question.answers > 1) this.#world.violate('one answer of clients', `${question.marker} is answered twice`)
    if (error === undefined && JSON.stringify(result) !== question.given)
      this.#world.violate('own bytes', `${question.marker} gets what its client has not said: ${JSON.stringify(result)}`)
    if (error !== undefined && this.declaring.has(question.client))
      this.#world.violate('answer of clients reaches', `${question.marker} gets an error: ${JSON.stringify(error)}`)
  }

  /** Its answers may be lost. */
  dismissQuestions(client: string): void {
    for (const question of this.questions.values()) if (question.client === client) question.isOff = true
  }

  /** Each answer of a client has reached the server, and the relay's that of each undeclared request. */
  checkQuestions(isRunning: (server: string) => boolean): void {
    if (this.isForgetful()) return
    for (const { marker, of, client, given, isOff, answers } of this.questions.values()) {
      const isDue = given !== undefined || (this.isStrict && !this.declaring.has(client))
      // What comes to a client that has left the call's session is not of its new one.
      const isLoose = this.asked.get(marker.split('.')[0] ?? '')?.isLoose !== false
      if (isDue && !isOff && !isLoose && answers === 0 && isRunning(of))
        this.#world.violate('answer of clients reaches', `${marker} of ${of} has no answer`)
    }
  }

  /** How the invariant about lists is called. */
  get #newest(): string {
    return this.hasReloaded ? 'newest list after a reload' : 'newest list'
  }

  #result(asked: Asked, text: string): void {
    if (asked.method !== 'tools/call') return
    const given = asked.given.find(({ digest }) => digest === digestOf(text))
    if (given === undefined)
      return this.#world.violate('own bytes', `${asked.marker} gets what was not said to it: ${text.slice(0, 120)}`)
    const kind = this.kindOf(asked)
    if (kind !== undefined && given.kind !== 'other' && kind !== given.kind && this.isStrict)
      this.#world.violate(this.#newest, `${asked.marker}: a result of ${given.kind} passes, ${asked.tool} is ${kind}`)
  }

  isStrict = true
  /** When a server last sent an answer to no open request: the only request may get an error 5 s later. */
  strayAt = Infinity
  /** A server has sent errors that name no request. */
  isMuddled = false
  hasReloaded = false
  /** A server has died: until then its relay may not list. */
  blindUntil = -1
  /** A server has died. */
  isShaky = false

  #error(asked: Asked, { code, message }: { code: number; message: string }, isServers: boolean): void {
    if (isServers || asked.isLoose || asked.method !== 'tools/call') return
    if (code === -31000 && message.includes('wire/') && this.#world.clock.time >= this.strayAt + strayMs) return
    const kind = this.kindOf(asked)
    const [first] = asked.given
    if (code === -32602 && kind !== undefined && kind !== 'none')
      this.#world.violate(this.#newest, `${asked.marker}: the tool ${asked.tool} is refused: ${message}`)
    // A result that came after the change is judged by the newer list, if that can be had: a reload separates
    // the sessions of a group.
    const isLast = message.includes('result/unchecked') || this.hasReloaded
    const before = isLast ? asked.sent : first?.step
    // Even where the relay knows no list, it judges by no older one.
    const mayBeBlind = !message.includes('result/schema')
    const isValid = first !== undefined && first.kind === this.kindOf(asked, before, mayBeBlind)
    if (code === -31000 && isValid && asked.given.length === 1)
      this.#world.violate(this.#newest, `${asked.marker}: a valid result (${first.kind}) is withheld: ${message}`)
    const isForgotten = message.includes('is not known here') && this.isForgetful()
    if (code === -31001 && !this.isShaky && !isForgotten && !message.includes('could not be begun'))
      this.#world.violate('answer reaches', `${asked.marker}: its server lives, and the client is told: ${message}`)
  }
}

/** The relay's word in the place of a tool's result. */
const withheldIn = (result: unknown): string | undefined => {
  const text = JSON.stringify(result ?? null).slice(0, 400)
  return /withheld by mcp-customs|may not be called here/.test(text) ? text : undefined
}
