import { Exhausted, nameKey, type Budget } from '../budget.js'
import {
  classOf, propertyOf, type CharacterClass, type LookAround, type Parsed, type Ranges, type Syntax,
} from './syntax.js'

/** Thrown at the first fault. One object for all: a stack trace costs more than parsing most patterns. */
const malformed = new Error('malformed pattern')

/** Deeper groups are refused: parsing and compiling them is recursive. */
const deepest = 250

/** Greater maxima are counted only in texts that are long enough to exceed them. */
export const smallCount = 100

/** V8 treats this count as no limit. */
const endless = 2 ** 31 - 1

/**
 * Parses a regular expression of ECMA-262: with the `u` flag, as JSON Schema recommends, or else by the older
 * syntax of Annex B, which many schemas use (`[\w-.]`, `\-`).
 * @returns undefined when it is neither
 */
export const parsePattern = (source: string, budget: Budget): Parsed | undefined =>
  parseAs(source, true, budget) ?? parseAs(source, false, budget)

export const parseAs = (source: string, unicode: boolean, budget: Budget): Parsed | undefined => {
  budget.spend(400 + 6 * source.length)
  try {
    return new Parser(source, unicode, budget).parse()
  } catch (error) {
    if (error === malformed) return undefined
    throw error
  }
}

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
const dot = classOf([[0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]], true)
const controls = new Map([['t', 0x09], ['n', 0x0a], ['v', 0x0b], ['f', 0x0c], ['r', 0x0d]])
const quantifier = /^\{(\d+)(,(\d*))?\}/
/** A quantifier has no more characters. */
const longestQuantifier = 50
const identifier = /^[$_\p{ID_Start}][$\u200c\u200d\p{ID_Continue}]*$/u

const none: readonly never[] = []
const special: ReadonlySet<string> = new Set('^$\\.*+?()[]{}|')
const isSpecial = (char: string): boolean => special.has(char)
const isDigit = (char: string): boolean => char >= '0' && char <= '9'

class Parser {
  readonly #chars: readonly string[]
  readonly #unicode: boolean
  readonly #budget: Budget
  readonly #names = new Map<string, { index: number }>()
  /** The meaning of `\1` depends on the count of groups, and that of `\k` on whether one is named. */
  readonly #captures: number
  readonly #named: boolean
  readonly #properties = new Map<string, CharacterClass>()
  readonly #literals = new Map<number, CharacterClass>()
  readonly #looks: LookAround[] = []
  readonly #bounds = new Set<number>()
  #words = false
  #refers = false
  #opened = 0
  #at = 0
  #depth = 0

