import type { Frame } from '#relay/protocol/frame.js'
import {
  each, isArray, isObject, isString, member, Meter, OverBudget, parseJson, type Json, type JsonObject,
} from '#relay/protocol/json.js'
import { edit } from '#relay/protocol/edit.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { nextPage } from '#relay/protocol/pages.js'
import { eachChild, slice } from '#relay/protocol/scan.js'
import { request, type Asking } from './frames.js'
import { type LegAnswer, errorIn, inSeconds, type Leg, type Legs, pauseMs } from './legs.js'
import type { Host } from './machine.js'
import type { NameTable } from './names.js'
import { urisIn, type ResourceOwners } from './resources.js'

/** What servers list: the method, where its result has the list, and what names an element. */
export const listKinds = {
  tools: { method: 'tools/list', key: 'tools', name: 'name', capability: 'tools' },
  prompts: { method: 'prompts/list', key: 'prompts', name: 'name', capability: 'prompts' },
  resources: { method: 'resources/list', key: 'resources', name: 'uri', capability: 'resources' },
  templates: {
    method: 'resources/templates/list', key: 'resourceTemplates', name: 'uriTemplate', capability: 'resources',
  },
} as const

export type ListKind = keyof typeof listKinds

export const allKinds = Object.keys(listKinds) as readonly ListKind[]

interface Item {
  readonly name: string
  /** The element of the list, as the server wrote it. */
  readonly bytes: Buffer
  /** Where arguments are repeated in HTTP headers (2026-07-28, custom headers). */
  readonly inputSchema?: JsonObject | undefined
}

interface Page {
  /** By which it was asked for; undefined for the first. */
  readonly cursor: string | undefined
  readonly items: readonly Item[]
}

/** A server's list as far as it was read, or why there is none. */
type Outcome =
  | { readonly pages: readonly Page[]; readonly rest: string | undefined; readonly ttlMs: number }
  | { readonly missing: string }

/** One reading of a server's list. */
interface Walk {
  readonly startedAt: number
  /** The server said since then that its list has changed. */
  isStale: boolean
  /** The scopes of the client that it asks for. */
  readonly scopes: string | undefined
  readonly done: ((outcome: Outcome) => void)[]
}

/** The place in a merged list where its next page begins. */
interface Place {
  readonly server: string
  readonly cursor: string | undefined
}

export type LegList =
  | { readonly result: Buffer }
  | { readonly code: number; readonly error: string }

/** The age in milliseconds from which a list is read again for a name that is not in it. */
const freshMs = 1000

/** Merges the servers' lists, and fills the tables by which calls find their servers. */
export class LegLists {
  readonly #host: Host
  readonly #legs: Legs
  readonly #names: Readonly<Record<'tools' | 'prompts', NameTable>>
  readonly #owners: ResourceOwners
  /** By kind and server: the walk in progress, and when the last one ended. */
  readonly #walks = new Map<string, Walk>()
  readonly #readAt = new Map<string, number>()
  readonly #retried = new Set<string>()
  readonly #schemas = new Map<string, ReadonlyMap<string, JsonObject>>()
  /** Counts the changes of each kind of list: cursors from before are stale. */
  readonly #generations = new Map<ListKind, number>()
  /** Called when a client should ask for a list again. */
  readonly #changed: (kind: ListKind) => void

  constructor(
    host: Host, legs: Legs, names: Readonly<Record<'tools' | 'prompts', NameTable>>, owners: ResourceOwners,
    changed: (kind: ListKind) => void,
  ) {
    this.#host = host
    this.#legs = legs
    this.#names = names
    this.#owners = owners
    this.#changed = changed
  }

  /** The schema of a tool whose arguments are repeated in headers. */
  inputSchemaOf(server: string, tool: string): JsonObject | undefined {
    return this.#schemas.get(server)?.get(tool)
  }

