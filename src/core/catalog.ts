import { equal, isArray, isString, type Json, type JsonObject } from '../protocol/json.js'

export type Schema = JsonObject | boolean

/** A tool as the client may call it: what the server declared, with what the operator put in its place. */
export interface Tool {
  readonly name: string
  /** As the server sent it. */
  readonly definition: JsonObject
  /** The newest first. A tool that was listed in several ways, with no `list_changed` between, is judged by all of them. */
  readonly inputSchemas: readonly Schema[]
  readonly outputSchemas: readonly Schema[]
}

/** One walk through the pages of `tools/list`. */
export interface Listing {
  /** True when it began at the first page: only such a listing can tell that a tool is in no list. */
  readonly whole: boolean
  /** Counts `list_changed`: a listing that one overtook is out of date when it ends. */
  readonly generation: number
  readonly tools: Map<string, Tool>
  /** Every name that was listed, blocked tools too: a second one of the name is a duplicate. */
  readonly names: Set<string>
  /** Of the definitions that the session had not listed before. */
  weight: number
  /** True when tools passed for which there was no room: what is not in the listing may be somewhere. */
  isPartial: boolean
}

export type Lookup =
  | { readonly state: 'known'; readonly tool: Tool }
  /** In no list: a call of it is call/unlisted. */
  | { readonly state: 'absent' }
  /** Not seen yet, or seen too long ago: the list must be asked for. */
  | { readonly state: 'unknown' }

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

/** What a catalogue may weigh (see `weigh`): what is listed now, what was listed first, and walks that have not ended. */
const mostWeight = 64 * 1024 * 1024

/** By so many forms of a tool its calls are judged: the newest, and those that were listed first. */
const mostForms = 16

/** Walks that a client may leave unfinished before the oldest is forgotten. */
const openListings = 16

/** One server's tools, as listed and as accepted (contract section 6). */
export class Catalog {
  readonly #mostTools: number
  #tools = new Map<string, Tool>()
  /** How each name was listed first in this session: the one to differ from. */
  readonly #first = new Map<string, JsonObject>()
  #firstWeight = 0
  readonly #weights = new WeakMap<JsonObject, number>()
  readonly #open = new Map<string, Listing>()
  /** The last whole listing. */
  #last: Listing | undefined
  #generation = 0
  /** A whole listing was seen, and nothing has changed since: what is not in it is nowhere. */
  #whole = false
  /** What is known may be out of date. */
  #changed = false
  #expires = Infinity
  #isRepeated = false

  constructor(mostTools: number) {
    this.#mostTools = mostTools
  }

  lookup(name: string, at: number): Lookup {
    return this.#changed || at >= this.#expires ? { state: 'unknown' } : this.#lookup(name, this.#whole)
  }

  /** By the last list, even where it is out of date. */
  lookupLast(name: string): Lookup {
    return this.#lookup(name, this.#last !== undefined && !this.#last.isPartial)
  }

