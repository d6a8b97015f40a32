import { Budget, Exhausted } from '../budget.js'
import { contains, type CharacterClass } from './character-class.js'
import type { Assertion, Parsed, Repeat, Syntax } from './syntax.js'

/** What each group took last, by its number. */
type Captures = readonly (string | undefined)[]

/** What must match after it. */
type Next = (at: number, captures: Captures) => boolean

/** Steps for a text, where there was one that overran. */
const stepsAgain = 100_000

/**
 * Matches any pattern as ECMA-262 has it (RegExp, Runtime Semantics: CompileSubpattern), by trying one way after the other. That may take
 * exponential time, and a long text the native stack: it ends with the budget.
 */
export class Backtracker {
  readonly #parsed: Parsed
  /** Set once a text took more than there was to spend. */
  overran = false

  constructor(parsed: Parsed) {
    this.#parsed = parsed
  }

  /** Whether there is a match anywhere in a text. @throws Exhausted, in its name */
  test(text: string, whole: Budget): boolean {
    const { root, unicode, groups } = this.#parsed
    const budget = this.overran ? new Budget(Math.min(stepsAgain, whole.left)) : whole
    const attempts = new Attempts(text, unicode, budget)
    const none: Captures = Array.from({ length: groups + 1 }, () => undefined)
    try {
      for (let at = 0; at <= text.length; at += unicode && (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
        if (attempts.match(root, at, none, false, () => true)) return true
      }
      return false
    } catch (error) {
      throw error instanceof Exhausted ? new Exhausted(this) : error
    }
  }
}

class Attempts {
  readonly #text: string
  readonly #unicode: boolean
  readonly #budget: Budget

  constructor(text: string, unicode: boolean, budget: Budget) {
    this.#text = text
    this.#unicode = unicode
    this.#budget = budget
  }

  match(syntax: Syntax, at: number, captures: Captures, backward: boolean, next: Next): boolean {
    this.#budget.spend(10)
    switch (syntax.type) {
      case 'class': {
        const end = this.#past(syntax, at, backward)
        return end !== undefined && next(end, captures)
      }
      case 'assert':
        return this.#holds(syntax.what, at) && next(at, captures)
      case 'sequence':
        return this.#sequence(backward ? syntax.parts.toReversed() : syntax.parts, 0, at, captures, backward, next)
      case 'choice':
        return syntax.options.some(option => this.match(option, at, captures, backward, next))
      case 'repeat':
        return this.#repeat(syntax, 0, at, captures, backward, next)
      case 'group':
        return this.match(syntax.body, at, captures, backward, (end, inner) => {
          this.#budget.spend(inner.length)
          return next(end, inner.with(syntax.index, this.#text.slice(Math.min(at, end), Math.max(at, end))))
        })
      case 'reference': {
        const taken = captures[syntax.group.index] ?? ''
        this.#budget.spend(taken.length >> 4)
        const end = backward ? at - taken.length : at + taken.length
        return end >= 0 && this.#text.startsWith(taken, Math.min(at, end)) && next(end, captures)
      }
      case 'look': {
        let found: Captures | undefined
        this.match(syntax.body, at, captures, syntax.behind, (_, inner) => (found = inner) === inner)
        return (found === undefined) === syntax.negated && next(at, syntax.negated ? captures : (found ?? captures))
      }
    }
  }

  #sequence(parts: readonly Syntax[], index: number, at: number, captures: Captures, backward: boolean, next: Next): boolean {
    const part = parts[index]
    if (part === undefined) return next(at, captures)
    return this.match(part, at, captures, backward, (end, inner) => this.#sequence(parts, index + 1, end, inner, backward, next))
  }

  #repeat(syntax: Repeat, count: number, at: number, captures: Captures, backward: boolean, next: Next): boolean {
    const { body, min, max, lazy, groups: [first, last] } = syntax
    if (body.type === 'class' && !lazy) return this.#repeatClass(body, syntax, at, captures, backward, next)
    if (count >= max) return next(at, captures)
    const again = () => {
      this.#budget.spend(captures.length)
      const cleared = captures.map((taken, index) => (index >= first && index < last ? undefined : taken))
      return this.match(body, at, cleared, backward, (end, inner) =>
        (end !== at || count < min) && this.#repeat(syntax, count + 1, end, inner, backward, next))
    }
    if (count < min) return again()
    return lazy ? next(at, captures) || again() : again() || next(at, captures)
  }

  /** The same without the native stack, for texts that are long: as many as there are, and then fewer and fewer. */
  #repeatClass(body: CharacterClass, { min, max }: Repeat, from: number, captures: Captures, backward: boolean, next: Next): boolean {
    const ends = [from]
    for (let end: number | undefined = from; ends.length <= max; ends.push(end)) {
      this.#budget.spend(5)
      end = this.#past(body, end, backward)
      if (end === undefined) break
    }
    for (let end = ends.pop(); end !== undefined && ends.length >= min; end = ends.pop()) if (next(end, captures)) return true
    return false
  }

  /** Where a character of a class ends; undefined when there is none. */
  #past(one: CharacterClass, at: number, backward: boolean): number | undefined {
    if (backward ? at === 0 : at === this.#text.length) return undefined
    const pair = this.#unicode && (this.#text.codePointAt(backward ? at - 2 : at) ?? 0) > 0xffff
    const end = at + (backward ? -1 : 1) * (pair ? 2 : 1)
    const from = Math.min(at, end)
    const code = this.#unicode ? this.#text.codePointAt(from) : this.#text.charCodeAt(from)
    return contains(one, code ?? 0, this.#budget) ? end : undefined
  }

  #holds(what: Assertion, at: number): boolean {
    if (what === 'start') return at === 0
    if (what === 'end') return at === this.#text.length
    return (this.#isWord(at - 1) === this.#isWord(at)) === (what === 'inside')
  }

  #isWord(at: number): boolean {
    return /\w/.test(this.#text.charAt(at))
  }
}
