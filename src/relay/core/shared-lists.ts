import { isString, type JsonObject, member, type Meter, withMembers } from '#relay/protocol/json.js'
import type { Catalog } from './catalog.js'
import type { Core } from './core.js'
import type { Exchange } from './vocabulary.js'
import type { Flow } from './flow.js'

/** A call that nothing refuses asks for another replica's newer list once in this time, in milliseconds. */
const askMs = 5000

/** What the digest of a definition costs: about a thousand of them in a turn of the event loop. */
const perDigest = 400

/**
 * What replicas tell one another of a session's list of tools: a mark that each `list_changed` and each list
 * that is new to a replica changes, and the digests of the first definitions.
 */
export class SharedLists {
  readonly #core: Core
  readonly #catalog: Catalog
  /** The mark as this replica read or wrote it last. */
  #mark: string | undefined
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
   * @param isRefusal true when this replica's list is about to refuse a call or a result. The list then also
   *   counts as outdated when the shared state cannot be reached, so that the server is asked for a new one
   */
  *isOutdated(exchange: Exchange, isRefusal: boolean): Flow<boolean> {
    const { shared, output } = this.#core
    if (!shared.isOn) return false
    this.#askedAt = output.now
    const found = yield* shared.ask({ kind: 'find', part: 'list', name: 'mark' }, exchange)
    if (found === 'unreachable') return isRefusal
    const newest = textIn(found) ?? this.#mark
    const isOutdated = newest !== this.#mark
    this.#mark = newest
    return isOutdated
  }

  /** Makes the lists of the other replicas out of date. */
  *changed(exchange: Exchange): Flow {
    const { shared, options, output } = this.#core
    if (!shared.isOn) return
    this.#askedAt = output.now
    this.#mark = `${options.nonce} ${++this.#marks}`
    yield* shared.keep('list', 'mark', { is: this.#mark }, exchange)
  }

  /** Shares what a page has brought. @param isNewList true when it ends a list that is new to this replica */
  *listed(isNewList: boolean, exchange: Exchange, meter: Meter): Flow {
    if (!this.#core.shared.isOn) return
    yield* this.#shareFirst(exchange, meter)
    if (isNewList) yield* this.changed(exchange)
  }

  /**
   * Fetches the digests of the first definitions at all replicas, unless they are known. `tool/drift` finds
   * later differences from them.
   */
  *fetchFirst(exchange: Exchange): Flow {
    if (!this.#core.shared.isOn || this.#catalog.firstElsewhere !== undefined) return
    this.#catalog.firstElsewhere = yield* this.#firstElsewhere(exchange)
  }

  *#shareFirst(exchange: Exchange, meter: Meter): Flow {
    const { shared } = this.#core
    const known = this.#catalog.firstElsewhere
    if (known === undefined) return
    const missing = [...this.#catalog.first].filter(([name]) => member(known, name) === undefined)
    if (missing.length === 0) return
    const own = yield* this.#digests(missing, exchange, meter)
    // Another replica may have added some since: they stay the first.
    const newest = (yield* this.#firstElsewhere(exchange)) ?? known
    const added = own.filter(([name]) => member(newest, name) === undefined)
    const value = withMembers(newest, Object.fromEntries(added), meter)
    this.#catalog.firstElsewhere = value
    if (added.length > 0) yield* shared.keep('tools', '', value, exchange)
  }

  *#digests(
    definitions: readonly (readonly [string, JsonObject])[], exchange: Exchange, meter: Meter,
  ): Flow<(readonly [string, string])[]> {
    const digests: [string, string][] = []
    for (const [name, definition] of definitions) {
      meter.pay(perDigest)
      if (meter.isTurnSpent) yield* this.#core.yieldToLoop(meter, exchange)
      digests.push([name, this.#core.shared.digestOf(definition)])
    }
    return digests
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
