import type { Place } from '../place.js'
import type { Run, Scope } from '../evaluate.js'
import { attempt, eachHolds, forAll, ofSchema, schemasOf, type Keyword } from './keyword.js'

const allOf: Keyword = {
  name: 'allOf',
  applies: 'here',
  checks(value, site) {
    const schemas = schemasOf(value, site, 'allOf')
    return forAll((value, run, seen) => eachHolds(schemas, run, schema => schema.matches(value, run, seen)))
  },
}

const anyOf: Keyword = {
  name: 'anyOf',
  applies: 'here',
  checks(value, site) {
    const schemas = schemasOf(value, site, 'anyOf')
    return forAll((value, run, seen) => {
      let valid = false
      for (const schema of schemas) {
        if (attempt(schema, value, run, seen)) valid = true
        // The other branches matter only where `unevaluated…` needs what they evaluate.
        if (valid && seen === undefined) return true
      }
      return valid || run.fail('must fit at least one of the alternatives (anyOf)')
    })
  },
}

const oneOf: Keyword = {
  name: 'oneOf',
  nonMonotonic: true,
  applies: 'here',
  checks(value, site) {
    const schemas = schemasOf(value, site, 'oneOf')
    return forAll((value, run, seen) => {
      let fitting = 0
      for (const schema of schemas) if (attempt(schema, value, run, seen) && ++fitting > 1) break
      if (fitting === 0) return run.fail('must fit one of the alternatives (oneOf)')
      return fitting === 1 || run.fail('must fit only one of the alternatives (oneOf)')
    })
  },
}

const not = ofSchema('not', schema => forAll((value, run) =>
  !attempt(schema, value, run, undefined) || run.fail('must not fit the schema (not)')
), { applies: 'here', nonMonotonic: true })

const conditional = ofSchema('if', (condition, site) => {
  const [then, otherwise] = [site.subschema('then'), site.subschema('else')]
  return forAll((value, run, seen) => {
    const chosen = attempt(condition, value, run, seen) ? then : otherwise
    return chosen === undefined || chosen.matches(value, run, seen)
  })
}, { applies: 'here', nonMonotonic: true })

const chosen = (name: string): Keyword => ({ name, applies: 'here', needs: 'if' })

/** What a reference resolves to in the outermost resource of the dynamic scope (2020-12 core, 8.2.3.2). */
const outermost = (run: Run, find: (scope: Scope) => Place | undefined): Place | undefined => {
  let found: Place | undefined
  for (let scope = run.scope; scope !== undefined; scope = scope.outer) {
    run.spend(2)
    found = find(scope) ?? found
  }
  return found
}

const reference = (name: string, find: (scope: Scope, name: string) => Place | undefined): Keyword => ({
  name,
  checks(_, site) {
    const target = site.target(name)
    if (target === undefined) return undefined
    const { dynamic } = target
    const schema = site.subschemaAt(target.place)
    if (dynamic === undefined) return forAll((value, run, seen) => schema.matches(value, run, seen))
    return forAll((value, run, seen) => {
      const found = outermost(run, scope => find(scope, dynamic))
      return (found === undefined ? schema : site.subschemaAt(found)).matches(value, run, seen)
    })
  },
})

/** Keywords that apply schemas to the same value. */
export const combinations: readonly Keyword[] = [
  reference('$ref', () => undefined),
  reference('$dynamicRef', ({ resource }, name) => resource.dynamicAnchors.get(name)),
  reference('$recursiveRef', ({ resource }) => (resource.recursive ? resource.root : undefined)),
  allOf, anyOf, oneOf, not, conditional, chosen('then'), chosen('else'),
]
