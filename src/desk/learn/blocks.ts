import { isRecord, isString, field, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { enough, type Strictness } from './schema.js'

/** With more different orders of blocks, no order is prescribed. */
const maxOrders = 4

/**
 * The factor by which a text or a list of blocks may be longer than the longest seen: larger if few were
 * seen.
 */
const room = (count: number): number => (count >= enough ? 2 : 4)

/** The kinds, order and sizes of the content blocks in a tool's results. */
export class Blocks {
  #count = 0
  #fewest = Infinity
  #most = 0
  /** By the kinds of their blocks, in order. */
  readonly #orders = new Map<string, Order>()
  readonly #kinds = new Map<string, Kind>()

  see(content: readonly Data[]): void {
    this.#count++
    this.#fewest = Math.min(this.#fewest, content.length)
    this.#most = Math.max(this.#most, content.length)
    const types = content.map(typeOf)
    const name = JSON.stringify(types)
    const order = this.#orders.get(name) ?? { count: 0, kinds: types.map(type => new Kind(type)) }
    if (this.#orders.has(name) || this.#orders.size <= maxOrders) this.#orders.set(name, order)
    order.count++
    for (const [index, block] of content.entries()) {
      order.kinds[index]?.see(block)
      const kind = this.#kinds.get(types[index] ?? '') ?? new Kind(types[index] ?? '')
      this.#kinds.set(kind.type, kind)
      kind.see(block)
    }
  }

  /** The schema of `content`. */
  schema(strictness: Strictness): DataObject {
    const orders = [...this.#orders.values()]
    const areFixed =
      orders.length <= maxOrders && (this.#count < enough || orders.every(({ count }) => count >= 3))
    if (areFixed && orders.every(({ kinds }) => kinds.length <= 8)) {
      const each = orders.map(({ kinds, count }) => fixed(kinds.map(kind => kind.schema(strictness, count))))
      return { type: 'array', ...(each.length === 1 ? each[0] : { anyOf: each }) }
    }
    const kinds = [...this.#kinds.values()].map(kind => kind.schema(strictness, kind.count))
    const most = this.#most * (strictness.strict ? 1 : room(this.#count))
    const items = kinds.length === 1 ? kinds[0] : { anyOf: kinds }
    return { type: 'array', minItems: Math.min(this.#fewest, 1), maxItems: most, items }
  }
}

interface Order {
  count: number
  readonly kinds: readonly Kind[]
}

const fixed = (kinds: readonly DataObject[]): DataObject =>
  kinds.length === 0 ? { maxItems: 0 } : { prefixItems: kinds, items: false, minItems: kinds.length }

/** Members whose length is limited. */
const sized = ['text', 'data', 'blob'] as const

/** Content blocks of one type. The text, data and media type of a resource are in its member `resource`. */
class Kind {
  count = 0
  readonly #sizes = new Map<string, number>()
  readonly #present = new Map<string, number>()
  readonly #mediaTypes = new Set<string>()

  constructor(readonly type: string) {}

  see(block: Data): void {
    this.count++
    const holder = this.#holderOf(block)
    for (const key of [...sized, 'uri', 'name', 'mimeType']) {
      const value = field(holder, key)
      if (!isString(value)) continue
      this.#present.set(key, (this.#present.get(key) ?? 0) + 1)
      if (key === 'mimeType') this.#mediaTypes.add(value)
      else if (key !== 'uri' && key !== 'name') {
        this.#sizes.set(key, Math.max(this.#sizes.get(key) ?? 0, value.length))
      }
    }
  }

  #holderOf(block: Data): DataObject | undefined {
    const outer = isRecord(block) ? block : undefined
    const held = this.type === 'resource' ? field(outer, 'resource') : outer
    return isRecord(held) ? held : undefined
  }

  schema({ strict }: Strictness, count: number): DataObject {
    const members = [...this.#present].map(([key]): [string, DataObject] => {
      if (key === 'mimeType' && this.#mediaTypes.size <= 8) {
        return [key, { enum: [...this.#mediaTypes].sort() }]
      }
      const longest = this.#sizes.get(key)
      if (longest === undefined) return [key, { type: 'string' }]
      return [key, { type: 'string', maxLength: strict ? longest : longest * room(count) + 16 }]
    })
    const required = [...this.#present].filter(([, present]) => present === this.count).map(([key]) => key)
    const held = { properties: Object.fromEntries(members), ...(required.length > 0 && { required }) }
    const type = { const: this.type }
    if (this.type !== 'resource') {
      return { type: 'object', properties: { type, ...held.properties }, required: ['type', ...required] }
    }
    const properties = { type, resource: { type: 'object', ...held } }
    return { type: 'object', properties, required: ['type', 'resource'] }
  }
}

const typeOf = (block: Data): string => {
  const type = isRecord(block) ? field(block, 'type') : undefined
  return isString(type) ? type : ''
}
