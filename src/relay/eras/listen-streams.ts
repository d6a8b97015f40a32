import type { Exchange } from '#relay/core/vocabulary.js'
import type { RequestId } from '#relay/core/refusal.js'
import { changingLists } from '#relay/protocol/changing-lists.js'
import { edited } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { each, isArray, isObject, isString, lengthOf, member, Meter, type JsonObject } from '#relay/protocol/json.js'
import type { IdKey, Notification, Request } from '#relay/protocol/json-rpc.js'
import { metaPrefix } from '#relay/protocol/revisions/index.js'
import { inFrameMeta, made, objectOf, resultOf } from './modern-frames.js'

/** Bounds of one session: streams, and the characters of the URIs that they subscribe. */
const maxStreams = 100
const maxCharacters = 256 * 1024

/** How long a stream waits for the server's answers to `resources/subscribe`, in milliseconds. */
const subscribeMs = 5000

const updated = 'notifications/resources/updated'

interface Stream extends RequestId {
  readonly exchange: Exchange
  /** The notifications that it asked for, and that the server announces. */
  readonly methods: ReadonlySet<string>
  /** Whether the server has subscribed each URI. */
  readonly uris: Map<string, boolean>
  isAcknowledged: boolean
}

interface Hands {
  send(exchange: Exchange, frame: Frame): void
  /** Sends a request of ours to the server. @param then gets whether the answer is a result */
  ask(method: string, params: JsonObject, then: (isResult: boolean) => void): void
  after(ms: number, act: () => void): () => void
}

/**
 * The streams of `subscriptions/listen` (2026-07-28, Subscriptions) before a server that has
 * `resources/subscribe`: the first stream with a URI subscribes, the last that ends unsubscribes.
 */
export class ListenStreams {
  readonly #hands: Hands
  readonly #streams = new Set<Stream>()
  #characters = 0

  constructor(hands: Hands) {
    this.#hands = hands
  }

  /** @param capabilities of the server @returns false when there are too many streams or URIs */
  open(exchange: Exchange, { id, key, params }: Request, capabilities: JsonObject | undefined): boolean {
    if (this.#streams.size >= maxStreams) return false
    const given = member(params, 'notifications')
    const filter = isObject(given) ? given : undefined
    const wished = member(filter, 'resourceSubscriptions')
    if (isArray(wished) && lengthOf(wished) > maxCharacters) return false
    const offers = (name: string, part: string): boolean => {
      const capability = member(capabilities, name)
      return isObject(capability) && member(capability, part) === true
    }
    const methods = changingLists.flatMap(({ capability, flag, notification }) =>
      member(filter, flag) === true && offers(capability, 'listChanged') ? [notification] : [])
    const stream = { id, key, exchange, methods: new Set(methods), uris: new Map(), isAcknowledged: false }
    this.#streams.add(stream)
    this.#subscribe(stream, offers('resources', 'subscribe') ? wished : undefined)
    return true
  }

  #subscribe(stream: Stream, wished: JsonObject[string]): void {
    const fresh: string[] = []
    for (const [, uri] of isArray(wished) ? each(wished, new Meter()) : []) {
      if (!isString(uri) || stream.uris.has(uri) || this.#characters + uri.length > maxCharacters) continue
      const isKnown = [...this.#streams].some(({ uris }) => uris.get(uri) === true)
      if (!isKnown) fresh.push(uri)
      stream.uris.set(uri, isKnown)
      this.#characters += uri.length
    }
    let open = fresh.length
    if (open === 0) return this.#acknowledge(stream)
    const stop = this.#hands.after(subscribeMs, () => this.#acknowledge(stream))
    for (const uri of fresh) {
      this.#hands.ask('resources/subscribe', { uri }, isResult => {
        for (const { uris } of this.#streams) if (uris.has(uri)) uris.set(uri, isResult)
        if (--open > 0) return
        stop()
        this.#acknowledge(stream)
      })
    }
  }

  /** The first message on a stream names what the server will send there. */
  #acknowledge(stream: Stream): void {
    const { exchange, key, methods, uris } = stream
    if (stream.isAcknowledged || !this.#streams.has(stream)) return
    stream.isAcknowledged = true
    const resourceSubscriptions = [...uris].flatMap(([uri, isSubscribed]) => (isSubscribed ? [uri] : []))
    const agreed = {
      ...Object.fromEntries(
        changingLists.filter(({ notification }) => methods.has(notification)).map(({ flag }) => [flag, true]),
      ),
      ...(resourceSubscriptions.length > 0 && { resourceSubscriptions }),
    }
    const params = objectOf({ notifications: JSON.stringify(agreed), _meta: metaOf(key) })
    this.#hands.send(exchange, made({ method: '"notifications/subscriptions/acknowledged"', params }))
  }

  /** @returns true when the notification goes to streams only */
  notified(frame: Frame, { method, params }: Notification): boolean {
    const uri = member(params, 'uri')
    for (const { exchange, key, methods, uris, isAcknowledged } of this.#streams) {
      const isWanted = methods.has(method) || (method === updated && isString(uri)
        && [...uris].some(([one, isSubscribed]) => isSubscribed && isWithin(uri, one)))
      if (isWanted && isAcknowledged)
        this.#hands.send(exchange, edited(frame, [inFrameMeta('params', params, 'subscriptionId', key)]))
    }
    return method === updated || changingLists.some(({ notification }) => notification === method)
  }

  /** The client has ended the exchange, or the stream of one request. */
  ended(exchange: Exchange, key?: IdKey): void {
    for (const stream of this.#streams) {
      if (stream.exchange !== exchange || (key !== undefined && stream.key !== key)) continue
      this.#streams.delete(stream)
      for (const uri of stream.uris.keys()) {
        this.#characters -= uri.length
        const isLast = [...this.#streams].every(({ uris }) => !uris.has(uri))
        if (isLast) this.#hands.ask('resources/unsubscribe', { uri }, () => undefined)
      }
    }
  }

  /** The server sends nothing more (2026-07-28, SubscriptionsListenResult). */
  finish(): void {
    for (const stream of this.#streams) {
      this.#hands.send(stream.exchange, resultOf(stream, { resultType: '"complete"', _meta: metaOf(stream.key) }))
    }
    this.#streams.clear()
  }
}

const metaOf = (key: IdKey): string => objectOf({ [`${metaPrefix}subscriptionId`]: key })

/** An update may name a part of the subscribed resource (2025-11-25, ResourceUpdatedNotification). */
const isWithin = (uri: string, subscribed: string): boolean =>
  uri === subscribed || uri.startsWith(subscribed.endsWith('/') ? subscribed : `${subscribed}/`)
