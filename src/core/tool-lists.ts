import { edit, type Edit, edited } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, type JsonObject, member, omit } from '../protocol/json.js'
import type { ErrorResponse, Id, IdKey, Result } from '../protocol/json-rpc.js'
import { written } from '../protocol/message.js'
import { Catalog, type Listing, type Lookup } from './catalog.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import { type Flow, Slot } from './flow.js'
import { type JudgedPage, judgePage } from './listing.js'
import { OwnIds } from './pending.js'
import type { PendingRequest, Terms } from './request.js'

const listTimer = 'list'

/** A server that never ends its pages is stopped here, and so is one with cursors that nobody would keep: no real one has come near it. */
const maxPages = 1000
const longestCursor = 16_384

/** Lists of the relay's own for one call: a server whose list changes faster than it can be read is not waited for. */
const maxLists = 3

/** The answer to a page of ours; undefined when none will come. */
type PageAnswer = { readonly exchange: Exchange; readonly frame: Frame; readonly message: Result | ErrorResponse | undefined; readonly findings: Findings } | undefined

type Asked = NonNullable<PendingRequest['request']>

/** A list of the relay's own, under way. */
interface Walk {
  /** In whose place it is asked for: on its exchange, with its credentials and in its terms. */
  readonly request: PendingRequest
  readonly like: Asked
  /** Whether the whole list could be had. */
  readonly listed: Slot<boolean>
  flow: Flow | undefined
  key: IdKey | undefined
  page: Slot<PageAnswer>
}

/** Every page of `tools/list`: the client's, judged as it passes, and those that the relay asks for itself. */
export class ToolLists {
  readonly catalog: Catalog
  readonly ids: OwnIds
  readonly #core: Core
  readonly #waiting = new Set<PendingRequest>()
  /** Said while lists of ours were under way: the client hears of it where it was no echo of them. */
  readonly #changes: { readonly exchange: Exchange; readonly frame: Frame }[] = []
  /** True while every list of ours since then said what was known before. */
  #isEcho = true
  #walk: Walk | undefined
  /** A list could not be had: until then it is not asked for again, so that pipelined calls do not wait one after the other. */
  #triedUntil = -Infinity

  constructor(core: Core) {
    this.#core = core
    this.catalog = new Catalog(core.options.maxTools, core.ledger)
    this.ids = new OwnIds(core.options.nonce, core.ledger)
  }

  /** Judges the page that answers the client's request. @param exchange where it arrived @returns what the client gets; undefined where it is no list */
  *page({ cursor, terms, findings }: PendingRequest, exchange: Exchange, frame: Frame, result: JsonObject): Flow<Frame | undefined> {
    const judged = yield* this.#judge(this.catalog.listing(cursor), terms, exchange, frame, result, findings)
    return judged && edited(frame, judged.edits)
  }

  /** What is known of a tool, after walking all pages in the client's place as often as it takes (contract section 6). */
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

  /** `notifications/tools/list_changed`. @returns false when it is not to be passed on now */
  changed(exchange: Exchange, frame: Frame): boolean {
    this.catalog.changed()
    if (this.#walk === undefined) return true
    this.#changes.splice(0, Infinity, { exchange, frame })
    return false
  }

  /** What was said meanwhile is passed on, unless the lists show that nothing has changed. */
  #passChanges(): void {
    if (this.#walk !== undefined || this.#waiting.size > 0) return
    const changes = this.#changes.splice(0)
    if (!this.#isEcho || !this.catalog.isCurrent) for (const { exchange, frame } of changes) this.#core.output.toClient(exchange, frame)
    this.#isEcho = true
  }

  /** True when the frame answers a list of the relay's own: it must never reach the client. */
  owns(exchange: Exchange, key: IdKey): boolean {
    const walk = this.#walk
    return walk?.key === key && (!this.#core.options.stateless || walk.request.exchange === exchange)
  }

  /** The answer to a list of ours. @param message undefined when the frame cannot be used */
  answered(exchange: Exchange, frame: Frame, message: Result | ErrorResponse | undefined, findings: Findings): void {
    const walk = this.#walk
    if (walk === undefined) return
    // Taken: a second answer to the same page is an answer to nothing.
    walk.key = undefined
    this.#core.driver.fill(walk.page, { exchange, frame, message, findings })
  }

  /** No answer will come. */
  lost(): void {
    const walk = this.#walk
    if (walk === undefined) return
    this.#core.driver.fill(walk.page, undefined)
  }

  timerFired(timer: string): void {
    if (timer === listTimer) this.lost()
  }

  /** Those who waited on this exchange are gone; others who share the list ask again on their own. */
  exchangeEnded(exchange: Exchange): void {
    const walk = this.#walk
    if (walk?.request.exchange !== exchange) return
    this.#stop(walk)
    const [next] = [...this.#waiting].filter(request => request.exchange !== exchange)
    if (next !== undefined) this.#begin(next, walk.listed)
  }

  /** Whether the whole list could be had, by a walk of its own or by one that is under way. */
  *#listed(request: PendingRequest): Flow<boolean> {
    const listed = this.#walk?.listed ?? new Slot<boolean>()
    if (this.#walk === undefined) this.#begin(request, listed)
    return yield* listed.value()
  }

  #begin(request: PendingRequest, listed: Slot<boolean>): void {
    const like = request.request
    // Only what is not yet at the server asks for a list.
    if (like === undefined) return this.#core.driver.fill(listed, false)
    const walk: Walk = { request, like, listed, flow: undefined, key: undefined, page: new Slot() }
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
        records.write({ event: 'tools/list', from: 'relay', reason: 'no answer came in time' }, undefined, terms)
        return false
      }
      walk.page = new Slot()
      const { exchange, frame, message, findings } = answer
      const result = message?.kind === 'result' && !findings.isStop ? message.result : undefined
      const judged = result && (yield* this.#judge(listing, terms, exchange, frame, result, findings))
      records.write({ event: 'tools/list', from: 'relay', bytes: { response: frame.bytes.length } }, findings, terms)
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
    this.#core.output.toServer(exchange, listRequest(id, walk.key, cursor, walk.like))
  }

  *#judge(listing: Listing, terms: Terms, exchange: Exchange, frame: Frame, result: JsonObject, findings: Findings): Flow<JudgedPage | undefined> {
    this.catalog.arrived(listing, this.#core.output.now)
    try {
      const judged = yield* judgePage(this.#core, this.catalog, listing, terms, exchange, frame, result, findings)
      if (judged?.page !== undefined) this.catalog.page(listing, judged.page, this.#core.output.now)
      return judged
    } catch (error) {
      findings.spent(error)
      return undefined
    }
  }
}

/**
 * Like one of the client's: its own request, with another method and other params. Of `_meta` all is repeated but the token by which it
 * would hear of progress.
 */
const listRequest = (id: Id, key: IdKey, cursor: string | undefined, { frame, message }: Asked): Frame => {
  const theirs = member(message.params, '_meta')
  const meta = isObject(theirs) ? omit(theirs, 'progressToken') : undefined
  const params = { ...(cursor !== undefined && { cursor }), ...(meta && { _meta: meta }) }
  const edits: readonly Edit[] = [
    { path: ['id'], replace: key },
    { path: ['method'], replace: '"tools/list"' },
    { path: ['params'], replace: JSON.stringify(params) },
  ]
  return { bytes: edit(frame.bytes, edits), message: { kind: 'request', id, key, method: 'tools/list', params }, faults: [] }
}
