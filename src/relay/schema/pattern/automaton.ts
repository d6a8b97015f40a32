import { nameKey, type Budget } from '../budget.js'
import { noCharacter, unknownKind, type Alphabet, type ClassifiedText } from './alphabet.js'
import type { State } from './states.js'

/** A set of NFA states: one DFA state. */
interface StateSet {
  readonly states: readonly State[]
  /**
   * Where the row of this set begins in the transition table. Only plain patterns use the table. A pattern is
   * plain if it asks of a position only whether it is the start or end of the text (states.ts, `facts`).
   */
  readonly row: number
  /** Whether it is the set at the start of the text. */
  readonly isFirst: boolean
  /**
   * The steps that were computed, by column. A plain pattern has a column for each kind of characters. Any
   * other pattern has a column for each pair of a position's number (alphabet.ts, place) and a character's
   * kind.
   */
  readonly steps: (Step | undefined)[]
}

interface Step {
  /** Whether there is a match before the next character. */
  readonly matches: boolean
  /** The set after the next character; undefined when no match can follow. */
  readonly to: StateSet | undefined
}

/** A complete DFA for ASCII texts. Its first state has number 0. */
export interface Dfa {
  /** How many kinds of characters there are. */
  readonly width: number
  /** The kind of each ASCII character. */
  readonly kinds: readonly number[]
  /** For each state: whether the end of the text is a match (1 or 0), then the next state for each kind. */
  readonly rows: readonly number[]
}

/**
 * Numbers in place of a next state. `unknown`: the step is not computed yet. `matched`: the text matches,
 * whatever follows. `failed`: the text does not match, whatever follows.
 */
const unknown = -1
export const [matched, failed] = [-2, -3]

/** Most entries in the rows of a complete DFA. */
const maxEntries = 20_000

/** Most bytes of all sets. When the sets take more, all of them are dropped and computed again. */
const maxBytes = 4 * 1024 * 1024
/** Kinds with smaller numbers have a column in the transition table. */
const rowLength = 32
const bytesOfSet = 400
const bytesOfState = 16
const bytesOfStep = 80
const bytesOfColumn = 120

/**
 * Matches a regular pattern in time linear in the text: simulates the NFA with sets of states (K. Thompson,
 * Regular expression search algorithm, 1968) and keeps each set, with the sets that follow it, as DFA states.
 */
export class Automaton {
  /** True if no match can begin after the first position that is read. */
  readonly isAnchored: boolean
  readonly #sets = new Map<string, StateSet>()
  #rows: StateSet[] = []
  /** For each row and kind the next row, `unknown`, `matched` or `failed`. */
  #table: Int32Array = new Int32Array(0)
  #first: StateSet | undefined
  /** Where the last search stopped because the table lacks a step: position in the text, row in the table. */
  #stoppedAt = 0
  #stoppedRow = 0
  /** For each column of a pattern that is not plain: a position's facts and the next character's kind. */
  readonly #columns: (readonly [facts: string, kind: number])[] = []
  readonly #columnsOfPlace: number[][] = []
  #bytes = 0
  #search = 0

  /** @param begin where reading begins; undefined for a look-around: it may begin anywhere */
  constructor(
    private readonly start: State,
    private readonly alphabet: Alphabet,
    begin: 'start' | 'end' | undefined,
    budget: Budget,
  ) {
    // A position where reading does not begin: that fact is false, the others are unknown.
    const { waiting, matches } = this.#closure([start], begin === 'start' ? '0' : '?0', budget)
    this.isAnchored = begin !== undefined && waiting.length === 0 && !matches
  }

