import { isArray, isString, type Json } from '../../protocol/unmetered.js'
import { equal } from '../equal.js'
import { costOfName, nameKey } from '../budget.js'
import { forAll, type Check, type Checks, type Keyword, type Site } from './keyword.js'

const article = (type: string): string => (type === 'null' ? 'null' : /^[aio]/.test(type) ? `an ${type}` : `a ${type}`)

/** What is allowed is not looked at again: the kinds that are not have a check, which fails. */
const type: Keyword = {
  name: 'type',
  expected: 'must name types of JSON Schema, each once',
  checks(value) {
    const types = (isArray(value) ? value : [value]).filter(isString)
    const message = `must be ${types.map(article).join(' or ')} (type)`
    const fails: Check<Json> = (_, run) => run.fail(message)
    const unless = (type: string) => (types.includes(type) ? undefined : fails)
    const integer: Check<number> = (value, run) => Number.isInteger(value) || run.fail(message)
    return {
      null: unless('null'),
      boolean: unless('boolean'),
      number: types.includes('integer') && !types.includes('number') ? integer : unless('number'),
      string: unless('string'),
      array: unless('array'),
      object: unless('object'),
    }
  },
}

/** Numbers are searched for: V8 hashes them without a seed, so that anybody can find many that collide. */
const search = (sorted: readonly number[], value: number): boolean => {
  let low = 0
  let high = sorted.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const found = sorted[middle] ?? NaN
    if (found === value) return true
    if (found < value) low = middle + 1
    else high = middle - 1
  }
  return false
}

/** The value is one of these: texts by a look-up, arrays and objects compared up to the first difference. */
const among = (allowed: readonly Json[], message: string, { budget }: Site): Checks => {
  budget.spend(20 * allowed.length)
  budget.keep(80 * allowed.length)
  const texts = new Set<string>()
  const numbers: number[] = []
  const others: Json[] = []
  for (const value of allowed) {
    if (typeof value === 'string') {
      budget.spend(costOfName(value))
      texts.add(nameKey(value))
    } else if (typeof value === 'number') numbers.push(value)
    else others.push(value)
  }
  numbers.sort((a, b) => a - b)
  const other: Check<Json> = (value, run) => others.some(one => equal(one, value, run.budget)) || run.fail(message)
  return {
    ...forAll(other),
    string(value, run) {
      run.spend(costOfName(value))
      return texts.has(nameKey(value)) || run.fail(message)
    },
    number: (value, run) => search(numbers, value) || run.fail(message),
  }
}

const enumeration: Keyword = {
  name: 'enum',
  checks: (value, site) => (isArray(value) ? among(value, 'must be one of the values that are listed (enum)', site) : undefined),
}

const constant: Keyword = {
  name: 'const',
  checks: (value, site) => among([value], 'must be the value that is given (const)', site),
}

export const values: readonly Keyword[] = [type, enumeration, constant]
