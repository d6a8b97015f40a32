import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { instantiate, type Module } from './module.js'

/** The place of a value in a text that was read. */
export type Entry = number

/** Longer texts are left to those who read them in pieces: this one is read in a single turn of the event loop. */
export const mostBytes = 3 * 1024 * 1024

/** An instance that has grown beyond what little texts need is let go when so many of them have come, one behind another. */
const heldBytes = 2 * 1024 * 1024
const little = 256 * 1024
const mostLittle = 100

/** More texts that repeat a value are not looked for. */
const mostRepeats = 8

/** Bytes of a name that members are looked up by; there are a few such names. */
const longestName = 64

/** Deeper than any text that was read before. */
const deepest = 4096

/** Bytes of a schema's table: for more there is no room. */
export const mostTable = 192 * 1024

/** Schemas that are asked and names that are compared for one value, at a few nanoseconds each. */
const mostSteps = 400_000

const valid = 1

/** Where a name stands in the memory. */
interface Name {
  readonly at: number
  readonly length: number
}

/** Code points that may hide something. */
export interface Hidden {
  readonly first: number
  readonly last: number
}

/**
 * Judges JSON texts from their bytes. What it says is *surely fine*, or nothing: it words no findings, and what it does not know is for the
 * clear code to judge.
 */
export class Judge {
  readonly #hidden: readonly Hidden[]
  #module: Module | undefined
  #memory = Buffer.alloc(0)
  #current: Reading | undefined
  /** The value that was cut out last, and the schema that was used last. */
  #cut: { readonly text: Buffer; readonly entry: Entry } | undefined
  #table: Buffer | undefined
  readonly #names = new Map<string, Name>()
  /** So many texts in a row were little. */
  #little = 0

  /** @param hidden what does not stand in a plain text */
  constructor(hidden: readonly Hidden[]) {
    this.#hidden = hidden
  }

