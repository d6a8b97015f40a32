import type { JsonObject } from '../protocol/json.js'

/** A tool as the client may call it: what the server declared, with what the operator put in its place. */
export interface Tool {
  readonly name: string
  readonly definition: JsonObject
  readonly inputSchema: JsonObject | boolean
  readonly outputSchema: JsonObject | boolean | undefined
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
}

export type Lookup =
  | { readonly state: 'known'; readonly tool: Tool }
  /** In no list: a call of it is call/unlisted. */
  | { readonly state: 'absent' }
  /** Not seen yet, or seen too long ago: the list must be asked for. */
  | { readonly state: 'unknown' }

/** Names whose first definition is remembered: more are no list that anybody reads. */
const mostFirst = 10_000

/** Walks that a client may leave unfinished before the oldest is forgotten. */
const openListings = 16

/** One server's tools, as listed and as accepted (contract section 6). */
export class Catalog {
  #tools = new Map<string, Tool>()
  readonly #first = new Map<string, JsonObject>()
  readonly #open = new Map<string, Listing>()
  #generation = 0
  /** A whole listing was seen, and nothing has changed since: what is not in it is nowhere. */
  #whole = false
  /** What is known may be out of date. */
  #changed = false
  #expires = Infinity
  #settled = false

  lookup(name: string, at: number): Lookup {
    if (this.#changed || at >= this.#expires) return { state: 'unknown' }
    const tool = this.#tools.get(name)
    if (tool !== undefined) return { state: 'known', tool }
    return { state: this.#whole ? 'absent' : 'unknown' }
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
    return { whole: cursor === undefined, generation: this.#generation, tools: new Map(), names: new Set() }
  }

  /** The definition of this name that was listed first in this session; the one to differ from. */
  firstListed(name: string): JsonObject | undefined {
    return this.#first.get(name)
  }

  /** True once a whole list has been seen: a name that comes later was added. */
  get settled(): boolean {
    return this.#settled
  }

  /**
   * Takes in a page.
   * @param listed every definition of the page that has a name, as the server sent it
   * @param lifetime `ttlMs` of the page. Zero says "do not cache"; like a list without it, it stays until it changes,
   *   because asking again before each call would double every call
   */
  page(listing: Listing, page: Page, at: number): void {
    for (const [name, definition] of page.listed) {
      listing.names.add(name)
      if (!this.#first.has(name) && this.#first.size < mostFirst) this.#first.set(name, definition)
      const tool = page.accepted.get(name)
      if (tool === undefined) this.#tools.delete(name)
      else {
        listing.tools.set(name, tool)
        this.#tools.set(name, tool)
      }
    }
    if (page.next !== undefined) return this.#keep(page.next, listing)
    if (!listing.whole) return
    this.#tools = new Map(listing.tools)
    this.#whole = listing.generation === this.#generation
    if (this.#whole) this.#changed = false
    this.#settled = true
    this.#expires = page.lifetime > 0 ? at + page.lifetime : Infinity
  }

  #keep(cursor: string, listing: Listing): void {
    this.#open.set(cursor, listing)
    if (this.#open.size <= openListings) return
    for (const oldest of this.#open.keys()) {
      this.#open.delete(oldest)
      break
    }
  }
}

export interface Page {
  readonly listed: ReadonlyMap<string, JsonObject>
  readonly accepted: ReadonlyMap<string, Tool>
  readonly next: string | undefined
  /** Milliseconds. */
  readonly lifetime: number
}
