import { nameKey, type Budget } from '../budget.js'
import { noCharacter, type Alphabet, type Symbols } from './alphabet.js'
import type { State } from './states.js'

/** A set of states of the nondeterministic automaton: one state of the deterministic one. */
interface StateSet {
  readonly states: readonly State[]
  /** Whether it is the first, where the text starts. */
  readonly isFirst: boolean
  /** By column, as far as they are known. */
  readonly steps: (Step | undefined)[]
}

interface Step {
  /** Whether there is a match before the next character. */
  readonly matches: boolean
  /** The set after it; undefined when there never will be a match. */
  readonly to: StateSet | undefined
}

/** A deterministic automaton for texts of ASCII. */
export interface Dfa {
  /** The set that it begins with, by number. */
  readonly first: number
  /** How many kinds of characters there are. */
  readonly width: number
  /** The kind of each character of ASCII. */
  readonly kinds: readonly number[]
  /** Of each set: whether there is a match if nothing comes (1 or 0), and the set that each kind leads to. */
  readonly rows: readonly number[]
}

/** In a row: there is a match, whatever comes; there never will be one. */
export const [matched, failed] = [-2, -3]

/** No larger one is made whole. */
const maxPlaces = 20_000

/** Sets are forgotten when they take more. */
const maxBytes = 4 * 1024 * 1024
const bytesOfSet = 400
const bytesOfState = 16
const bytesOfStep = 80
const bytesOfColumn = 120

/**
 * Matches a regular pattern in time linear in the text. A set of states goes through it at once (K. Thompson), and each set that
 * was met is kept with the sets that it leads to.
 */
export class Automaton {
  readonly #start: State
  readonly #alphabet: Alphabet
  /** Whether a match can begin only where the text that is read begins. */
  readonly isAnchored: boolean
  readonly #sets = new Map<string, StateSet>()
  #first: StateSet | undefined
  /** The facts of a place and the kind of the character after it, by number. */
  readonly #columns: (readonly [facts: string, kind: number])[] = []
  readonly #columnOf: number[][] = []
  #bytes = 0
  #search = 0

  /** @param begin where the text that is read begins; undefined where matches are looked for everywhere */
  constructor(start: State, alphabet: Alphabet, begin: 'start' | 'end' | undefined, budget: Budget) {
    this.#start = start
    this.#alphabet = alphabet
    // Elsewhere anything else may hold.
    const { waiting, matches } = this.#closure([start], begin === 'start' ? '0' : '?0', budget)
    this.isAnchored = begin !== undefined && waiting.length === 0 && !matches
  }