  constructor(source: string, unicode: boolean, budget: Budget) {
    this.#chars = unicode && /[\ud800-\udbff]/.test(source) ? Array.from(source) : source.split('')
    this.#unicode = unicode
    this.#budget = budget
    const plain = source.replace(/\\[^]|\[(?:\\[^]|[^\]\\])*\]?/g, '.')
    const groups = plain.match(/\((?!\?)|\(\?<(?![=!])/g) ?? []
    this.#captures = groups.length
    this.#named = groups.some(group => group.length > 1)
  }

  parse(): Parsed {
    const root = this.#choice()
    if (this.#at < this.#chars.length) throw malformed
    for (const { index } of this.#names.values()) if (index === 0) throw malformed
    const bounds = [...this.#bounds].sort((a, b) => a - b)
    return {
      root, unicode: this.#unicode, groups: this.#captures, looks: this.#looks, words: this.#words,
      refers: this.#refers, bounds,
    }
  }

  #choice(): Syntax {
    if (++this.#depth > deepest) throw new Exhausted()
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth--
    const [only] = options
    return options.length === 1 && only !== undefined ? only : { type: 'choice', options }
  }

  #sequence(): Syntax {
    const parts: Syntax[] = []
    // At the end it peeks '', which every text includes.
    while (!'|)'.includes(this.#peek())) parts.push(this.#term())
    const [only] = parts
    return parts.length === 1 && only !== undefined ? only : { type: 'sequence', parts }
  }

  #term(): Syntax {
    const char = this.#peek()
    if (!isSpecial(char)) {
      this.#at++
      return this.#repeated(this.#one(codeOf(char)), this.#opened)
    }
    if (this.#take('^')) return { type: 'assert', what: 'start' }
    if (this.#take('$')) return { type: 'assert', what: 'end' }
    if (char === '\\' && (this.#peek(1) === 'b' || this.#peek(1) === 'B')) {
      this.#words = true
      this.#at += 2
      return { type: 'assert', what: this.#peek(-1) === 'b' ? 'boundary' : 'inside' }
    }
    const opened = this.#opened
    return this.#repeated(this.#atom(), opened)
  }

  /** @param opened how many groups were opened before it */
  #repeated(body: Syntax, opened: number): Syntax {
    const [min, max] = this.#quantifier() ?? []
    if (min === undefined || max === undefined) return body
    this.#budget.spend(10)
    // Only the older syntax lets a look-ahead be repeated.
    if (body.type === 'look' && (this.#unicode || body.behind)) throw malformed
    if (max > smallCount && max < Infinity) this.#bounds.add(max)
    return { type: 'repeat', body, min, max, lazy: this.#take('?'), groups: [opened + 1, this.#opened + 1] }
  }

  /** The class of one character; the same object each time, so that the alphabet stays small. */
  #one(code: number): CharacterClass {
    const known = this.#literals.get(code)
    if (known !== undefined) return known
    const one: CharacterClass = { type: 'class', ranges: [[code, code]], others: none, negated: false }
    this.#literals.set(code, one)
    return one
  }

  #quantifier(): readonly [number, number] | undefined {
    if (!isSpecial(this.#peek())) return undefined
    if (this.#take('*')) return [0, Infinity]
    if (this.#take('+')) return [1, Infinity]
    if (this.#take('?')) return [0, 1]
    if (this.#peek() !== '{') return undefined
    this.#budget.spend(20)
    const ahead = isDigit(this.#peek(1)) ? this.#chars.slice(this.#at, this.#at + longestQuantifier) : []
    const text = ahead.join('')
    const [whole, least, comma, most] = quantifier.exec(text) ?? []
    if (whole === undefined) {
      if (this.#unicode) throw malformed
      return undefined
    }
    this.#at += whole.length
    const min = Math.min(Number(least), endless)
    const max = comma === undefined ? min : most === '' ? endless : Math.min(Number(most), endless)
    if (min > max) throw malformed
    return [min, max === endless ? Infinity : max]
  }

  #atom(): Syntax {
    if (this.#take('.')) return dot
    if (this.#take('[')) return this.#class()
    if (this.#take('(')) return this.#group()
    if (this.#take('\\')) return this.#atomEscape()
    const char = this.#next()
    if ('*+?)'.includes(char)) throw malformed
    if ('{}]'.includes(char)) {
      this.#at--
      // In the older syntax these are literals, unless they form a quantifier.
      if (this.#unicode || this.#quantifier() !== undefined) throw malformed
      this.#at++
    }
    return this.#one(codeOf(char))
  }

  #group(): Syntax {
    if (!this.#take('?')) return this.#capture(++this.#opened)
    // In a sequence of its own, so that a look-around inside may be repeated.
    if (this.#take(':')) return { type: 'sequence', parts: [this.#body()] }
    const behind = this.#peek() === '<' && (this.#peek(1) === '=' || this.#peek(1) === '!')
    if (!behind && this.#take('<')) {
      const index = ++this.#opened
      const group = this.#name()
      if (group.index !== 0) throw malformed
      group.index = index
      return this.#capture(index)
    }
    if (behind) this.#at++
    const negated = this.#take('!')
    if (!negated && !this.#take('=')) throw malformed
    const look: LookAround = { type: 'look', body: this.#body(), behind, negated, index: this.#looks.length }
    this.#looks.push(look)
    return look
  }

  #capture(index: number): Syntax {
    return { type: 'group', body: this.#body(), index }
  }

  #body(): Syntax {
    this.#budget.spend(40)
    const body = this.#choice()
    if (!this.#take(')')) throw malformed
    return body
  }

  /** The group of a name, which is read up to its `>`; the group may come later. */
  #name(): { index: number } {
    const close = this.#chars.indexOf('>', this.#at)
    if (close === -1) throw malformed
    this.#budget.spend(10 * (close - this.#at))
    const unescape = (escape: string, braced?: string, four?: string): string => {
      const code = parseInt(braced ?? four ?? '', 16)
      if (braced === undefined) return String.fromCharCode(code)
      return code > 0x10ffff ? escape : String.fromCodePoint(code)
    }
    const name = this.#chars.slice(this.#at, close).join('')
      .replace(/\\u(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{4}))/g, unescape)
    if (!identifier.test(name)) throw malformed
    this.#at = close + 1
    const key = nameKey(name)
    const group = this.#names.get(key) ?? { index: 0 }
    this.#names.set(key, group)
    return group
  }

  /** An escape outside of a class, after its backslash. */
  #atomEscape(): Syntax {
    const text = isDigit(this.#peek()) ? this.#chars.slice(this.#at, this.#at + 9).join('') : ''
    const [number] = /^[1-9]\d{0,8}/.exec(text) ?? []
    if (number !== undefined && (this.#unicode || Number(number) <= this.#captures)) {
      if (Number(number) > this.#captures) throw malformed
      this.#at += number.length
      return this.#reference({ index: Number(number) })
    }
    if (this.#peek() === 'k' && (this.#unicode || this.#named)) {
      if (!this.#takeAll('k<')) throw malformed
      return this.#reference(this.#name())
    }
    return this.#escape(false)
  }

  #class(): CharacterClass {
    const negated = this.#take('^')
    const ranges: (readonly [number, number])[] = []
    const others = new Set<CharacterClass>()
    const add = (part: CharacterClass) => {
      if (isPlain(part)) ranges.push(...part.ranges)
      else others.add(part)
    }
    while (!this.#take(']')) {
      const from = this.#classAtom()
      if (this.#peek() !== '-' || this.#peek(1) === ']' || this.#peek(1) === '') {
        add(from)
        continue
      }
      this.#at++
      const to = this.#classAtom()
      const [low, high] = [single(from), single(to)]
      if (low !== undefined && high !== undefined) {
        if (low > high) throw malformed
        ranges.push([low, high])
      } else if (this.#unicode) throw malformed
      // In the older syntax the hyphen of `[\w-.]` is a literal.
      else for (const part of [from, this.#one(0x2d), to]) add(part)
    }
    // For an object for each character, and for sorting.
    this.#budget.spend(16 + 24 * ranges.length)
    return classOf(ranges, negated, [...others])
  }

  #classAtom(): CharacterClass {
    return this.#take('\\') ? this.#escape(true) : this.#one(codeOf(this.#next()))
  }

  #escape(inClass: boolean): CharacterClass {
    const char = this.#next()
    const named = escapes.get(char)
    if (named !== undefined) return named
    const control = controls.get(char)
    if (control !== undefined) return this.#one(control)
    if (char === 'b' && inClass) return this.#one(0x08)
    if (char === 'c') return this.#control(inClass)
    if (char === 'x' || char === 'u') return this.#hex(char)
    if ((char === 'p' || char === 'P') && this.#unicode) return this.#property(char)
    if (/\d/.test(char)) return this.#octal(char)
    const isLiteral = this.#unicode
      ? /[\^$\\.*+?()[\]{}|/]/.test(char) || (inClass && char === '-')
      : char !== 'k' || !this.#named
    if (!isLiteral) throw malformed
    return this.#one(codeOf(char))
  }

  #control(inClass: boolean): CharacterClass {
    const letter = inClass && !this.#unicode ? /\w/ : /[A-Za-z]/
    if (letter.test(this.#peek())) return this.#one(codeOf(this.#next()) % 32)
    if (this.#unicode) throw malformed
    // In the older syntax the backslash is a literal, and the `c` after it another one.
    this.#at--
    return this.#one(0x5c)
  }

  #hex(char: 'x' | 'u'): CharacterClass {
    if (char === 'u' && this.#unicode && this.#take('{')) return this.#braced()
    this.#budget.spend(20)
    const code = this.#digits(char === 'x' ? 2 : 4)
    if (code === undefined) {
      if (this.#unicode) throw malformed
      return this.#one(codeOf(char))
    }
    // Two escapes may form a surrogate pair.
    const from = this.#at
    if (this.#unicode && code >= 0xd800 && code <= 0xdbff && this.#takeAll('\\u')) {
      const low = this.#digits(4)
      if (low !== undefined && low >= 0xdc00 && low <= 0xdfff) {
        return this.#one(((code - 0xd800) << 10) + (low - 0xdc00) + 0x10000)
      }
      this.#at = from
    }
    return this.#one(code)
  }

  #digits(length: number): number | undefined {
    const text = this.#chars.slice(this.#at, this.#at + length).join('')
    if (text.length !== length || !/^[0-9A-Fa-f]+$/.test(text)) return undefined
    this.#at += length
    return parseInt(text, 16)
  }

  #braced(): CharacterClass {
    let code = 0
    let count = 0
    for (; this.#peek() !== '}'; count++) {
      const digit = this.#next()
      if (!/[0-9A-Fa-f]/.test(digit)) throw malformed
      code = code * 16 + parseInt(digit, 16)
      if (code > 0x10ffff) throw malformed
    }
    this.#at++
    if (count === 0) throw malformed
    return this.#one(code)
  }

  #property(char: 'p' | 'P'): CharacterClass {
    const close = this.#chars.indexOf('}', this.#at)
    this.#budget.spend(Math.max(0, close - this.#at))
    const escape = `\\${char}${this.#chars.slice(this.#at, close + 1).join('')}`
    const known = this.#properties.get(escape)
    const property = known?.property ?? propertyOf(escape, this.#budget)
    if (property === undefined) throw malformed
    this.#at = close + 1
    const made = known ?? { ...classOf([]), property }
    this.#properties.set(escape, made)
    return made
  }

  /** `\0`; in the older syntax also up to three octal digits, and 8 and 9 as literals. */
  #octal(first: string): CharacterClass {
    if (this.#unicode) {
      if (first !== '0' || /\d/.test(this.#peek())) throw malformed
      return this.#one(0)
    }
    if (first > '7') return this.#one(codeOf(first))
    let code = Number(first)
    for (let more = first > '3' ? 1 : 2; more > 0 && /[0-7]/.test(this.#peek()); more--) {
      code = code * 8 + Number(this.#next())
    }
    return this.#one(code)
  }

  #reference(group: { readonly index: number }): Syntax {
    this.#refers = true
    return { type: 'reference', group }
  }

  #peek(ahead = 0): string {
    return this.#chars[this.#at + ahead] ?? ''
  }

  #next(): string {
    const char = this.#chars[this.#at++]
    if (char === undefined) throw malformed
    return char
  }

  #take(char: string): boolean {
    if (this.#chars[this.#at] !== char) return false
    this.#at++
    return true
  }

  #takeAll(chars: string): boolean {
    for (let index = 0; index < chars.length; index++) if (this.#peek(index) !== chars[index]) return false
    this.#at += chars.length
    return true
  }
}

const codeOf = (char: string): number => char.codePointAt(0) ?? 0

/** Whether the class consists of its ranges alone. */
const isPlain = ({ property, others, negated }: CharacterClass): boolean =>
  property === undefined && others.length === 0 && !negated

const single = (part: CharacterClass): number | undefined => {
  const [range] = part.ranges
  if (range === undefined || part.ranges.length > 1 || !isPlain(part)) return undefined
  return range[0] === range[1] ? range[0] : undefined
}
