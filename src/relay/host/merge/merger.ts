import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { ChurnMap } from '#relay/core/memory.js'
import { errorFrame } from '#relay/core/refusal.js'
import { type ChangingList, changingLists } from '#relay/protocol/changing-lists.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isString, member, type Json, valueAt } from '#relay/protocol/json.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { idOf, keyAt, idKeysOf } from '#relay/protocol/message.js'
import { restoredNotification } from '#relay/transport/one-process/rename.js'
import { ListChanges } from './changes.js'
import {
  changedNotification, changedRequest, type NotificationFrame, type RequestFrame, responseOf,
} from './frames.js'
import { Hello } from './hello.js'
import type { Leg } from './leg.js'
import { Legs } from './legs.js'
import { Listens } from './listens.js'
import { LegLists } from './lists.js'
import type { Host, MergeEffect, MergeEvent, MergerOptions } from './machine.js'
import { MergedLists } from './merged-list.js'
import { NameTable } from './names.js'
import { ServerQuestions } from './questions.js'
import { allKinds, type ListKind, listKinds } from './reading.js'
import { type MergedRequest, OpenRequests } from './requests.js'
import { ResourceOwners } from './resources.js'
import { Routing } from './routing.js'
import type { ShownTables } from './shown.js'
import { MergedSubscriptions } from './subscriptions.js'

/**
 * Several servers as one, for one client session: frames in, frames out. Each server is spoken to in a
 * session of its own, with ids, progress tokens and names of its own.
 */
export class Merger implements Host {
  options: MergerOptions
  #effects: MergeEffect[] = []
  #now = 0
  readonly #timers = new ChurnMap<number, () => void>()
  #lastTimer = 0
  readonly #tables: ShownTables
  readonly #legs: Legs
  readonly #requests: OpenRequests
  readonly #questions: ServerQuestions
  readonly #subscriptions: MergedSubscriptions
  readonly #listens: Listens
  readonly #changes: ListChanges
  readonly #lists: LegLists
  readonly #merged: MergedLists
  readonly #routing: Routing
  readonly #hello: Hello
  /** The client's last `logging/setLevel`. */
  #setLevel: RequestFrame | undefined

  constructor(options: MergerOptions) {
    this.options = options
    const tables = {
      names: { tools: new NameTable(), prompts: new NameTable() }, owners: new ResourceOwners(),
    }
    const legs = new Legs(this, {
      arrived: leg => this.#arrived(leg), departed: (leg, wasReady) => this.#departed(leg, wasReady),
    })
    this.#tables = tables
    this.#legs = legs
    this.#requests = new OpenRequests(this)
    this.#questions = new ServerQuestions(this, legs)
    this.#subscriptions = new MergedSubscriptions(legs)
    this.#listens = new Listens(this, legs, tables.owners, leg => this.#outOfDate(leg))
    this.#changes = new ListChanges(this, legs, this.#listens)
    this.#lists = new LegLists(this, legs, tables, kind => this.#changes.tell(listKinds[kind].capability))
    this.#merged = new MergedLists(this, legs, this.#lists, tables)
    this.#routing = new Routing(this, legs, this.#lists, tables, this.#requests, this.#subscriptions)
    this.#hello = new Hello(this, legs)
    this.#offer()
  }

  readonly now = (): number => this.#now
  readonly emit = (effect: MergeEffect): void => void this.#effects.push(effect)

  readonly after = (ms: number, act: () => void): (() => void) => {
    const timer = (this.#lastTimer += 1)
    this.#timers.set(timer, act)
    this.emit({ type: 'start-timer', timer, ms })
    return () => {
      if (this.#timers.delete(timer)) this.emit({ type: 'stop-timer', timer })
    }
  }

  /** True while a client waits for an answer. */
  get isAwaited(): boolean {
    return this.#requests.size > 0
  }

  inputSchemaOf(server: string, tool: string): ReturnType<LegLists['inputSchemaOf']> {
    return this.#lists.inputSchemaOf(server, tool)
  }

  /** @param now a monotonic clock, in milliseconds */
  handle(event: MergeEvent, now: number): readonly MergeEffect[] {
    this.#now = now
    this.#effects = []
    this.#on(event)
    return this.#effects
  }

  #on(event: MergeEvent): void {
    switch (event.type) {
      case 'client-frame': return this.#clientFrame(event.exchange, event.frame)
      case 'exchange-ended': return this.#requests.left(event.exchange)
      case 'leg-frame': return this.#withLeg(event.leg, leg => this.#legFrame(leg, event.frame))
      case 'leg-lost':
        return this.#withLeg(event.leg, leg => this.#legs.requests.answered(leg, event.key, event.reason))
      case 'leg-ended': return this.#withLeg(event.leg, leg => this.#legs.ended(leg, event.reason))
      case 'timer-fired': {
        const act = this.#timers.get(event.timer)
        this.#timers.delete(event.timer)
        return act?.()
      }
      case 'settings-changed':
        this.options = { ...this.options, ...event.settings }
        this.#offer()
        return this.#legs.all().forEach(leg => this.#outOfDate(leg))
      default: return event satisfies never
    }
  }

  #withLeg(name: string, act: (leg: Leg) => void): void {
    const leg = this.#legs.get(name)
    if (leg !== undefined) act(leg)
  }

