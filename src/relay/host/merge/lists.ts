import type { JsonObject } from '#relay/protocol/json.js'
import { nextPage } from '#relay/protocol/pages.js'
import { request } from './frames.js'
import { inSeconds, type Leg, pauseMs } from './leg.js'
import type { Legs } from './legs.js'
import type { Host } from './machine.js'
import { allKinds, type ListKind, listKinds, type ServerPage, readPage } from './reading.js'
import type { Asking, MissingServers } from './requests.js'
import type { ShownTables } from './shown.js'

/** A server's list as far as it was read, or why there is none. */
export type ListOutcome =
  | { readonly pages: readonly ServerPage[]; readonly rest: string | undefined; readonly ttlMs: number }
  | { readonly missing: string }

/** One reading of a server's list. */
interface Walk {
  readonly startedAt: number
  /** The server said since then that its list has changed. */
  isStale: boolean
  /** The scopes of the client that it asks for. */
  readonly scopes: string | undefined
  readonly done: ((outcome: ListOutcome) => void)[]
}

/** The place in a merged list where its next page begins. */
export interface ListPlace {
  readonly server: string
  readonly cursor: string | undefined
  /** How many elements the pages before it have. */
  readonly before: number
}

/** Schemas of a server's tools whose arguments are repeated in headers. */
interface KeptSchemas {
  readonly byTool: Map<string, JsonObject>
  /** Of the tools' definitions. */
  bytes: number
}

/** Most bytes of tools whose schemas are kept of one server: its pages may have no end. */
const maxSchemaBytes = 16 * 1024 * 1024

/** The age in milliseconds from which a list is read again for a name that is not in it. */
const freshMs = 1000

/** Reads the servers' lists side by side, and fills the tables by which calls find their servers. */
export class LegLists {
  readonly #host: Host
  readonly #legs: Legs
  readonly #tables: ShownTables
  /** By kind and server: the walk in progress, and when the last one ended. */
  readonly #walks = new Map<string, Walk>()
  readonly #readAt = new Map<string, number>()
  readonly #retried = new Set<string>()
  readonly #schemas = new Map<string, KeptSchemas>()
  /** Counts the changes of each kind of list: cursors from before are stale. */
  readonly #generations = new Map<ListKind, number>()
  /** Called when a client should ask for a list again. */
  readonly #changed: (kind: ListKind) => void

  constructor(host: Host, legs: Legs, tables: ShownTables, changed: (kind: ListKind) => void) {
    this.#host = host
    this.#legs = legs
    this.#tables = tables
    this.#changed = changed
  }

  /** The schema of a tool whose arguments are repeated in headers. */
  inputSchemaOf(server: string, tool: string): JsonObject | undefined {
    return this.#schemas.get(server)?.byTool.get(tool)
  }

