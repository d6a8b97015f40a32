import { edit } from '../protocol/edit.js'
import type { Frame } from '../protocol/frame.js'
import { isObject, isString, member, type JsonObject } from '../protocol/json.js'
import type { IdKey, Request } from '../protocol/json-rpc.js'
import { Catalog, type Listing } from './catalog.js'
import type { Asked, Context } from './context.js'
import type { Exchange } from './event.js'
import { candidatesOf, judgePage, type JudgedPage } from './listing.js'
import type { Finding } from './rule.js'

const listTimer = 'list'

/** A server that never ends its pages is stopped here: no real one has come near it. */
const mostPages = 1000

/** A list of the relay's own, under way: the pages asked for, and who waits for the last. */
interface OwnList {
  readonly waiting: { readonly asked: Asked; readonly then: (listed: boolean) => void }[]
  readonly cursors: Set<string>
  key: IdKey
  exchange: Exchange
  listing: Listing
}

/** Every page of `tools/list`: the client's, judged as it passes, and those that the relay asks for itself. */
export class ToolLists {
  readonly catalog = new Catalog()
  readonly #context: Context
  readonly #idPrefix: string
  #own: OwnList | undefined
  #lastId = 0

  constructor(context: Context) {
    this.#context = context
    this.#idPrefix = `mcp-customs:${context.options.nonce}:`
  }

  /** Judges the page that answers the client's request. */
  judge(asked: Asked, frame: Frame, result: JsonObject, then: (page: Frame | undefined, findings: readonly Finding[]) => void): void {
    const cursor = member(asked.message.params, 'cursor')
    const listing = this.catalog.listing(isString(cursor) ? cursor : undefined)
    this.#judge(asked, listing, result, judged => {
      if (judged === undefined) return then(undefined, [noList])
      this.catalog.page(listing, judged.page, this.#context.now)
      const page = judged.edits.length === 0 ? frame : { ...frame, bytes: edit(frame.bytes, judged.edits) }
      then(page, judged.findings)
    })
  }

  /** Walks all pages in the client's place, and says whether the whole list could be had (contract section 6). */
  listAll(asked: Asked, then: (listed: boolean) => void): void {
    if (this.#own !== undefined) {
      this.#own.waiting.push({ asked, then })
      return
    }
    this.#begin([{ asked, then }])
  }

  /** True when the frame answers a list of the relay's own: it must never reach the client. */
  owns(key: IdKey): boolean {
    return this.#own?.key === key
  }

  /** True of every id that the relay ever made. */
  made(key: IdKey): boolean {
    return key.startsWith(JSON.stringify(this.#idPrefix).slice(0, -1))
  }

  ownAnswered(frame: Frame, findings: readonly Finding[]): void {
    const own = this.#own
    const asked = own?.waiting[0]?.asked
    if (own === undefined || asked === undefined) return
    // Taken: a second answer to the same page is an answer to nothing.
    own.key = ''
    const { message } = frame
    if (message.kind !== 'result' || this.#context.judge(findings).verdict === 'block') {
      this.#record(asked, frame, findings)
      return this.#end(false)
    }
    this.#judge(asked, own.listing, message.result, judged => {
      if (this.#own !== own) return
      this.#record(asked, frame, [...findings, ...(judged?.findings ?? [noList])])
      if (judged === undefined) return this.#end(false)
      this.catalog.page(own.listing, judged.page, this.#context.now)
      const { next } = judged.page
      if (next === undefined) return this.#end(true)
      if (own.cursors.has(next) || own.cursors.size >= mostPages) return this.#end(false)
      own.cursors.add(next)
      this.#ask(own, asked, next)
    })
  }

  ownLost(): void {
    this.#end(false)
  }

  timerFired(timer: string): void {
    if (timer === listTimer) this.#end(false)
  }

  /** Those who waited on this exchange are gone; others who share the list ask again on their own. */
  exchangeEnded(exchange: Exchange): void {
    const own = this.#own
    if (own === undefined) return
    const others = own.waiting.filter(({ asked }) => asked.exchange !== exchange)
    if (others.length === own.waiting.length) return
    if (own.exchange !== exchange) {
      own.waiting.splice(0, Infinity, ...others)
      return
    }
    this.#stop()
    if (others.length > 0) this.#begin(others)
  }

  #begin(waiting: OwnList['waiting']): void {
    const asked = waiting[0]?.asked
    if (asked === undefined) return
    const own = { waiting, cursors: new Set<string>(), key: '', exchange: asked.exchange, listing: this.catalog.listing(undefined) }
    this.#own = own
    this.#context.emit({ type: 'start-timer', timer: listTimer, ms: this.#context.options.listMs })
    this.#ask(own, asked, undefined)
  }

  #ask(own: OwnList, asked: Asked, cursor: string | undefined): void {
    const id = this.#idPrefix + String(++this.#lastId)
    own.key = JSON.stringify(id)
    this.#context.toServer(own.exchange, listRequest(id, own.key, cursor, asked.message))
  }

  #judge(asked: Asked, listing: Listing, result: JsonObject, then: (judged: JudgedPage | undefined) => void): void {
    const { options } = this.#context
    const candidates = candidatesOf(result, options)
    if (candidates === undefined) return then(undefined)
    this.#context.check(
      candidates.flatMap(({ subjects }) => subjects),
      inspected => {
        const where = { listing, catalog: this.catalog, revision: asked.terms.revision }
        then(judgePage(candidates, inspected, where, result, this.#context))
      },
    )
  }

  #record(asked: Asked, frame: Frame, found: readonly Finding[]): void {
    const { verdict, findings } = this.#context.judge(found)
    const bytes = { response: frame.bytes.length }
    this.#context.record({ event: 'tools/list', verdict, findings, bytes }, asked.terms)
  }

  #end(listed: boolean): void {
    for (const { then } of this.#stop()) then(listed)
  }

  #stop(): OwnList['waiting'] {
    const waiting = this.#own?.waiting ?? []
    if (this.#own !== undefined) this.#context.emit({ type: 'stop-timer', timer: listTimer })
    this.#own = undefined
    return waiting
  }
}

const noList: Finding = { rule: 'tool/definition', path: '/result/tools', message: 'the result has no list of tools' }

/** Terms under which a modern server answers; nothing else of the client's `_meta` is ours to repeat. */
const repeated = ['protocolVersion', 'clientInfo', 'clientCapabilities'].map(key => `io.modelcontextprotocol/${key}`)

const listRequest = (id: string, key: IdKey, cursor: string | undefined, parked: Request): Frame => {
  const theirs = member(parked.params, '_meta')
  const terms = isObject(theirs) ? repeated.filter(name => Object.hasOwn(theirs, name)) : []
  const meta = Object.fromEntries(terms.map(name => [name, isObject(theirs) ? member(theirs, name) : undefined]))
  const params = { ...(cursor !== undefined && { cursor }), ...(terms.length > 0 && { _meta: meta }) }
  return {
    bytes: Buffer.from(`{"jsonrpc":"2.0","id":${key},"method":"tools/list","params":${JSON.stringify(params)}}`),
    message: { kind: 'request', id, key, method: 'tools/list', params },
    faults: [],
  }
}
