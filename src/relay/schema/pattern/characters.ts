import type { Budget } from '../budget.js'
import { classOf, propertyOf, type CharacterClass, type Ranges } from './syntax.js'

/** Thrown at the first fault. One object for all: a stack trace costs more than parsing most patterns. */
export const malformed = new Error('malformed pattern')

const digits: Ranges = [[0x30, 0x39]]
export const wordCharacters: Ranges = [...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]]
/** ECMA-262 WhiteSpace and LineTerminator. */
const spaces: Ranges = [
  [0x09, 0x0d], [0x20, 0x20], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029],
  [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000], [0xfeff, 0xfeff],
]
const escapes = new Map([
  ['d', classOf(digits)], ['D', classOf(digits, true)], ['s', classOf(spaces)], ['S', classOf(spaces, true)],
  ['w', classOf(wordCharacters)], ['W', classOf(wordCharacters, true)],
])
const controls = new Map([['t', 0x09], ['n', 0x0a], ['v', 0x0b], ['f', 0x0c], ['r', 0x0d]])
const none: readonly never[] = []
/** A place in the characters of a pattern. */
export class Cursor {
  #at = 0

  constructor(private readonly chars: readonly string[]) {}

  get isAtEnd(): boolean {
    return this.#at >= this.chars.length
  }

