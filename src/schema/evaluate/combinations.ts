import { isArray, type Json } from '../../protocol/json.js'
import type { Place } from '../document.js'
import type { Keyword } from './compile.js'
import { evaluate, type Scope } from './evaluate.js'
import type { Evaluated } from './evaluated.js'
import type { Run } from './run.js'

const branches = (value: Json, place: Place, keyword: string): readonly Place[] =>
  isArray(value) ? value.flatMap((_, index) => place.child(keyword, index) ?? []) : []

/** Whether a branch holds, without reporting why not; what it evaluated counts only if it does. */
const holds = (branch: Place, value: Json, run: Run, scope: Scope, seen: Evaluated | undefined): boolean =>
  run.aside(() => evaluate(branch, value, run, scope, seen))

const allOf: Keyword = {
  name: 'allOf',
  check(value, place) {
    const schemas = branches(value, place, 'allOf')
    return (value, run, scope, seen) => {
      let valid = true
      for (const schema of schemas) {
        if (!evaluate(schema, value, run, scope, seen)) valid = false
        if (!valid && !run.collecting) return false
      }
      return valid
    }
  },
}

const anyOf: Keyword = {
  name: 'anyOf',
  check(value, place) {
    const schemas = branches(value, place, 'anyOf')
    return (value, run, scope, seen) => {
      let valid = false
      for (const schema of schemas) {
        if (holds(schema, value, run, scope, seen)) valid = true
        // The other branches matter only to those who go by what was evaluated.
        if (valid && seen === undefined) return true
      }
      return valid || run.fail('must fit at least one of the alternatives (anyOf)')
    }
  },
}

const oneOf: Keyword = {
  name: 'oneOf',
  check(value, place) {
    const schemas = branches(value, place, 'oneOf')
    return (value, run, scope, seen) => {
      let fitting = 0
      for (const schema of schemas) {
        if (holds(schema, value, run, scope, seen) && ++fitting > 1) break
      }
      if (fitting === 0) return run.fail('must fit one of the alternatives (oneOf)')
      return fitting === 1 || run.fail('must fit only one of the alternatives (oneOf)')
    }
  },
}

const not: Keyword = {
  name: 'not',
  check(_, place) {
    const schema = place.child('not')
    if (schema === undefined) return undefined
    return (value, run, scope) => !holds(schema, value, run, scope, undefined) || run.fail('must not fit the schema (not)')
  },
}

const conditional: Keyword = {
  name: 'if',
  dialects: ['2020-12', '2019-09', 'draft-07'],
  check(_, place) {
    const condition = place.child('if')
    if (condition === undefined) return undefined
    const [then, otherwise] = [place.child('then'), place.child('else')]
    return (value, run, scope, seen) => {
      const chosen = holds(condition, value, run, scope, seen) ? then : otherwise
      return chosen === undefined || evaluate(chosen, value, run, scope, seen)
    }
  },
}

export const combinations: readonly Keyword[] = [allOf, anyOf, oneOf, not, conditional]
