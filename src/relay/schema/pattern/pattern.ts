import { Budget, Exhausted } from '../budget.js'
import { Alphabet, ClassifiedText } from './alphabet.js'
import { Automaton, type Dfa } from './automaton.js'
import { Backtracker } from './backtrack.js'
import { wordCharacters } from './characters.js'
import { parsePattern } from './parse.js'
import { limitSize, sizeOf, States } from './states.js'
import { classOf, type ParsedPattern, type Syntax } from './syntax.js'

/** Memory for the syntax tree, for each character of the source. */
const bytesOfCharacter = 150
/** When all that was compiled from a pattern takes more, it is dropped and compiled again. */
const maxBytes = 8 * 1024 * 1024

/** Texts up to this length are tried by the transition table before any bookkeeping. */
const shortText = 1000
/** A match that took more is kept for the rest of the check. */
const manySteps = 1_000_000
/** The budget for a text after another one overran. */
const stepsAgain = 100_000
/** Patterns with fewer states are always matched forward. */
const fewStates = 1000

const wordClass = classOf(wordCharacters)

/** What a pattern is compiled into. */
interface Machine {
  readonly alphabet: Alphabet
  /** The number of the class of word characters. */
  readonly word: number
  readonly states: States
  readonly main: Automaton
  /** Whether no facts are needed but the text's start and end. */
  readonly isPlain: boolean
  /** Whether the text is read from its end: for a pattern that is anchored there and has large counts. */
  readonly backward: boolean
  /** For each look-around, inner ones first, the automaton that finds the positions where it holds. */
  readonly looks: readonly { readonly automaton: Automaton; readonly backward: boolean }[]
}

/** Takes time linear in the text without back references, and backtracks with them. */
export class CompiledPattern {
  /** By the greatest length of texts. */
  readonly #machines = new Map<number, Machine>()
  /** The machine that was used last. */
  #last: { readonly longest: number; readonly machine: Machine } | undefined
  #alphabet: Alphabet | undefined
  #bytes = 0
  /** Set once a text exhausted the budget. */
  overran = false

  constructor(private readonly parsed: ParsedPattern) {}

  /** Whether it matches anywhere in a text. @throws Exhausted */
  test(text: string, budget: Budget): boolean {
    const last = this.#last
    if (last?.machine.isPlain === true && text.length <= shortText && text.length <= last.longest) {
      const known = last.machine.main.testKnown(text)
      budget.spend(10 + (text.length >> 1))
      if (known !== undefined) return known
    }
    const { longest, kept, left } = budget
    // An invalid value is evaluated a second time, to collect its mismatches.
    if (longest !== undefined && longest.pattern === this && longest.text === text) return longest.matches
    if (this.#bytes > maxBytes) this.#forget(budget)
    try {
      const machine = this.#machineFor(text, budget)
      if (!machine.isPlain) return this.#testWithFacts(machine, text, budget)
      const matches = machine.main.test(text, this.parsed.unicode, budget)
      if (left - budget.left > manySteps) budget.longest = { pattern: this, text, matches }
      return matches
    } finally {
      this.#bytes += budget.kept - kept
    }
  }

  /** The complete DFA for ASCII texts; undefined where there is none, or only a large one. */
  whole(max: number, budget: Budget): Dfa | undefined {
    const { root, looks, words, refers } = this.parsed
    if (looks.length > 0 || words || refers || sizeOf(root, Infinity) > fewStates) return undefined
    return this.#make(Infinity, budget).main.completeDfa(max, budget)
  }

  #testWithFacts(machine: Machine, text: string, budget: Budget): boolean {
    const { alphabet, word, states, main, backward, looks } = machine
    const { unicode, refers } = this.parsed
    if (refers) {
      const { registers } = states
      return this.#backtrack(states, budget, own =>
        new Backtracker(text, unicode, alphabet, word, registers, own))
    }
    const symbols = new ClassifiedText(text, unicode, alphabet, word, budget)
    const { places } = symbols
    for (const look of looks) {
      look.automaton.testWithFacts(symbols, look.backward, budget, (at, holds) => {
        places[at] = alphabet.placeAfter(places[at] ?? 0, holds, budget)
      })
    }
    return main.testWithFacts(symbols, backward, budget)
  }

  /** A pattern that overran once gets a small budget. @throws Exhausted, with this pattern */
  #backtrack({ start }: States, whole: Budget, make: (budget: Budget) => Backtracker): boolean {
    const budget = this.overran ? new Budget(Math.min(stepsAgain, whole.left)) : whole
    try {
      return make(budget).test(start)
    } catch (error) {
      throw error instanceof Exhausted ? new Exhausted(undefined, this) : error
    }
  }

  #machineFor(text: string, budget: Budget): Machine {
    const { bounds } = this.parsed
    budget.spend(bounds.length)
    const longest = bounds.length === 0 ? Infinity : (bounds.find(bound => bound >= text.length) ?? Infinity)
    if (this.#last?.longest === longest) return this.#last.machine
    const machine = this.#machines.get(longest) ?? this.#make(longest, budget)
    this.#machines.set(longest, machine)
    this.#last = { longest, machine }
    return machine
  }

  #make(longest: number, budget: Budget): Machine {
    const { root, looks, words, refers } = this.parsed
    const alphabet = (this.#alphabet ??= new Alphabet(budget))
    const word = alphabet.numberOf(wordClass)
    const statesOf = (syntax: Syntax, backward: boolean) =>
      new States(syntax, backward, this.parsed, longest, alphabet, budget)
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
      // A look-ahead is matched backward, from its end to its beginning.
      looks: (refers ? [] : looks).map(({ body, behind }) => ({
        automaton: new Automaton(statesOf(body, !behind).start, alphabet, undefined, budget),
        backward: !behind,
      })),
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

export type Pattern = Pick<CompiledPattern, 'test'>

/** Whether the source is a regular expression of ECMA-262. @throws Exhausted for one that is too large */
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

/** A pattern's complete DFA for ASCII texts; undefined where there is none of up to `max` states. */
export const wholePattern = (source: string, max: number, budget: Budget): Dfa | undefined => {
  const parsed = parsePattern(source, budget)
  return parsed && new CompiledPattern(parsed).whole(max, budget)
}
