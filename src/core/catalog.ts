import { equal, type JsonObject, weigh } from '../protocol/json.js'
import type { Ledger } from './memory.js'

export type Schema = JsonObject | boolean

/** A tool as the client may call it: what the server declared, with what the operator put in its place. */
export interface Tool {
  readonly name: string
  /** As the server sent it. */
  readonly definition: JsonObject
  /** The newest first: see `Form`. */
  readonly inputSchemas: readonly Schema[]
  readonly outputSchemas: readonly Schema[]
}

/** One walk through the pages of `tools/list`. */
export interface Listing {
  /** True when it began at the first page: only such a listing can tell that a tool is in no list. */
  readonly whole: boolean
  /** True of a list of the relay's own, which the client does not see. */
  readonly isOurs: boolean
  /** Counts `list_changed`: a listing that one overtook is out of date when it ends. */
  readonly generation: number
  /** The same when its last page arrived. */
  arrived: number
  readonly tools: Map<string, Tool>
  /** Every name that was listed, blocked tools too: a second one of the name is a duplicate. */
  readonly names: Set<string>
  /** Of the definitions that the session had not listed before. */
  weight: number
  /** True when tools passed for which there was no room: what is not in the listing may be somewhere. */
  isPartial: boolean
  /** True when it has ended and says the same as the whole list before it. */
  isRepeated: boolean
}

/** What is known of a tool; `absent`: it is in no list; undefined: not seen yet, or seen too long ago, so that the list must be asked for. */
export type Lookup = Tool | 'absent' | undefined

export interface Page {
  /** Every definition of the page that has a name, as the server sent it. */
  readonly listed: ReadonlyMap<string, JsonObject>
  readonly accepted: ReadonlyMap<string, Tool>
  readonly next: string | undefined
  /**
   * `ttlMs`. Zero says "do not cache"; like a list without it, it stays until it changes, because asking again before each call would
   * double every call.
   */
  readonly lifetime: number
  /** True when it has tools for which there was no room, and the policy let them pass. */
  readonly isPartial: boolean
}

/**
 * One way in which a tool was listed. A server may show the client and the relay different schemas: calls are judged by all
 * forms since the list changed.
 */
interface Form {
  readonly tool: Tool
  readonly generation: number
}

/** By so many forms calls are judged: the newest, and those that were listed first. */
const maxForms = 16

/** What a catalogue may weigh (see `weigh`): what is listed now, what was listed first, and walks that have not ended. */
const maxWeight = 64 * 1024 * 1024

/** A definition that weighs more is none that anybody reads. */
const maxDefinition = 2 * 1024 * 1024

/** Walks that a client may leave unfinished before the oldest is forgotten. */
const openListings = 16

/** One server's tools, as listed and as accepted (contract section 6). */
export class Catalog {
  readonly #maxTools: number
  readonly #ledger: Ledger
  #tools = new Map<string, Tool>()
  readonly #forms = new Map<string, readonly Form[]>()
  /** Of all but the newest of each tool. */
  #formsWeight = 0
  /** How each name was listed first in this session: the one to differ from. */
  readonly #first = new Map<string, JsonObject>()
  #firstWeight = 0
  readonly #weights = new WeakMap<JsonObject, number>()
  /** The client's walks that have not ended, by the cursor of their next page. */
  readonly #open = new Map<string, Listing>()
  /** The last whole listing. */
  #last: Listing | undefined
  #generation = 0
  /** A whole listing was seen, and nothing has changed since: what is not in it is nowhere. */
  #whole = false
  /** What is known may be out of date. */
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

  /** By the last list, even where it is out of date. */
  lookupLast(name: string): Lookup {
    return this.#tools.get(name) ?? (this.#last?.isPartial === false ? 'absent' : undefined)
  }

  names(): Iterable<string> {
    return this.#tools.keys()
  }

  /** True when nothing is known to have changed since the last whole listing. */
  get isCurrent(): boolean {
    return !this.#changed
  }

  /** `notifications/tools/list_changed`, or the like: nothing is known any more until the next whole listing. */
  changed(): void {
    this.#generation++
    this.#changed = true
    this.#whole = false
  }

  /** The listing to which the page that the client asked for with `cursor` belongs, or a new one of the relay's own. */
  listing(cursor: string | undefined, isOurs = false): Listing {
    const open = cursor === undefined ? undefined : this.#open.get(cursor)
    // A copy: a page that is asked for twice, or by two clients, is not listed twice.
    if (open !== undefined) return { ...open, tools: new Map(open.tools), names: new Set(open.names) }
    const generation = this.#generation
    return {
      whole: cursor === undefined, isOurs, generation, arrived: generation, tools: new Map(), names: new Set(), weight: 0, isPartial: false,
      isRepeated: false,
    }
  }

  /** A page of the listing has come, and is about to be judged. */
  arrived(listing: Listing, at: number): void {
    this.#expire(at)
    listing.arrived = this.#generation
  }

