import { each, isArray, isString, Meter, type Json, valueAt } from '#relay/protocol/json.js'
import { changingLists, listChanged } from '#relay/protocol/changing-lists.js'
import { madeFrame } from '#relay/protocol/parse.js'
import { inMeta, metaPrefix } from '#relay/protocol/revisions/index.js'
import { cancellation, restoredNotification } from '#relay/transport/one-process/rename.js'
import { changedRequest, type NotificationFrame } from './frames.js'
import { type Leg, pauseMs } from './leg.js'
import type { Legs } from './legs.js'
import type { Host } from './machine.js'
import type { MergedRequest } from './requests.js'
import { matchSteps, type ResourceOwners } from './resources.js'

/** How long the acknowledgement waits for those of the servers, in milliseconds. */
const acknowledgeMs = 1000

interface Part {
  readonly number: number
  readonly uris: ReadonlySet<string>
}

/** A client's `subscriptions/listen` (2026-07-28, subscriptions), and those that were made of it. */
interface Listen {
  readonly asked: MergedRequest
  /** At each server: the number of the request, and the URIs that it was asked for. */
  readonly parts: Map<Leg, Part>
  /** Servers that have not acknowledged. */
  readonly waiting: Set<Leg>
  readonly granted: Set<string>
  isAcknowledged: boolean
  /** Changes from before the acknowledgement. */
  readonly changed: Set<string>
  /** How often in a row each server has ended its stream. */
  readonly failures: Map<Leg, number>
}

/** Merges the servers' streams of changes: one acknowledgement, then everything under the client's id. */
export class Listens {
  readonly #host: Host
  readonly #legs: Legs
  readonly #owners: ResourceOwners
  /** Called when a server is heard again, whose changes were not heard for a while. */
  readonly #heardAgain: (leg: Leg) => void
  readonly #open = new Set<Listen>()

  constructor(host: Host, legs: Legs, owners: ResourceOwners, heardAgain: (leg: Leg) => void) {
    this.#host = host
    this.#legs = legs
    this.#owners = owners
    this.#heardAgain = heardAgain
  }

  /** @returns a function that ends it */
  begin(asked: MergedRequest): () => void {
    const listen: Listen = {
      asked, isAcknowledged: false,
      parts: new Map(), waiting: new Set(), granted: new Set(), changed: new Set(), failures: new Map(),
    }
    this.#open.add(listen)
    const owned = this.#owned(listen)
    for (const leg of this.#legs.all()) this.#ask(listen, leg, owned)
    const ms = Math.min(acknowledgeMs, this.#host.options.listMs)
    const stop = this.#host.after(ms, () => this.#acknowledge(listen))
    if (listen.waiting.size === 0) this.#acknowledge(listen)
    return () => {
      stop()
      this.#open.delete(listen)
      for (const { number } of listen.parts.values()) {
        this.#legs.requests.cancel(number, cancellation(number, asked.frame.message))
      }
    }
  }

  /** The URIs that the client has named, by the server that owns them; undefined: it has named none. */
  #owned({ asked: { frame } }: Listen): ReadonlyMap<string, readonly string[]> | undefined {
    const uris = urisIn(valueAt(frame.message.params, ['notifications', 'resourceSubscriptions']))
    if (uris === undefined) return undefined
    const budget = { left: matchSteps }
    const owned = new Map<string, string[]>()
    for (const uri of uris) {
      const [owner, other] = this.#owners.of(uri, budget)
      if (owner !== undefined && other === undefined) owned.set(owner, [...owned.get(owner) ?? [], uri])
    }
    return owned
  }

  #ask(listen: Listen, leg: Leg, owned = this.#owned(listen)): void {
    if (leg.state !== 'ready' || listen.parts.has(leg)) return
    const { frame } = listen.asked
    const own = owned && (owned.get(leg.name) ?? [])
    listen.waiting.add(leg)
    const number = this.#legs.requests.ask(leg, made => changedRequest(
      frame, made, own === undefined ? [] : [{ path: ['notifications', 'resourceSubscriptions'], value: own }],
    ), { answered: () => this.#ended(listen, leg) })
    listen.parts.set(leg, { number, uris: new Set(own) })
  }