  #offer(): void {
    const { servers, separator } = this.options
    this.#legs.offer(servers)
    this.#tables.names.tools.offer(servers, separator)
    this.#tables.names.prompts.offer(servers, separator)
    this.#tables.owners.offer(servers.map(({ name }) => name))
  }

  // What the client sends.

  #clientFrame(exchange: Exchange, frame: Frame): void {
    const { message, faults } = frame
    if (message.kind === 'batch') {
      for (const one of message.members) this.#clientFrame(exchange, one)
      return
    }
    const fault = faults.find(({ isMinor }) => isMinor !== true)
    const [key] = idKeysOf(frame)
    // Nobody may read a frame in another way than the server that gets it.
    if (fault !== undefined || message.kind === 'unusable') {
      const code = fault?.kind === 'http' ? errorCode.headerMismatch : errorCode.blocked
      const text = `Blocked by mcp-customs: ${fault?.message ?? 'no message of MCP'}`
      if (key === undefined) return this.emit({ type: 'complete', exchange })
      return this.emit({ type: 'send', exchange, frame: errorFrame({ id: idOf(key), key }, code, text) })
    }
    if (message.kind === 'request') return this.#request(exchange, { ...frame, message })
    if (message.kind === 'notification') return this.#clientNotification(exchange, { ...frame, message })
    if (message.kind === 'result' || message.kind === 'error') this.#questions.answered({ ...frame, message })
  }

  #request(exchange: Exchange, frame: RequestFrame): void {
    const { message } = frame
    const asked = this.#requests.begin(exchange, frame)
    if (asked === undefined) return
    const { isModern, meta } = asked.asking
    if (message.method !== 'initialize') {
      if (!isModern && !this.#legs.isLegacy && message.method !== 'ping') {
        const text = 'The session has not begun: send initialize first'
        return this.#requests.refuse(asked, errorCode.invalidRequest, text)
      }
      if (isModern) this.#legs.beginModern(meta)
    }
    const cursor = member(message.params, 'cursor')
    switch (message.method) {
      case 'initialize': return this.#hello.initialize(frame, answer => this.#requests.finish(asked, answer))
      case 'server/discover': return this.#hello.discover(frame, answer => this.#requests.finish(asked, answer))
      case 'ping': return isModern
        ? this.#requests.refuse(asked, errorCode.methodNotFound, 'Method not found')
        : this.#requests.finish(asked, responseOf(message, {}))
      case 'tools/list': return this.#list('tools', cursor, asked)
      case 'prompts/list': return this.#list('prompts', cursor, asked)
      case 'resources/list': return this.#list('resources', cursor, asked)
      case 'resources/templates/list': return this.#list('templates', cursor, asked)
      case 'tools/call': return this.#routing.byName('tools', ['name'], asked)
      case 'prompts/get': return this.#routing.byName('prompts', ['name'], asked)
      case 'resources/read': return this.#routing.byUri(['uri'], asked)
      case 'resources/subscribe': case 'resources/unsubscribe': return this.#routing.byUri(['uri'], asked)
      case 'completion/complete': return valueAt(message.params, ['ref', 'type']) === 'ref/prompt'
        ? this.#routing.byName('prompts', ['ref', 'name'], asked)
        : this.#routing.byUri(['ref', 'uri'], asked)
      case 'logging/setLevel': return this.#level(asked)
      case 'subscriptions/listen': return this.#listen(asked)
      default: return this.#requests.refuse(asked, errorCode.methodNotFound, 'Method not found')
    }
  }

  #list(kind: ListKind, cursor: Json | undefined, asked: MergedRequest): void {
    this.#merged.list(kind, isString(cursor) ? cursor : undefined, asked.asking, listed => {
      if ('error' in listed) this.#requests.refuse(asked, listed.code, listed.error)
      else this.#requests.finish(asked, responseOf(asked.names, listed.result))
    })
  }

  #level(asked: MergedRequest): void {
    this.#setLevel = asked.frame
    for (const leg of this.#legs.all()) this.#sendLevel(leg)
    this.#requests.finish(asked, responseOf(asked.frame.message, {}))
  }

  #sendLevel(leg: Leg): void {
    const frame = this.#setLevel
    if (frame === undefined || leg.state !== 'ready' || !leg.has('logging')) return
    this.#legs.requests.ask(leg, number => changedRequest(frame, number, []), { answered: () => undefined })
  }

  #listen(asked: MergedRequest): void {
    const legs = this.#legs.all()
    const begin = () => {
      if (this.#requests.isOpen(asked)) asked.cancel = this.#listens.begin(asked)
    }
    if (valueAt(asked.frame.message.params, ['notifications', 'resourceSubscriptions']) === undefined) return begin()
    this.#lists.know(['resources', 'templates'], legs, false, asked.asking, begin)
  }

  #clientNotification(exchange: Exchange, frame: NotificationFrame): void {
    const { message } = frame
    switch (message.method) {
      case 'notifications/cancelled': return this.#requests.cancelled(exchange, frame)
      case 'notifications/initialized': return this.#legs.initialized(frame)
      case 'notifications/progress': return this.#questions.progress(frame)
    }
    // Of the session, as the change of roots: for every server that has begun it.
    for (const leg of this.#legs.all()) if (leg.isTold) this.#legs.requests.notify(leg, frame)
  }

  // What the servers send.

  #legFrame(leg: Leg, frame: Frame): void {
    const { message } = frame
    switch (message.kind) {
      case 'result': case 'error': return this.#legs.requests.answered(leg, message.key, { ...frame, message })
      case 'request': return this.#questions.ask(leg, { ...frame, message })
      case 'notification': return this.#notified(leg, { ...frame, message })
      case 'batch': return message.members.forEach(one => this.#legFrame(leg, one))
      // The server's relay has reported the request that is lost with it.
      case 'unusable': case 'page': return undefined
      default: return message satisfies never
    }
  }

  #notified(leg: Leg, frame: NotificationFrame): void {
    const { method, params } = frame.message
    const changed = changingLists.find(({ notification }) => method === notification)
    if (changed !== undefined) {
      this.#stale(leg, changed)
      return this.#changes.tell(changed.capability)
    }
    switch (method) {
      case 'notifications/cancelled': return this.#questions.withdrawn(leg, frame)
      case 'notifications/resources/updated': {
        const uri = member(params, 'uri')
        if (!isString(uri) || (this.#subscriptions.serverOf(uri) ?? leg.name) !== leg.name) return
        this.#tables.owners.name(leg.name, uri)
        break
      }
      case 'notifications/message':
        if (member(params, 'logger') === undefined) {
          return this.#toClient(leg, changedNotification(frame, [{ path: ['logger'], value: leg.name }]))
        }
    }
    this.#toClient(leg, frame)
  }

  /** A notification goes where its request came from; what belongs to no request goes to the session. */
  #toClient(leg: Leg, frame: NotificationFrame): void {
    const { message } = frame
    if (this.#listens.notified(leg, frame)) return
    if (message.method !== 'notifications/progress') {
      return this.emit({ type: 'send', exchange: stdioExchange, frame })
    }
    const key = keyAt(frame, ['params', 'progressToken'])
    const pending = key === undefined ? undefined : this.#legs.requests.find(leg, key)
    if (pending?.client?.token === undefined) return
    const { exchange, token } = pending.client
    const names = { id: token, key: token.toString(), token }
    this.emit({ type: 'send', exchange, frame: restoredNotification(frame, message, names, Number(key)) })
  }

  // What changes.

  #arrived(leg: Leg): void {
    this.#sendLevel(leg)
    this.#subscriptions.renew(leg)
    this.#listens.arrived(leg)
    this.#outOfDate(leg)
  }

  #departed(leg: Leg, wasReady: boolean): void {
    this.#questions.departed(leg)
    if (wasReady) this.#outOfDate(leg)
  }

  /** Changes of a server's lists may not have been heard. */
  #outOfDate(leg: Leg): void {
    for (const list of changingLists) {
      this.#stale(leg, list)
      if (leg.has(list.capability)) this.#changes.tell(list.capability)
    }
  }

  /** One capability may have several lists: those of resources and of templates. */
  #stale(leg: Leg, { capability }: ChangingList): void {
    for (const kind of allKinds)
      if (listKinds[kind].capability === capability) this.#lists.stale(kind, leg.name)
  }
}
