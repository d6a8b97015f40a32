import { isList, type Data } from '#relay/protocol/unmetered.js'
import { hasKeyword } from '#relay/protocol/json-schema.js'
import { Distinct } from '../distinct.js'
import { attempt, ofSchema, ofSize, schemasOf, type Check, type Keyword, type Subschema } from './keyword.js'

type ArrayCheck = Check<readonly Data[]>

/** Each item in a range of positions matches its schema. */
const inRange = (schemaAt: (index: number) => Subschema | undefined, from: number, to: number): ArrayCheck =>
  (items, run, seen) => {
    const end = Math.min(to, items.length)
    let valid = true
    for (let index = from; index < end; index++) {
      if (schemaAt(index)?.matchesBelow(index, items[index] ?? null, run) === true) continue
      valid = false
      if (!run.collecting) return false
    }
    if (seen !== undefined) seen.items = Math.max(seen.items, end)
    return valid
  }

const tuple = (schemas: readonly Subschema[]): ArrayCheck =>
  inRange(index => schemas[index], 0, schemas.length)

const rest = (schema: Subschema, from: number): ArrayCheck => inRange(() => schema, from, Infinity)

const prefixItems: Keyword = {
  name: 'prefixItems',
  applies: 'below',
  checks: (value, context) => ({ array: tuple(schemasOf(value, context, 'prefixItems')) }),
}

const items: Keyword = {
  name: 'items',
  applies: 'below',
  expected: 'must be a schema, or an array of schemas up to 2019-09',
  checks(value, context) {
    if (isList(value)) return { array: tuple(schemasOf(value, context, 'items')) }
    const schema = context.subschema('items')
    const before = context.dialect === '2020-12' ? context.sibling('prefixItems') : undefined
    return schema && { array: rest(schema, isList(before) ? before.length : 0) }
  },
}

const additionalItems = ofSchema('additionalItems', (schema, context) => {
  const before = context.sibling('items')
  return isList(before) ? { array: rest(schema, before.length) } : undefined
})

const contains = ofSchema('contains', (schema, context) => {
  const counted = hasKeyword(context.dialect, 'minContains')
  const limit = (name: string, otherwise: number): number => {
    const value = counted ? context.sibling(name) : undefined
    return typeof value === 'number' ? value : otherwise
  }
  const [min, max] = [limit('minContains', 1), limit('maxContains', Infinity)]
  const tooFew = min === 1
    ? 'must have an item that fits (contains)'
    : `must have at least ${min} items that fit (minContains)`
  return {
    array(items, run, seen) {
      let found = 0
      for (const [index, item] of items.entries()) {
        if (!attempt(schema, item, run, undefined)) continue
        found++
        if (context.dialect === '2020-12') seen?.addItem(index)
      }
      if (found < min) return run.fail(tooFew)
      return found <= max || run.fail(`must have at most ${max} items that fit (maxContains)`)
    },
  }
}, { nonMonotonic: true })

const size = (name: string): Keyword => ofSize(name, 'item', (fits, _, message) => (
  { array: ({ length }, run) => fits(length) || run.fail(message) }))

const uniqueItems: Keyword = {
  name: 'uniqueItems',
  checks(wanted) {
    if (wanted !== true) return undefined
    const message = 'must not have the same item twice (uniqueItems)'
    return {
      array(items, run) {
        const seen = new Distinct()
        return items.every(item => seen.add(item, run.budget)) || run.fail(message)
      },
    }
  },
}

export const arrays: readonly Keyword[] = [
  size('minItems'), size('maxItems'), uniqueItems, prefixItems, items, additionalItems, contains,
]
