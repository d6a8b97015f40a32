import { edit, type Edit, edited } from '#protocol/edit.js'
import type { Frame } from '#protocol/frame.js'
import { isObject, type JsonObject, member, omit } from '#protocol/json.js'
import type { ErrorResponse, Id, IdKey, Result } from '#protocol/json-rpc.js'
import { written } from '#protocol/message.js'
import { metaPrefix } from '#protocol/revisions/index.js'
import { Catalog, type Listing, type Lookup } from './catalog.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import { type Flow, Slot } from './flow.js'
import { type JudgedPage, judgePage } from './tool-page.js'
import { RelayIds } from './relay-ids.js'
import type { Called, PendingRequest } from './request.js'
import { SharedLists } from './shared-lists.js'
import { metaOf, type Terms } from './terms.js'

const listTimer = 'list'

/** Limits for the relay's own listing, against endless pages and huge cursors. */
const maxPages = 1000
const longestCursor = 16_384

/**
 * Most listings that the relay makes for one call. The second is for a list that changed while the first was
 * read, or that the server refused to another client. Then the last list counts.
 */
const maxLists = 2

/** The response to a page of the relay's own listing. */
interface PageResponse {
  readonly exchange: Exchange
  readonly frame: Frame
  readonly message: Result | ErrorResponse | undefined
  readonly findings: Findings
}

type SentRequest = NonNullable<PendingRequest['request']>

/** A client request for which the relay lists. */
export type Asker = Pick<PendingRequest, 'exchange' | 'id' | 'terms' | 'request'>

/** The end of a listing by the relay. @property by the request for which it was made last */
interface Listed {
  readonly isListed: boolean
  readonly by: Asker
}

/** A listing by the relay in progress: it requests `tools/list` page by page. */
interface OwnListing {
  /** The client request for which the relay lists: its exchange, credentials and terms are used. */
  readonly request: Asker
  /** The frame that `tools/list` is made from. */
  readonly template: SentRequest
  readonly listed: Slot<Listed>
  flow: Flow | undefined
  key: IdKey | undefined
  /** Filled with the response to the current page, or with undefined when no response will come. */
  page: Slot<PageResponse | undefined>
}

/** All pages of `tools/list`: the client's, and those of the relay's own listings. */
export class ToolLists {
  readonly catalog: Catalog
  readonly ids: RelayIds
  readonly #core: Core
  readonly #shared: SharedLists
  readonly #waiting = new Set<Asker>()
  #ownListing: OwnListing | undefined
  /**
   * After a failed listing none is started before this time. Otherwise each pipelined call would wait for a
   * listing of its own. Clients without a session do not wait for one another.
   */
  #noListingBefore = -Infinity

  constructor(core: Core) {
    this.#core = core
    this.catalog = new Catalog(core.options.maxTools, core.ledger)
    this.ids = new RelayIds(core.options.nonce, core.ledger)
    this.#shared = new SharedLists(core, this.catalog)
  }

  /**
   * Judges a page that the client requested.
   * @param exchange on which the page arrived
   * @returns the frame for the client; undefined when the result is no list
   */
  *page(
    request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject,
  ): Flow<Frame | undefined> {
    const { cursor, generation, terms, findings, scopes } = request
    const listing = this.catalog.listing(cursor, generation)
    const judged = yield* this.#judge(listing, terms, exchange, frame, result, findings, scopes)
    request.tools = judged?.shown
    return judged && edited(frame, judged.edits)
  }

