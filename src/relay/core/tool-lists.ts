import { edited } from '#relay/protocol/edit.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { JsonObject } from '#relay/protocol/json.js'
import type { NextPage } from '#relay/protocol/pages.js'
import { Catalog, type Listing, type Lookup } from './catalog.js'
import type { Core } from './core.js'
import type { Exchange } from './vocabulary.js'
import type { Findings } from './findings.js'
import { type Flow, Slot } from './flow.js'
import { type JudgedPage, judgePage } from './tool-page.js'
import { type Asker, PageRequests, type Walk } from './page-requests.js'
import type { Called, PendingRequest } from './request.js'
import { SharedLists } from './shared-lists.js'
import type { Terms } from './terms.js'

/**
 * Most listings that the relay makes for one call. The second is for a list that changed while the first was
 * read, or that the server refused to another client. Then the last list counts.
 */
const maxLists = 2

/** The end of a listing by the relay. @property by the request for which it was made last */
interface Listed {
  readonly isListed: boolean
  readonly by: Asker
}

/** A listing by the relay in progress: it requests `tools/list` page by page. */
interface OwnListing {
  readonly walk: Walk
  readonly listed: Slot<Listed>
  flow: Flow | undefined
}

/** All pages of `tools/list`: the client's, and those of the relay's own listings. */
export class ToolLists {
  readonly catalog: Catalog
  readonly requests: PageRequests
  readonly #core: Core
  readonly #shared: SharedLists
  /** The requests that wait for a listing, with the tools that they look for. */
  readonly #waiting = new Map<Asker, string>()
  #ownListing: OwnListing | undefined
  /**
   * After a failed listing none is started before this time. Otherwise each pipelined call would wait for a
   * listing of its own. Clients without a session do not wait for one another.
   */
  #noListingBefore = -Infinity

  constructor(core: Core) {
    this.#core = core
    this.catalog = new Catalog(core.judgement.limits.tools, core.ledger)
    this.requests = new PageRequests(core)
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
    request.shownTools = judged?.shownNames
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
    const { shared, judgement, output, order } = this.#core
    const generation = this.catalog.generationAt(output.now)
    const isCurrent = (called.generation ?? generation) === generation
    if ((isCurrent && !shared.isOn) || judgement.accepted?.isFrozen === true) return false
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
    this.#waiting.set(request, name)
    let isRead = false
    try {
      for (let lists = 0; lists < maxLists; lists++) {
        if (this.#core.output.now < this.#noListingBefore) return undefined
        const { isListed, by } = yield* this.#waitForListing(request)
        const found = this.catalog.lookup(name, this.#core.output.now)
        if (found !== undefined) return found
        if (!isListed && (by === request || !this.#core.options.stateless)) return undefined
        isRead = isListed
      }
      // Where the last listing has failed, the list that is known is from before a change.
      return isRead ? this.catalog.lookupLast(name) : undefined
    } finally {
      this.#waiting.delete(request)
    }
  }

  /** Tells the other replicas of a `list_changed`, before the client gets it and lists at one of them. */
  changed(exchange: Exchange): Flow {
    return this.#shared.changed(exchange)
  }

  /**
   * The client closed the exchange: stops a listing on it. If a call waits on another exchange, a new listing
   * begins there.
   */
  exchangeEnded(exchange: Exchange): void {
    const own = this.#ownListing
    if (own?.walk.asker.exchange === exchange) {
      own.flow?.return()
      const [next] = [...this.#waiting.keys()].filter(request => request.exchange !== exchange)
      if (next === undefined) this.#end(own, false)
      else {
        this.requests.end(own.walk)
        this.#begin(next, own.listed)
      }
    }
    this.requests.exchangeEnded(exchange)
  }

  /** Waits for a listing, started here if none is in progress. */
  *#waitForListing(request: Asker): Flow<Listed> {
    const listed = this.#ownListing?.listed ?? new Slot<Listed>()
    if (this.#ownListing === undefined) this.#begin(request, listed)
    return yield* listed.value()
  }

  #begin(request: Asker, listed: Slot<Listed>): void {
    const own: OwnListing = { walk: this.requests.begin(request), listed, flow: undefined }
    this.#ownListing = own
    own.flow = this.#runListing(own)
    this.#core.driver.run(own.flow, cause => {
      this.#core.reportException(cause)
      this.#end(own, false)
    })
  }

  #end(own: OwnListing, isListed: boolean): void {
    if (this.#ownListing === own) this.#ownListing = undefined
    this.requests.end(own.walk)
    this.#core.driver.fill(own.listed, { isListed, by: own.walk.asker })
  }

  *#runListing(own: OwnListing): Flow {
    const generation = this.catalog.generationAt(this.#core.output.now)
    const isListed = yield* this.#pages(own.walk, this.catalog.listing(undefined, generation, true))
    const { judgement: { limits }, options, output } = this.#core
    this.#noListingBefore = isListed || options.stateless ? -Infinity : output.now + limits.listMs
    this.#end(own, isListed)
  }

  /** @returns whether the whole list was read */
  *#pages(walk: Walk, listing: Listing): Flow<boolean> {
    let next: NextPage | undefined = yield* this.#ownPage(walk, listing, undefined)
    while (next?.kind === 'page') next = yield* this.#ownPage(walk, listing, next.cursor)
    if (next === undefined || next.kind === 'endless') return false
    // Some older servers have a page behind the empty cursor. It is asked for before a call is refused.
    if (next.kind === 'end' && next.isEmpty === true && this.#isMissed(listing))
      yield* this.#ownPage(walk, listing, '')
    return true
  }

  #isMissed({ names }: Listing): boolean {
    return [...this.#waiting.values()].some(name => !names.has(name))
  }

  /** @returns what follows the page; undefined when it was not listed */
  *#ownPage(walk: Walk, listing: Listing, cursor: string | undefined): Flow<NextPage | undefined> {
    const { terms } = walk.asker
    const { records } = this.#core
    if (cursor !== undefined) listing.cursors.add(cursor)
    const response = yield* this.requests.ask(walk, 'tools/list', cursor)
    if (response === undefined) {
      records.write({ event: 'tools/list', from: 'relay', reason: 'no response came' }, undefined, terms)
      return undefined
    }
    const { exchange, frame, message, findings } = response
    const result = message?.kind === 'result' && !findings.isStop ? message.result : undefined
    const judged = result && (yield* this.#judge(listing, terms, exchange, frame, result, findings))
    records.write(
      {
        event: 'tools/list', from: 'relay', tools: judged?.shown, bytes: { response: frame.bytes.length },
      },
      findings, terms, frame,
    )
    return judged?.page?.next
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
