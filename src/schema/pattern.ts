import { stepsPerCharacter } from './pattern/linear.js'
import { compileRe2 } from './pattern/re2.js'
import { parsePattern } from './pattern/syntax.js'

/** A `pattern`, ready to be matched. */
export interface Pattern {
  /** Whether matching takes time linear in the text, so that it may be done on the main thread. */
  readonly linear: boolean
  /** Cost of eight characters, in steps of the evaluator. */
  readonly cost: number
  /** What it cost to make, likewise. */
  readonly effort: number
  test(text: string): boolean
}

/** Longer ones are not looked into: they are matched by the native engine on the worker thread. */
const longestStudied = 2000

/**
 * Whether this is a regular expression of ECMA-262: with the `u` flag, as JSON Schema wants it, or else without,
 * as many a schema has it (`[\w-.]`, `\-`).
 */
export const isPattern = (source: string): boolean => native(source) !== undefined

const native = (source: string): RegExp | undefined => compiled(source, 'u') ?? compiled(source, '')

const compiled = (source: string, flags: string): RegExp | undefined => {
  try {
    return new RegExp(source, flags)
  } catch {
    return undefined
  }
}

/** @returns undefined when it is no regular expression */
export const compilePattern = (source: string): Pattern | undefined => {
  const expression = native(source)
  if (expression === undefined) return undefined
  const effort = 300 + 30 * source.length
  const slow: Pattern = { linear: false, cost: 8, effort, test: text => expression.test(text) }
  const syntax = source.length > longestStudied ? undefined : parsePattern(source, expression.unicode)
  if (syntax === undefined) return slow
  const steps = stepsPerCharacter(syntax)
  if (steps !== undefined) return { ...slow, linear: true, cost: steps }
  // Without `u` the native engine matches halves of characters, which RE2 does not.
  const re2 = expression.unicode ? compileRe2(syntax) : undefined
  if (re2 === undefined) return slow
  return { linear: true, cost: 8 * Math.max(4, 2 * re2.states), effort: effort + 50 * re2.states, test: text => re2.test(text) }
}

/** What matching a text costs, in steps of the evaluator. */
export const costOf = ({ cost }: Pattern, text: string): number => 2 + Math.ceil((text.length * cost) / 8)
