import type { Tool } from './vocabulary.js'
import { equal, type JsonObject, weigh } from '#relay/protocol/json.js'
import type { NextPage } from '#relay/protocol/pages.js'
import type { Ledger } from './memory.js'
import { Variants } from './variants.js'

/** One series of `tools/list` pages, from a first page or a cursor on. */
export interface Listing {
  /** True when it began at the first page. Only then a missing tool is known to be absent. */
  readonly whole: boolean
  /** True for the relay's own `tools/list`, which the client does not see. */
  readonly isRelayMade: boolean
  /** The catalogue's generation when its first page was asked for: a later change makes it out of date. */
  readonly generation: number
  readonly tools: Map<string, Tool>
  /** All listed names, including blocked tools, to find duplicates. */
  readonly names: Set<string>
  /** The names that the client was shown in place of the server's. */
  readonly shownNames: Set<string>
  /** The cursors by which its pages were asked for. */
  readonly cursors: Set<string>
  /** The weight of definitions that are new to the session. */
  weight: number
  /** True when the policy let tools beyond the limits pass: tools that it lacks may exist. */
  isPartial: boolean
  /** The number of tools that the client was shown. */
  shown: number
}

/**
 * The tool; `absent` when it is not in the server's list; undefined when it was not listed yet or the list is
 * out of date, so that the relay must request the list.
 */
export type Lookup = Tool | 'absent' | undefined

export interface Page {
  /** The definitions on the page that have a name, as the server sent them. */
  readonly listed: ReadonlyMap<string, JsonObject>
  readonly accepted: ReadonlyMap<string, Tool>
  /** Why tools were removed from the page, by name; '' stands for those beyond the limits, without names. */
  readonly withheld: ReadonlyMap<string, string>
  readonly next: NextPage
  /**
   * `ttlMs`. Zero means "do not cache", but such a list is kept until `list_changed`, like one without
   * `ttlMs`: asking before each call would double the requests.
   */
  readonly lifetime: number
  /** True when tools beyond the limits passed, by policy. */
  readonly isPartial: boolean
}

/** Most bytes of a catalogue (see `weigh`): current and first definitions, and open listings. */
const maxWeight = 64 * 1024 * 1024

/** Most bytes of one definition. */
const maxDefinition = 2 * 1024 * 1024

/** Most names that are shown for a tool, on average: clients with different profiles see different ones. */
const maxRenamed = 4

/** Most characters of the reason why a tool is withheld. */
const maxReason = 400

/** Most unfinished listings of a client; the oldest is forgotten first. */
const openListings = 16

/** One server's tools, as listed and as accepted. */
export class Catalog {
  readonly #maxTools: number
  readonly #ledger: Ledger
  #tools = new Map<string, Tool>()
  /** Why tools of the last list are not among them, by name. */
  readonly #withheld = new Map<string, string>()
  #withheldWeight = 0
  readonly #variants = new Variants(definition => this.#weightOf(definition))
  /** The first definition of each name in this session. Drift is a later difference from it. */
  readonly #first = new Map<string, JsonObject>()
  #firstWeight = 0
  /** The digests of the first definitions at all replicas, by name; undefined: not known. */
  firstElsewhere: JsonObject | undefined
  readonly #weights = new WeakMap<JsonObject, number>()
  /** For each name that clients are shown in place of another: the server's name of a listed tool. */
  readonly #renamed = new Map<string, string>()
  #renamedWeight = 0
  /** The client's unfinished listings, by the cursor of their next page. */
  readonly #open = new Map<string, Listing>()
  #last: Listing | undefined
  /** Greater by one after each `list_changed`, and after the end of `ttlMs`. */
  #generation = 0
  /** The generation of the newest list. The pages of older ones change nothing. */
  #newest = 0
  /** True after a whole listing without a list_changed since: a missing tool is absent. */
  #whole = false
  /** True when a list_changed, or the end of `ttlMs`, has made the catalogue out of date. */
  #changed = false
  #expires = Infinity

  constructor(maxTools: number, session: Ledger) {
    this.#maxTools = maxTools
    this.#ledger = session.account(maxWeight)
  }

  lookup(name: string, at: number): Lookup {
    this.#expire(at)
    return this.#changed ? undefined : (this.#tools.get(name) ?? (this.#whole ? 'absent' : undefined))
  }

  /** Looks a tool up in the last list, even if that list is out of date. */
  lookupLast(name: string): Lookup {
    return this.#tools.get(name) ?? (this.#last?.isPartial === false ? 'absent' : undefined)
  }

