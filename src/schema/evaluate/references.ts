import type { Place } from '../document.js'
import type { Keyword } from './compile.js'
import { evaluate, type Scope } from './evaluate.js'
import type { Run } from './run.js'

const reference = (name: string, dynamic: (scope: Scope, name: string) => Place | undefined): Keyword => ({
  name,
  check(_, place) {
    const target = place.targets.get(name)
    if (target === undefined) return undefined
    const { dynamic: asked } = target
    return (value, run, scope, seen) => {
      const found = asked === undefined ? undefined : outermost(scope, run, resource => dynamic(resource, asked))
      return evaluate(found ?? target.place, value, run, scope, seen)
    }
  },
})

const outermost = (scope: Scope, run: Run, find: (scope: Scope) => Place | undefined): Place | undefined => {
  let found: Place | undefined
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    run.spend(1)
    found = find(at) ?? found
  }
  return found
}

const recursive = (scope: Scope): Place | undefined => (scope.resource.recursive ? scope.resource.root : undefined)

export const references: readonly Keyword[] = [
  reference('$ref', () => undefined),
  { ...reference('$dynamicRef', (scope, name) => scope.resource.dynamicAnchors.get(name)), dialects: ['2020-12'] },
  { ...reference('$recursiveRef', recursive), dialects: ['2019-09'] },
]
