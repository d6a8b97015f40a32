import { isArray, isObject, isString, member, type Json, type JsonObject } from '../../protocol/json.js'
import { quote } from '../../protocol/quote.js'
import { countOf } from '../code-points.js'
import { Distinct, isScalar } from '../equal.js'
import { formatOf } from '../formats.js'
import { isMultiple } from '../multiple.js'
import { compilePattern, costOf } from '../pattern.js'
import type { Keyword } from './compile.js'
import { ownMember, type OwnMember } from './own-member.js'
import { weigh } from '../weigh.js'
import { Spent, type Run } from './run.js'

const article = (type: string): string => (type === 'null' ? 'null' : /^[aio]/.test(type) ? `an ${type}` : `a ${type}`)

const isType = (type: string, value: Json): boolean => {
  switch (type) {
    case 'null':
      return value === null
    case 'integer':
      return Number.isInteger(value)
    case 'array':
      return isArray(value)
    case 'object':
      return isObject(value)
    default:
      return typeof value === type
  }
}

const type: Keyword = {
  name: 'type',
  check(value) {
    const types = (isArray(value) ? value : [value]).filter(isString)
    const message = `must be ${types.map(article).join(' or ')} (type)`
    const [only] = types
    if (types.length > 1) return (value, run) => types.some(type => isType(type, value)) || run.fail(message)
    // Written out for speed: hardly any schema is without one of these.
    switch (only) {
      case 'string':
        return (value, run) => typeof value === 'string' || run.fail(message)
      case 'number':
        return (value, run) => typeof value === 'number' || run.fail(message)
      case 'integer':
        return (value, run) => Number.isInteger(value) || run.fail(message)
      case 'object':
        return (value, run) => isObject(value) || run.fail(message)
      case undefined:
        return undefined
      default:
        return (value, run) => isType(only, value) || run.fail(message)
    }
  },
}

/** Comparing takes as long as the value is large; a scalar is looked up. */
const spendOn = (value: Json, run: Run): void => {
  if (!isScalar(value)) weigh(value, Infinity, () => run.spend(50))
}

const among = (name: string, message: string, values: (value: Json) => readonly Json[]): Keyword => ({
  name,
  check(value, _, run) {
    spendOn(value, run)
    const allowed = new Distinct()
    for (const item of values(value)) allowed.add(item)
    return (value, run) => {
      if (allowed.composite) spendOn(value, run)
      return allowed.has(value) || run.fail(message)
    }
  },
})

const number = (
  name: string, message: (limit: number) => string, holds: (value: number, limit: number) => boolean,
): Keyword => ({
  name,
  check: limit =>
    typeof limit === 'number'
      ? (value, run) => typeof value !== 'number' || holds(value, limit) || run.fail(`${message(limit)} (${name})`)
      : undefined,
})

const multipleOf: Keyword = {
  name: 'multipleOf',
  check: factor =>
    typeof factor === 'number'
      ? (value, run) => {
          if (typeof value !== 'number') return true
          run.spend(Number.isSafeInteger(value) && Number.isSafeInteger(factor) ? 1 : 200)
          return isMultiple(value, factor) || run.fail(`must be a multiple of ${factor} (multipleOf)`)
        }
      : undefined,
}

/** Draft-04: a flag beside the bound excludes the bound itself. */
const bound = (
  name: string, flag: string, word: string, strictly: string, holds: (value: number, limit: number) => boolean,
): Keyword => ({
  name,
  check(limit, { schema }) {
    if (typeof limit !== 'number') return undefined
    const exclusive = isObject(schema) && member(schema, flag) === true
    const message = `must be ${exclusive ? strictly : word} ${limit} (${exclusive ? flag : name})`
    const within = (value: number) => holds(value, limit) && !(exclusive && value === limit)
    return (value, run) => typeof value !== 'number' || within(value) || run.fail(message)
  },
})

