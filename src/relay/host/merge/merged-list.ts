import { isArray, isString, parseJson } from '#relay/protocol/json.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import type { Leg } from './leg.js'
import type { Legs } from './legs.js'
import type { LegLists, ListOutcome, ListPlace } from './lists.js'
import type { Host } from './machine.js'
import { type ListKind, listKinds } from './reading.js'
import type { Asking } from './requests.js'
import { ShownItems, type ShownTables } from './shown.js'

/** A merged list, or why there is none. */
type MergedList =
  | { readonly result: Buffer }
  | { readonly code: number; readonly error: string }

/** Makes one list of those of the servers: one page, as far as there is room. */
export class MergedLists {
  readonly #host: Host
  readonly #legs: Legs
  readonly #lists: LegLists
  readonly #tables: ShownTables

  constructor(host: Host, legs: Legs, lists: LegLists, tables: ShownTables) {
    this.#host = host
    this.#legs = legs
    this.#lists = lists
    this.#tables = tables
  }

  /** Answers a client's request for a list: all pages of all servers, as far as they come in time. */
  list(kind: ListKind, cursor: string | undefined, asking: Asking, done: (listed: MergedList) => void): void {
    const from = cursor === undefined ? undefined : this.#placeOf(kind, cursor)
    const legs = this.#legs.all()
    const first = from === undefined ? 0 : legs.findIndex(({ name }) => name === from.server)
    if (first < 0 || (cursor !== undefined && from === undefined)) {
      return done({ code: errorCode.invalidParams, error: 'Invalid cursor: the list has changed since' })
    }
    const outcomes = new Map<Leg, ListOutcome>()
    const wanted = legs.slice(first)
    const merge = () => done(this.#merged(kind, wanted, outcomes, asking, from?.before ?? 0))
    this.#lists.readAll(kind, wanted, asking, outcomes, merge, from)
  }

  #merged(
    kind: ListKind, legs: readonly Leg[], outcomes: ReadonlyMap<Leg, ListOutcome>, asking: Asking,
    before: number,
  ): MergedList {
    const { options: { maxItems, maxBytes }, emit } = this.#host
    const missing: { readonly server: string; readonly reason: string }[] = []
    const shown = new ShownItems(kind, this.#tables, asking, before)
    let [bytes, count, ttlMs, hasAny] = [0, 0, Infinity, false]
    let next: ListPlace | undefined
    for (const leg of legs) {
      const outcome = outcomes.get(leg)
      if (outcome === undefined || 'missing' in outcome) {
        const reason = this.#lists.why(leg, outcome)
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
          next = { server: leg.name, cursor, before: shown.count }
          break
        }
        count += items.length
        bytes += size
        for (const item of items) shown.add(leg, item)
      }
      if (next === undefined && outcome.rest !== undefined) {
        next = { server: leg.name, cursor: outcome.rest, before: shown.count }
      }
    }
    if (!hasAny) {
      const reasons = missing.map(({ server, reason }) => `${server}: ${reason}`).join('; ')
      return { code: errorCode.gone, error: `No server has answered: ${reasons}` }
    }
    const { texts, found } = shown
    if (found.length > 0) emit({ type: 'found', kind, found })
    const ends: readonly object[] = [
      next === undefined || shown.isFull ? {} : { nextCursor: this.#cursorTo(kind, next) },
      // A list that differs between users is for its asker alone (2026-07-28, caching).
      asking.isModern
        ? {
            resultType: 'complete', cacheScope: 'private',
            ttlMs: missing.length > 0 || ttlMs === Infinity ? 0 : ttlMs,
          }
        : {},
      missing.length === 0 ? {} : { _meta: { 'mcp-customs/missing': missing } },
    ]
    const after = JSON.stringify(Object.assign({}, ...ends)).slice(1)
    return { result: Buffer.concat([
      Buffer.from(`{"${listKinds[kind].key}":[`),
      ...texts.flatMap((text, index) => (index === 0 ? [text] : [comma, text])),
      Buffer.from(`]${after === '}' ? '' : ','}${after}`),
    ]) }
  }

  #cursorTo(kind: ListKind, { server, cursor, before }: ListPlace): string {
    const place = [this.#generation(kind), server, cursor ?? null, before]
    return Buffer.from(JSON.stringify(place)).toString('base64url')
  }

  #placeOf(kind: ListKind, text: string): ListPlace | undefined {
    const place = parseJson(Buffer.from(text, 'base64url').toString())
    if (!isArray(place) || place[0] !== this.#generation(kind)) return undefined
    const [server, cursor, before] = [place[1], place[2], place[3]]
    if (!isString(server) || typeof before !== 'number') return undefined
    return { server, cursor: isString(cursor) ? cursor : undefined, before }
  }

  /** The nonce makes cursors of other sessions stale: their order of pages may be another one. */
  #generation(kind: ListKind): string {
    return `${this.#host.options.nonce} ${this.#lists.generationOf(kind)}`
  }
}

const comma = Buffer.from(',')
