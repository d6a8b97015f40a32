import type { Budget } from '../budget.js'
import { contains, type CharacterClass } from './syntax.js'

/** The number in place of a character's kind where there is none: before the text and after it. */
export const noCharacter = 0
/** The number in place of a kind that is not computed yet. It is greater than every kind. */
export const unknownKind = 2 ** 30

const bytesOfEntry = 200
const bytesOfPage = 1100
const emptyPage = new Int32Array(256).fill(unknownKind)

/**
 * Numbers the characters and the positions of a text for the automata of one pattern. Characters that are in
 * the same classes of the pattern have one number, their kind. Positions of which the same facts (see
 * states.ts) are known have one number, their place.
 */
export class Alphabet {
  readonly #classes = new Map<CharacterClass, number>()
  /** For each kind: `-`, then 1 or 0 for each class, whether the kind is in it. Empty for `noCharacter`. */
  readonly #members = new Numbering()
  /** For each place: for each fact whether it holds (1 or 0). */
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

  kindOf(code: number, budget: Budget): number {
    const known = this.#pages[code >> 8]?.[code & 0xff] ?? unknownKind
    return known === unknownKind ? this.#find(code, budget) : known
  }

  /**
   * The known kinds of the 256 code units of a page. A page of high surrogates is always empty, because a
   * surrogate pair may be one character with another kind.
   */
  pageOf(number: number): Int32Array {
    return number >= 0xd8 && number <= 0xdb ? emptyPage : (this.#pages[number] ?? emptyPage)
  }

  factsOf(place: number): string {
    return this.#facts.texts[place] ?? ''
  }

  placeOf(facts: string, budget: Budget): number {
    return this.#facts.numberOf(facts, budget)
  }

  /** The place with the facts of `place` and one fact more. */
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
  return emptyPage.slice()
}

/** Gives each text a number; equal texts have the same number. */
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

/**
 * A text in the form that the automata of a pattern with look-arounds or word boundaries read: the kinds of
 * its characters and the places of its positions.
 */
export class ClassifiedText {
  readonly length: number
  /** The kinds of the characters, with `noCharacter` before the first and after the last. */
  readonly kinds: Int32Array
  /** The places of the positions before, between and after the characters. */
  readonly places: Int32Array

  /** @param word the number of the class of word characters */
  constructor(
    text: string, unicode: boolean, private readonly alphabet: Alphabet, word: number, budget: Budget,
  ) {
    budget.spend(20 + 2 * text.length)
    this.kinds = new Int32Array(text.length + 2).fill(noCharacter)
    let length = 0
    for (let at = 0; at < text.length; at++) {
      const code = (unicode ? text.codePointAt(at) : text.charCodeAt(at)) ?? 0
      if (code > 0xffff) at++
      this.kinds[++length] = alphabet.kindOf(code, budget)
    }
    this.length = length
    this.places = new Int32Array(length + 1)
    // Looked up for each character: there may be far more kinds than the text has characters.
    const isWord = (at: number): boolean => alphabet.isMember(this.kinds[at] ?? noCharacter, word)
    const [inside, boundary] = [alphabet.placeOf('000', budget), alphabet.placeOf('001', budget)]
    for (let at = 0; at <= length; at++) {
      this.places[at] = isWord(at) === isWord(at + 1) ? inside : boundary
    }
    for (const at of new Set([0, length])) {
      const facts = `${Number(at === 0)}${Number(at === length)}${this.factsAt(at).slice(2)}`
      this.places[at] = alphabet.placeOf(facts, budget)
    }
  }

  factsAt(at: number): string {
    return this.alphabet.factsOf(this.places[at] ?? 0)
  }
}