  #keepSchemas(server: string, pages: readonly Page[]): void {
    this.#schemas.set(server, new Map(pages.flatMap(({ items }) => items.flatMap(({ name, inputSchema }) =>
      (inputSchema === undefined ? [] : [[name, inputSchema] as const])))))
  }

  /** A server's list has changed: what was read of it before is old. */
  stale(kind: ListKind, server: string): void {
    this.#generations.set(kind, (this.#generations.get(kind) ?? 0) + 1)
    const id = `${kind} ${server}`
    this.#readAt.delete(id)
    const walk = this.#walks.get(id)
    if (walk !== undefined) walk.isStale = true
  }

  /** Answers a client's request for a list: all pages of all servers, as far as they come in time. */
  list(kind: ListKind, cursor: string | undefined, asking: Asking, done: (listed: LegList) => void): void {
    const from = cursor === undefined ? undefined : this.#placeOf(kind, cursor)
    const legs = this.#legs.all()
    const first = from === undefined ? 0 : legs.findIndex(({ name }) => name === from.server)
    if (first < 0 || (cursor !== undefined && from === undefined)) {
      return done({ code: errorCode.invalidParams, error: 'Invalid cursor: the list has changed since' })
    }
    const outcomes = new Map<Leg, Outcome>()
    const wanted = legs.slice(first)
    const merge = () => done(this.#merged(kind, wanted, outcomes, asking))
    this.#readAll(kind, wanted, asking, outcomes, merge, from)
  }

  /**
   * Reads lists, unless they were read before and have not changed since.
   * @param again also those that were read a while ago: the wanted name was not in them
   * @param done with the servers whose list is not known
   */
  know(
    wanted: readonly ListKind[], legs: readonly Leg[], again: boolean, asking: Asking,
    done: (missing: readonly (readonly [server: string, reason: string])[]) => void,
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
      const outcomes = new Map<Leg, Outcome>()
      this.#readAll(kind, those, asking, outcomes, () => {
        for (const leg of those) {
          const outcome = outcomes.get(leg)
          if (outcome === undefined || 'missing' in outcome) missing.set(leg.name, this.#why(leg, outcome))
        }
        if ((left -= 1) === 0) done([...missing])
      })
    }
  }

  /** Reads lists of several servers side by side, for `listMs` at most. @param outcomes gets those in time */
  #readAll(
    kind: ListKind, legs: readonly Leg[], asking: Asking, outcomes: Map<Leg, Outcome>, done: () => void,
    from?: Place,
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
      const take = (outcome: Outcome) => {
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
    kind: ListKind, leg: Leg, asking: Asking, cursor: string | undefined, take: (outcome: Outcome) => void,
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
        const names = outcome.pages.flatMap(({ items }) => items.map(({ name }) => name))
        if (kind === 'tools' || kind === 'prompts') this.#names[kind].set(leg.server, names, cursor !== undefined)
        else this.#owners.set(kind, leg.name, names, cursor !== undefined)
        if (kind === 'tools') this.#keepSchemas(leg.name, outcome.pages)
        if (!walk.isStale) this.#readAt.set(id, this.#host.now())
      }
      for (const one of walk.done) one(outcome)
    })
  }

  /** Reads one page, and those after it as far as there is room. */
  #page(
    kind: ListKind, leg: Leg, asking: Asking, cursor: string | undefined, pages: Page[], seen: Set<string>,
    done: (outcome: Outcome) => void, ttlMs = Infinity,
  ): void {
    const { method } = listKinds[kind]
    const members = [
      ...(asking.meta === undefined ? [] : [`"_meta":${asking.meta}`]),
      ...(cursor === undefined ? [] : [`"cursor":${JSON.stringify(cursor)}`]),
    ]
    const params = members.length === 0 ? undefined : `{${members.join(',')}}`
    if (cursor !== undefined) seen.add(cursor)
    this.#legs.ask(leg, number => request(number, method, params, asking.envelope), { answered: answer => {
      const page = readPage(kind, answer)
      if ('missing' in page) return done(page)
      pages.push({ cursor, items: page.items })
      for (const uri of page.uris) this.#owners.name(leg.name, uri)
      const next = nextPage(page.nextCursor, leg.version, seen)
      const least = Math.min(ttlMs, page.ttlMs)
      if (next.kind !== 'page') return done({ pages, rest: undefined, ttlMs: least })
      if (!this.#hasRoom(pages)) return done({ pages, rest: next.cursor, ttlMs: least })
      this.#page(kind, leg, asking, next.cursor, pages, seen, done, least)
    } })
  }

  #hasRoom(pages: readonly Page[]): boolean {
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

  #why(leg: Leg, outcome: Outcome | undefined): string {
    if (outcome !== undefined && 'missing' in outcome) return outcome.missing
    return this.#legs.whyNot(leg) ?? `it has not listed within ${inSeconds(this.#host.options.listMs)} s`
  }

  #merged(
    kind: ListKind, legs: readonly Leg[], outcomes: ReadonlyMap<Leg, Outcome>, asking: Asking,
  ): LegList {
    const { options: { maxItems, maxBytes }, emit } = this.#host
    const missing: { readonly server: string; readonly reason: string }[] = []
    const texts: Buffer[] = []
    let [bytes, count, ttlMs, hasAny] = [0, 0, Infinity, false]
    let next: Place | undefined
    for (const leg of legs) {
      const outcome = outcomes.get(leg)
      if (outcome === undefined || 'missing' in outcome) {
        const reason = this.#why(leg, outcome)
        missing.push({ server: leg.name, reason })
        emit({ type: 'missing', leg: leg.name, reason })
        continue
      }
      hasAny = true
      if (next !== undefined) continue
      emit({ type: 'missing', leg: leg.name, reason: undefined })
      ttlMs = Math.min(ttlMs, outcome.ttlMs)
      for (const { cursor, items } of outcome.pages) {
        const size = items.reduce((sum, item) => sum + item.bytes.length, 0)
        if (count > 0 && (count + items.length > maxItems || bytes + size > maxBytes)) {
          next = { server: leg.name, cursor }
          break
        }
        count += items.length
        bytes += size
        for (const item of items) texts.push(...this.#shown(kind, leg, item))
      }
      if (next === undefined && outcome.rest !== undefined) next = { server: leg.name, cursor: outcome.rest }
    }
    if (!hasAny) {
      const reasons = missing.map(({ server, reason }) => `${server}: ${reason}`).join('; ')
      return { code: errorCode.gone, error: `No server has answered: ${reasons}` }
    }
    const meta = missing.length === 0 ? [] : [`"_meta":${JSON.stringify({ 'mcp-customs/missing': missing })}`]
    const ends = [
      ...(next === undefined ? [] : [`"nextCursor":${JSON.stringify(this.#cursorTo(kind, next))}`]),
      // A list that differs between users is for its asker alone (2026-07-28, caching).
      ...(asking.isModern
        ? ['"resultType":"complete"', `"ttlMs":${missing.length > 0 || ttlMs === Infinity ? 0 : ttlMs}`,
            '"cacheScope":"private"']
        : []),
      ...meta,
    ]
    return { result: Buffer.concat([
      Buffer.from(`{"${listKinds[kind].key}":[`),
      ...texts.flatMap((text, index) => (index === 0 ? [text] : [comma, text])),
      Buffer.from(`]${ends.map(end => `,${end}`).join('')}}`),
    ]) }
  }

  /** An element as the client gets it: nothing where several servers claim its name, or its URI. */
  #shown(kind: ListKind, leg: Leg, { name, bytes }: Item): readonly Buffer[] {
    const { emit } = this.#host
    if (kind === 'tools' || kind === 'prompts') {
      const shown = this.#names[kind].shown(leg.server, name)
      const claims = this.#names[kind].claims(shown)
      if (claims.length > 1) {
        emit({ type: 'duplicate', kind, name: shown, servers: claims.map(({ server }) => server) })
        return []
      }
      return [shown === name ? bytes : edit(bytes, [{ path: ['name'], replace: JSON.stringify(shown) }])]
    }
    const owner = this.#owners.listedBy(kind, name)
    if (owner === leg.name || owner === undefined) return [bytes]
    emit({ type: 'duplicate', kind, name, servers: [owner, leg.name] })
    return []
  }

  #cursorTo(kind: ListKind, { server, cursor }: Place): string {
    return Buffer.from(JSON.stringify([this.#generation(kind), server, cursor ?? null])).toString('base64url')
  }

  #placeOf(kind: ListKind, text: string): Place | undefined {
    const place = parseJson(Buffer.from(text, 'base64url').toString())
    if (!isArray(place) || place[0] !== this.#generation(kind)) return undefined
    const [server, cursor] = [place[1], place[2]]
    return isString(server) ? { server, cursor: isString(cursor) ? cursor : undefined } : undefined
  }

  /** The nonce makes cursors of other sessions stale: their order of pages may be another one. */
  #generation(kind: ListKind): string {
    return `${this.#host.options.nonce} ${this.#generations.get(kind) ?? 0}`
  }
}

