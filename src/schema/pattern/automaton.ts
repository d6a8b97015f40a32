import { Exhausted, type Budget } from '../budget.js'
import { nameKey } from '../values/name-key.js'
import { contains, type CharacterClass } from './character-class.js'
import type { Parsed, Syntax } from './syntax.js'

/** A state of the automaton that has many at a time. */
interface State {
  readonly type: 'class' | 'either' | 'start' | 'end' | 'match'
  /** Where it leads to, by number. */
  readonly next: number
  readonly other: number
  /** The number of its class. */
  readonly class: number
}

/** A set of states, which is one state of the automaton that has one at a time. */
interface StateSet {
  /** Those that wait for a character. */
  readonly waiting: readonly number[]
  /** Whether there is a match if nothing comes. */
  readonly matchesAtEnd: boolean
}

/** The automaton that has one state at a time. */
export interface Whole {
  /** The set that it begins with, by number, or what stands in place of one. */
  readonly first: number
  /** How many kinds of characters there are. */
  readonly width: number
  /** The kind of each character of ASCII. */
  readonly kinds: readonly number[]
  /** Of each set: whether there is a match if nothing comes (1 or 0), and the set that each kind leads to. */
  readonly rows: readonly number[]
}

/** In place of a set's number: where a character leads to was not found out yet; there is a match, whatever comes; there never will be one. */
const unknown = -1
export const matched = -2
export const failed = -3

/** Larger ones would take more memory than any pattern is worth. */
const mostStates = 20_000
/** Sets are forgotten when there would be more places in their table. */
const mostPlaces = 50_000

const bytesOfState = 80
const bytesOfSet = 300

/**
 * Matches a regular pattern in time linear in the text: all ways through it are gone at once (K. Thompson, Regular expression
 * search algorithm, 1968), and each set of states that was met is kept, with where it leads to.
 */
export class Automaton {
  readonly #unicode: boolean
  readonly #states: State[] = []
  readonly #classes: CharacterClass[] = []
  readonly #numbers = new Map<CharacterClass, number>()
  readonly #start: number
  /** Whether a match can begin at the text's beginning only. */
  readonly #anchored: boolean
  #sets: StateSet[] = []
  readonly #setNumbers = new Map<string, number>()
  /** Where each set leads to, by kind of character; a row of `1 << #shift` places for each. */
  #table: Int32Array = new Int32Array(64).fill(unknown)
  #shift = 2
  #first = unknown
  /** Kinds of characters: those of one kind are in the same classes, which are noted for each kind. */
  readonly #kinds = new Map<string, number>()
  readonly #members: (readonly boolean[])[] = []
  /** The kind of each character up to U+00FF, once it is known. */
  readonly #known = new Int32Array(256).fill(unknown)
  /** The search by which each state was found last. */
  readonly #marks: Uint32Array
  #search = 0

  constructor({ root, unicode }: Parsed, budget: Budget) {
    this.#unicode = unicode
    this.#start = this.#add(root, this.#state('match', -1, budget), budget)
    this.#marks = new Uint32Array(this.#states.length)
    const later = this.#closure([this.#start], false, true, budget)
    this.#anchored = later.waiting.length === 0 && !later.matches
  }

