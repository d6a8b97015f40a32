import type { SchemaReading } from './evaluate.js'

/** A schema's JSON text, as it goes to the worker thread. */
export interface SchemaText {
  /** The text's digest: equal schemas share one entry. */
  readonly digest: string
  readonly text: string
  /** Bytes of memory for the text and its values. */
  readonly held: number
}

/** A schema that was read. */
export interface Plan extends SchemaText {
  /** Undefined when reading it exceeds this thread's budget. */
  readonly reading: SchemaReading | undefined
}

interface CachedPlan extends Plan {
  /** The memory for all of the entry, compiled checks included. */
  bytes: number
}

/** Limit of memory for all entries. */
const maxBytes = 48 * 1024 * 1024

/** A cache of schemas that were read, by digest. When it is full it evicts the least recently used. */
export class Plans {
  readonly #entries = new Map<string, CachedPlan>()
  #bytes = 0

  get(digest: string): Plan | undefined {
    const entry = this.#entries.get(digest)
    // The order matters only when eviction is near; keeping it makes the map slow.
    if (entry !== undefined && this.#bytes > maxBytes / 2) {
      this.#entries.delete(digest)
      this.#entries.set(digest, entry)
    }
    return entry
  }

  /** @param made bytes of memory that reading it allocated */
  keep({ digest, text, held, reading }: Plan, made: number): Plan {
    const entry = { digest, text, held, reading, bytes: 0 }
    this.#entries.set(digest, entry)
    this.grew(entry, held + made)
    return entry
  }

  /** An entry takes more memory. */
  grew({ digest }: Plan, bytes: number): void {
    if (bytes === 0) return
    const entry = this.#entries.get(digest)
    if (entry === undefined) return
    entry.bytes += bytes
    this.#bytes += bytes
    for (const [oldest, { bytes }] of this.#entries) {
      if (this.#bytes <= maxBytes) break
      this.#entries.delete(oldest)
      this.#bytes -= bytes
    }
  }
}
