import { isMultiple } from '../../values/multiple.js'
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