  /** Whether there is a match anywhere in a text. */
  test(text: string, budget: Budget): boolean {
    const { length } = text
    budget.spend(5 + (length >> 1))
    if (this.#first === unknown) this.#first = this.#setOf([this.#start], true, budget)
    const kinds = this.#known
    let table = this.#table
    let shift = this.#shift
    let set = this.#first
    for (let at = 0; at < length && set >= 0; at++) {
      const code = text.charCodeAt(at)
      const kind = code < 256 ? (kinds[code] ?? unknown) : unknown
      const next = kind === unknown ? unknown : (table[(set << shift) + kind] ?? unknown)
      if (next !== unknown) {
        set = next
        continue
      }
      const whole = this.#unicode ? (text.codePointAt(at) ?? code) : code
      if (whole > 0xffff) at++
      set = this.#follow(set, this.#kindOf(whole, budget), budget)
      table = this.#table
      shift = this.#shift
    }
    return set >= 0 ? this.#sets[set]?.matchesAtEnd === true : set === matched
  }

  /** All of it, for texts of ASCII, found out at once; undefined when there would be more sets than so many. */
  whole(most: number, budget: Budget): Whole | undefined {
    const kinds = Array.from({ length: 128 }, (_, code) => this.#kindOf(code, budget))
    const width = this.#members.length
    if (most * width > mostPlaces / 4) return undefined
    const first = this.#setOf([this.#start], true, budget)
    const rows: number[] = []
    for (let set = 0; set < this.#sets.length; set++) {
      rows.push(Number(this.#sets[set]?.matchesAtEnd))
      for (let kind = 0; kind < width; kind++) rows.push(this.#follow(set, kind, budget))
      if (this.#sets.length > most) return undefined
    }
    return { first, width, kinds, rows }
  }

  /** Adds the states of a part. @returns the first of them; what comes after it is there already */
  #add(syntax: Syntax, next: number, budget: Budget): number {
    switch (syntax.type) {
      case 'class':
        return this.#state('class', next, budget, { class: this.#numberOf(syntax) })
      case 'group':
        return this.#add(syntax.body, next, budget)
      case 'sequence':
        return syntax.parts.reduceRight((after, part) => this.#add(part, after, budget), next)
      case 'choice':
        return syntax.options.map(option => this.#add(option, next, budget)).reduce((one, other) => this.#state('either', one, budget, { other }))
      case 'repeat': {
        const { body, min, max } = syntax
        let start = next
        if (max === Infinity) {
          // The loop's own state is there before the body that leads back to it.
          start = this.#state('either', next, budget)
          this.#states[start] = { type: 'either', next: this.#add(body, start, budget), other: next, class: -1 }
        } else for (let count = min; count < max; count++) start = this.#state('either', this.#add(body, start, budget), budget, { other: next })
        for (let count = 0; count < min; count++) start = this.#add(body, start, budget)
        return start
      }
      case 'assert':
        if (syntax.what === 'start' || syntax.what === 'end') return this.#state(syntax.what, next, budget)
        throw new Error('irregular')
      case 'look':
      case 'reference':
        throw new Error('irregular')
    }
  }

  #state(type: State['type'], next: number, budget: Budget, more: Partial<State> = {}): number {
    budget.spend(20)
    budget.keep(bytesOfState)
    if (this.#states.length >= mostStates) throw new Exhausted()
    return this.#states.push({ type, next, other: more.other ?? -1, class: more.class ?? -1 }) - 1
  }

  #numberOf(one: CharacterClass): number {
    const number = this.#numbers.get(one) ?? this.#classes.push(one) - 1
    this.#numbers.set(one, number)
    return number
  }

  #kindOf(code: number, budget: Budget): number {
    budget.spend(10 + 5 * this.#classes.length)
    const member = this.#classes.map(one => contains(one, code, budget))
    const key = nameKey(member.map(Number).join(''))
    let kind = this.#kinds.get(key)
    if (kind === undefined) {
      kind = this.#members.push(member) - 1
      budget.keep(bytesOfSet + 10 * member.length)
      this.#kinds.set(key, kind)
      if (kind >> this.#shift > 0) this.#widen()
    }
    if (code < 256) this.#known[code] = kind
    return kind
  }

  /** The set that a character of this kind leads to; another match may begin after it. */
  #follow(set: number, kind: number, budget: Budget): number {
    const place = (set << this.#shift) + kind
    const known = this.#table[place]
    if (known !== undefined && known !== unknown) return known
    const member = this.#members[kind] ?? []
    const waiting = this.#sets[set]?.waiting ?? []
    budget.spend(10 + 2 * waiting.length)
    const starts = waiting.flatMap(number => {
      const state = this.#states[number]
      return state !== undefined && member[state.class] === true ? [state.next] : []
    })
    const sets = this.#sets
    const next = this.#setOf(this.#anchored ? starts : [...starts, this.#start], false, budget)
    // They may have been forgotten.
    if (this.#sets === sets) this.#table[place] = next
    return next
  }

  #setOf(starts: readonly number[], atStart: boolean, budget: Budget): number {
    const { waiting, matches } = this.#closure(starts, atStart, false, budget)
    if (matches) return matched
    const matchesAtEnd = this.#closure(starts, atStart, true, budget).matches
    if (this.#anchored && waiting.length === 0 && !matchesAtEnd) return failed
    const key = nameKey(`${Number(matchesAtEnd)} ${waiting.join()}`)
    const known = this.#setNumbers.get(key)
    if (known !== undefined) return known
    if ((this.#sets.length + 1) << this.#shift > mostPlaces) this.#forget()
    budget.keep(bytesOfSet + 20 * waiting.length)
    const number = this.#sets.push({ waiting, matchesAtEnd }) - 1
    this.#setNumbers.set(key, number)
    if (this.#sets.length << this.#shift > this.#table.length) this.#table = copied(this.#table, 2 * this.#table.length)
    return number
  }

  #forget(): void {
    this.#sets = []
    this.#setNumbers.clear()
    this.#table.fill(unknown)
    this.#first = unknown
  }

  /** Rows of twice the places. */
  #widen(): void {
    const narrow = this.#table
    const width = 1 << this.#shift++
    this.#table = new Int32Array(2 * narrow.length).fill(unknown)
    for (let from = 0; from < narrow.length; from += width) this.#table.set(narrow.subarray(from, from + width), 2 * from)
  }

  /** All states that these lead to without a character. */
  #closure(starts: readonly number[], atStart: boolean, atEnd: boolean, budget: Budget): { readonly waiting: readonly number[]; readonly matches: boolean } {
    const waiting: number[] = []
    const open = [...starts]
    this.#search++
    for (let number = open.pop(); number !== undefined; number = open.pop()) {
      budget.spend(3)
      const state = this.#states[number]
      if (state === undefined || this.#marks[number] === this.#search) continue
      this.#marks[number] = this.#search
      if (state.type === 'match') return { waiting, matches: true }
      if (state.type === 'class') waiting.push(number)
      else if (state.type === 'either') open.push(state.other, state.next)
      else if (state.type === 'start' ? atStart : atEnd) open.push(state.next)
    }
    return { waiting: waiting.sort((a, b) => a - b), matches: false }
  }
}

const copied = (table: Int32Array, length: number): Int32Array => {
  const copy = new Int32Array(length).fill(unknown)
  copy.set(table)
  return copy
}