  /** @param adds the list's further pages: schemas from before stay */
  #keepSchemas(server: string, pages: readonly ServerPage[], adds: boolean): void {
    const before = adds ? this.#schemas.get(server) : undefined
    const kept = before ?? { byTool: new Map<string, JsonObject>(), bytes: 0 }
    this.#schemas.set(server, kept)
    for (const { name, inputSchema, bytes } of pages.flatMap(({ items }) => items)) {
      if (inputSchema === undefined) continue
      if ((kept.bytes += bytes.length) > maxSchemaBytes) return
      kept.byTool.set(name, inputSchema)
    }
  }

  /** A server's list has changed: what was read of it before is old. */
  stale(kind: ListKind, server: string): void {
    this.#generations.set(kind, this.generationOf(kind) + 1)
    const id = `${kind} ${server}`
    this.#readAt.delete(id)
    const walk = this.#walks.get(id)
    if (walk !== undefined) walk.isStale = true
  }

  /** Changes when the list of any server has changed. */
  generationOf(kind: ListKind): number {
    return this.#generations.get(kind) ?? 0
  }

  /**
   * Reads lists, unless they were read before and have not changed since.
   * @param again also those that were read a while ago: the wanted name was not in them
   * @param done with the servers whose list is not known
   */
  know(
    wanted: readonly ListKind[], legs: readonly Leg[], again: boolean, asking: Asking,
    done: (missing: MissingServers) => void,
  ): void {
    const { now } = this.#host
    const pending = wanted.map(kind => [kind, legs.filter(leg => {
      const readAt = this.#readAt.get(`${kind} ${leg.name}`)
      return leg.has(listKinds[kind].capability)
        && (readAt === undefined || (again && now() - readAt > freshMs))
    })] as const).filter(([, those]) => those.length > 0)
    let left = pending.length
    const missing = new Map<string, string>()
    if (left === 0) return done([])
    for (const [kind, those] of pending) {
      const outcomes = new Map<Leg, ListOutcome>()
      this.readAll(kind, those, asking, outcomes, () => {
        for (const leg of those) {
          const outcome = outcomes.get(leg)
          if (outcome === undefined || 'missing' in outcome) missing.set(leg.name, this.why(leg, outcome))
        }
        if ((left -= 1) === 0) done([...missing])
      })
    }
  }

  /** Reads lists of several servers side by side, for `listMs` at most. @param outcomes gets those in time */
  readAll(
    kind: ListKind, legs: readonly Leg[], asking: Asking, outcomes: Map<Leg, ListOutcome>, done: () => void,
    from?: ListPlace,
  ): void {
    if (legs.length === 0) return done()
    let isDone = false
    const finish = () => {
      if (isDone) return
      isDone = true
      stop()
      done()
    }
    const { listMs } = this.#host.options
    const stop = this.#host.after(listMs, finish)
    for (const leg of legs) {
      const cursor = leg.name === from?.server ? from.cursor : undefined
      const take = (outcome: ListOutcome) => {
        // What comes too late is in the tables by now, and the client is told to ask again.
        if (isDone && !('missing' in outcome)) return this.#changed(kind)
        outcomes.set(leg, outcome)
        if (outcomes.size === legs.length) finish()
      }
      this.#legs.whenKnown(leg, listMs, () => {
        const why = this.#legs.whyNot(leg)
        if (why !== undefined) take({ missing: why })
        else this.#read(kind, leg, asking, cursor, take)
      })
    }
  }

  #read(
    kind: ListKind, leg: Leg, asking: Asking, cursor: string | undefined,
    take: (outcome: ListOutcome) => void,
  ): void {
    if (!leg.has(listKinds[kind].capability)) return take({ pages: [], rest: undefined, ttlMs: Infinity })
    const id = `${kind} ${leg.name}`
    // Nobody waits again for a server that is late with any list; its answer will be a change of the list.
    const since = Math.min(...allKinds.map(one => this.#walks.get(`${one} ${leg.name}`)?.startedAt ?? Infinity))
    const waited = this.#host.now() - since
    if (waited >= this.#host.options.listMs) {
      return take({ missing: `it has not listed for ${inSeconds(waited)} s` })
    }
    const known = cursor === undefined ? this.#walks.get(id) : undefined
    const scopes = asking.envelope?.scopes?.join(' ')
    const isShared = !asking.isModern && known?.isStale === false && known.scopes === scopes
    if (known !== undefined && isShared) return void known.done.push(take)
    const walk: Walk = { startedAt: this.#host.now(), isStale: false, scopes, done: [take] }
    if (cursor === undefined) this.#walks.set(id, walk)
    this.#page(kind, leg, asking, cursor, [], new Set(), outcome => {
      if (this.#walks.get(id) === walk) this.#walks.delete(id)
      if ('missing' in outcome) this.#retry(kind, leg, asking)
      else {
        const adds = cursor !== undefined
        const names = outcome.pages.flatMap(({ items }) => items.map(({ name }) => name))
        if (kind === 'tools' || kind === 'prompts') this.#tables.names[kind].set(leg.name, names, adds)
        else this.#tables.owners.set(kind, leg.name, names, adds)
        if (kind === 'tools') this.#keepSchemas(leg.name, outcome.pages, adds)
        if (!walk.isStale) this.#readAt.set(id, this.#host.now())
      }
      for (const one of walk.done) one(outcome)
    })
  }

  /** Reads one page, and those after it as far as there is room. */
  #page(
    kind: ListKind, leg: Leg, asking: Asking, cursor: string | undefined, pages: ServerPage[],
    seen: Set<string>, done: (outcome: ListOutcome) => void, ttlMs = Infinity,
  ): void {
    const { method } = listKinds[kind]
    const members = [
      ...(asking.meta === undefined ? [] : [`"_meta":${asking.meta}`]),
      ...(cursor === undefined ? [] : [`"cursor":${JSON.stringify(cursor)}`]),
    ]
    const params = members.length === 0 ? undefined : `{${members.join(',')}}`
    if (cursor !== undefined) seen.add(cursor)
    const ask = (number: number) => request(number, method, params, asking.envelope)
    this.#legs.requests.ask(leg, ask, { answered: answer => {
      const page = readPage(kind, answer)
      if ('missing' in page) return done(page)
      pages.push({ cursor, items: page.items })
      for (const uri of page.uris) this.#tables.owners.name(leg.name, uri)
      const next = nextPage(page.nextCursor, leg.version, seen)
      const least = Math.min(ttlMs, page.ttlMs)
      if (next.kind !== 'page') return done({ pages, rest: undefined, ttlMs: least })
      if (!this.#hasRoom(pages)) return done({ pages, rest: next.cursor, ttlMs: least })
      this.#page(kind, leg, asking, next.cursor, pages, seen, done, least)
    } })
  }

  #hasRoom(pages: readonly ServerPage[]): boolean {
    const { maxItems, maxBytes } = this.#host.options
    const items = pages.flatMap(page => page.items)
    return items.length < maxItems && items.reduce((sum, { bytes }) => sum + bytes.length, 0) < maxBytes
  }

  /** A server that did not list is asked again later; when it answers, the list has changed. */
  #retry(kind: ListKind, leg: Leg, asking: Asking): void {
    const id = `${kind} ${leg.name}`
    if (leg.state !== 'ready' || this.#retried.has(id)) return
    this.#retried.add(id)
    leg.failures += 1
    this.#host.after(pauseMs(leg), () => {
      this.#retried.delete(id)
      if (leg.state !== 'ready' || this.#readAt.has(id) || this.#walks.has(id)) return
      this.#read(kind, leg, asking, undefined, outcome => {
        if ('missing' in outcome) return
        leg.failures = 0
        this.#changed(kind)
      })
    })
  }

  /** Why a server's list is not known. */
  why(leg: Leg, outcome: ListOutcome | undefined): string {
    if (outcome !== undefined && 'missing' in outcome) return outcome.missing
    return this.#legs.whyNot(leg) ?? `it has not listed within ${inSeconds(this.#host.options.listMs)} s`
  }
}