  /** Whether there is a match anywhere in a text, for a plain pattern (`StateSet.row`). */
  test(text: string, unicode: boolean, budget: Budget): boolean {
    budget.spend(10 + (text.length >> 1))
    this.#first ??= this.#setOf([this.start], true, budget)
    for (let known = this.testKnown(text); ; known = this.#continue(text)) {
      if (known !== undefined) return known
      const code = (unicode ? text.codePointAt(this.#stoppedAt) : text.charCodeAt(this.#stoppedAt)) ?? 0
      const kind = this.#stoppedAt === text.length ? noCharacter : this.alphabet.kindOf(code, budget)
      const { matches, to } = this.#step(this.#stoppedRow, kind, budget)
      if (matches || to === undefined || kind === noCharacter) return matches
      this.#stoppedAt += code > 0xffff ? 2 : 1
      this.#stoppedRow = to.row
    }
  }

  /** As `test`, from the table alone; undefined when the table lacks a step for this text. */
  testKnown(text: string): boolean | undefined {
    if (this.#first === undefined) return undefined
    this.#stoppedAt = 0
    this.#stoppedRow = this.#first.row
    return this.#continue(text)
  }

  /** Follows the table to the end of the text. It stops where the table lacks a step: undefined. */
  #continue(text: string): boolean | undefined {
    const { length } = text
    const table = this.#table
    let row = this.#stoppedRow
    let pageNumber = 0
    let kindsOfPage = this.alphabet.pageOf(pageNumber)
    for (let at = this.#stoppedAt; at < length; at++) {
      const code = text.charCodeAt(at)
      if (code >> 8 !== pageNumber) {
        pageNumber = code >> 8
        kindsOfPage = this.alphabet.pageOf(pageNumber)
      }
      const kind = kindsOfPage[code & 0xff] ?? unknownKind
      const next = kind < rowLength ? (table[row + kind] ?? unknown) : unknown
      if (next < 0) {
        this.#stoppedAt = at
        this.#stoppedRow = row
        return next === unknown ? undefined : next === matched
      }
      row = next
    }
    this.#stoppedAt = length
    this.#stoppedRow = row
    const atEnd = table[row + noCharacter] ?? unknown
    return atEnd === unknown ? undefined : atEnd === matched
  }

  /**
   * As `test`, for a pattern that is not plain.
   * @param note is told at each position whether a match ends there
   */
  testWithFacts(
    symbols: ClassifiedText, backward: boolean, budget: Budget, note?: (at: number, matches: boolean) => void,
  ): boolean {
    const { length, kinds, places } = symbols
    budget.spend(10 + (note === undefined ? 2 : 3) * length)
    let set = this.#setOf([this.start], false, budget)
    for (let count = 0; count <= length; count++) {
      const at = backward ? length - count : count
      const kind = kinds[backward ? at : at + 1] ?? noCharacter
      const place = places[at] ?? 0
      const known = this.#columnsOfPlace[place]?.[kind]
      const column = known ?? this.#addColumn(place, kind, symbols.factsAt(at), budget)
      const { matches, to } = set.steps[column] ?? this.#follow(set, column, budget)
      if (note !== undefined) note(at, matches)
      else if (matches) return true
      if (to === undefined) return false
      set = to
    }
    return false
  }

  /** The complete DFA for ASCII texts; undefined when it would have more than `max` states. */
  completeDfa(max: number, budget: Budget): Dfa | undefined {
    const kinds = Array.from({ length: 128 }, (_, code) => this.alphabet.kindOf(code, budget) - 1)
    const width = this.alphabet.size - 1
    const sets = [this.#setOf([this.start], true, budget)]
    const numbers = new Map(sets.map((set, number) => [set, number]))
    const numberOf = (set: StateSet): number => {
      const number = numbers.get(set) ?? sets.push(set) - 1
      numbers.set(set, number)
      return number
    }
    const rows: number[] = []
    for (const set of sets) {
      if (sets.length > max || rows.length > maxEntries) return undefined
      for (let kind = noCharacter; kind <= width; kind++) {
        const { matches, to } = set.steps[kind] ?? this.#follow(set, kind, budget)
        if (kind === noCharacter) rows.push(Number(matches))
        else rows.push(matches ? matched : to === undefined ? failed : numberOf(to))
      }
    }
    return { width, kinds, rows }
  }

  /** Computes a step of a plain pattern, and writes it into the table. */
  #step(row: number, kind: number, budget: Budget): Step {
    const from = this.#rows[row / rowLength]
    if (from === undefined) throw new Error('no set of states has this row')
    const step = from.steps[kind] ?? this.#follow(from, kind, budget)
    // `#follow` may have dropped all sets.
    if (kind < rowLength && this.#rows[row / rowLength] === from) {
      if (row >= this.#table.length) this.#extendTable(budget)
      this.#table[row + kind] = step.matches ? matched : (step.to?.row ?? failed)
    }
    return step
  }

  #extendTable(budget: Budget): void {
    const table = new Int32Array(rowLength * Math.max(8, 2 * this.#rows.length)).fill(unknown)
    const added = table.byteLength - this.#table.byteLength
    budget.spend(added >> 6)
    budget.keep(added)
    this.#bytes += added
    table.set(this.#table)
    this.#table = table
  }

  #follow(from: StateSet, column: number, budget: Budget): Step {
    // Facts are a string: '1' holds, '0' does not; first start, then end. A plain pattern's column is the
    // kind itself.
    const [facts, kind] = this.#columns[column] ?? [column === noCharacter ? '01' : '00', column]
    const known = from.isFirst ? `1${facts.slice(1)}` : facts
    const { waiting, matches } = this.#closure(from.states, known, budget)
    budget.spend(20 + 2 * waiting.length)
    // `#grow` may drop all sets: it is called before the next set is made, which must not be dropped.
    this.#grow(bytesOfStep, budget)
    const starts: State[] = this.isAnchored ? [] : [this.start]
    for (const { value, next } of waiting) {
      if (next !== undefined && this.alphabet.isMember(kind, value)) starts.push(next)
    }
    const to = starts.length === 0 ? undefined : this.#setOf(starts, false, budget)
    return (from.steps[column] = { matches, to })
  }

  #addColumn(place: number, kind: number, facts: string, budget: Budget): number {
    budget.spend(20)
    budget.keep(bytesOfColumn)
    const columns = (this.#columnsOfPlace[place] ??= [])
    return (columns[kind] = this.#columns.push([facts, kind]) - 1)
  }

  #setOf(starts: readonly State[], isFirst: boolean, budget: Budget): StateSet {
    budget.spend(10 + 4 * starts.length)
    this.#search++
    const states = starts.filter(state => this.#isFirstVisit(state)).filter(hasMostRepetitions)
      .sort((a, b) => a.number - b.number)
    const text = `${Number(isFirst)} ${states.map(({ number }) => number).join()}`
    budget.spend(text.length >> 2)
    const key = nameKey(text)
    const known = this.#sets.get(key)
    if (known !== undefined) return known
    budget.spend(20 + 4 * states.length)
    this.#grow(bytesOfSet + bytesOfState * states.length, budget)
    const set = { states, row: rowLength * this.#rows.length, isFirst, steps: [] }
    this.#rows.push(set)
    this.#sets.set(key, set)
    return set
  }

  #grow(bytes: number, budget: Budget): void {
    if (this.#bytes > maxBytes) {
      budget.keep(-this.#bytes)
      this.#bytes = 0
      this.#sets.clear()
      this.#rows = []
      this.#table = new Int32Array(0)
      this.#first = undefined
    }
    this.#bytes += bytes
    budget.keep(bytes)
  }

  /**
   * Marks a state as visited.
   * @returns false if this search has met it, or a copy of it with more repetitions left (states.ts,
   * `Family`)
   */
  #isFirstVisit(state: State): boolean {
    const { family } = state
    if (state.search === this.#search) return false
    if (family?.search === this.#search && family.best > state.number) return false
    state.search = this.#search
    if (family !== undefined) {
      family.search = this.#search
      family.best = state.number
    }
    return true
  }

  /** The epsilon closure: the states that wait for a character, and whether there is a match without one. */
  #closure(
    starts: readonly State[], facts: string, budget: Budget,
  ): { readonly waiting: readonly State[]; readonly matches: boolean } {
    const waiting: State[] = []
    const open = [...starts]
    let matches = false
    this.#search++
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      budget.spend(4)
      if (!this.#isFirstVisit(state)) continue
      const { type, next, other } = state
      if (type === 'match') matches = true
      else if (type === 'class') waiting.push(state)
      else if (type === 'either' && other !== undefined) open.push(other)
      if (next === undefined || type === 'class') continue
      // A fact that is not known is followed, because it may hold.
      if (type !== 'fact' || facts[state.value] !== (state.wanted ? '0' : '1')) open.push(next)
    }
    return { waiting: waiting.filter(hasMostRepetitions), matches }
  }
}

const hasMostRepetitions = ({ family, number }: State): boolean =>
  family === undefined || family.best === number
