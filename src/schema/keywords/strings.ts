import { isString } from '../../protocol/unmetered.js'
import { quote } from '../../protocol/quote.js'
import type { Budget } from '../budget.js'
import { compilePattern, isPattern } from '../pattern/pattern.js'
import { formatOf } from './formats.js'
import { sizeMessage, type Checks, type Keyword } from './keyword.js'

/** The length as JSON Schema has it: in code points, of one or two code units. */
const codePoints = (text: string, budget: Budget): number => {
  budget.spend(text.length >> 2)
  let count = 0
  for (let index = 0; index < text.length; index++, count++) if ((text.codePointAt(index) ?? 0) > 0xffff) index++
  return count
}

const length = (name: string, most: boolean): Keyword => ({
  name,
  checks(limit): Checks | undefined {
    if (typeof limit !== 'number') return undefined
    const message = sizeMessage(name, most, limit, 'character')
    const isShort = (text: string, budget: Budget) => text.length <= limit || (text.length / 2 <= limit && codePoints(text, budget) <= limit)
    const isLong = (text: string, budget: Budget) => text.length / 2 >= limit || (text.length >= limit && codePoints(text, budget) >= limit)
    return most
      ? { string: (text, run) => isShort(text, run.budget) || run.fail(message) }
      : { string: (text, run) => isLong(text, run.budget) || run.fail(message) }
  },
})

const pattern: Keyword = {
  name: 'pattern',
  fault: (source, budget) => (isString(source) && !isPattern(source, budget) ? 'must be a regular expression' : undefined),
  checks(source, { budget }) {
    const pattern = isString(source) ? compilePattern(source, budget) : undefined
    if (pattern === undefined) return undefined
    return { string: (text, run) => pattern.test(text, run.budget) || run.fail('must match the pattern (pattern)') }
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

export const strings: readonly Keyword[] = [length('minLength', false), length('maxLength', true), pattern, format]
