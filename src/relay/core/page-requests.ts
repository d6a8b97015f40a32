import { edit, type Edit } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isObject, isString, member, omit } from '#relay/protocol/json.js'
import type { ErrorResponse, Id, IdKey, Result } from '#relay/protocol/json-rpc.js'
import { written } from '#relay/protocol/message.js'
import { metaPrefix } from '#relay/protocol/revisions/index.js'
import type { Core } from './core.js'
import type { Exchange } from './vocabulary.js'
import type { Findings } from './findings.js'
import { type Flow, Slot } from './flow.js'
import type { PendingRequest } from './request.js'
import { metaOf, type Terms } from './terms.js'
import { type Ledger, weights } from './memory.js'

/** The response to a relay-made request for a page. */
export interface PageResponse {
  readonly exchange: Exchange
  readonly frame: Frame
  readonly message: Result | ErrorResponse | undefined
  readonly findings: Findings
}

type SentRequest = NonNullable<PendingRequest['request']>

/** A client request for which the relay lists: its exchange, credentials and terms are used. */
export type Asker = Pick<PendingRequest, 'exchange' | 'id' | 'terms' | 'request'>

/** Pages that the relay asks for one after the other, within `listMs`. */
export interface Walk {
  readonly asker: Asker
  /** The frame that the requests are made from. A request that was sent already keeps none. */
  readonly template: SentRequest
  readonly timer: string
  key: IdKey | undefined
  /** Filled with the response to the current page, or with undefined when no response will come. */
  page: Slot<PageResponse | undefined>
  isOver: boolean
}

/** The relay's own requests for pages of lists, in the name of a client's request. */
export class PageRequests {
  readonly ids: RelayIds
  readonly #core: Core
  readonly #walks = new Set<Walk>()
  #last = 0

  constructor(core: Core) {
    this.#core = core
    this.ids = new RelayIds(core.options.nonce, core.ledger)
  }

  begin(asker: Asker): Walk {
    // No other walk has it: the next one may begin while this one's timer fires.
    const timer = `list ${++this.#last}`
    const template = asker.request ?? templateFor(asker.terms)
    const walk: Walk = { asker, template, timer, key: undefined, page: new Slot(), isOver: false }
    this.#walks.add(walk)
    this.#core.output.emit({ type: 'start-timer', timer, ms: this.#core.judgement.limits.listMs })
    return walk
  }

