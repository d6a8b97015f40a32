import type { Budget } from '../budget.js'
import { contains, type CharacterClass } from './character-class.js'

const unknown = -1
/** In place of a character's kind: there is none. */
export const noCharacter = 0

const bytesOfEntry = 200
const bytesOfPage = 1100

/** What a pattern tells apart in texts: kinds of characters, which are in the same classes, and places, of which the same facts are known. */
export class Alphabet {
  readonly #classes = new Map<CharacterClass, number>()
  /** Of each kind: a mark, and for each class whether it is in it (1 or 0). */
  readonly #members = new Numbering()
  /** Of each place: for each fact whether it holds (1 or 0). */
  readonly #facts = new Numbering()
  readonly #after: readonly [number[], number[]] = [[], []]
  /** The kinds of characters, 256 in a page. */
  readonly #pages: (Int32Array | undefined)[] = []

  constructor(budget: Budget) {
    this.#members.numberOf('', budget)
  }

  numberOf(one: CharacterClass): number {
    const number = this.#classes.get(one) ?? this.#classes.size
    this.#classes.set(one, number)
    return number
  }

  /** How many kinds are known. */
  get size(): number {
    return this.#members.texts.length
  }

  isMember(kind: number, one: number): boolean {
    return this.#members.texts[kind]?.charCodeAt(one + 1) === 0x31
  }

  /** The kind of a character; what it was found to be once is kept. */
  kindOf(code: number, budget: Budget): number {
    const known = this.#pages[code >> 8]?.[code & 0xff] ?? unknown
    return known === unknown ? this.#find(code, budget) : known
  }

  factsOf(place: number): string {
    return this.#facts.texts[place] ?? ''
  }

  placeOf(facts: string, budget: Budget): number {
    return this.#facts.numberOf(facts, budget)
  }

  /** The place of which one fact more is known. */
  placeAfter(place: number, holds: boolean, budget: Budget): number {
    const known = this.#after[holds ? 1 : 0]
    return (known[place] ??= this.placeOf(`${this.factsOf(place)}${Number(holds)}`, budget))
  }

  #find(code: number, budget: Budget): number {
    budget.spend(20 + 8 * this.#classes.size)
    let members = '-'
    for (const one of this.#classes.keys()) members += contains(one, code, budget) ? '1' : '0'
    const page = (this.#pages[code >> 8] ??= newPage(budget))
    return (page[code & 0xff] = this.#members.numberOf(members, budget))
  }
}

const newPage = (budget: Budget): Int32Array => {
  budget.spend(20)
  budget.keep(bytesOfPage)
  return new Int32Array(256).fill(unknown)
}

/** Texts by number, each once. */
class Numbering {
  readonly texts: string[] = []
  readonly #numbers = new Map<string, number>()

  numberOf(text: string, budget: Budget): number {
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    budget.spend(20 + (text.length >> 2))
    budget.keep(bytesOfEntry + text.length)
    const number = this.texts.push(text) - 1
    this.#numbers.set(text, number)
    return number
  }
}

/** A text as a pattern with look-arounds or word boundaries reads it. */
export class Symbols {
  readonly length: number
  /** The kinds of the characters, with none before and after them. */
  readonly kinds: Int32Array
  /** The places between them, by the facts that are known of each. */
  readonly places: Int32Array
  readonly #alphabet: Alphabet

  /** @param word the number of the class of word characters */
  constructor(text: string, unicode: boolean, alphabet: Alphabet, word: number, budget: Budget) {
    budget.spend(20 + 2 * text.length)
    this.#alphabet = alphabet
    this.kinds = new Int32Array(text.length + 2).fill(noCharacter)
    let length = 0
    for (let at = 0; at < text.length; at++) {
      const code = (unicode ? text.codePointAt(at) : text.charCodeAt(at)) ?? 0
      if (code > 0xffff) at++
      this.kinds[++length] = alphabet.kindOf(code, budget)
    }
    this.length = length
    this.places = new Int32Array(length + 1)
    const isWord = Array.from({ length: alphabet.size }, (_, kind) => alphabet.isMember(kind, word))
    const [inside, boundary] = [alphabet.placeOf('000', budget), alphabet.placeOf('001', budget)]
    for (let at = 0; at <= length; at++) {
      this.places[at] = isWord[this.kinds[at] ?? noCharacter] === isWord[this.kinds[at + 1] ?? noCharacter] ? inside : boundary
    }
    for (const at of new Set([0, length])) {
      const facts = `${Number(at === 0)}${Number(at === length)}${this.factsAt(at).slice(2)}`
      this.places[at] = alphabet.placeOf(facts, budget)
    }
  }

  factsAt(at: number): string {
    return this.#alphabet.factsOf(this.places[at] ?? 0)
  }
}