  /**
   * @param depth levels of nesting that are allowed
   * @returns undefined unless this is surely JSON that everybody reads alike: UTF-8, no member twice, no half of a surrogate pair, no number
   * beyond a double
   */
  read(bytes: Buffer, depth: number): Reading | undefined {
    const { length } = bytes
    if (length > mostBytes || !isUtf8(bytes)) return undefined
    this.#current = this.#cut = undefined
    return this.#unlessTrapped(() => {
      const module = this.#instance(length)
      const at = module.prepare(length)
      if (at === 0) return undefined
      this.#view(module).set(bytes, at)
      if (module.read(length, depth) === 0) return undefined
      return (this.#current = new Reading(bytes, module.root(), module.isPlain() !== 0))
    })
  }

  /** The value of an object's member; undefined where there is none. @param reading the last one */
  member(reading: Reading, object: Entry | undefined, name: string): Entry | undefined {
    return object && this.#ask(reading, module => {
      const { at, length } = this.#name(module, name)
      return module.memberOf(object, at, length)
    }) || undefined
  }

  /** The element of an array; undefined where there is none. @param reading the last one */
  element(reading: Reading, array: Entry | undefined, index: number): Entry | undefined {
    return array && this.#ask(reading, module => module.elementOf(array, index)) || undefined
  }

  /** The text of a value. @param reading the last one */
  text(reading: Reading, entry: Entry | undefined): Buffer | undefined {
    return entry === undefined ? undefined : this.#ask(reading, module => reading.bytes.subarray(module.startOf(entry), module.endOf(entry)))
  }

  /** The same, of one of which it will be asked soon whether it is valid. */
  cut(reading: Reading, entry: Entry | undefined): Buffer | undefined {
    const text = this.text(reading, entry)
    this.#cut = entry === undefined || text === undefined ? undefined : { text, entry }
    return text
  }

  /**
   * The first elements of an array, by index, that have under a name a string whose text is that of the value, white space between tokens
   * apart: some of them. @param reading the last one
   */
  repeats(reading: Reading, array: Entry, name: string, value: Entry): readonly Repeat[] {
    const found: Repeat[] = []
    this.#ask(reading, module => {
      const { at, length } = this.#name(module, name)
      for (let from = 0; found.length < mostRepeats;) {
        const index = module.nextRepeat(array, value, from, at, length)
        if (index < 0) break
        found.push({ index, isExact: module.isExact() !== 0 })
        from = index + 1
      }
    })
    return found
  }

  /**
   * Whether a value surely matches a schema, whether or not formats are asserted.
   * @param text of the value, cut out of one that was read
   * @param table of the schema, `mostTable` bytes at most
   * @param spend is told how many steps that took
   */
  isValid(text: Buffer, table: Buffer, spend?: (steps: number) => void): boolean {
    if (this.#cut?.text !== text) {
      const entry = this.read(text, deepest)?.root
      this.#cut = entry === undefined ? undefined : { text, entry }
    }
    const module = this.#module
    const entry = this.#cut?.entry
    if (entry === undefined || module === undefined || table.length > mostTable) return false
    return this.#unlessTrapped(() => {
      if (this.#table !== table) this.#view(module).set(table, module.TABLE.value)
      this.#table = table
      const told = module.check(entry, mostSteps)
      spend?.(mostSteps - Math.max(0, module.left()))
      return told === valid
    }) === true
  }

  /** Asks for more of the text that was read last; after a fault nothing of it is known any more. */
  #ask<Answer>(reading: Reading, ask: (module: Module) => Answer): Answer | undefined {
    const module = this.#module
    if (module === undefined || this.#current === undefined) return undefined
    if (reading !== this.#current) throw new Error('another text was read since')
    return this.#unlessTrapped(() => ask(module))
  }

  /** Where there is no WebAssembly, no memory, or a fault of ours: nothing is known, and what is left of the instance is not used again. */
  #unlessTrapped<Answer>(ask: () => Answer): Answer | undefined {
    try {
      return ask()
    } catch {
      this.#module = this.#current = this.#cut = undefined
      return undefined
    }
  }

  #instance(length: number): Module {
    this.#little = length > little ? 0 : this.#little + 1
    if (this.#module !== undefined && (this.#little < mostLittle || this.#memory.length <= heldBytes)) return this.#module
    const module = instantiate()
    module.setSeed(randomBytes(8).readBigUInt64LE())
    this.#view(module).set(bitsOf(this.#hidden), module.HIDDEN.value)
    this.#table = undefined
    this.#names.clear()
    return (this.#module = module)
  }

  /** The memory, which is another buffer when it has grown. */
  #view({ memory: { buffer } }: Module): Buffer {
    return this.#memory.buffer === buffer ? this.#memory : (this.#memory = Buffer.from(buffer))
  }

  /** A name in the memory. */
  #name(module: Module, name: string): Name {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const at = module.NAMES.value + this.#names.size * longestName
    const made = { at, length: this.#view(module).write(name, at, longestName) }
    this.#names.set(name, made)
    return made
  }
}

export interface Repeat {
  /** Of the element. */
  readonly index: number
  /** Character by character. */
  readonly isExact: boolean
}

/** A text that was read. */
export class Reading {
  constructor(
    readonly bytes: Buffer,
    readonly root: Entry,
    /** No string holds a character that may be hidden. */
    readonly plain: boolean,
  ) {}
}

/** A bit for each code point below U+10000, and for each 256 above. */
const bitsOf = (hidden: readonly Hidden[]): Buffer => {
  const bits = Buffer.alloc((0x10000 + 0x1100) / 8)
  for (const { first, last } of hidden) {
    for (let code = first; code <= last; code += code < 0x10000 ? 1 : 256 - (code & 255)) {
      const bit = code < 0x10000 ? code : 0x10000 + (code >> 8)
      bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7))
    }
  }
  return bits
}
