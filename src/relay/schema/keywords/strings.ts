import { isString } from '#relay/protocol/unmetered.js'
import { quote } from '#relay/protocol/quote.js'
import type { Budget } from '../budget.js'
import { compilePattern, isPattern } from '../pattern/pattern.js'
import { formatOf } from './formats.js'
import { ofSize, type Keyword } from './keyword.js'

/** JSON Schema counts code points, each of one or two code units. */
const codePoints = (text: string, budget: Budget): number => {
  budget.spend(text.length >> 2)
  let count = 0
  for (let index = 0; index < text.length; index++, count++) {
    if ((text.codePointAt(index) ?? 0) > 0xffff) index++
  }
  return count
}

const length = (name: string): Keyword => ofSize(name, 'character', (fits, isMax, message) => ({
  string(text, run) {
    const units = text.length
    // They are counted only where that can matter.
    if (fits(isMax ? units : units / 2)) return true
    return (fits(isMax ? units / 2 : units) && fits(codePoints(text, run.budget))) || run.fail(message)
  },
}))

const pattern: Keyword = {
  name: 'pattern',
  fault: (source, budget) =>
    (isString(source) && !isPattern(source, budget) ? 'must be a regular expression' : undefined),
  checks(source, { budget }) {
    const pattern = isString(source) ? compilePattern(source, budget) : undefined
    if (pattern === undefined) return undefined
    const message = 'must match the pattern (pattern)'
    return { string: (text, run) => pattern.test(text, run.budget) || run.fail(message) }
  },
}

const format: Keyword = {
  name: 'format',
  checks(name) {
    const format = isString(name) ? formatOf(name) : undefined
    if (format === undefined || !isString(name)) return undefined
    const message = `must be ${quote(name)} (format)`
    const test = (text: string, budget: Budget): boolean => {
      budget.spend(2 + (text.length >> 2))
      return format.test(text, budget)
    }
    return {
      string(text, run) {
        const { budget, formats } = run
        if (!formats) return true
        // On the main thread, which hands on what it cannot finish, no format is tried alone.
        const holds = budget.isLast ? budget.attempt(own => test(text, own)) : test(text, budget)
        return holds === true || run.fail(message)
      },
    }
  },
}

export const strings: readonly Keyword[] = [length('minLength'), length('maxLength'), pattern, format]
