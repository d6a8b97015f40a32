import { Budget, Exhausted } from '../budget.js'
import { Alphabet, Symbols } from './alphabet.js'
import { Automaton, type Dfa } from './automaton.js'
import { Backtracker } from './backtrack.js'
import { classOf } from './character-class.js'
import { parsePattern, wordCharacters } from './parse.js'
import { limitSize, sizeOf, States } from './states.js'
import type { Parsed, Syntax } from './syntax.js'

/** A `pattern`, ready to be matched. */
export interface Pattern {
  /** Whether it matches anywhere in a text. @throws Exhausted */
  test(text: string, budget: Budget): boolean
}

/** Bytes of memory that a pattern takes for each of its characters, as it was read. */
const bytesOfCharacter = 150
/** When all that was made of a pattern takes more bytes, it is made again. */
const maxBytes = 8 * 1024 * 1024

/** Shorter texts are tried by what is known of the pattern, before anything is counted. */
const shortText = 1000
/** A match that took more is remembered for the rest of the check. */
const manySteps = 1_000_000
/** Steps for a text, where there was one that overran. */
const stepsAgain = 100_000
/** Patterns of fewer states are matched from the text's start to its end. */
const fewStates = 1000

const wordClass = classOf(wordCharacters)

/** What a pattern is made into. */
interface Machine {
  readonly alphabet: Alphabet
  /** The number of the class of word characters. */
  readonly word: number
  readonly states: States
  readonly main: Automaton
  /** Whether nothing of a text must be known but its characters. */
  readonly isPlain: boolean
  /** Whether the text is read from its end: where a match must end there, and there is much to count. */
  readonly backward: boolean
  /** For each look-around, those inside of others first: what finds out where it holds. */
  readonly looks: readonly { readonly automaton: Automaton; readonly backward: boolean }[]
}

/** Without back references a pattern is matched in time linear in the text; with them by trying one way after the other. */
export class CompiledPattern implements Pattern {
  readonly #parsed: Parsed
  /** By the length that no text has more of. */
  readonly #machines = new Map<number, Machine>()
  /** The machine that was used last, and for which length. */
  #last: { readonly longest: number; readonly machine: Machine } | undefined
  #alphabet: Alphabet | undefined
  #bytes = 0
  /** Set once a text took more than there was to spend. */
  overran = false

  constructor(parsed: Parsed) {
    this.#parsed = parsed
  }

  test(text: string, budget: Budget): boolean {
    const last = this.#last
    if (last?.machine.isPlain === true && text.length <= shortText && text.length <= last.longest) {
      const known = last.machine.main.testKnown(text)
      budget.spend(10 + (text.length >> 1))
      if (known !== undefined) return known
    }
    const { longest, kept, left } = budget
    // A value that does not match is judged once more, to say where.
    if (longest !== undefined && longest.pattern === this && longest.text === text) return longest.matches
    if (this.#bytes > maxBytes) this.#forget(budget)
    try {
      const machine = this.#machineFor(text, budget)
      if (!machine.isPlain) return this.#testWithFacts(machine, text, budget)
      const matches = machine.main.test(text, this.#parsed.unicode, budget)
      if (left - budget.left > manySteps) budget.longest = { pattern: this, text, matches }
      return matches
    } finally {
      this.#bytes += budget.kept - kept
    }
  }

  /** All of it, for texts of ASCII; undefined where there is none, or a large one. */
  whole(most: number, budget: Budget): Dfa | undefined {
    const { root, looks, words, refers } = this.#parsed
    if (looks.length > 0 || words || refers || sizeOf(root, Infinity) > fewStates) return undefined
    return this.#make(Infinity, budget).main.whole(most, budget)
  }

  #testWithFacts(machine: Machine, text: string, budget: Budget): boolean {
    const { alphabet, word, states, main, backward, looks } = machine
    const { unicode, refers } = this.#parsed
    if (refers) {
      const { registers } = states
      return this.#backtrack(states, budget, own => new Backtracker(text, unicode, alphabet, word, registers, own))
    }
    const symbols = new Symbols(text, unicode, alphabet, word, budget)
    const { places } = symbols
    for (const look of looks) {
      look.automaton.run(symbols, look.backward, budget, (at, holds) => {
        places[at] = alphabet.placeAfter(places[at] ?? 0, holds, budget)
      })
    }
    return main.run(symbols, backward, budget)
  }

  /** One that overran once has a small budget. @throws Exhausted, in its name */
  #backtrack({ start }: States, whole: Budget, make: (budget: Budget) => Backtracker): boolean {
    const budget = this.overran ? new Budget(Math.min(stepsAgain, whole.left)) : whole
    try {
      return make(budget).test(start)
    } catch (error) {
      throw error instanceof Exhausted ? new Exhausted(undefined, this) : error
    }
  }

  #machineFor(text: string, budget: Budget): Machine {
    const { bounds } = this.#parsed
    budget.spend(bounds.length)
    const longest = bounds.length === 0 ? Infinity : (bounds.find(bound => bound >= text.length) ?? Infinity)
    if (this.#last?.longest === longest) return this.#last.machine
    const machine = this.#machines.get(longest) ?? this.#make(longest, budget)
    this.#machines.set(longest, machine)
    this.#last = { longest, machine }
    return machine
  }

  #make(longest: number, budget: Budget): Machine {
    const { root, looks, words, refers } = this.#parsed
    const alphabet = (this.#alphabet ??= new Alphabet(budget))
    const word = alphabet.numberOf(wordClass)
    const statesOf = (syntax: Syntax, backward: boolean) => new States(syntax, backward, this.#parsed, longest, alphabet, budget)
    const states = statesOf(root, false)
    const forward = new Automaton(states.start, alphabet, 'start', budget)
    const isLarge = !refers && !forward.isAnchored && sizeOf(root, longest) > fewStates
    const backward = isLarge ? new Automaton(statesOf(root, true).start, alphabet, 'end', budget) : undefined
    const isBackward = backward?.isAnchored === true
    return {
      alphabet,
      word,
      states,
      main: isBackward ? backward : forward,
      isPlain: looks.length === 0 && !words && !refers && !isBackward,
      backward: isBackward,
      // From where a look-ahead ends, the text is read back to where it begins.
      looks: (refers ? [] : looks).map(({ body, behind }) => (
        { automaton: new Automaton(statesOf(body, !behind).start, alphabet, undefined, budget), backward: !behind })),
    }
  }

  #forget(budget: Budget): void {
    budget.keep(-this.#bytes)
    this.#bytes = 0
    this.#machines.clear()
    this.#last = undefined
    this.#alphabet = undefined
  }
}

/** Whether this is a regular expression of ECMA-262. @throws Exhausted for one that is too large to be matched */
export const isPattern = (source: string, budget: Budget): boolean => {
  const parsed = parsePattern(source, budget)
  if (parsed !== undefined) limitSize(parsed)
  return parsed !== undefined
}

/** @returns undefined when it is no regular expression */
export const compilePattern = (source: string, budget: Budget): Pattern | undefined => {
  const parsed = parsePattern(source, budget)
  budget.keep(bytesOfCharacter * source.length)
  return parsed && new CompiledPattern(parsed)
}

/** A pattern's whole automaton, for texts of ASCII; undefined where it has none, or a large one. */
export const wholePattern = (source: string, most: number, budget: Budget): Dfa | undefined => {
  const parsed = parsePattern(source, budget)
  return parsed && new CompiledPattern(parsed).whole(most, budget)
}