  /** A server has ended its stream: it is asked again later. */
  #ended(listen: Listen, leg: Leg): void {
    listen.parts.delete(leg)
    this.#heard(listen, leg)
    const failures = (listen.failures.get(leg) ?? 0) + 1
    listen.failures.set(leg, failures)
    this.#host.after(pauseMs({ failures }), () => {
      if (this.#open.has(listen)) this.#ask(listen, leg)
    })
  }

  arrived(leg: Leg): void {
    for (const listen of this.#open) this.#ask(listen, leg)
  }

  #heard(listen: Listen, leg: Leg): void {
    listen.waiting.delete(leg)
    if (listen.waiting.size === 0) this.#acknowledge(listen)
  }

  #acknowledge(listen: Listen): void {
    if (listen.isAcknowledged || !this.#open.has(listen)) return
    listen.isAcknowledged = true
    const wanted = valueAt(listen.asked.frame.message.params, ['notifications'])
    const flags = changingLists.map(({ flag }) => flag).filter(flag => valueAt(wanted, [flag]) === true)
    const granted = [...listen.granted]
    const uris = valueAt(wanted, ['resourceSubscriptions']) === undefined ? {} : { resourceSubscriptions: granted }
    this.#send(listen, 'notifications/subscriptions/acknowledged', {
      ...Object.fromEntries(flags.map(flag => [flag, true] as const)), ...uris,
    })
    for (const capability of listen.changed) this.#sendChanged(listen, capability)
  }

  /** Tells the streams that asked for it that a list has changed. */
  changed(capability: string): void {
    for (const listen of this.#open) {
      if (valueAt(listen.asked.frame.message.params, ['notifications', `${capability}ListChanged`]) !== true) continue
      if (listen.isAcknowledged) this.#sendChanged(listen, capability)
      else listen.changed.add(capability)
    }
  }

  #sendChanged(listen: Listen, capability: string): void {
    this.#send(listen, listChanged(capability))
  }

  #send({ asked: { names: { id }, exchange } }: Listen, method: string, notifications?: object): void {
    const granted = notifications === undefined ? '' : `,"notifications":${JSON.stringify(notifications)}`
    const meta = `{"${metaPrefix}subscriptionId":${id.toString()}}`
    const frame = madeFrame(`{"jsonrpc":"2.0","method":"${method}","params":{"_meta":${meta}${granted}}}`)
    this.#host.emit({ type: 'send', exchange, frame })
  }

  /** @returns whether the notification belongs to a stream of changes */
  notified(leg: Leg, frame: NotificationFrame): boolean {
    const { message } = frame
    const number = inMeta(message.params, 'subscriptionId')
    if (number === undefined) return false
    const listen = [...this.#open].find(({ parts }) => parts.get(leg)?.number === number)
    if (listen === undefined || typeof number !== 'number') return true
    if (message.method === 'notifications/subscriptions/acknowledged') {
      if (listen.failures.delete(leg)) this.#heardAgain(leg)
      if (listen.isAcknowledged) return true
      const asked = listen.parts.get(leg)?.uris
      const granted = urisIn(valueAt(message.params, ['notifications', 'resourceSubscriptions'])) ?? []
      for (const uri of granted) if (asked?.has(uri) === true) listen.granted.add(uri)
      this.#heard(listen, leg)
    } else {
      const { names, exchange } = listen.asked
      this.#host.emit({ type: 'send', exchange, frame: restoredNotification(frame, message, names, number) })
    }
    return true
  }
}

const urisIn = (list: Json | undefined): readonly string[] | undefined => {
  if (!isArray(list)) return undefined
  const uris: string[] = []
  for (const [, uri] of each(list, new Meter())) if (isString(uri)) uris.push(uri)
  return uris
}