  /** How the name was listed first in this session; the one to differ from. */
  firstListed(name: string): JsonObject | undefined {
    return this.#first.get(name)
  }

  /** True once a whole list has been seen: a name that comes later was added. */
  get settled(): boolean {
    return this.#last !== undefined
  }

  /** The definition that is held already, where it is equal to this one: it is kept once, and read once. */
  held(name: string, definition: JsonObject): JsonObject {
    const known = [this.#first.get(name), this.#tools.get(name)?.definition]
    return known.find(held => held !== undefined && equal(held, definition)) ?? definition
  }

  /** Why there is no room for a further tool; undefined when there is. @param listed of the page, so far */
  noRoom(listing: Listing, listed: ReadonlyMap<string, JsonObject>, definition: JsonObject): string | undefined {
    if (listing.names.size + listed.size >= this.#maxTools) return `more than ${this.#maxTools} tools`
    const own = this.#weightOf(definition)
    if (own > maxDefinition) return 'a definition that is too long to be read'
    if (!this.#hasRoom(listing.weight + own)) this.#forgetGone(listing.weight + own)
    return this.#hasRoom(listing.weight + own) ? undefined : 'more than the catalogue has room for'
  }

  /** Takes in a page. */
  page(listing: Listing, page: Page, at: number): void {
    listing.isPartial ||= page.isPartial
    for (const [name, definition] of page.listed) {
      listing.names.add(name)
      this.#weigh(listing, name, definition)
      const tool = page.accepted.get(name)
      if (tool === undefined) this.#unlisted(name)
      else {
        const judged = this.#formed(tool)
        listing.tools.set(name, judged)
        this.#tools.set(name, judged)
      }
    }
    if (page.next === undefined) {
      if (listing.whole) this.#completed(listing, page.lifetime > 0 ? at + page.lifetime : Infinity)
    } else if (!listing.isOurs) this.#keep(page.next, listing)
    this.#account()
  }

  #completed(listing: Listing, expires: number): void {
    listing.isRepeated = this.#last !== undefined && isSame(listing, this.#last)
    // A server that says "changed" whenever it is asked has not changed for that.
    const isFresh = listing.generation === this.#generation || (listing.isRepeated && listing.arrived === this.#generation)
    for (const name of this.#forms.keys()) if (!listing.tools.has(name)) this.#unlisted(name)
    this.#tools = new Map(listing.tools)
    this.#whole = isFresh && !listing.isPartial
    if (isFresh) this.#changed = false
    this.#last = listing
    this.#expires = expires
  }

  #expire(at: number): void {
    if (at < this.#expires) return
    this.#expires = Infinity
    this.changed()
  }

  #unlisted(name: string): void {
    this.#tools.delete(name)
    this.#keepForms(name, this.#formsSince(name))
  }

  /** How the tool was listed since the list changed. */
  #formsSince(name: string): readonly Form[] {
    return (this.#forms.get(name) ?? []).filter(({ generation }) => generation === this.#generation)
  }

  /** The tool with all forms by which it is judged. */
  #formed(tool: Tool): Tool {
    const others = this.#formsSince(tool.name).filter(form => form.tool.definition !== tool.definition)
    const forms = [{ tool, generation: this.#generation }, ...others.slice(-maxForms)]
    this.#keepForms(tool.name, forms)
    if (forms.length === 1) return tool
    return {
      ...tool,
      inputSchemas: distinct(forms.flatMap(form => form.tool.inputSchemas)),
      outputSchemas: distinct(forms.flatMap(form => form.tool.outputSchemas)),
    }
  }

  #keepForms(name: string, forms: readonly Form[]): void {
    const weightOf = (kept: readonly Form[] = []) => kept.slice(1).reduce((sum, { tool }) => sum + this.#weightOf(tool.definition), 0)
    this.#formsWeight += weightOf(forms) - weightOf(this.#forms.get(name))
    if (forms.length > 0) this.#forms.set(name, forms)
    else this.#forms.delete(name)
  }

  #hasRoom(weight: number): boolean {
    return this.#firstWeight + this.#formsWeight + weight <= maxWeight && this.#ledger.of?.hasRoom(weight) !== false
  }

  /** Tools that are listed no more make room. */
  #forgetGone(weight: number): void {
    for (const [name, definition] of this.#first) {
      if (this.#hasRoom(weight)) return
      if (this.#tools.has(name)) continue
      this.#first.delete(name)
      this.#firstWeight -= this.#weightOf(definition)
    }
  }

  #account(): void {
    let weight = this.#firstWeight + this.#formsWeight
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

/** Definitions are held once: where they are equal, they are the same. */
const isSame = (a: Listing, b: Listing): boolean =>
  a.names.size === b.names.size &&
  a.tools.size === b.tools.size &&
  [...a.names].every(name => b.names.has(name)) &&
  [...a.tools].every(([name, { definition }]) => b.tools.get(name)?.definition === definition)

const distinct = (schemas: readonly Schema[]): readonly Schema[] =>
  schemas.filter((schema, index) => schemas.findIndex(one => equal(one, schema)) === index)
