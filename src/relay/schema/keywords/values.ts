import { equal, isList, isString, type Data } from '#relay/protocol/unmetered.js'
import { Distinct } from '../distinct.js'
import { forAll, type Check, type KeywordChecks, type Keyword, type CompileContext } from './keyword.js'

const article = (type: string): string =>
  (type === 'null' ? 'null' : /^[aio]/.test(type) ? `an ${type}` : `a ${type}`)

/** Types that are allowed have no check; the others have one that fails. */
const type: Keyword = {
  name: 'type',
  expected: 'must name types of JSON Schema, each once',
  checks(value) {
    const types = (isList(value) ? value : [value]).filter(isString)
    const message = `must be ${types.map(article).join(' or ')} (type)`
    const fails: Check<Data> = (_, run) => run.fail(message)
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

/** One of the values: texts and numbers by a look-up, others by comparing them up to the first difference. */
const among = (allowed: readonly Data[], message: string, { budget }: CompileContext): KeywordChecks => {
  budget.spend(20 * allowed.length)
  budget.keep(160 * allowed.length)
  const scalars = new Distinct()
  const others: Data[] = []
  for (const value of allowed) {
    if (typeof value === 'string' || typeof value === 'number') scalars.add(value, budget)
    else others.push(value)
  }
  const scalar: Check<string | number> = (value, run) => scalars.has(value, run.budget) || run.fail(message)
  const other: Check<Data> = (value, run) =>
    others.some(one => equal(one, value, steps => run.spend(steps))) || run.fail(message)
  return { ...forAll(other), string: scalar, number: scalar }
}

const enumeration: Keyword = {
  name: 'enum',
  checks: (value, context) =>
    (isList(value) ? among(value, 'must be one of the values that are listed (enum)', context) : undefined),
}

const constant: Keyword = {
  name: 'const',
  checks: (value, context) => among([value], 'must be the value that is given (const)', context),
}

export const values: readonly Keyword[] = [type, enumeration, constant]
