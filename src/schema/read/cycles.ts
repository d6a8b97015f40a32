import type { Budget } from '../budget.js'
import type { Place } from '../place.js'
import { keywordsOf, refersAlone } from '../keywords/index.js'

/** What a schema applies by its dialect's keywords: to the same value, and to what is below it. What only the dynamic scope finds is not known here. */
const appliedBy = (place: Place): { readonly here: readonly Place[]; readonly below: readonly Place[] } => {
  const here = [...place.targets.values()].map(target => target.place)
  const below: Place[] = []
  if (refersAlone(place)) return { here, below }
  const keywords = keywordsOf(place.resource.dialect)
  const has = (keyword: string) => typeof place.schema === 'object' && Object.hasOwn(place.schema, keyword)
  for (const child of place.children) {
    const keyword = keywords.get(String(child.steps[0]))
    if (keyword?.applies === 'here' && (keyword.needs === undefined || has(keyword.needs))) here.push(child)
    else if (keyword?.applies === 'below') below.push(child)
  }
  return { here, below }
}

/**
 * A schema that leads back to itself without going down into the value: evaluating it would never end. One that is never applied
 * cannot do any harm.
 */
export const findCycle = (root: Place, budget: Budget): Place | undefined => {
  const done = new Set<Place>()
  const open = new Set<Place>()
  const starts = [root]
  for (const start of starts) {
    // An explicit stack: a chain of references may be as long as there are schemas.
    const stack: { place: Place; rest: Place[] }[] = []
    const enter = (place: Place) => {
      const { here, below } = appliedBy(place)
      budget.spend(30 + 10 * (here.length + below.length))
      starts.push(...below)
      open.add(place)
      stack.push({ place, rest: [...here] })
    }
    if (!done.has(start)) enter(start)
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.rest.pop()
      if (next === undefined) {
        open.delete(top.place)
        done.add(top.place)
        stack.pop()
      } else if (open.has(next)) return next
      else if (!done.has(next)) enter(next)
    }
  }
  return undefined
}
