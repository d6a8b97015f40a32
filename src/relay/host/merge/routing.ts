import type { Frame } from '#relay/protocol/frame.js'
import { isString, type Json, Meter, OverBudget, valueAt } from '#relay/protocol/json.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { clip } from '#relay/protocol/quote.js'
import { cancellation, restoredResponse } from '#relay/transport/one-process/rename.js'
import {
  changedNotification, changedRequest, type MemberChange, type NotificationFrame, tokenPath,
} from './frames.js'
import type { Leg, LegAnswer } from './leg.js'
import type { Legs } from './legs.js'
import type { LegLists } from './lists.js'
import type { Host } from './machine.js'
import type { MergedRequest, MissingServers, OpenRequests } from './requests.js'
import { urisIn } from './resources.js'
import type { ShownTables } from './shown.js'
import type { MergedSubscriptions } from './subscriptions.js'

/** Sends each request of the client to the one server that it belongs to. */
export class Routing {
  readonly #host: Host
  readonly #legs: Legs
  readonly #lists: LegLists
  readonly #tables: ShownTables
  readonly #requests: OpenRequests
  readonly #subscriptions: MergedSubscriptions

  constructor(
    host: Host, legs: Legs, lists: LegLists, tables: ShownTables, requests: OpenRequests,
    subscriptions: MergedSubscriptions,
  ) {
    this.#host = host
    this.#legs = legs
    this.#lists = lists
    this.#tables = tables
    this.#requests = requests
    this.#subscriptions = subscriptions
  }

  /** Sends a request to the server whose tool or prompt has the shown name. */
  byName(kind: 'tools' | 'prompts', path: readonly [string, ...string[]], asked: MergedRequest): void {
    const { params } = asked.frame.message
    const shown = valueAt(params, path)
    if (!isString(shown)) return this.#requests.refuse(asked, errorCode.invalidParams, 'Invalid params: a name is missing')
    const names = this.#tables.names[kind]
    const { longest } = asked.asking.limits
    const route = (missing: MissingServers) => {
      const [target, other] = names.claims(shown, longest)
      const leg = target && other === undefined ? this.#legs.get(target.server) : undefined
      if (target !== undefined && leg !== undefined) {
        return this.#forward(asked, leg, target.name === shown ? [] : [{ path, value: target.name }])
      }
      if (other === undefined && missing.length > 0) return this.#requests.down(asked, missing)
      const what = kind === 'tools' ? 'tool' : 'prompt'
      const claimed = other === undefined ? '' : ': several servers have one of this name'
      this.#requests.refuse(asked, errorCode.invalidParams, `Unknown ${what}: ${clip(shown)}${claimed}`)
    }
    if (names.claims(shown, longest).length > 0) return route([])
    const legs = names.couldShow(shown, longest).flatMap(name => this.#legs.get(name) ?? [])
    this.#lists.know([kind], legs, true, asked.asking, route)
  }

  /** Sends a request to the server that a resource belongs to. A URI is never tried at one after another. */
  byUri(path: readonly [string, ...string[]], asked: MergedRequest): void {
    const { method, params } = asked.frame.message
    const uri = valueAt(params, path)
    if (!isString(uri)) return this.#requests.refuse(asked, errorCode.invalidParams, 'Invalid params: a URI is missing')
    const legs = this.#legs.all()
    const known = method === 'resources/unsubscribe' ? this.#subscriptions.serverOf(uri) : undefined
    const route = (missing: MissingServers) => {
      const template = method === 'completion/complete' ? this.#tables.owners.listedBy('templates', uri) : undefined
      const found = known ?? template
      const candidates = found === undefined ? this.#tables.owners.of(uri) : [found]
      const leg = candidates.length === 1 ? this.#legs.get(candidates[0] ?? '') : undefined
      if (leg !== undefined) return this.#forward(asked, leg, [])
      if (candidates.length === 0 && missing.length > 0) return this.#requests.down(asked, missing)
      const listing = legs.filter(one => one.has('resources')).map(one => one.name)
      const could = candidates.length > 0 ? candidates : listing
      this.#requests.refuse(
        asked, errorCode.invalidParams,
        `Unknown resource: ${clip(uri)}: no server lists it, and it could be one of ${could.join(', ')}`,
      )
    }
    this.#lists.know(['resources', 'templates'], legs, false, asked.asking, missing => {
      if (this.#tables.owners.of(uri).length > 0 || missing.length > 0) return route(missing)
      this.#lists.know(['resources', 'templates'], legs, true, asked.asking, route)
    })
  }

  #forward(asked: MergedRequest, leg: Leg, changes: readonly MemberChange[]): void {
    const { frame, names, exchange } = asked
    this.#legs.whenKnown(leg, this.#host.options.listMs, () => {
      // The client may have cancelled it meanwhile.
      if (!this.#requests.isOpen(asked)) return
      const why = this.#legs.whyNot(leg)
      if (why !== undefined) return this.#requests.down(asked, [[leg.name, why]])
      const number = this.#legs.requests.ask(leg, own => changedRequest(frame, own, [
        ...changes, ...(names.token === undefined ? [] : [{ path: tokenPath, value: own } as const]),
      ]), {
        client: { exchange, token: names.token },
        answered: answer => this.#answered(asked, leg, number, answer),
      })
      asked.cancel = told => this.#legs.requests.cancel(number, told === undefined
        ? cancellation(number, frame.message)
        : cancellationOf(number, told))
      asked.leave = () => {
        const cancel = this.#legs.requests.leave(number)
        return cancel && (told => cancel(cancellationOf(number, told)))
      }
    })
  }

  #answered(asked: MergedRequest, leg: Leg, number: number, answer: LegAnswer): void {
    const { frame: { message: { method } }, names } = asked
    if (isString(answer)) return this.#requests.down(asked, [[leg.name, answer]])
    const { message } = answer
    if (message.kind === 'error') {
      const isLost = message.error.code === errorCode.gone && method === 'tools/call'
      if (isLost) return this.#requests.down(asked, [[leg.name, clip(message.error.message)]])
    } else {
      this.#note(leg, answer, message.result)
      this.#subscriptions.done(asked.frame.message, leg)
    }
    this.#requests.finish(asked, restoredResponse(answer, message, names, number))
  }

  /** Remembers which server has named a resource. */
  #note(leg: Leg, { bytes }: Frame, result: Json): void {
    if (!bytes.includes('"uri"') && !bytes.includes('resourceUri')) return
    try {
      for (const uri of urisIn(result, new Meter())) this.#tables.owners.name(leg.name, uri)
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error
    }
  }
}

/** The client's cancellation, as the server knows the request. */
const cancellationOf = (number: number, told: NotificationFrame): Frame =>
  changedNotification(told, [{ path: ['requestId'], value: number }])
