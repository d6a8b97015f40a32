import { isArray, type Json } from '../../protocol/unmetered.js'
import { hasKeyword } from '../../protocol/json-schema.js'
import { Distinct } from '../equal.js'
import { attempt, schemasOf, sizeMessage, type Check, type Checks, type Keyword, type Subschema } from './keyword.js'

type ArrayCheck = Check<readonly Json[]>

/** One schema for each position. */
const tuple = (schemas: readonly Subschema[]): ArrayCheck => (items, run, seen) => {
  let valid = true
  for (const [index, schema] of schemas.entries()) {
    if (index >= items.length) break
    if (schema.matchesBelow(index, items[index] ?? null, run)) continue
    valid = false
    if (!run.collecting) return false
  }
  if (seen !== undefined) seen.items = Math.max(seen.items, schemas.length)
  return valid
}

/** One schema for all positions from one on. */
const rest = (schema: Subschema, from: number): ArrayCheck => (items, run, seen) => {
  let valid = true
  for (let index = from; index < items.length; index++) {
    if (schema.matchesBelow(index, items[index] ?? null, run)) continue
    valid = false
    if (!run.collecting) return false
  }
  if (seen !== undefined) seen.items = items.length
  return valid
}

const prefixItems: Keyword = {
  name: 'prefixItems',
  applies: 'below',
  checks: (value, site) => ({ array: tuple(schemasOf(value, site, 'prefixItems')) }),
}

const items: Keyword = {
  name: 'items',
  applies: 'below',
  expected: 'must be a schema, or an array of schemas up to 2019-09',
  checks(value, site) {
    if (isArray(value)) return { array: tuple(schemasOf(value, site, 'items')) }
    const schema = site.subschema('items')
    const before = site.dialect === '2020-12' ? site.sibling('prefixItems') : undefined
    return schema && { array: rest(schema, isArray(before) ? before.length : 0) }
  },
}

const additionalItems: Keyword = {
  name: 'additionalItems',
  applies: 'below',
  checks(_, site): Checks | undefined {
    const before = site.sibling('items')
    const schema = site.subschema('additionalItems')
    return isArray(before) && schema !== undefined ? { array: rest(schema, before.length) } : undefined
  },
}

const contains: Keyword = {
  name: 'contains',
  turns: true,
  applies: 'below',
  checks(_, site): Checks | undefined {
    const schema = site.subschema('contains')
    if (schema === undefined) return undefined
    const [min, max] = hasKeyword(site.dialect, 'minContains') ? [site.sibling('minContains'), site.sibling('maxContains')] : []
    const least = typeof min === 'number' ? min : 1
    const most = typeof max === 'number' ? max : Infinity
    const tooFew = least === 1 ? 'must have an item that fits (contains)' : `must have at least ${least} items that fit (minContains)`
    return {
      array(items, run, seen) {
        let found = 0
        for (const [index, item] of items.entries()) {
          if (!attempt(schema, item, run, undefined)) continue
          found++
          if (site.dialect === '2020-12') seen?.addItem(index)
        }
        if (found < least) return run.fail(tooFew)
        return found <= most || run.fail(`must have at most ${most} items that fit (maxContains)`)
      },
    }
  },
}

const size = (name: string, most: boolean): Keyword => ({
  name,
  checks(limit) {
    if (typeof limit !== 'number') return undefined
    const message = sizeMessage(name, most, limit, 'item')
    return { array: ({ length }, run) => (most ? length <= limit : length >= limit) || run.fail(message) }
  },
})

const uniqueItems: Keyword = {
  name: 'uniqueItems',
  checks: (wanted): Checks | undefined =>
    wanted === true
      ? {
          array(items, run) {
            const seen = new Distinct(run.budget)
            return items.every(item => seen.add(item)) || run.fail('must not have the same item twice (uniqueItems)')
          },
        }
      : undefined,
}

export const arrays: readonly Keyword[] = [size('minItems', false), size('maxItems', true), uniqueItems, prefixItems, items, additionalItems, contains]
