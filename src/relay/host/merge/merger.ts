import type { Exchange } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { ChurnMap } from '#relay/core/memory.js'
import { errorFrame } from '#relay/core/refusal.js'
import { listChanged } from '#relay/protocol/changing-lists.js'
import { textWithout } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isString, member, Meter, OverBudget, type Json, valueAt } from '#relay/protocol/json.js'
import { errorCode, type IdKey } from '#relay/protocol/json-rpc.js'
import { idOf, keyAt, idKeysOf } from '#relay/protocol/message.js'
import { clip, quote } from '#relay/protocol/quote.js'
import { slice } from '#relay/protocol/scan.js'
import { isModernRequest } from '#relay/transport/http/headers.js'
import {
  cancellation, renamedNames, restoredNotification, restoredResponse,
} from '#relay/transport/one-process/rename.js'
import {
  answerUnder, changedNotification, changedRequest, failedCall, notification, request, responseOf,
  type MergedRequest, type Asking, type MemberChange, type NotificationFrame,
  type RequestFrame, type ResponseFrame,
} from './frames.js'
import { Hello } from './hello.js'
import { type LegAnswer, type Leg, Legs } from './legs.js'
import { Listens } from './listens.js'
import { allKinds, type ListKind, listKinds, LegLists } from './lists.js'
import type { Host, MergeEffect, MergeEvent, MergerOptions } from './machine.js'
import { NameTable } from './names.js'
import { ResourceOwners, urisIn } from './resources.js'

/** A server's request to the client. */
interface ServerRequest {
  readonly leg: Leg
  readonly id: Buffer
  readonly token: Buffer | undefined
}

/** How often a client is told that lists of a kind have changed, in milliseconds. */
const changedMs = 1000

/** Most open requests of servers, and subscriptions that are made again when their server comes back. */
const maxOpen = 10_000

/** Longest id and progress token of a server's request, together. */
const maxIdBytes = 1024

/**
 * Several servers as one, for one client session: frames in, frames out. Each server is spoken to in a
 * session of its own, with ids, progress tokens and names of its own.
 */
export class Merger implements Host {
  readonly options: MergerOptions
  readonly #legs: Legs
  readonly #names: Readonly<Record<'tools' | 'prompts', NameTable>>
  readonly #owners = new ResourceOwners()
  readonly #lists: LegLists
  readonly #hello: Hello
  readonly #listens: Listens
  #effects: MergeEffect[] = []
  #now = 0
  readonly #timers = new ChurnMap<number, () => void>()
  #lastTimer = 0
  readonly #asked = new ChurnMap<string, MergedRequest>()
  readonly #serverRequests = new ChurnMap<string, ServerRequest>()
  #lastServerRequest = 0
  /** By kind of list: when the client was told last that it has changed. Infinity: it will be told. */
  readonly #toldAt = new Map<string, number>()
  /** By URI: the server at which the client has subscribed. */
  readonly #subscribed = new Map<string, string>()
  /** The client's last `logging/setLevel`. */
  #setLevel: RequestFrame | undefined