  end(walk: Walk): void {
    if (this.#walks.delete(walk)) this.#core.output.emit({ type: 'stop-timer', timer: walk.timer })
    // The only one that could wait for a page is the caller.
    walk.isOver = true
    walk.key = undefined
  }

  /** Requests a page. @returns undefined when no response will come */
  *ask(walk: Walk, method: string, cursor: string | undefined): Flow<PageResponse | undefined> {
    if (walk.isOver) return undefined
    const { asker: { exchange, id: theirs }, template } = walk
    const id = this.ids.next(theirs)
    walk.page = new Slot()
    walk.key = written(id)
    this.#core.output.toServer(exchange, pageRequest(id, walk.key, method, cursor, template))
    return yield* walk.page.value()
  }

  /** True for the id of the relay's own request: its response must never reach the client. */
  awaits(exchange: Exchange, key: IdKey): boolean {
    return this.#find(exchange, key) !== undefined
  }

  /** True while the relay lists by itself in this session, or without a session on this exchange. */
  isListingOn(exchange: Exchange): boolean {
    return [...this.#walks].some(walk => this.#isOn(walk, exchange))
  }

  /** True while the relay lists by itself. */
  get isListing(): boolean {
    return this.#walks.size > 0
  }

  /** The response to the relay's own request. */
  answered(key: IdKey, response: PageResponse): void {
    const walk = this.#find(response.exchange, key)
    if (walk === undefined) return
    // A second response with this id belongs to no request, and must not fill the next page.
    walk.key = undefined
    this.#core.driver.fill(walk.page, response)
  }

  /** A request of the relay gets no response. */
  lost(exchange: Exchange, key: IdKey): void {
    const walk = this.#find(exchange, key)
    if (walk !== undefined) this.#lost(walk)
  }

  /** The server answers nothing any more. */
  allLost(): void {
    for (const walk of this.#walks) this.#lost(walk)
  }

  timerFired(timer: string): void {
    for (const walk of this.#walks) if (walk.timer === timer) this.#lost(walk)
  }

  /** The client closed the exchange on which the relay lists. */
  exchangeEnded(exchange: Exchange): void {
    for (const walk of this.#walks) if (walk.asker.exchange === exchange) this.#lost(walk)
  }

  #lost(walk: Walk): void {
    walk.isOver = true
    walk.key = undefined
    this.#core.driver.fill(walk.page, undefined)
  }

  #find(exchange: Exchange, key: IdKey): Walk | undefined {
    for (const walk of this.#walks) if (walk.key === key && this.#isOn(walk, exchange)) return walk
    return undefined
  }

  #isOn({ asker }: Walk, exchange: Exchange): boolean {
    return !this.#core.options.stateless || asker.exchange === exchange
  }
}

/** A `tools/list` request made from a client's terms. */
const templateFor = (terms: Terms): SentRequest => {
  const [id, key, method, params] = [0, '0', 'tools/list', metaOf(terms)] as const
  const message = { kind: 'request', id, key, method, params } as const
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  return { frame: { bytes, message, faults: [] }, message }
}

/**
 * Turns a client's request into one for a page. Keeps only `_meta`, without what asks for progress and log
 * messages: those of a listing are nobody's.
 */
const pageRequest = (
  id: Id, key: IdKey, method: string, cursor: string | undefined, { frame, message }: SentRequest,
): Frame => {
  const ofClient = member(message.params, '_meta')
  const meta = isObject(ofClient) ? omit(omit(ofClient, 'progressToken'), `${metaPrefix}logLevel`) : undefined
  const params = { ...(cursor !== undefined && { cursor }), ...(meta && { _meta: meta }) }
  const edits: readonly Edit[] = [
    { path: ['id'], replace: key },
    { path: ['method'], replace: JSON.stringify(method) },
    { path: ['params'], replace: JSON.stringify(params) },
  ]
  return {
    bytes: edit(frame.bytes, edits), message: { kind: 'request', id, key, method, params },
    faults: [], relayMade: true,
  }
}

/** Relay-made ids that are remembered for late or repeated responses, and their bytes. */
const maxMade = 1000
const maxBytes = 128 * 1024

/** Characters of a client's id that are imitated. */
const longestLike = 256

/** Ids for relay-made requests, in the form of the client's, so that a server cannot tell them apart. */
export class RelayIds {
  readonly #made = new Set<IdKey>()
  readonly #ledger: Ledger
  /** The greatest number used as an id so far. */
  #greatest = 0
  #state: number

  /** @param nonce unguessable */
  constructor(nonce: string, session: Ledger) {
    this.#ledger = session.account(maxBytes)
    this.#state = Buffer.from(nonce).reduce((state, one) => (Math.imul(state, 31) + one) | 0, 1) || 1
  }

  saw(id: Id): void {
    if (!isString(id) && Number.isSafeInteger(id) && id > this.#greatest) this.#greatest = id
  }

  /**
   * An id that the client will not use.
   * @param like an id that the client uses. The new id is a much greater number, or a string with other
   *   hexadecimal digits; short strings are made longer
   */
  next(like: Id): Id {
    const id = isString(like) ? this.#textLike(like.slice(0, longestLike)) : this.#greater()
    const key = written(id)
    this.#made.add(key)
    this.#ledger.add(weightOf(key))
    for (const oldest of this.#made) {
      if (this.#made.size <= maxMade && this.#ledger.kept <= maxBytes) break
      this.#made.delete(oldest)
      this.#ledger.add(-weightOf(oldest))
    }
    return id
  }

  /** True for a relay-made id: a message with it must never reach the client. */
  isRelayMade(key: IdKey): boolean {
    return this.#made.has(key)
  }

  #greater(): number {
    const greater = this.#greatest + 100_000 + this.#random(900_000)
    // Beyond the safe integers: negative numbers, which a client that counts up does not use.
    if (greater > Number.MAX_SAFE_INTEGER) return -1 - this.#random(2 ** 31)
    return (this.#greatest = greater)
  }

  #textLike(like: string): string {
    const made = like.replace(/[0-9a-fA-F]/g, character => this.#alike(character))
    const varied = like.replace(/[^0-9a-fA-F]/g, '').length
    return varied >= 16 ? made : made + Array.from({ length: 12 }, () => String(this.#random(10))).join('')
  }

  #alike(character: string): string {
    if (character >= '0' && character <= '9') return String(this.#random(10))
    return String.fromCharCode((character < 'a' ? 65 : 97) + this.#random(6))
  }

  /** An integer below the bound (xorshift). */
  #random(bound: number): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) % bound
  }
}

const weightOf = (key: IdKey): number => weights.relayId + 2 * key.length
