import { decimal } from '#relay/protocol/decimal.js'
import type { Keyword } from './keyword.js'

type Bound = readonly [words: string, holds: (value: number, limit: number) => boolean]

const atLeast: Bound = ['at least', (value, limit) => value >= limit]
const atMost: Bound = ['at most', (value, limit) => value <= limit]
const moreThan: Bound = ['more than', (value, limit) => value > limit]
const lessThan: Bound = ['less than', (value, limit) => value < limit]

/** @param strict applies up to draft-04 instead where `flag` beside the keyword is true */
const limit = (name: string, bound: Bound, flag?: string, strict?: Bound): Keyword => ({
  name,
  checks(limit, context) {
    if (typeof limit !== 'number') return undefined
    const isStrict = flag !== undefined && context.sibling(flag) === true
    const [words, holds] = isStrict && strict !== undefined ? strict : bound
    const message = `must be ${words} ${limit} (${isStrict ? flag : name})`
    return { number: (value, run) => holds(value, limit) || run.fail(message) }
  },
})

/** Whether a number is a multiple of another, as decimals: 19.99 is a multiple of 0.01. */
export const isMultiple = (value: number, of: number): boolean => {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0
  if (!Number.isFinite(value)) return false
  const parts = [value, of].map(number => decimal(String(number)).split('e'))
  // A difference of exponents of up to 632 is the whole range of doubles: the integers stay small.
  const least = Math.min(...parts.map(([, exponent = '0']) => Number(exponent)))
  const [a = 0n, b = 1n] = parts.map(([digits = '', exponent = '0']) =>
    BigInt(digits) * 10n ** BigInt(Number(exponent) - least))
  return a % b === 0n
}

/** Steps for a remainder of decimals; of integers it costs next to nothing. */
const costOfDecimals = 300

const multipleOf: Keyword = {
  name: 'multipleOf',
  checks(factor) {
    if (typeof factor !== 'number') return undefined
    const message = `must be a multiple of ${factor} (multipleOf)`
    return {
      number(value, run) {
        if (!Number.isSafeInteger(value) || !Number.isSafeInteger(factor)) run.spend(costOfDecimals)
        return isMultiple(value, factor) || run.fail(message)
      },
    }
  },
}

export const numbers: readonly Keyword[] = [
  limit('minimum', atLeast, 'exclusiveMinimum', moreThan),
  limit('maximum', atMost, 'exclusiveMaximum', lessThan),
  limit('exclusiveMinimum', moreThan),
  limit('exclusiveMaximum', lessThan),
  multipleOf,
]
