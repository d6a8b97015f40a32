import { Exhausted, nameKey, type Budget } from '../budget.js'
import { CharacterReader, codePointOf, Cursor, malformed } from './characters.js'
import { classOf, type LookAround, type ParsedPattern, type Syntax } from './syntax.js'

/** Deeper groups are refused: parsing and compiling them is recursive. */
const deepest = 250

/** A repetition's maximum above this is ignored for texts that are too short to exceed it. */
export const smallCount = 100

/** V8 treats this count as no limit. */
const endless = 2 ** 31 - 1

/**
 * Parses a regular expression of ECMA-262: with the `u` flag, as JSON Schema recommends, or else by the older
 * syntax of Annex B, which many schemas use (`[\w-.]`, `\-`).
 * @returns undefined when it is neither
 */
export const parsePattern = (source: string, budget: Budget): ParsedPattern | undefined =>
  parseAs(source, true, budget) ?? parseAs(source, false, budget)

export const parseAs = (source: string, unicode: boolean, budget: Budget): ParsedPattern | undefined => {
  budget.spend(400 + 6 * source.length)
  try {
    return new Parser(source, unicode, budget).parse()
  } catch (error) {
    if (error === malformed) return undefined
    throw error
  }
}

const dot = classOf([[0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]], true)
const quantifier = /^\{(\d+)(,(\d*))?\}/
/** A quantifier has no more characters. */
const longestQuantifier = 50
const identifier = /^[$_\p{ID_Start}][$\u200c\u200d\p{ID_Continue}]*$/u

const special: ReadonlySet<string> = new Set('^$\\.*+?()[]{}|')
const isSpecial = (char: string): boolean => special.has(char)
const isDigit = (char: string): boolean => char >= '0' && char <= '9'

class Parser {
  readonly #cursor: Cursor
  readonly #characters: CharacterReader
  readonly #names = new Map<string, { index: number }>()
  /** The meaning of `\1` depends on the count of groups. */
  readonly #captures: number
  /** The meaning of `\k` depends on whether a group has a name. */
  readonly #named: boolean
  readonly #looks: LookAround[] = []
  readonly #bounds = new Set<number>()
  #words = false
  #refers = false
  #opened = 0
  #depth = 0

