import { createRequire } from 'node:module'
import type * as re2js from 're2js'
import type { CharSet } from './char-set.js'
import type { Syntax } from './syntax.js'

const require = createRequire(import.meta.url)

/** Beyond these RE2 refuses, or its automaton grows too large to be built while others wait. */
const mostRepeats = 1000
const mostStates = 2000

export interface Re2 {
  /** The size of its automaton, which is what one character may cost. */
  readonly states: number
  test(text: string): boolean
}

/**
 * The pattern in RE2's syntax, written anew from what was understood: every class as explicit code points, so that
 * nothing is left on which the two engines could differ (`\s`, `.`, `$` before a line end, Unicode tables).
 * @returns undefined where that cannot be done
 */
export const compileRe2 = (syntax: Syntax): Re2 | undefined => {
  const size = states(syntax)
  if (size > mostStates) return undefined
  const source = write(syntax)
  if (source === undefined) return undefined
  const { RE2JS } = require('re2js') as typeof re2js
  try {
    const compiled = RE2JS.compile(source)
    return { states: size, test: text => compiled.test(text) }
  } catch {
    return undefined
  }
}

const states = (syntax: Syntax): number => {
  switch (syntax.type) {
    case 'set':
    case 'assert':
      return 1
    case 'sequence':
      return syntax.parts.reduce((total, part) => total + states(part), 0)
    case 'choice':
      return syntax.options.reduce((total, option) => total + 1 + states(option), 0)
    case 'repeat':
      return (1 + states(syntax.body)) * Math.max(1, syntax.max === Infinity ? syntax.min + 1 : syntax.max)
  }
}

const write = (syntax: Syntax): string | undefined => {
  switch (syntax.type) {
    case 'set':
      return syntax.set === undefined ? undefined : writeSet(syntax.set)
    case 'assert':
      return { start: '\\A', end: '\\z', boundary: '\\b', inside: '\\B' }[syntax.what]
    case 'sequence':
      return writeAll(syntax.parts, '')
    case 'choice':
      return writeAll(syntax.options, '|')
    case 'repeat': {
      const { min, max } = syntax
      if (min > mostRepeats || (max !== Infinity && max > mostRepeats)) return undefined
      const body = write(syntax.body)
      return body === undefined ? undefined : `(?:${body}){${min},${max === Infinity ? '' : max}}`
    }
  }
}

const writeAll = (parts: readonly Syntax[], between: string): string | undefined => {
  const written = parts.map(write)
  return written.includes(undefined) ? undefined : `(?:${written.join(between)})`
}

const writeSet = (set: CharSet): string =>
  // RE2 knows no empty class: nothing is what is neither one thing nor any other.
  set.length === 0 ? '[^\\x{0}-\\x{10FFFF}]' : `[${set.map(([from, to]) => `${code(from)}-${code(to)}`).join('')}]`

const code = (point: number): string => `\\x{${point.toString(16)}}`
