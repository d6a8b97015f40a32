import { createHash } from 'node:crypto'
import type { SchemaLimits } from '../core/check.js'
import type { JsonObject } from '../protocol/json.js'
import { measure } from './bounds.js'
import { inspect } from './inspect.js'
import { planFor, type Plan } from './judge.js'

/** A schema as it is kept: its text for the worker thread, and how to judge by it. */
export interface Kept {
  readonly text: string
  /** Undefined when it is too large to be read on the main thread. */
  readonly plan: Plan | undefined
  /** The least size of a value that was too much for the main thread. */
  slowFrom: number
}

/**
 * Longest schema, in bytes, that is read on the main thread: that takes a few milliseconds.
 * The longest seen in the wild has 41 kB.
 */
export const mostAtOnce = 48 * 1024

/** Bytes of schema text kept; what is made of it takes up to some twenty times as much. */
const mostText = 4 * 1024 * 1024

/**
 * Schemas that were used, by digest, shared by all sessions; the least recently used are let go.
 * An object seen before is known without being read again.
 */
export class Plans {
  readonly #limits: SchemaLimits
  readonly #digests = new WeakMap<JsonObject, string>()
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(limits: SchemaLimits) {
    this.#limits = limits
  }

  /** @returns why not, in words, when the schema cannot be used */
  of(schema: JsonObject | boolean): Kept | string {
    const known = typeof schema === 'boolean' ? undefined : this.#digests.get(schema)
    const kept = known === undefined ? undefined : this.#kept.get(known)
    if (known !== undefined && kept !== undefined) return this.#touch(known, kept)
    const measured = measure(schema, this.#limits)
    return 'over' in measured ? measured.over : this.#read(schema, measured.text, measured.bytes)
  }

  #read(schema: JsonObject | boolean, text: string, bytes: number): Kept | string {
    const digest = createHash('sha256').update(text).digest('base64')
    if (typeof schema !== 'boolean') this.#digests.set(schema, digest)
    const kept = this.#kept.get(digest)
    if (kept !== undefined) return this.#touch(digest, kept)
    const plan = bytes > mostAtOnce ? undefined : this.#plan(schema)
    return typeof plan === 'string' ? plan : this.#keep(digest, { text, plan, slowFrom: Infinity })
  }

  #plan(schema: JsonObject | boolean): Plan | string {
    const inspected = inspect(schema, this.#limits.subschemas)
    if (inspected.root !== undefined) return planFor(inspected.root, inspected)
    return `cannot be used: ${inspected.problems[0]?.message ?? ''}`
  }

  #keep(digest: string, kept: Kept): Kept {
    this.#kept.set(digest, kept)
    this.#bytes += kept.text.length
    for (const [oldest, { text }] of this.#kept) {
      if (this.#bytes <= mostText || oldest === digest) break
      this.#kept.delete(oldest)
      this.#bytes -= text.length
    }
    return kept
  }

  #touch(digest: string, kept: Kept): Kept {
    // While there is room nobody asks for the order, and keeping it costs a map its quickness.
    if (this.#bytes < mostText / 2) return kept
    this.#kept.delete(digest)
    this.#kept.set(digest, kept)
    return kept
  }
}