const comma = Buffer.from(',')

interface ReadPage {
  readonly items: readonly Item[]
  /** The URIs that its elements name, such as the page of an app. */
  readonly uris: readonly string[]
  readonly nextCursor: Json | undefined
  readonly ttlMs: number
}

const readPage = (kind: ListKind, answer: LegAnswer): ReadPage | { readonly missing: string } => {
  if (isString(answer)) return { missing: answer }
  const { message } = answer
  const none = { items: [], uris: [], nextCursor: undefined, ttlMs: Infinity }
  if (message.kind === 'error') {
    return message.error.code === errorCode.methodNotFound ? none : { missing: errorIn(message.error) }
  }
  const { key, name } = listKinds[kind]
  const list = member(message.result, key)
  if (!isArray(list)) return { missing: 'its list cannot be read' }
  const ttlMs = member(message.result, 'ttlMs')
  try {
    const spans = elementsIn(answer, key)
    const meter = new Meter()
    const items: Item[] = []
    const uris: string[] = []
    for (const [index, element] of each(list, meter)) {
      const named = isObject(element) ? member(element, name) : undefined
      const bytes = spans[index]
      if (!isString(named) || bytes === undefined) continue
      const inputSchema = bytes.includes('x-mcp-header') ? schemaOf(element) : undefined
      items.push({ name: named, bytes, inputSchema })
      uris.push(...urisIn(element, meter))
    }
    return {
      items, uris, nextCursor: member(message.result, 'nextCursor'), ttlMs: typeof ttlMs === 'number' ? ttlMs : 0,
    }
  } catch (error) {
    if (error instanceof OverBudget) return { missing: error.message }
    throw error
  }
}

const schemaOf = (tool: Json): JsonObject | undefined => {
  const schema = isObject(tool) ? member(tool, 'inputSchema') : undefined
  return isObject(schema) ? schema : undefined
}

const elementsIn = (frame: Frame, key: string): readonly Buffer[] => {
  const written = slice(frame, ['result', key]) ?? Buffer.from('[]')
  const spans: Buffer[] = []
  eachChild(written, 0, ({ value, to }) => {
    spans.push(written.subarray(value, to))
    return false
  })
  return spans
}
