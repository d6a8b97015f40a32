import type { Budget } from '../budget.js'
import { Automaton } from './automaton.js'
import { Backtracker } from './backtrack.js'
import { parsePattern } from './parse.js'

/** A `pattern`, ready to be matched. */
export interface Pattern {
  /** Whether it matches anywhere in a text. @throws Exhausted */
  test(text: string, budget: Budget): boolean
}

/** Bytes of memory that a pattern takes for each of its characters, as it was read. */
const bytesOfCharacter = 150

/** Whether this is a regular expression of ECMA-262. */
export const isPattern = (source: string, budget: Budget): boolean => parsePattern(source, budget) !== undefined

/** @returns undefined when it is no regular expression */
export const compilePattern = (source: string, budget: Budget): Pattern | undefined => {
  const parsed = parsePattern(source, budget)
  budget.keep(bytesOfCharacter * source.length)
  return parsed && (parsed.irregular ? new Backtracker(parsed) : new Automaton(parsed, budget))
}
