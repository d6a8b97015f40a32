import { isArray, isObject, member, type Json } from '../../protocol/json.js'
import type { Place } from '../document.js'
import type { Check, Keyword } from './compile.js'
import { below, type Scope } from './evaluate.js'
import type { Evaluated } from './evaluated.js'
import type { Run } from './run.js'

const item = (schema: Place, items: readonly Json[], index: number, run: Run, scope: Scope): boolean =>
  below(schema, index, items[index] ?? null, run, scope)

const note = (seen: Evaluated | undefined, items: number): void => {
  if (seen !== undefined) seen.items = Math.max(seen.items, items)
}

/** One schema for each position. */
const tuple = (schemas: readonly Place[]): Check => (value, run, scope, seen) => {
  if (!isArray(value)) return true
  let valid = true
  for (const [index, schema] of schemas.entries()) {
    if (index >= value.length) break
    if (!item(schema, value, index, run, scope)) valid = false
    if (!valid && !run.collecting) return false
  }
  note(seen, schemas.length)
  return valid
}

/** One schema for all positions from one on. */
const rest = (schema: Place, from: number): Check => (value, run, scope, seen) => {
  if (!isArray(value)) return true
  let valid = true
  for (let index = from; index < value.length; index++) {
    if (!item(schema, value, index, run, scope)) valid = false
    if (!valid && !run.collecting) return false
  }
  note(seen, value.length)
  return valid
}

const schemasAt = (value: Json | undefined, place: Place, keyword: string): readonly Place[] =>
  isArray(value) ? value.flatMap((_, index) => place.child(keyword, index) ?? []) : []

const prefixItems: Keyword = {
  name: 'prefixItems',
  dialects: ['2020-12'],
  check: (value, place) => tuple(schemasAt(value, place, 'prefixItems')),
}

const items: Keyword = {
  name: 'items',
  check(value, place) {
    if (isArray(value)) return tuple(schemasAt(value, place, 'items'))
    const schema = place.child('items')
    const before = place.resource.dialect === '2020-12' ? sibling(place, 'prefixItems') : undefined
    return schema === undefined ? undefined : rest(schema, isArray(before) ? before.length : 0)
  },
}

const additionalItems: Keyword = {
  name: 'additionalItems',
  dialects: ['2019-09', 'draft-07', 'draft-06', 'draft-04'],
  check(value, place) {
    const before = sibling(place, 'items')
    if (!isArray(before)) return undefined
    const schema = place.child('additionalItems')
    if (schema !== undefined) return rest(schema, before.length)
    // Draft-04 has booleans here, which are no schemas there.
    return (items, run) =>
      value === true || !isArray(items) || items.length <= before.length || run.fail('has too many items (additionalItems)')
  },
}

const contains: Keyword = {
  name: 'contains',
  dialects: ['2020-12', '2019-09', 'draft-07', 'draft-06'],
  check(_, place) {
    const schema = place.child('contains')
    if (schema === undefined) return undefined
    const { dialect } = place.resource
    const counts = dialect === '2020-12' || dialect === '2019-09'
    const [min, max] = counts ? [sibling(place, 'minContains'), sibling(place, 'maxContains')] : []
    const least = typeof min === 'number' ? min : 1
    const most = typeof max === 'number' ? max : Infinity
    const tooFew =
      least === 1 ? 'must have an item that fits (contains)' : `must have at least ${least} items that fit (minContains)`
    return (value, run, scope, seen) => {
      if (!isArray(value)) return true
      let found = 0
      for (const index of value.keys()) {
        if (!run.aside(() => item(schema, value, index, run, scope))) continue
        found++
        if (dialect === '2020-12') seen?.addItem(index)
      }
      if (found < least) return run.fail(tooFew)
      return found <= most || run.fail(`must have at most ${most} items that fit (maxContains)`)
    }
  },
}

const sibling = ({ schema }: Place, keyword: string): Json | undefined => (isObject(schema) ? member(schema, keyword) : undefined)

export const arrays: readonly Keyword[] = [prefixItems, items, additionalItems, contains]