  #lookup(name: string, isAll: boolean): Lookup {
    const tool = this.#tools.get(name)
    if (tool !== undefined) return { state: 'known', tool }
    return { state: isAll ? 'absent' : 'unknown' }
  }

  names(): Iterable<string> {
    return this.#tools.keys()
  }

  /** `notifications/tools/list_changed`: nothing is known any more until the next whole listing. */
  changed(): void {
    this.#generation++
    this.#changed = true
    this.#whole = false
  }

  /** The listing to which the page asked for with `cursor` belongs. */
  listing(cursor: string | undefined): Listing {
    const open = cursor === undefined ? undefined : this.#open.get(cursor)
    // A copy: a page that is asked for twice, or by two clients, is not listed twice.
    if (open !== undefined) return { ...open, tools: new Map(open.tools), names: new Set(open.names) }
    const generation = this.#generation
    return { whole: cursor === undefined, generation, tools: new Map(), names: new Set(), weight: 0, isPartial: false }
  }

  /** How the name was listed first in this session; the one to differ from. */
  firstListed(name: string): JsonObject | undefined {
    return this.#first.get(name)
  }

  /** True once a whole list has been seen: a name that comes later was added. */
  get settled(): boolean {
    return this.#last !== undefined
  }

  /** True when the last whole list says the same as the one before. */
  get isRepeated(): boolean {
    return this.#isRepeated
  }

  /** The definition that is held already, where it is equal to this one: it is kept once, and read once. */
  held(name: string, definition: JsonObject): JsonObject {
    const known = [this.#first.get(name), this.#tools.get(name)?.definition]
    return known.find(held => held !== undefined && equal(held, definition)) ?? definition
  }

  /** Why there is no room for a further tool; undefined when there is. @param listed of the page, so far */
  noRoom(listing: Listing, listed: ReadonlyMap<string, JsonObject>, definition: JsonObject): string | undefined {
    if (listing.names.size + listed.size >= this.#mostTools) return `more than ${this.#mostTools} tools`
    const weight = this.#firstWeight + listing.weight + this.#weightOf(definition)
    return weight > mostWeight ? 'more than the catalogue has room for' : undefined
  }

  /** Takes in a page. */
  page(listing: Listing, page: Page, at: number): void {
    listing.isPartial ||= page.isPartial
    for (const [name, definition] of page.listed) {
      listing.names.add(name)
      this.#weigh(listing, name, definition)
      const tool = page.accepted.get(name)
      if (tool === undefined) this.#tools.delete(name)
      else {
        const known = this.#changed || at >= this.#expires ? undefined : this.#tools.get(name)
        const judged = known === undefined ? tool : withForms(tool, known)
        listing.tools.set(name, judged)
        this.#tools.set(name, judged)
      }
    }
    if (page.next !== undefined) this.#keep(page.next, listing)
    else if (listing.whole) this.#completed(listing, page.lifetime > 0 ? at + page.lifetime : Infinity)
  }

  #completed(listing: Listing, expires: number): void {
    // A server that says "changed" whenever it is asked has not changed for that.
    this.#isRepeated = this.#last !== undefined && isSame(listing, this.#last)
    const isFresh = this.#isRepeated || listing.generation === this.#generation
    this.#tools = new Map(listing.tools)
    this.#whole = isFresh && !listing.isPartial
    if (isFresh) this.#changed = false
    this.#last = listing
    this.#expires = expires
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
    const weight = this.#weights.get(definition) ?? weigh(definition)
    this.#weights.set(definition, weight)
    return weight
  }

  #keep(cursor: string, listing: Listing): void {
    this.#open.delete(cursor)
    this.#open.set(cursor, listing)
    let weight = cursor.length
    for (const open of this.#open.values()) weight += open.weight
    for (const [oldest, open] of this.#open) {
      if (this.#open.size <= openListings && weight <= mostWeight) break
      this.#open.delete(oldest)
      weight -= open.weight
    }
  }
}

/** Definitions are held once: where they are equal, they are the same. */
const isSame = (a: Listing, b: Listing): boolean =>
  a.names.size === b.names.size &&
  a.tools.size === b.tools.size &&
  [...a.names].every(name => b.names.has(name)) &&
  [...a.tools].every(([name, { definition }]) => b.tools.get(name)?.definition === definition)

const withForms = (tool: Tool, known: Tool): Tool =>
  known.definition === tool.definition
    ? known
    : {
        ...tool,
        inputSchemas: forms(tool.inputSchemas, known.inputSchemas),
        outputSchemas: forms(tool.outputSchemas, known.outputSchemas),
      }

const forms = (newest: readonly Schema[], known: readonly Schema[]): readonly Schema[] => {
  const others = known.filter(schema => !newest.some(one => equal(one, schema)))
  return [...newest, ...others.slice(-mostForms)]
}

/** About the memory that a value takes, in bytes: that of its texts, and something for each thing in it. */
const weigh = (value: Json): number => {
  if (isString(value)) return 32 + value.length
  if (typeof value !== 'object' || value === null) return 8
  let sum = 32
  if (isArray(value)) for (let index = 0; index < value.length; index++) sum += weigh(value[index] ?? null)
  else for (const key in value) sum += key.length + weigh(value[key] ?? null)
  return sum
}
