import type { Budget } from '../budget.js'
import type { Alphabet } from './alphabet.js'
import { facts, type State } from './states.js'

/** An empty register. */
const nothing = -1

/**
 * Matches patterns with back references by backtracking (ECMA-262, Runtime Semantics: CompileSubpattern).
 * That may take exponential time: the budget ends it.
 */
export class Backtracker {
  readonly #registers: Int32Array
  /** Former values of registers, each with the register's number, for restoring them. */
  readonly #trail: number[] = []
  /** Alternatives that were not tried yet. */
  readonly #others: { readonly state: State; readonly at: number; readonly trail: number }[] = []

  /** @param word the number of the class of word characters */
  constructor(
    private readonly text: string,
    private readonly unicode: boolean,
    private readonly alphabet: Alphabet,
    private readonly word: number,
    registers: number,
    private readonly budget: Budget,
  ) {
    budget.spend(20 + registers)
    this.#registers = new Int32Array(registers).fill(nothing)
  }

  /** Whether there is a match anywhere in the text. @throws Exhausted */
  test(start: State): boolean {
    for (let at = 0; at <= this.text.length; at++) {
      if (this.#matches(start, at)) return true
      if (this.unicode && (this.text.codePointAt(at) ?? 0) > 0xffff) at++
    }
    return false
  }

  #matches(start: State, from: number): boolean {
    const others = this.#others
    const bottom = others.length
    const trail = this.#trail.length
    let state: State | undefined = start
    for (let at = from; state !== undefined;) {
      this.budget.spend(5)
      if (state.type === 'match') {
        others.length = bottom
        return true
      }
      if (state.type === 'either' && state.other !== undefined) {
        this.budget.spend(5)
        others.push({ state: state.other, at, trail: this.#trail.length })
      }
      const to = this.#pass(state, at)
      if (to !== undefined) {
        state = state.next
        at = to
        continue
      }
      const other = others.length > bottom ? others.pop() : undefined
      this.#restore(other?.trail ?? trail)
      state = other?.state
      at = other?.at ?? at
    }
    return false
  }

  /** The position after a state; undefined where it does not match. */
  #pass(state: State, at: number): number | undefined {
    const { type, value, wanted, backward } = state
    switch (type) {
      case 'class':
        return this.#past(value, at, backward)
      case 'fact':
        return this.#holds(value, at) === wanted ? at : undefined
      case 'begin':
      case 'save':
        this.#set(value, at)
        return at
      case 'check':
        return this.#registers[value] === at ? undefined : at
      case 'clear':
        for (let register = value; register < state.end; register++) this.#set(register, nothing)
        return at
      case 'look': {
        const trail = this.#trail.length
        const found = state.other !== undefined && this.#matches(state.other, at)
        if (!wanted) this.#restore(trail)
        return found === wanted ? at : undefined
      }
      case 'reference': {
        const [begin = nothing, end = nothing] = this.#registers.subarray(2 * value, 2 * value + 2)
        if (begin === nothing || end === nothing) return at
        this.budget.spend((end - begin) >> 3)
        const to = backward ? at - (end - begin) : at + (end - begin)
        const captured = this.text.slice(begin, end)
        return to >= 0 && this.text.startsWith(captured, Math.min(at, to)) ? to : undefined
      }
      case 'either':
      case 'match':
        return at
    }
  }

  #set(register: number, value: number): void {
    this.budget.spend(2)
    this.#trail.push(this.#registers[register] ?? nothing, register)
    this.#registers[register] = value
  }

  #restore(length: number): void {
    while (this.#trail.length > length) {
      const register = this.#trail.pop() ?? 0
      this.#registers[register] = this.#trail.pop() ?? nothing
    }
  }

  /** The position after a character of a class; undefined when there is none. */
  #past(one: number, at: number, backward: boolean): number | undefined {
    if (backward ? at === 0 : at === this.text.length) return undefined
    const pair = this.unicode && (this.text.codePointAt(backward ? at - 2 : at) ?? 0) > 0xffff
    const end = at + (backward ? -1 : 1) * (pair ? 2 : 1)
    return this.#isIn(one, Math.min(at, end)) ? end : undefined
  }

  #isIn(one: number, at: number): boolean {
    const code = this.unicode ? this.text.codePointAt(at) : this.text.charCodeAt(at)
    if (code === undefined || Number.isNaN(code)) return false
    return this.alphabet.isMember(this.alphabet.kindOf(code, this.budget), one)
  }

  #holds(fact: number, at: number): boolean {
    if (fact === facts.start) return at === 0
    if (fact === facts.end) return at === this.text.length
    return (at > 0 && this.#isIn(this.word, at - 1)) !== this.#isIn(this.word, at)
  }
}
