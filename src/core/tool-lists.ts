import { edit, type Edit } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, member, type JsonObject } from '../protocol/json.js'
import type { ErrorResponse, Id, IdKey, Result } from '../protocol/json-rpc.js'
import { Catalog, type Listing } from './catalog.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Findings } from './findings.js'
import { Slot, type Flow } from './flow.js'
import { judgePage, type JudgedPage } from './listing.js'
import { OwnIds } from './own-ids.js'
import type { PendingRequest } from './request.js'

const listTimer = 'list'

/** A server that never ends its pages is stopped here: no real one has come near it. */
const mostPages = 1000

/** The answer to a page of ours; undefined when none will come. */
type PageAnswer = { readonly frame: Frame; readonly message: Result | ErrorResponse | undefined; readonly findings: Findings } | undefined

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
  #walk: Walk | undefined

  constructor(core: Core) {
    this.#core = core
    this.catalog = new Catalog(core.options.mostTools)
    this.ids = new OwnIds(core.options.nonce)
  }

  /** Judges the page that answers the client's request. @returns what the client gets; undefined where it is no list */
  *page(request: PendingRequest, frame: Frame, result: JsonObject): Flow<Frame | undefined> {
    const judged = yield* this.#judge(request, this.catalog.listing(request.cursor), frame, result, request.findings)
    if (judged === undefined) return undefined
    return judged.edits.length === 0 ? frame : { bytes: edit(frame.bytes, judged.edits), message: frame.message, faults: frame.faults, ...wrapping(frame) }
  }

  /** Walks all pages in the client's place, and says whether the whole list could be had (contract section 6). */
  *listAll(request: PendingRequest): Flow<boolean> {
    const listed = this.#walk?.listed ?? new Slot<boolean>()
    this.#waiting.add(request)
    try {
      if (this.#walk === undefined) this.#begin(request, listed)
      return yield* listed.value()
    } finally {
      this.#waiting.delete(request)
    }
  }

  /** `notifications/tools/list_changed`. @returns false when it is not to be passed on now */
  changed(exchange: Exchange, frame: Frame): boolean {
    this.catalog.changed()
    if (this.#walk === undefined) return true
    this.#changes.splice(0, Infinity, { exchange, frame })
    return false
  }

  /** What was said meanwhile is passed on, unless the last list shows that nothing has changed. */
  passChanges(): void {
    if (this.#walk !== undefined) return
    const changes = this.#changes.splice(0)
    if (!this.catalog.isRepeated) for (const { exchange, frame } of changes) this.#core.output.toClient(exchange, frame)
  }

  /** True when the frame answers a list of the relay's own: it must never reach the client. */
  owns(key: IdKey): boolean {
    return this.#walk?.key === key
  }

  /** The answer to a list of ours. @param message undefined when the frame cannot be used */
  answered(frame: Frame, message: Result | ErrorResponse | undefined, findings: Findings): void {
    const walk = this.#walk
    if (walk === undefined) return
    // Taken: a second answer to the same page is an answer to nothing.
    walk.key = undefined
    this.#core.driver.fill(walk.page, { frame, message, findings })
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

  #begin(request: PendingRequest, listed: Slot<boolean>): void {
    const like = request.request
    // Only what is not yet at the server asks for a list.
    if (like === undefined) return this.#core.driver.fill(listed, false)
    const walk: Walk = { request, like, listed, flow: undefined, key: undefined, page: new Slot() }
    this.#walk = walk
    walk.flow = this.#life(walk)
    this.#core.driver.run(walk.flow)
  }

  #stop(walk: Walk): void {
    walk.flow?.return()
    this.#end(walk)
  }

  #end(walk: Walk): void {
    if (this.#walk !== walk) return
    this.#walk = undefined
    this.#core.output.emit({ type: 'stop-timer', timer: listTimer })
  }

  *#life(walk: Walk): Flow {
    this.#core.output.emit({ type: 'start-timer', timer: listTimer, ms: this.#core.options.listMs })
    const isListed = yield* this.#pages(walk)
    this.#end(walk)
    this.#core.driver.fill(walk.listed, isListed)
  }

  *#pages(walk: Walk): Flow<boolean> {
    const listing = this.catalog.listing(undefined)
    const cursors = new Set<string>()
    for (let cursor: string | undefined; cursors.size < mostPages; cursors.add(cursor)) {
      this.#ask(walk, cursor)
      const answer = yield* walk.page.value()
      if (answer === undefined) {
        this.#core.records.write({ event: 'tools/list', reason: 'no answer came in time' }, undefined, walk.request.terms)
        return false
      }
      walk.page = new Slot()
      const { frame, message, findings } = answer
      const result = message?.kind === 'result' && !findings.isStop ? message.result : undefined
      const judged = result && (yield* this.#judge(walk.request, listing, frame, result, findings))
      this.#core.records.write({ event: 'tools/list', bytes: { response: frame.bytes.length } }, findings, walk.request.terms)
      if (judged === undefined) return false
      cursor = judged.page.next
      if (cursor === undefined) return true
      if (cursors.has(cursor)) return false
    }
    return false
  }

  #ask(walk: Walk, cursor: string | undefined): void {
    const { exchange, id: theirs } = walk.request
    const id = this.ids.next(theirs)
    walk.key = JSON.stringify(id)
    this.#core.output.toServer(exchange, listRequest(id, walk.key, cursor, walk.like))
  }

  *#judge(request: PendingRequest, listing: Listing, frame: Frame, result: JsonObject, findings: Findings): Flow<JudgedPage | undefined> {
    const judged = yield* judgePage(this.#core, this.catalog, listing, request, frame, result, findings)
    if (judged !== undefined) this.catalog.page(listing, judged.page, this.#core.output.now)
    return judged
  }
}

const wrapping = ({ envelope }: Frame) => (envelope ? { envelope } : {})

/**
 * Like one of the client's: its own request, with another method and other params. Of `_meta` all is repeated but the token by which it
 * would hear of progress.
 */
const listRequest = (id: Id, key: IdKey, cursor: string | undefined, { frame, message }: Asked): Frame => {
  const theirs = member(message.params, '_meta')
  const meta = isObject(theirs) ? Object.fromEntries(Object.entries(theirs).filter(([name]) => name !== 'progressToken')) : undefined
  const params = { ...(cursor !== undefined && { cursor }), ...(meta && { _meta: meta }) }
  const edits: readonly Edit[] = [
    { path: ['id'], replace: key },
    { path: ['method'], replace: '"tools/list"' },
    { path: ['params'], replace: JSON.stringify(params) },
  ]
  return { bytes: edit(frame.bytes, edits), message: { kind: 'request', id, key, method: 'tools/list', params }, faults: [] }
}