  names(): Iterable<string> {
    return this.#tools.keys()
  }

  /**
   * Why a tool that the client cannot call is not in the list, in words; undefined for one that the server
   * never listed. What was removed beyond the limits may have any name.
   */
  whyWithheld(name: string): string | undefined {
    const withheld = this.#withheld.get(name)
    if (withheld !== undefined) return withheld
    return this.#first.has(name) ? undefined : this.#withheld.get('')
  }

  /** The server listed it in this session, and does not any more. */
  wasListed(name: string): boolean {
    return this.#first.has(name) && this.#last?.names.has(name) === false
  }

  /** Remembers the name under which a tool is shown, where its client refuses its own. */
  rename(shown: string, name: string): void {
    this.#forgetRenamed(shown)
    this.#renamed.set(shown, name)
    this.#renamedWeight += weightOfNames(shown, name)
    for (const oldest of this.#renamed.keys()) {
      if (this.#renamed.size <= maxRenamed * this.#maxTools) break
      this.#forgetRenamed(oldest)
    }
  }

  /** The server's name of a tool that is shown under another one; a listed name stands for itself. */
  originalOf(shown: string): string {
    return this.#tools.has(shown) ? shown : (this.#renamed.get(shown) ?? shown)
  }

  /** Makes the catalogue out of date until the next whole listing. */
  changed(): void {
    this.#generation++
    this.#changed = true
    this.#whole = false
  }

  /** The generation of a list that is asked for now. */
  generationAt(at: number): number {
    this.#expire(at)
    return this.#generation
  }

  /** The generation of the last list; -1: it is out of date. */
  listedAt(at: number): number {
    this.#expire(at)
    return this.#changed ? -1 : this.#generation
  }

  /**
   * The listing to which the page behind the client's `cursor` belongs, or a new one.
   * @param generation when the page was asked for
   */
  listing(cursor: string | undefined, generation: number, isRelayMade = false): Listing {
    const open = cursor === undefined ? undefined : this.#open.get(cursor)
    // A copy, because two clients may ask for the same page.
    const cursors = new Set([...(open?.cursors ?? []), ...(cursor === undefined ? [] : [cursor])])
    if (open !== undefined)
      return {
        ...open, tools: new Map(open.tools), names: new Set(open.names), shownNames: new Set(open.shownNames),
        cursors, weight: open.weight + 2 * (cursor?.length ?? 0),
      }
    return {
      whole: cursor === undefined, isRelayMade, generation, tools: new Map(), names: new Set(),
      shownNames: new Set(), cursors, weight: 0, isPartial: false, shown: 0,
    }
  }

  /** The first definition of the name in this session. */
  firstListed(name: string): JsonObject | undefined {
    return this.#first.get(name)
  }

  /** The first definitions of all names in this session. */
  get first(): ReadonlyMap<string, JsonObject> {
    return this.#first
  }

  /** True once a whole list was seen. A name that first appears later was added by the server. */
  get hasWholeList(): boolean {
    return this.#last !== undefined
  }

  /** The equal definition that is stored already, if there is one, so that each is stored and judged once. */
  interned(name: string, definition: JsonObject): JsonObject {
    const known = [this.#first.get(name), this.#tools.get(name)?.definition]
    return known.find(stored => stored !== undefined && equal(stored, definition)) ?? definition
  }

  /**
   * The reason why the catalogue has no room for another tool; undefined if it has room.
   * @param listed the definitions on this page so far
   */
  noRoom(
    listing: Listing, listed: ReadonlyMap<string, JsonObject>, definition: JsonObject,
  ): string | undefined {
    if (listing.names.size + listed.size >= this.#maxTools) return `more than ${this.#maxTools} tools`
    const own = this.#weightOf(definition)
    if (own > maxDefinition) return 'a definition that is too long to be read'
    if (!this.#hasRoom(listing.weight + own)) this.#forgetGone(listing.weight + own)
    return this.#hasRoom(listing.weight + own) ? undefined : 'more than the catalogue has room for'
  }

  /** Adds a judged page. @returns true when it completes a list that differs from the one before it */
  page(listing: Listing, page: Page, at: number): boolean {
    const { generation } = listing
    const isOlder = generation < this.#newest
    if (!isOlder) this.#withhold(listing, page.withheld)
    if (!isOlder) this.#newest = generation
    listing.isPartial ||= page.isPartial
    let isNew = false
    for (const [name, definition] of page.listed) {
      listing.names.add(name)
      this.#weigh(listing, name, definition)
      const tool = page.accepted.get(name)
      if (isOlder) continue
      if (tool === undefined) this.#unlisted(name, generation)
      else {
        const judged = this.#variants.add(tool, generation)
        listing.tools.set(name, judged)
        this.#tools.set(name, judged)
      }
    }
    const { next } = page
    if (next.kind === 'end' || next.kind === 'repeats') {
      const expires = page.lifetime > 0 ? at + page.lifetime : Infinity
      if (listing.whole && !isOlder) isNew = this.#completed(listing, expires)
    } else if (next.kind === 'page' && !listing.isRelayMade) this.#keep(next.cursor, listing)
    this.#account()
    return isNew
  }

  #withhold(listing: Listing, withheld: Page['withheld']): void {
    if (listing.whole && listing.names.size === 0) {
      this.#withheld.clear()
      this.#withheldWeight = 0
    }
    for (const [name, why] of withheld) {
      if (this.#withheld.has(name) || this.#withheld.size >= this.#maxTools) continue
      const kept = why.length > maxReason ? `${why.slice(0, maxReason)} …` : why
      this.#withheld.set(name, kept)
      this.#withheldWeight += weightOfNames(name, kept)
    }
  }

  #completed(listing: Listing, expires: number): boolean {
    const isNew = this.#last === undefined || !isSame(listing, this.#last)
    const isCurrent = listing.generation === this.#generation
    for (const name of this.#variants.names())
      if (!listing.tools.has(name)) this.#unlisted(name, listing.generation)
    this.#tools = new Map(listing.tools)
    for (const [shown, name] of this.#renamed) if (!this.#tools.has(name)) this.#forgetRenamed(shown)
    this.#whole = isCurrent && !listing.isPartial
    if (isCurrent) this.#changed = false
    this.#last = listing
    this.#expires = expires
    return isNew
  }

  #expire(at: number): void {
    if (at < this.#expires) return
    this.#expires = Infinity
    this.changed()
  }

  #unlisted(name: string, generation: number): void {
    this.#tools.delete(name)
    this.#variants.forgetUnlisted(name, generation)
  }

  #forgetRenamed(shown: string): void {
    const name = this.#renamed.get(shown)
    if (name === undefined) return
    this.#renamed.delete(shown)
    this.#renamedWeight -= weightOfNames(shown, name)
  }

  #hasRoom(weight: number): boolean {
    return (
      this.#firstWeight + this.#variants.weight + weight <= maxWeight
      && this.#ledger.of?.hasRoom(weight) !== false
    )
  }

  /** Makes room: forgets the first definitions of tools that are no longer listed. */
  #forgetGone(weight: number): void {
    for (const [name, definition] of this.#first) {
      if (this.#hasRoom(weight)) return
      if (this.#tools.has(name)) continue
      this.#first.delete(name)
      this.#firstWeight -= this.#weightOf(definition)
    }
  }

  #account(): void {
    let weight = this.#firstWeight + this.#variants.weight + this.#renamedWeight + this.#withheldWeight
    for (const [cursor, open] of this.#open) weight += 2 * cursor.length + open.weight
    this.#ledger.add(weight - this.#ledger.kept)
  }

  #weigh(listing: Listing, name: string, definition: JsonObject): void {
    const first = this.#first.get(name)
    if (first === definition) return
    const weight = this.#weightOf(definition)
    if (first !== undefined) listing.weight += weight
    else {
      this.#first.set(name, definition)
      this.#firstWeight += weight
    }
  }

  #weightOf(definition: JsonObject): number {
    const weight = this.#weights.get(definition) ?? weigh(definition, maxDefinition)
    this.#weights.set(definition, weight)
    return weight
  }

  #keep(cursor: string, listing: Listing): void {
    this.#open.delete(cursor)
    this.#open.set(cursor, listing)
    let weight = 0
    for (const [one, open] of this.#open) weight += one.length + open.weight
    for (const [oldest, open] of this.#open) {
      if (this.#open.size <= openListings && weight <= maxWeight) break
      this.#open.delete(oldest)
      weight -= oldest.length + open.weight
    }
  }
}

const weightOfNames = (shown: string, name: string): number => 100 + 2 * (shown.length + name.length)

/** Compares by identity, because equal definitions are interned. */
const isSame = (a: Listing, b: Listing): boolean =>
  a.names.size === b.names.size
  && a.tools.size === b.tools.size
  && [...a.names].every(name => b.names.has(name))
  && [...a.tools].every(([name, { definition }]) => b.tools.get(name)?.definition === definition)