  /** Whether there is a match anywhere in a text, of which nothing is known but its characters. */
  test(text: string, unicode: boolean, budget: Budget): boolean {
    const { length } = text
    const alphabet = this.#alphabet
    budget.spend(10 + (length >> 1))
    let set = (this.#first ??= this.#setOf([this.#start], true, budget))
    for (let at = 0; at < length; at++) {
      let code = text.charCodeAt(at)
      if (unicode && (code & 0xfc00) === 0xd800) code = text.codePointAt(at) ?? code
      if (code > 0xffff) at++
      const kind = alphabet.kindOf(code, budget)
      const { matches, to } = set.steps[kind] ?? this.#follow(set, kind, budget)
      if (matches || to === undefined) return matches
      set = to
    }
    return (set.steps[noCharacter] ?? this.#follow(set, noCharacter, budget)).matches
  }

  /** The same for a text of which more is known. @param note is told of each place whether there is a match up to it */
  run(symbols: Symbols, backward: boolean, budget: Budget, note?: (at: number, matches: boolean) => void): boolean {
    const { length, kinds, places } = symbols
    budget.spend(10 + (note === undefined ? 2 : 3) * length)
    let set = this.#setOf([this.#start], false, budget)
    for (let count = 0; count <= length; count++) {
      const at = backward ? length - count : count
      const kind = kinds[backward ? at : at + 1] ?? noCharacter
      const place = places[at] ?? 0
      const column = this.#columnOf[place]?.[kind] ?? this.#addColumn(place, kind, symbols.factsAt(at), budget)
      const { matches, to } = set.steps[column] ?? this.#follow(set, column, budget)
      if (note !== undefined) note(at, matches)
      else if (matches) return true
      if (to === undefined) return false
      set = to
    }
    return false
  }

  /** All of it, for texts of ASCII, found out at once; undefined when there would be more sets than so many. */
  whole(most: number, budget: Budget): Dfa | undefined {
    const kinds = Array.from({ length: 128 }, (_, code) => this.#alphabet.kindOf(code, budget) - 1)
    const width = this.#alphabet.size - 1
    const sets = [this.#setOf([this.#start], true, budget)]
    const numbers = new Map(sets.map((set, number) => [set, number]))
    const numberOf = (set: StateSet): number => {
      const number = numbers.get(set) ?? sets.push(set) - 1
      numbers.set(set, number)
      return number
    }
    const rows: number[] = []
    for (const set of sets) {
      if (sets.length > most || rows.length > maxPlaces) return undefined
      for (let kind = noCharacter; kind <= width; kind++) {
        const { matches, to } = set.steps[kind] ?? this.#follow(set, kind, budget)
        if (kind === noCharacter) rows.push(Number(matches))
        else rows.push(matches ? matched : to === undefined ? failed : numberOf(to))
      }
    }
    return { first: 0, width, kinds, rows }
  }

  #follow(from: StateSet, column: number, budget: Budget): Step {
    const [facts, kind] = this.#columns[column] ?? [column === noCharacter ? '01' : '00', column]
    const { waiting, matches } = this.#closure(from.states, from.isFirst ? `1${facts.slice(1)}` : facts, budget)
    budget.spend(20 + 2 * waiting.length)
    const starts: State[] = this.isAnchored ? [] : [this.#start]
    for (const { value, next } of waiting) if (next !== undefined && this.#alphabet.isMember(kind, value)) starts.push(next)
    const to = starts.length === 0 ? undefined : this.#setOf(starts, false, budget)
    this.#grow(bytesOfStep, budget)
    return (from.steps[column] = { matches, to })
  }

  #addColumn(place: number, kind: number, facts: string, budget: Budget): number {
    budget.spend(20)
    budget.keep(bytesOfColumn)
    const columns = (this.#columnOf[place] ??= [])
    return (columns[kind] = this.#columns.push([facts, kind]) - 1)
  }

  #setOf(starts: readonly State[], isFirst: boolean, budget: Budget): StateSet {
    budget.spend(10 + 4 * starts.length)
    this.#search++
    const states = starts.filter(state => this.#visit(state)).filter(isBest).sort((a, b) => a.number - b.number)
    const text = `${Number(isFirst)} ${states.map(({ number }) => number).join()}`
    budget.spend(text.length >> 2)
    const key = nameKey(text)
    const known = this.#sets.get(key)
    if (known !== undefined) return known
    budget.spend(20 + 4 * states.length)
    this.#grow(bytesOfSet + bytesOfState * states.length, budget)
    const set = { states, isFirst, steps: [] }
    this.#sets.set(key, set)
    return set
  }

  #grow(bytes: number, budget: Budget): void {
    if (this.#bytes > maxBytes) {
      budget.keep(-this.#bytes)
      this.#bytes = 0
      this.#sets.clear()
      this.#first = undefined
    }
    this.#bytes += bytes
    budget.keep(bytes)
  }

  /** Whether the search comes to a state for the first time, and to none better before. */
  #visit(state: State): boolean {
    const { family } = state
    if (state.search === this.#search || (family?.search === this.#search && family.best > state.number)) return false
    state.search = this.#search
    if (family !== undefined) {
      family.search = this.#search
      family.best = state.number
    }
    return true
  }

  /** All states that wait for a character after these, and whether there is a match without one. */
  #closure(starts: readonly State[], facts: string, budget: Budget): { readonly waiting: readonly State[]; readonly matches: boolean } {
    const waiting: State[] = []
    const open = [...starts]
    let matches = false
    this.#search++
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      budget.spend(4)
      if (!this.#visit(state)) continue
      const { type, next, other } = state
      if (type === 'match') matches = true
      else if (type === 'class') waiting.push(state)
      else if (type === 'either' && other !== undefined) open.push(other)
      if (next === undefined || type === 'class') continue
      // What is not known may be.
      if (type !== 'fact' || facts[state.value] !== (state.wanted ? '0' : '1')) open.push(next)
    }
    return { waiting: waiting.filter(isBest), matches }
  }
}

const isBest = ({ family, number }: State): boolean => family === undefined || family.best === number