  /** Looks a tool up. Requests a new list if there is none yet, or if another replica knows a newer one. */
  *find(name: string, request: Asker): Flow<Lookup> {
    const known = this.catalog.lookup(name, this.#core.output.now)
    const found = known ?? (yield* this.#findByListing(name, request))
    const asksReplicas = found === 'absent' || (known !== undefined && this.#shared.isDue)
    if (!asksReplicas || !(yield* this.#isOutdated(request.exchange, found === 'absent'))) return found
    return yield* this.#findByListing(name, request)
  }

  /**
   * Called before the tool's schema stops a call or a result. If its list is out of date, here or by what
   * another replica knows, takes the tool from a new list.
   * @returns whether a list was requested
   */
  *renew(called: Called, request: Asker): Flow<boolean> {
    const { shared, options, output, order } = this.#core
    const generation = this.catalog.generationAt(output.now)
    const isCurrent = (called.generation ?? generation) === generation
    if ((isCurrent && !shared.isOn) || options.accepted?.isFrozen === true) return false
    const { exchange } = request
    order.hold(exchange, true)
    try {
      if (isCurrent && !(yield* this.#isOutdated(exchange, true))) return false
      const found = yield* this.#findByListing(called.name, request)
      called.tool = found === 'absent' ? undefined : found
      called.listed = found !== undefined
      called.generation = this.catalog.listedAt(output.now)
      return true
    } finally {
      order.release(exchange)
    }
  }

  *#isOutdated(exchange: Exchange, isRefusal: boolean): Flow<boolean> {
    const isOutdated = yield* this.#shared.isOutdated(exchange, isRefusal)
    if (isOutdated) this.catalog.changed()
    return isOutdated
  }

  /** Lists all pages in the client's name, at most `maxLists` times, then looks the tool up. */
  *#findByListing(name: string, request: Asker): Flow<Lookup> {
    this.#waiting.add(request)
    try {
      for (let lists = 0; lists < maxLists; lists++) {
        if (this.#core.output.now < this.#noListingBefore) return undefined
        const { isListed, by } = yield* this.#waitForListing(request)
        const found = this.catalog.lookup(name, this.#core.output.now)
        if (found !== undefined) return found
        if (!isListed && (by === request || !this.#core.options.stateless)) return undefined
      }
      return this.catalog.lookupLast(name)
    } finally {
      this.#waiting.delete(request)
    }
  }

  /** Tells the other replicas of a `list_changed`, before the client gets it and lists at one of them. */
  changed(exchange: Exchange): Flow {
    return this.#shared.changed(exchange)
  }

  /** True for the id of the relay's own request: its response must never reach the client. */
  awaits(exchange: Exchange, key: IdKey): boolean {
    const own = this.#ownListing
    return own?.key === key && (!this.#core.options.stateless || own.request.exchange === exchange)
  }

  /** True while the relay lists by itself in this session, or without a session on this exchange. */
  isListingOn(exchange: Exchange): boolean {
    const own = this.#ownListing
    return own !== undefined && (!this.#core.options.stateless || own.request.exchange === exchange)
  }

  /** True while the relay lists by itself. */
  get isListing(): boolean {
    return this.#ownListing !== undefined
  }

  /** The response to the relay's own request. @param message undefined when the frame is unusable */
  answered(
    exchange: Exchange, frame: Frame, message: Result | ErrorResponse | undefined, findings: Findings,
  ): void {
    const own = this.#ownListing
    if (own === undefined) return
    // A second response with this id belongs to no request, and must not fill the next page.
    own.key = undefined
    this.#core.driver.fill(own.page, { exchange, frame, message, findings })
  }

  /** Ends the relay's own listing: its request gets no response. */
  lost(): void {
    const own = this.#ownListing
    if (own === undefined) return
    this.#core.driver.fill(own.page, undefined)
  }

  timerFired(timer: string): void {
    if (timer === listTimer) this.lost()
  }

  /**
   * The client closed the exchange: stops a listing on it. If a call waits on another exchange, a new listing
   * begins there.
   */
  exchangeEnded(exchange: Exchange): void {
    const own = this.#ownListing
    if (own?.request.exchange !== exchange) return
    own.flow?.return()
    const [next] = [...this.#waiting].filter(request => request.exchange !== exchange)
    if (next !== undefined) this.#begin(next, own.listed)
    else this.#end(own, false)
  }

  /** Waits for a listing, started here if none is in progress. */
  *#waitForListing(request: Asker): Flow<Listed> {
    const listed = this.#ownListing?.listed ?? new Slot<Listed>()
    if (this.#ownListing === undefined) this.#begin(request, listed)
    return yield* listed.value()
  }

  #begin(request: Asker, listed: Slot<Listed>): void {
    // A request that was already sent keeps no frame, so its terms make the template.
    const template = request.request ?? listTemplateFor(request.terms)
    const own: OwnListing = { request, template, listed, flow: undefined, key: undefined, page: new Slot() }
    this.#ownListing = own
    own.flow = this.#runListing(own)
    this.#core.driver.run(own.flow, cause => {
      this.#core.reportException(cause)
      this.#end(own, false)
    })
  }

  #end(own: OwnListing, isListed: boolean): void {
    if (this.#ownListing === own) {
      this.#ownListing = undefined
      this.#core.output.emit({ type: 'stop-timer', timer: listTimer })
    }
    this.#core.driver.fill(own.listed, { isListed, by: own.request })
  }

  *#runListing(own: OwnListing): Flow {
    this.#core.output.emit({ type: 'start-timer', timer: listTimer, ms: this.#core.options.listMs })
    const generation = this.catalog.generationAt(this.#core.output.now)
    const isListed = yield* this.#pages(own, this.catalog.listing(undefined, generation, true))
    const { options, output } = this.#core
    this.#noListingBefore = isListed || options.stateless ? -Infinity : output.now + options.listMs
    this.#end(own, isListed)
  }

  *#pages(own: OwnListing, listing: Listing): Flow<boolean> {
    const { terms } = own.request
    const { records } = this.#core
    const cursors = new Set<string>()
    for (let cursor: string | undefined; cursors.size < maxPages; cursors.add(cursor)) {
      this.#ask(own, cursor)
      const response = yield* own.page.value()
      if (response === undefined) {
        records.write(
          { event: 'tools/list', from: 'relay', reason: 'no response came' }, undefined, terms,
        )
        return false
      }
      own.page = new Slot()
      const { exchange, frame, message, findings } = response
      const result = message?.kind === 'result' && !findings.isStop ? message.result : undefined
      const judged = result && (yield* this.#judge(listing, terms, exchange, frame, result, findings))
      records.write(
        {
          event: 'tools/list', from: 'relay', tools: judged?.shown, bytes: { response: frame.bytes.length },
        },
        findings, terms, frame,
      )
      if (judged?.page === undefined) return false
      cursor = judged.page.next
      if (cursor === undefined) return true
      if (cursors.has(cursor) || cursor.length > longestCursor) return false
    }
    return false
  }

  #ask(own: OwnListing, cursor: string | undefined): void {
    const { exchange, id: theirs } = own.request
    const id = this.ids.next(theirs)
    own.key = written(id)
    this.#core.output.toServer(exchange, listRequest(id, own.key, cursor, own.template))
  }

  *#judge(
    listing: Listing, terms: Terms, exchange: Exchange, frame: Frame, result: JsonObject, findings: Findings,
    scopes?: readonly string[],
  ): Flow<JudgedPage | undefined> {
    try {
      yield* this.#shared.fetchFirst(exchange)
      const judged = yield* judgePage(
        this.#core, this.catalog, listing, terms, exchange, frame, result, findings, scopes,
      )
      if (judged?.page !== undefined) {
        const isNew = this.catalog.page(listing, judged.page, this.#core.output.now)
        yield* this.#shared.listed(isNew, exchange, findings.meter)
      }
      return judged
    } catch (error) {
      findings.addOverBudget(error)
      return undefined
    }
  }
}

/** A `tools/list` request made from a client's terms. */
const listTemplateFor = (terms: Terms): SentRequest => {
  const [id, key, method, params] = [0, '0', 'tools/list', metaOf(terms)] as const
  return {
    frame: {
      bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params })),
      message: { kind: 'request', id, key, method, params }, faults: [],
    },
    message: { kind: 'request', id, key, method, params },
  }
}

/**
 * Turns a client's request into `tools/list` with another id. Keeps only `_meta`, without what asks for progress
 * and log messages: those of a listing are nobody's.
 */
const listRequest = (
  id: Id, key: IdKey, cursor: string | undefined, { frame, message }: SentRequest,
): Frame => {
  const ofClient = member(message.params, '_meta')
  const meta = isObject(ofClient) ? omit(omit(ofClient, 'progressToken'), `${metaPrefix}logLevel`) : undefined
  const params = { ...(cursor !== undefined && { cursor }), ...(meta && { _meta: meta }) }
  const edits: readonly Edit[] = [
    { path: ['id'], replace: key },
    { path: ['method'], replace: '"tools/list"' },
    { path: ['params'], replace: JSON.stringify(params) },
  ]
  return {
    bytes: edit(frame.bytes, edits), message: { kind: 'request', id, key, method: 'tools/list', params },
    faults: [], relayMade: true,
  }
}
