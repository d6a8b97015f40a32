import type { Check, Keyword } from './keyword.js'

type Bound = (limit: number, message: string) => Check<number>

const atLeast: Bound = (limit, message) => (value, run) => value >= limit || run.fail(message)
const atMost: Bound = (limit, message) => (value, run) => value <= limit || run.fail(message)
const moreThan: Bound = (limit, message) => (value, run) => value > limit || run.fail(message)
const lessThan: Bound = (limit, message) => (value, run) => value < limit || run.fail(message)

const exclusive = (name: string, words: string, bound: Bound): Keyword => ({
  name,
  checks: limit => (typeof limit === 'number' ? { number: bound(limit, `must be ${words} ${limit} (${name})`) } : undefined),
})

/** Up to draft-04 a flag beside the bound excludes the bound itself. */
const inclusive = (name: string, words: string, bound: Bound, flag: string, wordsOfFlag: string, strict: Bound): Keyword => ({
  name,
  checks(limit, site) {
    if (typeof limit !== 'number') return undefined
    if (site.sibling(flag) === true) return { number: strict(limit, `must be ${wordsOfFlag} ${limit} (${flag})`) }
    return { number: bound(limit, `must be ${words} ${limit} (${name})`) }
  },
})

/** Whether a number is a multiple of another, in decimals as they are written: 19.99 is a multiple of 0.01. */
export const isMultiple = (value: number, of: number): boolean => {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0
  if (!Number.isFinite(value)) return false
  const [a, b] = [decimal(value), decimal(of)]
  // A difference of exponents of up to 632 is the whole range of doubles: the integers stay small.
  const exponent = Math.min(a.exponent, b.exponent)
  return scaled(a, exponent) % scaled(b, exponent) === 0n
}

interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

const decimal = (number: number): Decimal => {
  const [mantissa = '0', exponent = '0'] = number.toExponential().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

const scaled = ({ digits, exponent }: Decimal, to: number): bigint => digits * 10n ** BigInt(exponent - to)

/** What a remainder of decimals costs; of whole numbers it costs next to nothing. */
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
  inclusive('minimum', 'at least', atLeast, 'exclusiveMinimum', 'more than', moreThan),
  inclusive('maximum', 'at most', atMost, 'exclusiveMaximum', 'less than', lessThan),
  exclusive('exclusiveMinimum', 'more than', moreThan),
  exclusive('exclusiveMaximum', 'less than', lessThan),
  multipleOf,
]
