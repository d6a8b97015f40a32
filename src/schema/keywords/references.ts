import type { Place } from '../place.js'
import type { Run, Scope } from '../evaluate.js'
import { forAll, type Keyword } from './keyword.js'

/** What the outermost resource that the evaluation came through has for a dynamic reference. */
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

export const references: readonly Keyword[] = [
  reference('$ref', () => undefined),
  reference('$dynamicRef', ({ resource }, name) => resource.dynamicAnchors.get(name)),
  reference('$recursiveRef', ({ resource }) => (resource.recursive ? resource.root : undefined)),
]
