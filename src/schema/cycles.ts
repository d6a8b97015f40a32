import type { Place } from './document.js'

// Keywords whose schemas are applied to the same value; a reference is too.
const inPlace = /^\/(?:(?:allOf|anyOf|oneOf|dependentSchemas|dependencies)\/|(?:not|if|then|else)$)/

/** The schemas that are applied to the same value as this one, because of it. Those found by dynamic scope are not known here. */
export const applied = (place: Place): readonly Place[] => [
  ...[...place.children].filter(([at]) => inPlace.test(at)).map(([, child]) => child),
  ...[...place.targets.values()].map(target => target.place),
]

/** A schema that leads back to itself without going down into the value: evaluating it would never end. */
export const findCycle = (places: readonly Place[]): Place | undefined => {
  const done = new Set<Place>()
  const open = new Set<Place>()
  for (const start of places) {
    // An explicit stack: a chain of references may be as long as there are schemas.
    const stack: { place: Place; rest: Place[] }[] = []
    const enter = (place: Place) => {
      open.add(place)
      stack.push({ place, rest: [...applied(place)] })
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
