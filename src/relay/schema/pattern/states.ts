import { Exhausted, type Budget } from '../budget.js'
import type { Alphabet } from './alphabet.js'
import { smallCount } from './parse.js'
import type { ParsedPattern, Repeat, Syntax } from './syntax.js'

/** The facts of a position, by number. From 3 on: whether each look-around of the pattern holds there. */
export const facts = { start: 0, end: 1, boundary: 2, looks: 3 } as const

/** The copies of one state in a counted repetition; a search notes itself and the best copy that it met. */
interface Family {
  readonly copies: number
  search: number
  best: number
}

/** An NFA state (K. Thompson, Regular expression search algorithm, 1968). */
export class State {
  /** The last search that visited it. */
  search = 0
  /**
   * Undefined for a state without copies. The copy with the greatest number has the most repetitions left,
   * and matches every text that another copy matches.
   */
  family: Family | undefined

  constructor(
    readonly number: number,
    /** The types from `begin` on are for the backtracker alone. */
    readonly type:
      | 'class' | 'either' | 'fact' | 'match'
      | 'begin' | 'check' | 'clear' | 'save' | 'look' | 'reference',
    public next: State | undefined,
    public other: State | undefined,
    /** The number of a class, a fact, a register or a group. */
    readonly value: number,
    /** Whether a fact or a look-around must hold. */
    readonly wanted: boolean,
    /** Whether the text is read towards its beginning. */
    readonly backward: boolean,
    /** The first register that is not cleared. */
    readonly end: number,
  ) {}
}

/** More states would take more memory and time than any pattern is worth. */
const maxStates = 200_000
const bytesOfState = 120
/** Most of the time goes into collecting what compiling a large pattern leaves behind. */
const costOfState = 24
/** The maximum of a repetition; Infinity if no text of up to `longest` characters can exceed it. */
const maxOf = ({ max }: Repeat, longest: number): number =>
  (max > smallCount && max >= longest ? Infinity : max)

/** The count of a pattern's states. */
export const sizeOf = (syntax: Syntax, longest: number): number => {
  const sum = (parts: readonly Syntax[]) => parts.reduce((size, part) => size + sizeOf(part, longest), 1)
  switch (syntax.type) {
    case 'sequence':
      return sum(syntax.parts)
    case 'choice':
      return sum(syntax.options)
    case 'repeat': {
      const max = maxOf(syntax, longest)
      return (sizeOf(syntax.body, longest) + 1) * Math.max(1, max === Infinity ? syntax.min + 1 : max)
    }
    case 'group':
    case 'look':
      return sizeOf(syntax.body, longest) + 2
    case 'class':
    case 'assert':
    case 'reference':
      return 1
  }
}

/** @throws Exhausted for a pattern that would have too many states, whatever the text */
export const limitSize = ({ root, bounds: [least] }: ParsedPattern): void => {
  const isLarge = sizeOf(root, least ?? Infinity) > maxStates
  if (isLarge) throw new Exhausted('has a regular expression that is too large')
}

/** The states of a pattern, or of one of its look-arounds. */
export class States {
  readonly start: State
  /** The backtracker's registers: begin and end of each group, then the last begin of each repetition. */
  registers: number
  readonly #states: State[] = []

  /** @param longest no text is longer */
  constructor(
    root: Syntax,
    backward: boolean,
    private readonly parsed: ParsedPattern,
    private readonly longest: number,
    private readonly alphabet: Alphabet,
    private readonly budget: Budget,
  ) {
    this.registers = 2 * parsed.groups + 2
    this.start = this.#add(root, this.#state('match'), backward)
  }

  /** Adds the states of a part in front of `next`. @returns the first of them */
  #add(syntax: Syntax, next: State, backward: boolean): State {
    switch (syntax.type) {
      case 'class':
        return this.#state('class', next, { value: this.alphabet.numberOf(syntax), backward })
      case 'group': {
        if (!this.parsed.refers) return this.#add(syntax.body, next, backward)
        const [begin, end] = [2 * syntax.index + Number(backward), 2 * syntax.index + Number(!backward)]
        const after = this.#state('save', next, { value: end })
        return this.#state('save', this.#add(syntax.body, after, backward), { value: begin })
      }
      case 'sequence': {
        let start = next
        const parts = backward ? syntax.parts : syntax.parts.toReversed()
        for (const part of parts) start = this.#add(part, start, backward)
        return start
      }
      case 'choice':
        return syntax.options.map(option => this.#add(option, next, backward))
          .reduceRight((other, one) => this.#state('either', one, { other }))
      case 'repeat':
        return this.#repeat(syntax, next, backward)
      case 'assert': {
        const value = facts[syntax.what === 'inside' ? 'boundary' : syntax.what]
        return this.#state('fact', next, { value, wanted: syntax.what !== 'inside' })
      }
      case 'look': {
        const wanted = !syntax.negated
        const value = facts.looks + syntax.index
        if (!this.parsed.refers) return this.#state('fact', next, { value, wanted })
        const other = this.#add(syntax.body, this.#state('match'), syntax.behind)
        return this.#state('look', next, { other, wanted })
      }
      case 'reference':
        return this.#state('reference', next, { value: syntax.group.index, backward })
    }
  }

  #repeat(syntax: Repeat, next: State, backward: boolean): State {
    const { body, min, lazy, groups: [first, last] } = syntax
    const max = maxOf(syntax, this.longest)
    const register = this.parsed.refers && body.type !== 'class' ? this.registers++ : undefined
    const once = (after: State, optional: boolean): State => {
      if (register === undefined) return this.#add(body, after, backward)
      const end = optional ? this.#state('check', after, { value: register }) : after
      const start = this.#state('clear', this.#add(body, end, backward), { value: 2 * first, end: 2 * last })
      return optional ? this.#state('begin', start, { value: register }) : start
    }
    const choose = (state: State, again: State) => {
      state.next = lazy ? next : again
      state.other = lazy ? again : next
      return state
    }
    let start = next
    if (max === Infinity) {
      start = this.#state('either')
      choose(start, once(start, true))
    } else {
      const from = this.#states.length
      for (let count = min; count < max; count++) start = choose(this.#state('either'), once(start, true))
      this.#relate(from, max - min)
    }
    for (let count = 0; count < min; count++) start = once(start, false)
    return start
  }

  /** Makes families of the states from `from` on, which are copies of the same states. */
  #relate(from: number, copies: number): void {
    if (copies < 2) return
    const length = (this.#states.length - from) / copies
    const families = Array.from({ length }, (): Family => ({ copies, search: 0, best: 0 }))
    this.budget.spend(copies * length)
    for (let index = from; index < this.#states.length; index++) {
      const state = this.#states[index]
      // Of two nested repetitions the one with more copies saves more.
      if (state === undefined || (state.family?.copies ?? 0) >= copies) continue
      state.family = families[(index - from) % length]
    }
  }

  #state(
    type: State['type'],
    next?: State,
    more: Partial<Pick<State, 'other' | 'value' | 'wanted' | 'backward' | 'end'>> = {},
  ): State {
    this.budget.spend(costOfState)
    this.budget.keep(bytesOfState)
    if (this.#states.length >= maxStates) throw new Exhausted()
    const { other, value = 0, wanted = true, backward = false, end = 0 } = more
    const state = new State(this.#states.length, type, next, other, value, wanted, backward, end)
    this.#states.push(state)
    return state
  }
}
