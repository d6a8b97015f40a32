import { charSet, complement, digits, lineEnds, spaces, wordCharacters, type CharSet } from './char-set.js'

/** The part of ECMA-262's pattern syntax that is understood here; a pattern with more in it is left to the native engine. */
export type Syntax =
  /** One character; `set` is undefined where it depends on the engine's Unicode tables. */
  | { readonly type: 'set'; readonly set: CharSet | undefined }
  | { readonly type: 'sequence'; readonly parts: readonly Syntax[] }
  | { readonly type: 'choice'; readonly options: readonly Syntax[] }
  | { readonly type: 'repeat'; readonly body: Syntax; readonly min: number; readonly max: number }
  | { readonly type: 'assert'; readonly what: 'start' | 'end' | 'boundary' | 'inside' }

class NotUnderstood extends Error {}

const deepest = 50

/**
 * Reads a pattern that `new RegExp` accepts.
 * @param unicode whether it is read with the `u` flag
 * @returns undefined for what is not understood: look-around, back references, flags, surrogates
 */
export const parsePattern = (source: string, unicode: boolean): Syntax | undefined => {
  try {
    return new Parser(source, unicode).parse()
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined
    throw error
  }
}

const controls = new Map([['t', 0x09], ['n', 0x0a], ['v', 0x0b], ['f', 0x0c], ['r', 0x0d]])
const classes = new Map([
  ['d', digits], ['D', complement(digits)], ['w', wordCharacters], ['W', complement(wordCharacters)],
  ['s', spaces], ['S', complement(spaces)],
])

class Parser {
  readonly #chars: readonly string[]
  readonly #unicode: boolean
  #at = 0
  #depth = 0

  constructor(source: string, unicode: boolean) {
    this.#chars = unicode ? Array.from(source) : source.split('')
    this.#unicode = unicode
  }

