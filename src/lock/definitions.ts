import { hash } from 'node:crypto'
import type { JsonObject } from '../protocol/json.js'

/** A definition of a lock, by its name: read when it is asked for, for most of a lock is never asked for, and not kept. */
export class Definitions implements ReadonlyMap<string, JsonObject> {
  constructor(private readonly read: ReadonlyMap<string, () => JsonObject>) {}

  get size(): number {
    return this.read.size
  }

  get(name: string): JsonObject | undefined {
    return this.read.get(name)?.()
  }

  has(name: string): boolean {
    return this.read.has(name)
  }

  keys() {
    return this.read.keys()
  }

  *values(): Generator<JsonObject, undefined> {
    for (const read of this.read.values()) yield read()
  }

  *entries(): Generator<[string, JsonObject], undefined> {
    for (const [name, read] of this.read) yield [name, read()]
  }

  [Symbol.iterator]() {
    return this.entries()
  }

  forEach(tell: (definition: JsonObject, name: string, all: ReadonlyMap<string, JsonObject>) => void): void {
    for (const [name, definition] of this) tell(definition, name, this)
  }
}

const [space, lineEnd, quote, backslash] = [0x20, 0x0a, 0x22, 0x5c]

/** What is hashed next; a buffer for each would be work for the garbage collector. */
let compact = Buffer.alloc(0)

/**
 * Whether a text that was laid out in lines has this digest once the white space between its tokens is gone. That of a canonical form
 * has it only where nothing was changed: no key stands twice, and it need not be parsed for that.
 */
export const isIntact = (text: Buffer, digest: string): boolean => {
  if (compact.length < text.length) compact = Buffer.allocUnsafe(2 * text.length)
  let length = 0
  let isWithin = false
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0
    if (!isWithin && (byte === space || byte === lineEnd)) continue
    compact[length++] = byte
    if (byte === quote) isWithin = !isWithin
    // What it escapes is no quotation mark.
    else if (byte === backslash && isWithin) compact[length++] = text[++at] ?? 0
  }
  return `sha256-${hash('sha256', compact.subarray(0, length))}` === digest
}