  /** @returns '' behind the end */
  peek(ahead = 0): string {
    return this.chars[this.#at + ahead] ?? ''
  }

  /** @throws malformed behind the end */
  next(): string {
    const char = this.chars[this.#at++]
    if (char === undefined) throw malformed
    return char
  }

  /** The next characters, at most `length`. */
  text(length: number): string {
    return this.chars.slice(this.#at, this.#at + length).join('')
  }

  /** The number of characters before the next one of these; -1: there is none. */
  distanceTo(char: string): number {
    const place = this.chars.indexOf(char, this.#at)
    return place === -1 ? -1 : place - this.#at
  }

  skip(count: number): void {
    this.#at += count
  }

  take(char: string): boolean {
    if (this.chars[this.#at] !== char) return false
    this.#at++
    return true
  }

  takeAll(chars: string): boolean {
    for (let index = 0; index < chars.length; index++) if (this.peek(index) !== chars[index]) return false
    this.#at += chars.length
    return true
  }
}

/** Reads single characters, escapes and classes of a pattern. */
export class CharacterReader {
  readonly #properties = new Map<string, CharacterClass>()
  readonly #literals = new Map<number, CharacterClass>()

  /** @param named whether a group of the pattern has a name: then `\k` is no literal */
  constructor(
    private readonly cursor: Cursor,
    private readonly unicode: boolean,
    private readonly named: boolean,
    private readonly budget: Budget,
  ) {}

  /** The class of one character; the same object each time, so that the alphabet stays small. */
  one(code: number): CharacterClass {
    const known = this.#literals.get(code)
    if (known !== undefined) return known
    const one: CharacterClass = { type: 'class', ranges: [[code, code]], others: none, negated: false }
    this.#literals.set(code, one)
    return one
  }

  /** A class, after its opening bracket. */
  class(): CharacterClass {
    const negated = this.cursor.take('^')
    const ranges: (readonly [number, number])[] = []
    const others = new Set<CharacterClass>()
    const add = (part: CharacterClass) => {
      if (isPlain(part)) ranges.push(...part.ranges)
      else others.add(part)
    }
    while (!this.cursor.take(']')) {
      const from = this.#classAtom()
      if (this.cursor.peek() !== '-' || this.cursor.peek(1) === ']' || this.cursor.peek(1) === '') {
        add(from)
        continue
      }
      this.cursor.skip(1)
      const to = this.#classAtom()
      const [low, high] = [single(from), single(to)]
      if (low !== undefined && high !== undefined) {
        if (low > high) throw malformed
        ranges.push([low, high])
      } else if (this.unicode) throw malformed
      // In the older syntax the hyphen of `[\w-.]` is a literal.
      else for (const part of [from, this.one(0x2d), to]) add(part)
    }
    // For an object for each character, and for sorting.
    this.budget.spend(16 + 24 * ranges.length)
    return classOf(ranges, negated, [...others])
  }

  #classAtom(): CharacterClass {
    return this.cursor.take('\\') ? this.escape(true) : this.one(codePointOf(this.cursor.next()))
  }

  /** An escape of one character or of a class, after its backslash. */
  escape(inClass: boolean): CharacterClass {
    const char = this.cursor.next()
    const named = escapes.get(char)
    if (named !== undefined) return named
    const control = controls.get(char)
    if (control !== undefined) return this.one(control)
    if (char === 'b' && inClass) return this.one(0x08)
    if (char === 'c') return this.#control(inClass)
    if (char === 'x' || char === 'u') return this.#hex(char)
    if ((char === 'p' || char === 'P') && this.unicode) return this.#property(char)
    if (/\d/.test(char)) return this.#octal(char)
    const isLiteral = this.unicode
      ? /[\^$\\.*+?()[\]{}|/]/.test(char) || (inClass && char === '-')
      : char !== 'k' || !this.named
    if (!isLiteral) throw malformed
    return this.one(codePointOf(char))
  }

  #control(inClass: boolean): CharacterClass {
    const letter = inClass && !this.unicode ? /\w/ : /[A-Za-z]/
    if (letter.test(this.cursor.peek())) return this.one(codePointOf(this.cursor.next()) % 32)
    if (this.unicode) throw malformed
    // In the older syntax the backslash is a literal, and the `c` after it another one.
    this.cursor.skip(-1)
    return this.one(0x5c)
  }

  #hex(char: 'x' | 'u'): CharacterClass {
    if (char === 'u' && this.unicode && this.cursor.take('{')) return this.#braced()
    this.budget.spend(20)
    const code = this.#digits(char === 'x' ? 2 : 4)
    if (code === undefined) {
      if (this.unicode) throw malformed
      return this.one(codePointOf(char))
    }
    // Two escapes may form a surrogate pair.
    if (this.unicode && code >= 0xd800 && code <= 0xdbff && this.cursor.takeAll('\\u')) {
      const low = this.#digits(4)
      if (low !== undefined && low >= 0xdc00 && low <= 0xdfff) {
        return this.one(((code - 0xd800) << 10) + (low - 0xdc00) + 0x10000)
      }
      this.cursor.skip(low === undefined ? -2 : -6)
    }
    return this.one(code)
  }

  #digits(length: number): number | undefined {
    const text = this.cursor.text(length)
    if (text.length !== length || !/^[0-9A-Fa-f]+$/.test(text)) return undefined
    this.cursor.skip(length)
    return parseInt(text, 16)
  }

  #braced(): CharacterClass {
    let code = 0
    let count = 0
    for (; this.cursor.peek() !== '}'; count++) {
      const digit = this.cursor.next()
      if (!/[0-9A-Fa-f]/.test(digit)) throw malformed
      code = code * 16 + parseInt(digit, 16)
      if (code > 0x10ffff) throw malformed
    }
    this.cursor.skip(1)
    if (count === 0) throw malformed
    return this.one(code)
  }

  #property(char: 'p' | 'P'): CharacterClass {
    const length = this.cursor.distanceTo('}')
    if (length === -1) throw malformed
    this.budget.spend(length)
    const escape = `\\${char}${this.cursor.text(length + 1)}`
    const known = this.#properties.get(escape)
    const property = known?.property ?? propertyOf(escape, this.budget)
    if (property === undefined) throw malformed
    this.cursor.skip(length + 1)
    const made = known ?? { ...classOf([]), property }
    this.#properties.set(escape, made)
    return made
  }

  /** `\0`; in the older syntax also up to three octal digits, and 8 and 9 as literals. */
  #octal(first: string): CharacterClass {
    if (this.unicode) {
      if (first !== '0' || /\d/.test(this.cursor.peek())) throw malformed
      return this.one(0)
    }
    if (first > '7') return this.one(codePointOf(first))
    let code = Number(first)
    for (let more = first > '3' ? 1 : 2; more > 0 && /[0-7]/.test(this.cursor.peek()); more--) {
      code = code * 8 + Number(this.cursor.next())
    }
    return this.one(code)
  }
}

export const codePointOf = (char: string): number => char.codePointAt(0) ?? 0

/** Whether the class consists of its ranges alone. */
const isPlain = ({ property, others, negated }: CharacterClass): boolean =>
  property === undefined && others.length === 0 && !negated

const single = (part: CharacterClass): number | undefined => {
  const [range] = part.ranges
  if (range === undefined || part.ranges.length > 1 || !isPlain(part)) return undefined
  return range[0] === range[1] ? range[0] : undefined
}