/** The size of a value, compared with a limit; undefined when the keyword does not concern the value. */
const size = (
  name: string, noun: string, most: boolean, count: (value: Json, run: Run, limit: number) => number | undefined,
): Keyword => ({
  name,
  check(limit) {
    if (typeof limit !== 'number') return undefined
    const message = `must have at ${most ? 'most' : 'least'} ${limit} ${noun}${limit === 1 ? '' : 's'} (${name})`
    return (value, run) => {
      const counted = count(value, run, limit)
      return counted === undefined || (most ? counted <= limit : counted >= limit) || run.fail(message)
    }
  },
})

/** Counted only where the code units leave it open. */
const codePoints = (value: Json, run: Run, limit: number): number | undefined => {
  if (typeof value !== 'string') return undefined
  if (value.length < limit || value.length / 2 > limit) return value.length
  run.spend(value.length >> 2)
  return countOf(value)
}

const items = (value: Json): number | undefined => (isArray(value) ? value.length : undefined)

const members = (value: Json, run: Run): number | undefined => {
  if (!isObject(value)) return undefined
  run.look()
  const { length } = Object.keys(value)
  run.spend(length)
  return length
}

const pattern: Keyword = {
  name: 'pattern',
  check(source, _, run) {
    const pattern = isString(source) ? compilePattern(source) : undefined
    if (pattern === undefined) return undefined
    run.spend(pattern.effort)
    return (value, run) => {
      if (typeof value !== 'string') return true
      if (!pattern.linear && !run.allowance.anyPattern) throw new Spent()
      run.spend(costOf(pattern, value))
      return pattern.test(value) || run.fail('must match the pattern (pattern)')
    }
  },
}

const format: Keyword = {
  name: 'format',
  check(name) {
    const format = isString(name) ? formatOf(name) : undefined
    if (format === undefined || !isString(name)) return undefined
    const message = `must be ${quote(name)} (format)`
    return (value, run) => {
      if (typeof value !== 'string' || !run.allowance.formats) return true
      run.spend(2 + (value.length >> 2))
      return format(value) || run.fail(message)
    }
  },
}

const uniqueItems: Keyword = {
  name: 'uniqueItems',
  check: wanted =>
    wanted === true
      ? (value, run) => {
          if (!isArray(value)) return true
          const seen = new Distinct()
          return value.every(item => {
            run.spend(5)
            spendOn(item, run)
            return seen.add(item)
          }) || run.fail('must not have the same item twice (uniqueItems)')
        }
      : undefined,
}

const required: Keyword = {
  name: 'required',
  check(names) {
    const wanted = isArray(names) ? names.filter(isString).map(ownMember) : []
    return (value, run) => !isObject(value) || hasAll(value, wanted, run, 'required')
  },
}

export const hasAll = (value: JsonObject, wanted: readonly OwnMember[], run: Run, keyword: string): boolean => {
  run.spend(wanted.length)
  let valid = true
  for (const member of wanted) {
    if (member.of(value) !== undefined) continue
    valid = run.fail(`must have the property ${quote(member.name)} (${keyword})`)
    if (!run.collecting) break
  }
  return valid
}

const later = ['2020-12', '2019-09', 'draft-07', 'draft-06'] as const

export const assertions: readonly Keyword[] = [
  type,
  among('enum', 'must be one of the values that are listed (enum)', values => (isArray(values) ? values : [])),
  { ...among('const', 'must be the value that is given (const)', value => [value]), dialects: later },
  bound('minimum', 'exclusiveMinimum', 'at least', 'more than', (value, limit) => value >= limit),
  bound('maximum', 'exclusiveMaximum', 'at most', 'less than', (value, limit) => value <= limit),
  { ...number('exclusiveMinimum', limit => `must be more than ${limit}`, (value, limit) => value > limit), dialects: later },
  { ...number('exclusiveMaximum', limit => `must be less than ${limit}`, (value, limit) => value < limit), dialects: later },
  multipleOf,
  size('minLength', 'character', false, codePoints),
  size('maxLength', 'character', true, codePoints),
  pattern,
  format,
  size('minItems', 'item', false, items),
  size('maxItems', 'item', true, items),
  uniqueItems,
  size('minProperties', 'member', false, members),
  size('maxProperties', 'member', true, members),
  required,
]

