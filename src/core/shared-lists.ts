import { isString, type JsonObject, member, type Meter, withMembers } from '#protocol/json.js'
import type { Catalog, Listing } from './catalog.js'
import type { Core } from './core.js'
import type { Exchange } from './event.js'
import type { Flow } from './flow.js'

/** How often a call that nothing refuses asks whether another replica knows a newer list, in milliseconds. */
const askMs = 5000

/**
 * What replicas tell one another of a session's list of tools: a mark for the newest `list_changed`, a digest
 * of the newest list, and the digests of the first definitions.
 */
export class SharedLists {
  readonly #core: Core
  readonly #catalog: Catalog
  /** The shared mark and digest, as this replica read or wrote them last. */
  #mark: string | undefined
  #shared: string | undefined
  /** The digest of the last whole list here. */
  #own: string | undefined
  #marks = 0
  /** When this replica's list was last known to be the newest. */
  #askedAt = -Infinity

  constructor(core: Core, catalog: Catalog) {
    this.#core = core
    this.#catalog = catalog
  }

  /** True when another replica may have learned of a newer list since this one asked. */
  get isDue(): boolean {
    return this.#core.shared.isOn && this.#core.output.now - this.#askedAt >= askMs
  }

  /**
   * Whether another replica knows a newer list than this one.
   * @param isRefusal something is about to be refused by this replica's list: it is then also outdated when
   *   the shared state cannot be reached, because only the server knows
   */
  *isOutdated(exchange: Exchange, isRefusal: boolean): Flow<boolean> {
    const { shared, output } = this.#core
    if (!shared.isOn) return false
    this.#askedAt = output.now
    const mark = yield* shared.ask({ kind: 'find', part: 'list', name: 'mark' }, exchange)
    const list = yield* shared.ask({ kind: 'find', part: 'list', name: 'digest' }, exchange)
    if (mark === 'unreachable' || list === 'unreachable') return isRefusal
    const [isMarked, isOther] = [textIn(mark) ?? this.#mark, textIn(list) ?? this.#own]
    const isOutdated = isMarked !== this.#mark || isOther !== this.#own
    this.#mark = isMarked
    this.#shared = isOther
    return isOutdated
  }

  /** The server's list has changed. The others have to know before the client acts on it at one of them. */
  *changed(exchange: Exchange): Flow {
    const { shared, options } = this.#core
    if (!shared.isOn) return
    this.#mark = `${options.nonce} ${++this.#marks}`
    yield* shared.keep('list', 'mark', { is: this.#mark }, exchange)
  }

  /** A page was read; the last one of a whole listing makes the list known. */
  *listed(listing: Listing, isLast: boolean, exchange: Exchange, meter: Meter): Flow {
    const { shared, output } = this.#core
    if (!shared.isOn) return
    yield* this.#shareFirst(exchange, meter)
    if (!isLast || !listing.whole) return
    this.#askedAt = output.now
    const tools = [...listing.tools].map(([name, { definition }]) => [name, shared.digestOf(definition)])
    this.#own = shared.digestOf({ tools: tools.sort() })
    if (this.#own === this.#shared) return
    this.#shared = this.#own
    yield* shared.keep('list', 'digest', { is: this.#own }, exchange)
  }

  /**
   * Fetches the digests of the definitions that were listed first at other replicas, until that succeeds
   * once. Drift is any later difference from them.
   */
  *fetchFirst(exchange: Exchange): Flow {
    if (!this.#core.shared.isOn || this.#catalog.firstElsewhere !== undefined) return
    this.#catalog.firstElsewhere = yield* this.#firstElsewhere(exchange)
  }

  *#shareFirst(exchange: Exchange, meter: Meter): Flow {
    const { shared } = this.#core
    const known = this.#catalog.firstElsewhere
    if (known === undefined) return
    const own = this.#catalog.firstDigests(shared.digestOf)
    if (own.every(([name]) => member(known, name) !== undefined)) return
    // Another replica may have added some since: they stay the first.
    const newest = (yield* this.#firstElsewhere(exchange)) ?? known
    const added = own.filter(([name]) => member(newest, name) === undefined)
    const value = withMembers(newest, Object.fromEntries(added), meter)
    this.#catalog.firstElsewhere = value
    if (added.length > 0) yield* shared.keep('tools', '', value, exchange)
  }

  /** @returns undefined when the shared state cannot be reached */
  *#firstElsewhere(exchange: Exchange): Flow<JsonObject | undefined> {
    const digests = yield* this.#core.shared.ask({ kind: 'find', part: 'tools', name: '' }, exchange)
    return digests === 'unreachable' ? undefined : isString(digests) ? {} : digests
  }
}

const textIn = (kept: JsonObject | string): string | undefined => {
  const text = isString(kept) ? undefined : member(kept, 'is')
  return isString(text) ? text : undefined
}
