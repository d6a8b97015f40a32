import { costOfMembers } from '#relay/protocol/unmetered.js'
import { eachHolds, ofSchema, type Keyword } from './keyword.js'

const unevaluatedProperties = ofSchema('unevaluatedProperties', schema => ({
  object(object, run, seen) {
    const names = Object.keys(object)
    run.spend(costOfMembers(names.length))
    const valid = eachHolds(names, run, name =>
      seen?.hasMember(name) === true || schema.matchesBelow(name, object[name] ?? null, run))
    if (seen !== undefined) seen.allMembers = true
    return valid
  },
}), { tracks: true })

const unevaluatedItems = ofSchema('unevaluatedItems', schema => ({
  array(items, run, seen) {
    const valid = eachHolds(items.entries(), run, ([index, item]) => {
      run.spend(1)
      return seen?.hasItem(index) === true || schema.matchesBelow(index, item, run)
    })
    if (seen !== undefined) seen.items = items.length
    return valid
  },
}), { tracks: true })

export const unevaluated: readonly Keyword[] = [unevaluatedProperties, unevaluatedItems]