  constructor(options: MergerOptions) {
    this.options = options
    const { naming, servers } = options
    this.#names = { tools: new NameTable(naming), prompts: new NameTable(naming) }
    this.#legs = new Legs(this, { arrived: leg => this.#arrived(leg), departed: leg => this.#moved(leg) })
    this.#lists = new LegLists(this, this.#legs, this.#names, this.#owners, kind => this.#changed(kind))
    this.#hello = new Hello(this, this.#legs)
    this.#listens = new Listens(this, this.#legs, this.#owners, leg => this.#outOfDate(leg))
    this.#offer(servers)
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
    return this.#asked.size > 0
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
      case 'exchange-ended': return this.#left(event.exchange)
      case 'leg-frame': return this.#withLeg(event.leg, leg => this.#legFrame(leg, event.frame))
      case 'leg-lost': return this.#withLeg(event.leg, leg => this.#legs.answered(leg, event.key, event.reason))
      case 'leg-ended': return this.#withLeg(event.leg, leg => this.#legs.ended(leg, event.reason))
      case 'timer-fired': {
        const act = this.#timers.get(event.timer)
        this.#timers.delete(event.timer)
        return act?.()
      }
      case 'servers-changed': {
        this.#offer(event.servers)
        return this.#legs.hasAnswered ? allKinds.forEach(kind => this.#changed(kind)) : undefined
      }
      default: return event satisfies never
    }
  }

  #withLeg(name: string, act: (leg: Leg) => void): void {
    const leg = this.#legs.get(name)
    if (leg !== undefined) act(leg)
  }

  #offer(servers: MergerOptions['servers']): void {
    this.#legs.offer(servers)
    this.#names.tools.offer(servers)
    this.#names.prompts.offer(servers)
    this.#owners.offer(servers.map(({ name }) => name))
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
    if (message.kind === 'result' || message.kind === 'error') this.#clientAnswer({ ...frame, message })
  }

  #request(exchange: Exchange, frame: RequestFrame): void {
    const { message } = frame
    const isModern = isModernRequest(frame)
    const asking: Asking = { isModern, meta: isModern ? metaOf(frame) : undefined, envelope: frame.envelope }
    const names = renamedNames(frame, message)
    const asked: MergedRequest = { exchange, frame, names, asking, cancel: () => undefined }
    const name = this.#nameOf(exchange, message.key)
    if (this.#asked.has(name)) {
      const twice = errorFrame(message, errorCode.invalidRequest, 'A request with this id is open')
      return this.emit({ type: 'send', exchange, frame: twice })
    }
    this.#asked.set(name, asked)
    if (message.method !== 'initialize') {
      if (!isModern && !this.#legs.isLegacy && message.method !== 'ping') {
        return this.#refuse(asked, errorCode.invalidRequest, 'The session has not begun: send initialize first')
      }
      if (isModern) this.#legs.beginModern(asking.meta)
    }
    const cursor = member(message.params, 'cursor')
    switch (message.method) {
      case 'initialize': return this.#hello.initialize(frame, answer => this.#finish(asked, answer))
      case 'server/discover': return this.#hello.discover(frame, answer => this.#finish(asked, answer))
      case 'ping': return isModern
        ? this.#refuse(asked, errorCode.methodNotFound, 'Method not found')
        : this.#finish(asked, responseOf(message, {}))
      case 'tools/list': return this.#list('tools', cursor, asked)
      case 'prompts/list': return this.#list('prompts', cursor, asked)
      case 'resources/list': return this.#list('resources', cursor, asked)
      case 'resources/templates/list': return this.#list('templates', cursor, asked)
      case 'tools/call': return this.#byName('tools', ['name'], asked)
      case 'prompts/get': return this.#byName('prompts', ['name'], asked)
      case 'resources/read': return this.#byUri(['uri'], asked)
      case 'resources/subscribe': case 'resources/unsubscribe': return this.#byUri(['uri'], asked)
      case 'completion/complete': return valueAt(message.params, ['ref', 'type']) === 'ref/prompt'
        ? this.#byName('prompts', ['ref', 'name'], asked)
        : this.#byUri(['ref', 'uri'], asked)
      case 'logging/setLevel': return this.#level(asked)
      case 'subscriptions/listen': return this.#listen(asked)
      default: return this.#refuse(asked, errorCode.methodNotFound, 'Method not found')
    }
  }

  #nameOf({ name }: Exchange, key: IdKey): string {
    return this.options.isStateless ? `${name} ${key}` : key
  }

  /** Whether the client waits for it: another request may have its id by now. */
  #isOpen(asked: MergedRequest): boolean {
    return this.#asked.get(this.#nameOf(asked.exchange, asked.frame.message.key)) === asked
  }

  #finish(asked: MergedRequest, frame: Frame): void {
    if (!this.#isOpen(asked)) return
    this.#asked.delete(this.#nameOf(asked.exchange, asked.frame.message.key))
    this.emit({ type: 'send', exchange: asked.exchange, frame })
  }

  #refuse(asked: MergedRequest, code: number, text: string): void {
    this.#finish(asked, errorFrame(asked.frame.message, code, text))
  }

  #list(kind: ListKind, cursor: Json | undefined, asked: MergedRequest): void {
    this.#lists.list(kind, isString(cursor) ? cursor : undefined, asked.asking, listed => {
      if ('error' in listed) this.#refuse(asked, listed.code, listed.error)
      else this.#finish(asked, responseOf(asked.names, listed.result))
    })
  }

  /** Sends a request to the server whose tool or prompt has the shown name. */
  #byName(kind: 'tools' | 'prompts', path: readonly [string, ...string[]], asked: MergedRequest): void {
    const { params } = asked.frame.message
    const shown = valueAt(params, path)
    if (!isString(shown)) return this.#refuse(asked, errorCode.invalidParams, 'Invalid params: a name is missing')
    const names = this.#names[kind]
    const route = (missing: readonly (readonly [string, string])[]) => {
      const [target, other] = names.claims(shown)
      const leg = target && other === undefined ? this.#legs.get(target.server) : undefined
      if (target !== undefined && leg !== undefined) {
        return this.#forward(asked, leg, target.name === shown ? [] : [{ path, value: target.name }])
      }
      if (other === undefined && missing.length > 0) return this.#down(asked, missing)
      const what = kind === 'tools' ? 'tool' : 'prompt'
      const claimed = other === undefined ? '' : ': several servers have one of this name'
      this.#refuse(asked, errorCode.invalidParams, `Unknown ${what}: ${clip(shown)}${claimed}`)
    }
    if (names.claims(shown).length > 0) return route([])
    const legs = names.couldShow(shown).flatMap(name => this.#legs.get(name) ?? [])
    this.#lists.know([kind], legs, true, asked.asking, route)
  }

  /** Sends a request to the server that a resource belongs to. A URI is never tried at one after another. */
  #byUri(path: readonly [string, ...string[]], asked: MergedRequest): void {
    const { method, params } = asked.frame.message
    const uri = valueAt(params, path)
    if (!isString(uri)) return this.#refuse(asked, errorCode.invalidParams, 'Invalid params: a URI is missing')
    const legs = this.#legs.all()
    const known = method === 'resources/unsubscribe' ? this.#subscribed.get(uri) : undefined
    const route = (missing: readonly (readonly [string, string])[]) => {
      const template = method === 'completion/complete' ? this.#owners.listedBy('templates', uri) : undefined
      const found = known ?? template
      const candidates = found === undefined ? this.#owners.of(uri) : [found]
      const leg = candidates.length === 1 ? this.#legs.get(candidates[0] ?? '') : undefined
      if (leg !== undefined) return this.#forward(asked, leg, [])
      if (candidates.length === 0 && missing.length > 0) return this.#down(asked, missing)
      const listing = legs.filter(one => one.has('resources')).map(one => one.name)
      const could = candidates.length > 0 ? candidates : listing
      this.#refuse(
        asked, errorCode.invalidParams,
        `Unknown resource: ${clip(uri)}: no server lists it, and it could be one of ${could.join(', ')}`,
      )
    }
    this.#lists.know(['resources', 'templates'], legs, false, asked.asking, missing => {
      if (this.#owners.of(uri).length > 0 || missing.length > 0) return route(missing)
      this.#lists.know(['resources', 'templates'], legs, true, asked.asking, route)
    })
  }

  #forward(asked: MergedRequest, leg: Leg, changes: readonly MemberChange[]): void {
    const { frame, names, exchange } = asked
    this.#legs.whenKnown(leg, this.options.listMs, () => {
      // The client may have cancelled it meanwhile.
      if (!this.#isOpen(asked)) return
      const why = this.#legs.whyNot(leg)
      if (why !== undefined) return this.#down(asked, [[leg.name, why]])
      const number = this.#legs.ask(leg, own => changedRequest(frame, own, [
        ...changes, ...(names.token === undefined ? [] : [{ path: tokenPath, value: own } as const]),
      ]), {
        client: { exchange, token: names.token },
        answered: answer => this.#answered(asked, leg, number, answer),
      })
      asked.cancel = told => this.#legs.cancel(number, told?.message.kind === 'notification'
        ? changedNotification({ ...told, message: told.message }, [{ path: ['requestId'], value: number }])
        : cancellation(number, frame.message))
    })
  }

  #answered(asked: MergedRequest, leg: Leg, number: number, answer: LegAnswer): void {
    const { frame: { message: { method, params } }, names } = asked
    if (isString(answer)) return this.#down(asked, [[leg.name, answer]])
    const { message } = answer
    if (message.kind === 'error') {
      const isLost = message.error.code === errorCode.gone && method === 'tools/call'
      if (isLost) return this.#down(asked, [[leg.name, clip(message.error.message)]])
    } else {
      this.#note(leg, answer, message.result)
      const uri = member(params, 'uri')
      const isKept = this.#subscribed.size < maxOpen
      if (isString(uri) && isKept && method === 'resources/subscribe') this.#subscribed.set(uri, leg.name)
      if (isString(uri) && method === 'resources/unsubscribe') this.#subscribed.delete(uri)
    }
    this.#finish(asked, restoredResponse(answer, message, names, number))
  }

  /** Answers for servers that cannot. A model gets a tool result, because it can act on that. */
  #down(asked: MergedRequest, missing: readonly (readonly [server: string, reason: string])[]): void {
    const { frame: { message }, asking: { isModern } } = asked
    const text = missing.map(([server, reason]) => `The server ${quote(server)} is not available: ${reason}`)
    if (message.method !== 'tools/call') return this.#refuse(asked, errorCode.gone, text.join('; '))
    this.#finish(asked, failedCall(message, `${text.join('; ')}.`, isModern))
  }

  #level(asked: MergedRequest): void {
    this.#setLevel = asked.frame
    for (const leg of this.#legs.all()) this.#sendLevel(leg)
    this.#finish(asked, responseOf(asked.frame.message, {}))
  }

  #sendLevel(leg: Leg): void {
    const frame = this.#setLevel
    if (frame === undefined || leg.state !== 'ready' || !leg.has('logging')) return
    this.#legs.ask(leg, number => changedRequest(frame, number, []), { answered: () => undefined })
  }

  #listen(asked: MergedRequest): void {
    const legs = this.#legs.all()
    const begin = () => {
      if (this.#isOpen(asked)) asked.cancel = this.#listens.begin(asked)
    }
    if (valueAt(asked.frame.message.params, ['notifications', 'resourceSubscriptions']) === undefined) return begin()
    this.#lists.know(['resources', 'templates'], legs, false, asked.asking, begin)
  }

  #clientNotification(exchange: Exchange, frame: NotificationFrame): void {
    const { message } = frame
    switch (message.method) {
      case 'notifications/cancelled': return this.#cancelled(exchange, frame)
      case 'notifications/initialized': return this.#legs.initialized(frame)
      case 'notifications/progress': return this.#progressOfClient(frame)
    }
    // Of the session, as the change of roots: for every server that has begun it.
    for (const leg of this.#legs.all()) if (leg.isTold) this.#legs.notify(leg, frame)
  }

  #cancelled(exchange: Exchange, frame: Frame): void {
    const key = keyAt(frame, ['params', 'requestId'])
    const asked = key === undefined ? undefined : this.#asked.get(this.#nameOf(exchange, key))
    if (asked === undefined) return
    this.#drop(asked, frame)
    this.emit({ type: 'complete', exchange: asked.exchange })
  }

  #drop(asked: MergedRequest, told?: Frame): void {
    this.#asked.delete(this.#nameOf(asked.exchange, asked.frame.message.key))
    asked.cancel(told)
  }

  /** A modern client cancels by closing its stream (2026-07-28, cancellation). */
  #left(exchange: Exchange): void {
    if (!this.options.isStateless) return
    for (const asked of this.#asked.values()) if (asked.exchange === exchange) this.#drop(asked)
  }

  #clientAnswer(frame: ResponseFrame): void {
    const found = this.#serverRequests.get(frame.message.key)
    if (found === undefined) return
    this.#serverRequests.delete(frame.message.key)
    const { leg, id } = found
    if (leg.state === 'ready') this.#legs.notify(leg, answerUnder(frame, id))
  }

  #progressOfClient(frame: NotificationFrame): void {
    const found = this.#serverRequests.get(keyAt(frame, ['params', 'progressToken']) ?? '')
    if (found?.token === undefined) return
    const { leg, token } = found
    this.#legs.notify(leg, changedNotification(frame, [
      { path: ['progressToken'], value: idOf(token.toString()), text: token },
    ]))
  }

  // What the servers send.

  #legFrame(leg: Leg, frame: Frame): void {
    const { message } = frame
    switch (message.kind) {
      case 'result': case 'error': return this.#legs.answered(leg, message.key, { ...frame, message })
      case 'request': return this.#serverRequest(leg, { ...frame, message })
      case 'notification': return this.#notified(leg, { ...frame, message })
      case 'batch': return message.members.forEach(one => this.#legFrame(leg, one))
      // The server's relay has reported the request that is lost with it.
      case 'unusable': case 'page': return undefined
      default: return message satisfies never
    }
  }

  #serverRequest(leg: Leg, frame: RequestFrame): void {
    const { message } = frame
    // Copies: a part of the frame would keep all of it.
    const id = Buffer.from(message.key)
    if (message.method === 'ping') {
      return this.#legs.notify(leg, responseOf(message, {}))
    }
    const written = slice(frame, ['params', ...tokenPath])
    const isLong = id.length + (written?.length ?? 0) > maxIdBytes
    if (isLong || this.#serverRequests.size >= maxOpen) {
      const text = isLong ? 'The id is too long' : 'Too many requests of servers are open'
      return this.#legs.notify(leg, errorFrame(message, errorCode.blocked, text))
    }
    const number = (this.#lastServerRequest += 1)
    const token = written && Buffer.from(written)
    this.#serverRequests.set(String(number), { leg, id, token })
    const changes: MemberChange[] = [{ path: ['_meta', 'mcp-customs/server'], value: leg.name }]
    if (token !== undefined) changes.push({ path: tokenPath, value: number })
    this.emit({ type: 'send', exchange: stdioExchange, frame: changedRequest(frame, number, changes) })
  }

  #notified(leg: Leg, frame: NotificationFrame): void {
    const { method, params } = frame.message
    const listed = allKinds.filter(kind => method === listChanged(listKinds[kind].capability))
    if (listed.length > 0) {
      for (const kind of listed) {
        this.#lists.stale(kind, leg.name)
        this.#changed(kind)
      }
      return
    }
    switch (method) {
      case 'notifications/cancelled': return this.#withdrawn(leg, frame)
      case 'notifications/resources/updated': {
        const uri = member(params, 'uri')
        if (!isString(uri) || (this.#subscribed.get(uri) ?? leg.name) !== leg.name) return
        this.#owners.name(leg.name, uri)
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
    const pending = key === undefined ? undefined : this.#legs.find(leg, key)
    if (pending?.client?.token === undefined) return
    const { exchange, token } = pending.client
    const names = { id: token, key: token.toString(), token }
    this.emit({ type: 'send', exchange, frame: restoredNotification(frame, message, names, Number(key)) })
  }

  /** A server does not wait for the client's answer any more. */
  #withdrawn(leg: Leg, frame: NotificationFrame): void {
    const key = keyAt(frame, ['params', 'requestId'])
    const found = this.#serverRequests.entries()
      .find(([, { leg: of, id }]) => of === leg && id.toString() === key)
    if (found === undefined) return
    this.#serverRequests.delete(found[0])
    this.emit({
      type: 'send', exchange: stdioExchange,
      frame: changedNotification(frame, [{ path: ['requestId'], value: Number(found[0]) }]),
    })
  }

  /** Remembers which server has named a resource. */
  #note(leg: Leg, { bytes }: Frame, result: Json): void {
    if (!bytes.includes('"uri"') && !bytes.includes('resourceUri')) return
    try {
      for (const uri of urisIn(result, new Meter())) this.#owners.name(leg.name, uri)
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error
    }
  }

  // What changes.

  #arrived(leg: Leg): void {
    this.#sendLevel(leg)
    for (const [uri, server] of this.#subscribed) {
      if (server !== leg.name) continue
      const params = JSON.stringify({ uri })
      const ask = (number: number) => request(number, 'resources/subscribe', params)
      this.#legs.ask(leg, ask, { answered: () => undefined })
    }
    this.#listens.arrived(leg)
    this.#moved(leg)
  }

  /** A server has come or gone: so have its lists. */
  #moved(leg: Leg): void {
    for (const [key, { leg: of }] of this.#serverRequests.entries()) {
      if (of !== leg || leg.state === 'ready') continue
      this.#serverRequests.delete(key)
      const params = { requestId: Number(key), reason: `the server ${quote(leg.name)} has ended` }
      this.emit({ type: 'send', exchange: stdioExchange, frame: notification('notifications/cancelled', params) })
    }
    this.#outOfDate(leg)
  }

  /** Changes of a server's lists may not have been heard. */
  #outOfDate(leg: Leg): void {
    for (const kind of allKinds) {
      this.#lists.stale(kind, leg.name)
      if (leg.has(listKinds[kind].capability)) this.#changed(kind)
    }
  }

  /** Tells the client that a list has changed, once in a second for each kind. */
  #changed(kind: ListKind): void {
    const { capability } = listKinds[kind]
    const last = this.#toldAt.get(capability) ?? -changedMs
    if (last === Infinity) return
    const tell = () => {
      this.#toldAt.set(capability, this.#now)
      const frame = notification(listChanged(capability))
      if (this.#legs.isLegacy) this.emit({ type: 'send', exchange: stdioExchange, frame })
      this.#listens.changed(capability)
    }
    const left = last + changedMs - this.#now
    if (left <= 0) return tell()
    this.#toldAt.set(capability, Infinity)
    this.after(left, tell)
  }
}

const tokenPath = ['_meta', 'progressToken'] as const

/** The `_meta` of a modern request, without the progress token, which is for the whole list only. */
const metaOf = (frame: Frame): string | undefined => textWithout(frame, ['params', '_meta'], ['progressToken'])
