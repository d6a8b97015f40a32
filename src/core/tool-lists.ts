import { edit, type Edit, edited } from '#protocol/edit.js'
import type { Frame } from '#protocol/frame.js'
import { isObject, isString, type JsonObject, member, type Meter, omit, withMembers } from '#protocol/json.js'
import type { ErrorResponse, Id, IdKey, Result } from '#protocol/json-rpc.js'
import { written } from '#protocol/message.js'
import { Catalog, type Listing, type Lookup } from './catalog.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import { type Flow, Slot } from './flow.js'
import { type JudgedPage, judgePage } from './listing.js'
import { RelayIds } from './relay-ids.js'
import type { PendingRequest } from './request.js'
import type { Terms } from './terms.js'

const listTimer = 'list'

/** Limits for the relay's own listing, against endless pages and huge cursors. */
const maxPages = 1000
const longestCursor = 16_384

/** Most listings that the relay makes for one call, in case a server changes its list all the time. */
const maxLists = 3

/** The response to a page of the relay's own listing. */
interface PageAnswer {
  readonly exchange: Exchange
  readonly frame: Frame
  readonly message: Result | ErrorResponse | undefined
  readonly findings: Findings
}

type SentRequest = NonNullable<PendingRequest['request']>

/** A listing by the relay in progress: it requests `tools/list` page by page. */
interface Walk {
  /** The client request for which the relay lists: it gives the exchange, credentials and terms. */
  readonly request: PendingRequest
  /** The frame that `tools/list` is made from. */
  readonly template: SentRequest
  /** Filled when the listing ends: with true when the whole list was read, else with false. */
  readonly listed: Slot<boolean>
  flow: Flow | undefined
  key: IdKey | undefined
  /** Filled with the response to the current page, or with undefined when no response will come. */
  page: Slot<PageAnswer | undefined>
}

/** All pages of `tools/list`: the client's, and those of the relay's own listings. */
export class ToolLists {
  readonly catalog: Catalog
  readonly ids: RelayIds
  readonly #core: Core
  readonly #waiting = new Set<PendingRequest>()
  /** list_changed received during our own tools/list; forwarded afterwards unless the list is unchanged. */
  readonly #changes: { readonly exchange: Exchange; readonly frame: Frame }[] = []
  /**
   * True while each listing by the relay repeated the known list. A list_changed that arrived meanwhile is
   * then not forwarded: some servers send it in response to each `tools/list`.
   */
  #isEcho = true
  #walk: Walk | undefined
  /** No listing is tried before this time after one failed, so that pipelined calls do not all wait. */
  #triedUntil = -Infinity

  constructor(core: Core) {
    this.#core = core
    this.catalog = new Catalog(core.options.maxTools, core.ledger)
    this.ids = new RelayIds(core.options.nonce, core.ledger)
  }

  /**
   * Judges a page that the client requested.
   * @param exchange on which the page arrived
   * @returns the frame for the client; undefined when the result is no list
   */
  *page(
    request: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject,
  ): Flow<Frame | undefined> {
    const { cursor, terms, findings, scopes } = request
    const listing = this.catalog.listing(cursor)
    const judged = yield* this.#judge(listing, terms, exchange, frame, result, findings, scopes)
    request.tools = judged?.shown
    return judged && edited(frame, judged.edits)
  }

