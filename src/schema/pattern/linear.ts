import { overlap, type CharSet } from './char-set.js'
import type { Syntax } from './syntax.js'

/**
 * How many steps a backtracking engine takes for each character of the text, at most; undefined when that is not
 * proved to be bounded.
 * Two cases are proved:
 *
 * - no choice is ever open: at each step the next character decides which part of the pattern takes it, so that going back finds
 *   nothing to try (the pattern is strongly one-unambiguous); and the match can start at the beginning only, or is short;
 * - there are few ways through the whole pattern, each of them short.
 */
export const stepsPerCharacter = (syntax: Syntax): number | undefined => {
  const trimmed = trim(syntax)
  const [length, paths] = [longest(trimmed), ways(trimmed)]
  const anchored = startsAnchored(syntax)
  if (length * paths <= (anchored ? mostStepsAtOnce : mostSteps)) return anchored ? 1 : Math.max(1, length * paths)
  return (anchored || length <= mostSteps) && new Determinism().holds(trimmed) ? (anchored ? 1 : length) : undefined
}

/** For one attempt at matching, where there is an attempt at each character, and where there is one in all. */
const mostSteps = 200
const mostStepsAtOnce = 20_000
const mostPositions = 200
const mostEdges = 1000

/** A test ends with the first match: what may follow without limit at the end of a pattern is never needed. */
const trim = (syntax: Syntax): Syntax => {
  if (syntax.type !== 'sequence') return syntax
  const last = syntax.parts.at(-1)
  if (last?.type !== 'repeat' || last.body.type !== 'set') return syntax
  return { type: 'sequence', parts: [...syntax.parts.slice(0, -1), { ...last, max: last.min }] }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

const longest = (syntax: Syntax): number => {
  switch (syntax.type) {
    case 'set':
      return 1
    case 'assert':
      return 0
    case 'sequence':
      return sum(syntax.parts.map(longest))
    case 'choice':
      return Math.max(...syntax.options.map(longest))
    case 'repeat':
      return syntax.max === 0 ? 0 : Math.max(1, longest(syntax.body)) * syntax.max
  }
}

/** How many ways lead through the pattern, at most. */
const ways = (syntax: Syntax): number => {
  switch (syntax.type) {
    case 'set':
    case 'assert':
      return 1
    case 'sequence':
      return syntax.parts.reduce((product, part) => product * ways(part), 1)
    case 'choice':
      return sum(syntax.options.map(ways))
    case 'repeat': {
      const once = ways(syntax.body)
      if (syntax.max === Infinity || syntax.max > mostSteps) return Infinity
      return sum(Array.from({ length: syntax.max - syntax.min + 1 }, (_, more) => once ** (syntax.min + more)))
    }
  }
}

const startsAnchored = (syntax: Syntax): boolean => {
  switch (syntax.type) {
    case 'set':
      return false
    case 'assert':
      return syntax.what === 'start'
    case 'sequence':
      return syntax.parts[0] !== undefined && startsAnchored(syntax.parts[0])
    case 'choice':
      return syntax.options.every(startsAnchored)
    case 'repeat':
      return syntax.min > 0 && startsAnchored(syntax.body)
  }
}

interface Part {
  /** There is exactly one way to match nothing, or none. */
  readonly nullable: boolean
  readonly first: readonly number[]
  readonly last: readonly number[]
}

class Open extends Error {}

/** Glushkov's construction; a bounded repetition is read as an unbounded one, which opens more choices and closes none. */
class Determinism {
  readonly #sets: (CharSet | undefined)[] = []
  readonly #follow: Set<number>[] = []
  #edges = 0

  holds(syntax: Syntax): boolean {
    try {
      const { first } = this.#part(syntax)
      return this.#decided(first) && this.#follow.every(next => this.#decided([...next]))
    } catch (error) {
      if (error instanceof Open) return false
      throw error
    }
  }

  #decided(next: readonly number[]): boolean {
    return next.every((a, index) => next.slice(index + 1).every(b => !this.#overlap(a, b)))
  }

  #overlap(a: number, b: number): boolean {
    const [one, other] = [this.#sets[a], this.#sets[b]]
    return one === undefined || other === undefined || overlap(one, other)
  }

  #part(syntax: Syntax): Part {
    switch (syntax.type) {
      case 'set':
        return this.#position(syntax.set)
      case 'assert':
        return { nullable: true, first: [], last: [] }
      case 'sequence':
        return this.#sequence(syntax.parts)
      case 'choice':
        return this.#choice(syntax.options.map(option => this.#part(option)))
      case 'repeat':
        return this.#repeat(syntax.body, syntax.min, syntax.max)
    }
  }

  #position(set: CharSet | undefined): Part {
    const position = this.#sets.push(set) - 1
    if (position >= mostPositions) throw new Open()
    this.#follow.push(new Set())
    return { nullable: false, first: [position], last: [position] }
  }

  #sequence(parts: readonly Syntax[]): Part {
    return parts.reduce<Part>(
      (before, syntax) => {
        const part = this.#part(syntax)
        this.#link(before.last, part.first)
        return {
          nullable: before.nullable && part.nullable,
          first: before.nullable ? [...before.first, ...part.first] : before.first,
          last: part.nullable ? [...before.last, ...part.last] : part.last,
        }
      },
      { nullable: true, first: [], last: [] },
    )
  }

  #choice(options: readonly Part[]): Part {
    if (options.filter(option => option.nullable).length > 1) throw new Open()
    return {
      nullable: options.some(option => option.nullable),
      first: options.flatMap(option => option.first),
      last: options.flatMap(option => option.last),
    }
  }

  #repeat(body: Syntax, min: number, max: number): Part {
    if (max === 0) throw new Open()
    // The copies that must be there are written out: `[0-9]{4}[0-9]{2}` has no choice in it.
    const copies: Syntax[] = []
    for (let count = 1; count < min; count++) {
      if (copies.length >= mostPositions) throw new Open()
      copies.push(body)
    }
    const rest = max - copies.length
    const part = this.#part(body)
    if (part.nullable) throw new Open()
    if (rest > 1) this.#link(part.last, part.first)
    const loop: Part = { ...part, nullable: min === 0 }
    return copies.length === 0 ? loop : this.#joined(this.#sequence(copies), loop)
  }

  #joined(before: Part, after: Part): Part {
    this.#link(before.last, after.first)
    return { nullable: before.nullable && after.nullable, first: before.first, last: after.last }
  }

  /** Two ways from one position to another are an open choice, whatever the characters. */
  #link(from: readonly number[], to: readonly number[]): void {
    for (const position of from) {
      const next = this.#follow[position]
      for (const target of to) {
        if (next === undefined || next.has(target) || ++this.#edges > mostEdges) throw new Open()
        next.add(target)
      }
    }
  }
}
