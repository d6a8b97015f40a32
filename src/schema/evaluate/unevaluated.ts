import { isArray, isObject } from '../../protocol/json.js'
import type { Keyword } from './compile.js'
import { below } from './evaluate.js'

const later = ['2020-12', '2019-09'] as const

const unevaluatedProperties: Keyword = {
  name: 'unevaluatedProperties',
  dialects: later,
  check(_, place) {
    const schema = place.child('unevaluatedProperties')
    if (schema === undefined) return undefined
    return (value, run, scope, seen) => {
      if (!isObject(value) || seen === undefined) return true
      run.look()
      let valid = true
      for (const key of Object.keys(value)) {
        run.spend(1)
        if (seen.hasMember(key)) continue
        if (!below(schema, key, value[key] ?? null, run, scope)) valid = false
        if (!valid && !run.collecting) return false
      }
      seen.allMembers = true
      return valid
    }
  },
}

const unevaluatedItems: Keyword = {
  name: 'unevaluatedItems',
  dialects: later,
  check(_, place) {
    const schema = place.child('unevaluatedItems')
    if (schema === undefined) return undefined
    return (value, run, scope, seen) => {
      if (!isArray(value) || seen === undefined) return true
      let valid = true
      for (const index of value.keys()) {
        run.spend(1)
        if (seen.hasItem(index)) continue
        if (!below(schema, index, value[index] ?? null, run, scope)) valid = false
        if (!valid && !run.collecting) return false
      }
      seen.items = value.length
      return valid
    }
  },
}

/** These come last: they go by what all the others evaluated. */
export const unevaluated: readonly Keyword[] = [unevaluatedProperties, unevaluatedItems]