  /** Looks a tool up, after listing all pages on behalf of the client if necessary. */
  *find(name: string, request: PendingRequest): Flow<Lookup> {
    this.#waiting.add(request)
    try {
      for (let lists = 0; lists < maxLists; lists++) {
        if (this.#core.output.now < this.#triedUntil || !(yield* this.#listed(request))) return undefined
        const found = this.catalog.lookup(name, this.#core.output.now)
        if (found !== undefined) return found
      }
      return this.catalog.lookupLast(name)
    } finally {
      this.#waiting.delete(request)
      this.#passChanges()
    }
  }

  /** On `notifications/tools/list_changed`. @returns false when it must not be forwarded now */
  changed(exchange: Exchange, frame: Frame): boolean {
    this.catalog.changed()
    if (this.#walk === undefined) return true
    this.#changes.splice(0, Infinity, { exchange, frame })
    return false
  }

  /** Forwards a postponed list_changed, unless the listings show that nothing has changed. */
  #passChanges(): void {
    if (this.#walk !== undefined || this.#waiting.size > 0) return
    const changes = this.#changes.splice(0)
    if (!this.#isEcho || !this.catalog.isCurrent)
      for (const { exchange, frame } of changes) this.#core.output.toClient(exchange, frame)
    this.#isEcho = true
  }

  /** True when this id is that of our own request: its response must never reach the client. */
  awaits(exchange: Exchange, key: IdKey): boolean {
    const walk = this.#walk
    return walk?.key === key && (!this.#core.options.stateless || walk.request.exchange === exchange)
  }

  /** The response to our own request. @param message undefined when the frame is unusable */
  answered(
    exchange: Exchange, frame: Frame, message: Result | ErrorResponse | undefined, findings: Findings,
  ): void {
    const walk = this.#walk
    if (walk === undefined) return
    // A second response with this id belongs to no request, and must not fill the next page.
    walk.key = undefined
    this.#core.driver.fill(walk.page, { exchange, frame, message, findings })
  }

  /** No response will come. */
  lost(): void {
    const walk = this.#walk
    if (walk === undefined) return
    this.#core.driver.fill(walk.page, undefined)
  }

  timerFired(timer: string): void {
    if (timer === listTimer) this.lost()
  }

  /** Stops a listing on a closed exchange; it starts again for a call that waits on another exchange. */
  exchangeEnded(exchange: Exchange): void {
    const walk = this.#walk
    if (walk?.request.exchange !== exchange) return
    this.#stop(walk)
    const [next] = [...this.#waiting].filter(request => request.exchange !== exchange)
    if (next !== undefined) this.#begin(next, walk.listed)
  }

  /** Waits for a listing, started here if none is in progress. @returns whether it was complete */
  *#listed(request: PendingRequest): Flow<boolean> {
    const listed = this.#walk?.listed ?? new Slot<boolean>()
    if (this.#walk === undefined) this.#begin(request, listed)
    return yield* listed.value()
  }

  #begin(request: PendingRequest, listed: Slot<boolean>): void {
    const template = request.request
    // The frame of a request that was already sent is not kept, so no `tools/list` can be made from it.
    if (template === undefined) return this.#core.driver.fill(listed, false)
    const walk: Walk = { request, template, listed, flow: undefined, key: undefined, page: new Slot() }
    this.#walk = walk
    walk.flow = this.#life(walk)
    this.#core.driver.run(walk.flow, cause => {
      this.#core.failed(cause)
      this.#end(walk, false)
      this.#core.driver.fill(listed, false)
    })
  }

  #stop(walk: Walk): void {
    walk.flow?.return()
    this.#end(walk, false)
  }

  #end(walk: Walk, isEcho: boolean): void {
    if (this.#walk !== walk) return
    this.#walk = undefined
    this.#isEcho &&= isEcho
    this.#core.output.emit({ type: 'stop-timer', timer: listTimer })
    this.#passChanges()
  }

  *#life(walk: Walk): Flow {
    this.#core.output.emit({ type: 'start-timer', timer: listTimer, ms: this.#core.options.listMs })
    const listing = this.catalog.listing(undefined, true)
    const isListed = yield* this.#pages(walk, listing)
    this.#triedUntil = isListed ? -Infinity : this.#core.output.now + this.#core.options.listMs
    this.#end(walk, isListed && listing.isRepeated)
    this.#core.driver.fill(walk.listed, isListed)
  }

  *#pages(walk: Walk, listing: Listing): Flow<boolean> {
    const { terms } = walk.request
    const { records } = this.#core
    const cursors = new Set<string>()
    for (let cursor: string | undefined; cursors.size < maxPages; cursors.add(cursor)) {
      this.#ask(walk, cursor)
      const answer = yield* walk.page.value()
      if (answer === undefined) {
        records.write(
          { event: 'tools/list', from: 'relay', reason: 'no answer came in time' }, undefined, terms,
        )
        return false
      }
      walk.page = new Slot()
      const { exchange, frame, message, findings } = answer
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

  #ask(walk: Walk, cursor: string | undefined): void {
    const { exchange, id: theirs } = walk.request
    const id = this.ids.next(theirs)
    walk.key = written(id)
    this.#core.output.toServer(exchange, listRequest(id, walk.key, cursor, walk.template))
  }

  /** Learns what the session listed first at other replicas, once: drift is a difference from it. */
  *#recallFirst(exchange: Exchange): Flow {
    if (!this.#core.shared.isOn || this.catalog.firstElsewhere !== undefined) return
    const digests = yield* this.#core.shared.ask({ kind: 'find', part: 'tools', name: '' }, exchange)
    if (digests === 'unreachable') return
    this.catalog.firstElsewhere = isString(digests) ? {} : digests
  }

  #keepFirst(exchange: Exchange, meter: Meter): void {
    const known = this.catalog.firstElsewhere
    if (known === undefined) return
    const added = this.catalog.firstDigests(this.#core.shared.digestOf)
      .filter(([name]) => member(known, name) === undefined)
    if (added.length === 0) return
    const value = withMembers(known, Object.fromEntries(added), meter)
    this.catalog.firstElsewhere = value
    this.#core.shared.tell({ kind: 'keep', part: 'tools', name: '', value }, exchange)
  }

  *#judge(
    listing: Listing, terms: Terms, exchange: Exchange, frame: Frame, result: JsonObject, findings: Findings,
    scopes?: readonly string[],
  ): Flow<JudgedPage | undefined> {
    this.catalog.arrived(listing, this.#core.output.now)
    try {
      yield* this.#recallFirst(exchange)
      const judged = yield* judgePage(
        this.#core, this.catalog, listing, terms, exchange, frame, result, findings, scopes,
      )
      if (judged?.page !== undefined) {
        this.catalog.page(listing, judged.page, this.#core.output.now)
        this.#keepFirst(exchange, findings.meter)
      }
      return judged
    } catch (error) {
      findings.spent(error)
      return undefined
    }
  }
}

/** The client's request as a `tools/list` with another id; of its params, `_meta` without progressToken. */
const listRequest = (
  id: Id, key: IdKey, cursor: string | undefined, { frame, message }: SentRequest,
): Frame => {
  const theirs = member(message.params, '_meta')
  const meta = isObject(theirs) ? omit(theirs, 'progressToken') : undefined
  const params = { ...(cursor !== undefined && { cursor }), ...(meta && { _meta: meta }) }
  const edits: readonly Edit[] = [
    { path: ['id'], replace: key },
    { path: ['method'], replace: '"tools/list"' },
    { path: ['params'], replace: JSON.stringify(params) },
  ]
  return {
    bytes: edit(frame.bytes, edits), message: { kind: 'request', id, key, method: 'tools/list', params },
    faults: [],
  }
}
