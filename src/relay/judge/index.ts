import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import * as layout from './layout.js'
import { instantiate, type Module } from './module.js'

/** Publishes each error of a WebAssembly instance: it could not be made, had no memory, or trapped. */
export const failures = channel('mcp-customs:byte-validator')

/**
 * Longest text that is read here, in bytes. A text is read in one turn of the event loop, so a longer text is
 * left to the parser that reads in pieces.
 */
export const maxBytes = 3 * 1024 * 1024

/**
 * WebAssembly memory cannot shrink. An instance above `largeInstanceBytes` is replaced after `maxShortTexts`
 * texts in a row of at most `shortBytes`.
 */
const largeInstanceBytes = 2 * 1024 * 1024
const shortBytes = 256 * 1024
const maxShortTexts = 100

/** Levels of nesting for a part that is read again: no text that is read here has more (`MAX_DEPTH`). */
const maxDepth = 500

/** Most steps of one check; a step takes a few nanoseconds. */
const maxSteps = 400_000

/** A range of code points. */
export interface Range {
  readonly first: number
  readonly last: number
}

/** A long string in one of the first blocks of content. */
export interface LongString {
  readonly block: number
  /** Which member: `BLOCK_TEXT` to `RESOURCE_BLOB` in layout.ts. */
  readonly member: number
  /** The string in the message, with its quotation marks. */
  readonly text: Buffer
  /** True when its value is the text of structuredContent. */
  readonly isStructuredText: boolean
  /** True for data or a blob that is base64 (RFC 4648, section 4, padded). */
  readonly isBase64: boolean
}

/** Takes the number of steps that a check took. */
export type Spend = (steps: number) => void

/** The parts of a tool's result, in a message that was read. */
export interface ResultParts {
  /** True when no string of the message holds a character that may hide text. */
  readonly plain: boolean
  readonly structured: Buffer | undefined
  /** True when structuredContent surely matches the schema, whether or not formats are asserted. */
  readonly isValid: boolean
  /** Indexes of blocks that repeat structuredContent, apart from white space. The list may be incomplete. */
  readonly repeats: readonly number[]
  readonly strings: readonly LongString[]
}

/**
 * Validates JSON texts from their bytes, in WebAssembly. It either finds that a text is surely valid, or
 * gives no answer; then the caller parses and evaluates the text. Answers depend on the arguments alone.
 */
export class ByteValidator {
  #module: Module | undefined
  #memory = Buffer.alloc(0)
  /** The schema's table that is in the memory. */
  #table: Buffer | undefined
  /** The number of short texts in a row. */
  #short = 0

  readonly #maxSteps: number

  /**
   * @param hidden characters that may hide text
   * @param steps at least 1
   */
  constructor(private readonly hidden: readonly Range[], steps = maxSteps) {
    // To the module, 0 steps are no schema.
    this.#maxSteps = steps >= 1 && steps <= maxSteps ? Math.floor(steps) : maxSteps
  }

  /**
   * Reads a message.
   * @param depth allowed levels of nesting
   * @param table of the schema that structuredContent is checked by in the same pass
   * @param spend called with the number of steps that the check took
   * @returns undefined unless the message is surely JSON that all parsers read alike: UTF-8, no member twice,
   * no lone surrogate, no number beyond a double
   */
  readResult(bytes: Buffer, depth: number, table?: Buffer, spend?: Spend): ResultParts | undefined {
    return this.#unlessFailed(() => {
      const verdict = this.#read(bytes, depth, table, spend, true)
      if (verdict === layout.UNREADABLE) return undefined
      return this.#resultParts(bytes, table !== undefined && verdict === layout.VALID)
    })
  }

  /** Whether a value surely matches a schema, whether or not formats are asserted. */
  isSurelyValid(text: Buffer, table: Buffer, spend?: Spend): boolean {
    return this.#unlessFailed(() => this.#read(text, maxDepth, table, spend, false)) === layout.VALID
  }

  /** @returns the verdict on the text, or on structuredContent in a message */
  #read(
    text: Buffer, depth: number, table: Buffer | undefined, spend: Spend | undefined, isMessage: boolean,
  ): number {
    if (text.length > maxBytes || !isUtf8(text)) return layout.UNREADABLE
    const module = this.#instance(text.length)
    const at = module.prepare(text.length)
    if (at === 0) throw new RangeError('no memory for the text')
    const view = this.#view(module)
    view.set(text, at)
    if (table === undefined) return module.read(text.length, depth, 0, isMessage)
    if (this.#table !== table) view.set(table, layout.TABLE)
    this.#table = table
    const verdict = module.read(text.length, depth, this.#maxSteps, isMessage)
    spend?.(this.#maxSteps - Math.max(0, module.left()))
    return verdict
  }

  #resultParts(bytes: Buffer, isValid: boolean): ResultParts {
    const word = (offset: number) => this.#memory.readUInt32LE(layout.FOUND + offset)
    const start = word(layout.STRUCTURED_START)
    const structured = start === 0 ? undefined : bytes.subarray(start, word(layout.STRUCTURED_END))
    return {
      plain: word(layout.PLAIN) === 1,
      structured,
      isValid: isValid && structured !== undefined,
      repeats: listOf(word(layout.REPEAT_COUNT), index => word(layout.REPEATS + 4 * index)),
      strings: listOf(word(layout.STRING_COUNT), index => {
        const at = layout.STRINGS + layout.STRING_BYTES * index
        return {
          block: word(at), member: word(at + 4), text: bytes.subarray(word(at + 8), word(at + 12)),
          isStructuredText: (word(at + 16) & layout.STRUCTURED_TEXT) !== 0,
          isBase64: (word(at + 16) & layout.BASE64) !== 0,
        }
      }),
    }
  }

  /** Calls `ask`. Returns undefined without WebAssembly or memory, or after a trap. */
  #unlessFailed<Answer>(ask: () => Answer): Answer | undefined {
    try {
      return ask()
    } catch (error) {
      this.#module = undefined
      failures.publish(error)
      return undefined
    }
  }

  #instance(length: number): Module {
    this.#short = length > shortBytes ? 0 : this.#short + 1
    const isKept = this.#short < maxShortTexts || this.#memory.length <= largeInstanceBytes
    if (this.#module !== undefined && isKept) return this.#module
    const module = instantiate()
    module.setSeed(randomBytes(8).readBigUInt64LE())
    this.#view(module).set(bitsOf(this.hidden), layout.HIDDEN)
    this.#table = undefined
    return (this.#module = module)
  }

  /** The instance's memory. Memory that has grown is another ArrayBuffer, and needs another Buffer. */
  #view({ memory: { buffer } }: Module): Buffer {
    return this.#memory.buffer === buffer ? this.#memory : (this.#memory = Buffer.from(buffer))
  }
}

/** One bit for each code point below U+10000, and one for each 256 code points above. */
const bitsOf = (hidden: readonly Range[]): Buffer => {
  const bits = Buffer.alloc((0x10000 + 0x1100) / 8)
  for (const { first, last } of hidden) {
    for (let code = first; code <= last; code += code < 0x10000 ? 1 : 256 - (code & 255)) {
      const bit = code < 0x10000 ? code : 0x10000 + (code >> 8)
      bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7))
    }
  }
  return bits
}

/** Makes a list. The list is nearly always empty, and `Array.from` is slow for an empty list. */
const listOf = <One>(count: number, one: (index: number) => One): readonly One[] => {
  const list: One[] = []
  for (let index = 0; index < count; index++) list.push(one(index))
  return list
}