  constructor(source: string, private readonly unicode: boolean, private readonly budget: Budget) {
    this.#cursor = new Cursor(
      unicode && /[\ud800-\udbff]/.test(source) ? Array.from(source) : source.split(''),
    )
    const plain = source.replace(/\\[^]|\[(?:\\[^]|[^\]\\])*\]?/g, '.')
    const groups = plain.match(/\((?!\?)|\(\?<(?![=!])/g) ?? []
    this.#captures = groups.length
    this.#named = groups.some(group => group.length > 1)
    this.#characters = new CharacterReader(this.#cursor, unicode, this.#named, budget)
  }

  parse(): ParsedPattern {
    const root = this.#choice()
    if (!this.#cursor.isAtEnd) throw malformed
    for (const { index } of this.#names.values()) if (index === 0) throw malformed
    const bounds = [...this.#bounds].sort((a, b) => a - b)
    return {
      root, unicode: this.unicode, groups: this.#captures, looks: this.#looks, words: this.#words,
      refers: this.#refers, bounds,
    }
  }

  #choice(): Syntax {
    if (++this.#depth > deepest) throw new Exhausted()
    const options = [this.#sequence()]
    while (this.#cursor.take('|')) options.push(this.#sequence())
    this.#depth--
    const [only] = options
    return options.length === 1 && only !== undefined ? only : { type: 'choice', options }
  }

  #sequence(): Syntax {
    const parts: Syntax[] = []
    // At the end it peeks '', which every text includes.
    while (!'|)'.includes(this.#cursor.peek())) parts.push(this.#term())
    const [only] = parts
    return parts.length === 1 && only !== undefined ? only : { type: 'sequence', parts }
  }

  #term(): Syntax {
    const char = this.#cursor.peek()
    if (!isSpecial(char)) {
      this.#cursor.skip(1)
      return this.#repeated(this.#characters.one(codePointOf(char)), this.#opened)
    }
    if (this.#cursor.take('^')) return { type: 'assert', what: 'start' }
    if (this.#cursor.take('$')) return { type: 'assert', what: 'end' }
    if (char === '\\' && (this.#cursor.peek(1) === 'b' || this.#cursor.peek(1) === 'B')) {
      this.#words = true
      this.#cursor.skip(2)
      return { type: 'assert', what: this.#cursor.peek(-1) === 'b' ? 'boundary' : 'inside' }
    }
    const opened = this.#opened
    return this.#repeated(this.#atom(), opened)
  }

  /** @param opened how many groups were opened before it */
  #repeated(body: Syntax, opened: number): Syntax {
    const [min, max] = this.#quantifier() ?? []
    if (min === undefined || max === undefined) return body
    this.budget.spend(10)
    // Only the older syntax lets a look-ahead be repeated.
    if (body.type === 'look' && (this.unicode || body.behind)) throw malformed
    if (max > smallCount && max < Infinity) this.#bounds.add(max)
    return { type: 'repeat', body, min, max, lazy: this.#cursor.take('?'), groups: [opened + 1, this.#opened + 1] }
  }

  #quantifier(): readonly [number, number] | undefined {
    if (!isSpecial(this.#cursor.peek())) return undefined
    if (this.#cursor.take('*')) return [0, Infinity]
    if (this.#cursor.take('+')) return [1, Infinity]
    if (this.#cursor.take('?')) return [0, 1]
    if (this.#cursor.peek() !== '{') return undefined
    this.budget.spend(20)
    const text = isDigit(this.#cursor.peek(1)) ? this.#cursor.text(longestQuantifier) : ''
    const [whole, least, comma, most] = quantifier.exec(text) ?? []
    if (whole === undefined) {
      if (this.unicode) throw malformed
      return undefined
    }
    this.#cursor.skip(whole.length)
    const min = Math.min(Number(least), endless)
    const max = comma === undefined ? min : most === '' ? endless : Math.min(Number(most), endless)
    if (min > max) throw malformed
    return [min, max === endless ? Infinity : max]
  }

  #atom(): Syntax {
    if (this.#cursor.take('.')) return dot
    if (this.#cursor.take('[')) return this.#characters.class()
    if (this.#cursor.take('(')) return this.#group()
    if (this.#cursor.take('\\')) return this.#atomEscape()
    const char = this.#cursor.next()
    if ('*+?)'.includes(char)) throw malformed
    if ('{}]'.includes(char)) {
      this.#cursor.skip(-1)
      // In the older syntax these are literals, unless they form a quantifier.
      if (this.unicode || this.#quantifier() !== undefined) throw malformed
      this.#cursor.skip(1)
    }
    return this.#characters.one(codePointOf(char))
  }

  #group(): Syntax {
    if (!this.#cursor.take('?')) return this.#capture(++this.#opened)
    // In a sequence of its own, so that a look-around inside may be repeated.
    if (this.#cursor.take(':')) return { type: 'sequence', parts: [this.#body()] }
    const behind = this.#cursor.peek() === '<' && (this.#cursor.peek(1) === '=' || this.#cursor.peek(1) === '!')
    if (!behind && this.#cursor.take('<')) {
      const index = ++this.#opened
      const group = this.#name()
      if (group.index !== 0) throw malformed
      group.index = index
      return this.#capture(index)
    }
    if (behind) this.#cursor.skip(1)
    const negated = this.#cursor.take('!')
    if (!negated && !this.#cursor.take('=')) throw malformed
    const look: LookAround = { type: 'look', body: this.#body(), behind, negated, index: this.#looks.length }
    this.#looks.push(look)
    return look
  }

  #capture(index: number): Syntax {
    return { type: 'group', body: this.#body(), index }
  }

  #body(): Syntax {
    this.budget.spend(40)
    const body = this.#choice()
    if (!this.#cursor.take(')')) throw malformed
    return body
  }

  /** The group of a name, which is read up to its `>`; the group may come later. */
  #name(): { index: number } {
    const length = this.#cursor.distanceTo('>')
    if (length === -1) throw malformed
    this.budget.spend(10 * length)
    const unescape = (escape: string, braced?: string, four?: string): string => {
      const code = parseInt(braced ?? four ?? '', 16)
      if (braced === undefined) return String.fromCharCode(code)
      return code > 0x10ffff ? escape : String.fromCodePoint(code)
    }
    const name = this.#cursor.text(length)
      .replace(/\\u(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{4}))/g, unescape)
    if (!identifier.test(name)) throw malformed
    this.#cursor.skip(length + 1)
    const key = nameKey(name)
    const group = this.#names.get(key) ?? { index: 0 }
    this.#names.set(key, group)
    return group
  }

  /** An escape outside of a class, after its backslash. */
  #atomEscape(): Syntax {
    const text = isDigit(this.#cursor.peek()) ? this.#cursor.text(9) : ''
    const [number] = /^[1-9]\d{0,8}/.exec(text) ?? []
    if (number !== undefined && (this.unicode || Number(number) <= this.#captures)) {
      if (Number(number) > this.#captures) throw malformed
      this.#cursor.skip(number.length)
      return this.#reference({ index: Number(number) })
    }
    if (this.#cursor.peek() === 'k' && (this.unicode || this.#named)) {
      if (!this.#cursor.takeAll('k<')) throw malformed
      return this.#reference(this.#name())
    }
    return this.#characters.escape(false)
  }

  #reference(group: { readonly index: number }): Syntax {
    this.#refers = true
    return { type: 'reference', group }
  }
}