  parse(): Syntax {
    const whole = this.#choice()
    if (this.#at < this.#chars.length) throw new NotUnderstood()
    return whole
  }

  #choice(): Syntax {
    if (++this.#depth > deepest) throw new NotUnderstood()
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth--
    const [only] = options
    return options.length === 1 && only !== undefined ? only : { type: 'choice', options }
  }

  #sequence(): Syntax {
    const parts: Syntax[] = []
    while (this.#at < this.#chars.length && this.#peek() !== '|' && this.#peek() !== ')') parts.push(this.#term())
    return { type: 'sequence', parts }
  }

  #term(): Syntax {
    if (this.#take('^')) return { type: 'assert', what: 'start' }
    if (this.#take('$')) return { type: 'assert', what: 'end' }
    if (this.#takeAll('\\b')) return { type: 'assert', what: 'boundary' }
    if (this.#takeAll('\\B')) return { type: 'assert', what: 'inside' }
    return this.#quantified(this.#atom())
  }

  #quantified(body: Syntax): Syntax {
    const [min, max] = this.#quantifier() ?? []
    if (min === undefined || max === undefined) return body
    // Lazy or greedy makes no difference to whether there is a match.
    this.#take('?')
    return { type: 'repeat', body, min, max }
  }

  #quantifier(): readonly [number, number] | undefined {
    if (this.#take('*')) return [0, Infinity]
    if (this.#take('+')) return [1, Infinity]
    if (this.#take('?')) return [0, 1]
    if (this.#peek() !== '{') return undefined
    const close = this.#chars.indexOf('}', this.#at)
    const [whole, min, comma, max] = /^\{(\d{1,6})(,(\d{0,6}))?\}$/.exec(this.#chars.slice(this.#at, close + 1).join('')) ?? []
    if (whole === undefined) throw new NotUnderstood()
    this.#at = close + 1
    return [Number(min), comma === undefined ? Number(min) : max === '' ? Infinity : Number(max)]
  }

  #atom(): Syntax {
    if (this.#take('.')) return { type: 'set', set: complement(lineEnds) }
    if (this.#take('[')) return { type: 'set', set: this.#class() }
    if (this.#take('(')) return this.#group()
    if (this.#take('\\')) return { type: 'set', set: this.#escape(false) }
    const char = this.#next()
    // Read without `u`, these may stand for themselves; too rare to be worth the rules for when.
    if (/[{}\])*+?]/.test(char)) throw new NotUnderstood()
    return { type: 'set', set: this.#one(char) }
  }

  #group(): Syntax {
    if (this.#take('?') && !this.#take(':')) {
      if (!this.#take('<') || this.#peek() === '=' || this.#peek() === '!') throw new NotUnderstood()
      while (this.#next() !== '>');
    }
    const body = this.#choice()
    if (!this.#take(')')) throw new NotUnderstood()
    return body
  }

  #class(): CharSet | undefined {
    const negated = this.#take('^')
    const ranges: (readonly [number, number])[] = []
    let known = true
    while (!this.#take(']')) {
      const from = this.#classAtom()
      if (from === undefined) known = false
      else if (this.#peek() === '-' && this.#chars[this.#at + 1] !== ']') {
        this.#at++
        const to = this.#classAtom()
        const [low, high] = [single(from), single(to)]
        if (low !== undefined && high !== undefined) ranges.push([low, high])
        else if (to === undefined) known = false
        // `[\w-.]`, which only the older syntax allows: the hyphen stands for itself.
        else ranges.push(...from, ...this.#one('-'), ...to)
      } else ranges.push(...from)
    }
    if (!known) return undefined
    return negated ? complement(charSet(...ranges)) : charSet(...ranges)
  }

  #classAtom(): CharSet | undefined {
    return this.#take('\\') ? this.#escape(true) : this.#one(this.#next())
  }

  #escape(inClass: boolean): CharSet | undefined {
    const char = this.#next()
    const named = classes.get(char)
    if (named !== undefined) return named
    const control = controls.get(char)
    if (control !== undefined) return charSet([control, control])
    if (char === 'x') return this.#hex(2)
    if (char === 'u') return this.#unicode && this.#take('{') ? this.#braced() : this.#hex(4)
    if ((char === 'p' || char === 'P') && this.#unicode) {
      while (this.#next() !== '}');
      return undefined
    }
    if (char === 'b' && inClass) return charSet([0x08, 0x08])
    if (char === '0' && !/\d/.test(this.#peek())) return charSet([0, 0])
    // Letters and digits left over are back references, control letters, or errors that only the older syntax forgives.
    if (/[0-9A-Za-z]/.test(char)) throw new NotUnderstood()
    return this.#one(char)
  }

  #hex(length: number): CharSet {
    const text = this.#chars.slice(this.#at, this.#at + length).join('')
    if (!/^[0-9A-Fa-f]+$/.test(text) || text.length !== length) throw new NotUnderstood()
    this.#at += length
    return this.#code(parseInt(text, 16))
  }

  #braced(): CharSet {
    const close = this.#chars.indexOf('}', this.#at)
    const text = this.#chars.slice(this.#at, close).join('')
    this.#at = close + 1
    return this.#code(parseInt(text, 16))
  }

  #one(char: string): CharSet {
    return this.#code(char.codePointAt(0) ?? NaN)
  }

  #code(code: number): CharSet {
    // Two escapes may make one character, or half of one may be meant: not worth telling apart.
    if (!(code >= 0) || (code >= 0xd800 && code <= 0xdfff)) throw new NotUnderstood()
    return charSet([code, code])
  }

  #peek(): string {
    return this.#chars[this.#at] ?? ''
  }

  #next(): string {
    const char = this.#chars[this.#at++]
    if (char === undefined) throw new NotUnderstood()
    return char
  }

  #take(char: string): boolean {
    if (this.#chars[this.#at] !== char) return false
    this.#at++
    return true
  }

  #takeAll(chars: string): boolean {
    if (!chars.split('').every((char, index) => this.#chars[this.#at + index] === char)) return false
    this.#at += chars.length
    return true
  }
}

const single = (set: CharSet | undefined): number | undefined => {
  const [range] = set ?? []
  return set?.length === 1 && range !== undefined && range[0] === range[1] ? range[0] : undefined
}
