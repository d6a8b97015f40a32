import type { Reading } from './evaluate.js'

/** A schema's JSON text, as it goes to the worker thread. */
export interface SchemaText {
  /** Of the text; schemas that are equal share what is made of them. */
  readonly digest: string
  readonly text: string
  /** Bytes of memory that it takes, as text and as values. */
  readonly held: number
}

/** A schema that was read. */
export interface Plan extends SchemaText {
  /** Undefined when reading it is too much for this thread. */
  readonly reading: Reading | undefined
}

interface Entry extends Plan {
  /** All that it takes, what was made of it included. */
  bytes: number
}

/** Bytes of memory that all of them together may take. */
const mostBytes = 48 * 1024 * 1024

/** Schemas that were read, by digest, with what was made of them, counted in bytes; the least recently used are let go. */
export class Plans {
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  get(digest: string): Plan | undefined {
    const entry = this.#entries.get(digest)
    // While there is room nobody asks for the order, and keeping it costs a map its quickness.
    if (entry !== undefined && this.#bytes > mostBytes / 2) {
      this.#entries.delete(digest)
      this.#entries.set(digest, entry)
    }
    return entry
  }

  /** @param made bytes of memory that were taken by reading it */
  keep({ digest, text, held, reading }: Plan, made: number): Plan {
    const entry = { digest, text, held, reading, bytes: 0 }
    this.#entries.set(digest, entry)
    this.grew(entry, held + made)
    return entry
  }

  /** More was made of one. */
  grew({ digest }: Plan, bytes: number): void {
    if (bytes === 0) return
    const entry = this.#entries.get(digest)
    if (entry === undefined) return
    entry.bytes += bytes
    this.#bytes += bytes
    for (const [oldest, { bytes }] of this.#entries) {
      if (this.#bytes <= mostBytes) break
      this.#entries.delete(oldest)
      this.#bytes -= bytes
    }
  }
}
