import { isObject, isString, member, type Json, type JsonObject } from '../protocol/unmetered.js'
import { enough, type Strictness } from './schema.js'

/** More ways than these to put blocks together are no fixed ones. */
const mostOrders = 4

/** So many times as long as the longest that was seen may a text be: more where little was seen. */
const room = (count: number): number => (count >= enough ? 2 : 4)

/** What the content of a tool's results has in common: which blocks, in which order, how large. */
export class Blocks {
  #count = 0
  #fewest = Infinity
  #most = 0
  /** By the kinds of their blocks, in order. */
  readonly #orders = new Map<string, Order>()
  readonly #kinds = new Map<string, Kind>()

  see(content: readonly Json[]): void {
    this.#count++
    this.#fewest = Math.min(this.#fewest, content.length)
    this.#most = Math.max(this.#most, content.length)
    const types = content.map(typeOf)
    const name = JSON.stringify(types)
    const order = this.#orders.get(name) ?? { count: 0, kinds: types.map(type => new Kind(type)) }
    if (this.#orders.has(name) || this.#orders.size <= mostOrders) this.#orders.set(name, order)
    order.count++
    for (const [index, block] of content.entries()) {
      order.kinds[index]?.see(block)
      const kind = this.#kinds.get(types[index] ?? '') ?? new Kind(types[index] ?? '')
      this.#kinds.set(kind.type, kind)
      kind.see(block)
    }
  }

  /** The schema of `content`. */
  schema(strictness: Strictness): JsonObject {
    const orders = [...this.#orders.values()]
    const areFixed = orders.length <= mostOrders && (this.#count < enough || orders.every(({ count }) => count >= 3))
    if (areFixed && orders.every(({ kinds }) => kinds.length <= 8)) {
      const each = orders.map(({ kinds, count }) => fixed(kinds.map(kind => kind.schema(strictness, count))))
      return { type: 'array', ...(each.length === 1 ? each[0] : { anyOf: each }) }
    }
    const kinds = [...this.#kinds.values()].map(kind => kind.schema(strictness, kind.count))
    const most = this.#most * (strictness.strict ? 1 : room(this.#count))
    return { type: 'array', minItems: Math.min(this.#fewest, 1), maxItems: most, items: kinds.length === 1 ? kinds[0] : { anyOf: kinds } }
  }
}

interface Order {
  count: number
  readonly kinds: readonly Kind[]
}

const fixed = (kinds: readonly JsonObject[]): JsonObject =>
  kinds.length === 0 ? { maxItems: 0 } : { prefixItems: kinds, items: false, minItems: kinds.length }

/** Where a block holds its text or data, and its media type; those of a resource stand deeper. */
const inner = new Map([['resource', 'resource']])
const sized = ['text', 'data', 'blob'] as const

/** Blocks of one kind. */
class Kind {
  count = 0
  readonly #sizes = new Map<string, number>()
  readonly #present = new Map<string, number>()
  readonly #mediaTypes = new Set<string>()

  constructor(readonly type: string) {}

  see(block: Json): void {
    this.count++
    const holder = this.#holderOf(block)
    for (const key of [...sized, 'uri', 'name', 'mimeType']) {
      const value = member(holder, key)
      if (!isString(value)) continue
      this.#present.set(key, (this.#present.get(key) ?? 0) + 1)
      if (key === 'mimeType') this.#mediaTypes.add(value)
      else if (key !== 'uri' && key !== 'name') this.#sizes.set(key, Math.max(this.#sizes.get(key) ?? 0, value.length))
    }
  }

  #holderOf(block: Json): JsonObject | undefined {
    const outer = isObject(block) ? block : undefined
    const key = inner.get(this.type)
    const held = key === undefined ? outer : member(outer, key)
    return isObject(held) ? held : undefined
  }

  schema({ strict }: Strictness, count: number): JsonObject {
    const members = [...this.#present].map(([key]): [string, JsonObject] => {
      if (key === 'mimeType') return [key, this.#mediaTypes.size <= 8 ? { enum: [...this.#mediaTypes].sort() } : { type: 'string' }]
      const longest = this.#sizes.get(key)
      return [key, { type: 'string', ...(longest !== undefined && { maxLength: strict ? longest : longest * room(count) + 16 }) }]
    })
    const required = [...this.#present].filter(([, present]) => present === this.count).map(([key]) => key)
    const held = { properties: Object.fromEntries(members), ...(required.length > 0 && { required }) }
    const key = inner.get(this.type)
    const type = { type: { const: this.type } }
    return key === undefined
      ? { type: 'object', properties: { ...type, ...held.properties }, required: ['type', ...required] }
      : { type: 'object', properties: { ...type, [key]: { type: 'object', ...held } }, required: ['type', key] }
  }
}

const typeOf = (block: Json): string => {
  const type = isObject(block) ? member(block, 'type') : undefined
  return isString(type) ? type : ''
}
