import { costOfMembers } from '../../values/equal.js'
import type { Checks, Keyword } from './keyword.js'

const unevaluatedProperties: Keyword = {
  name: 'unevaluatedProperties',
  applies: 'below',
  tracks: true,
  checks(_, site): Checks | undefined {
    const schema = site.subschema('unevaluatedProperties')
    if (schema === undefined) return undefined
    return {
      object(object, run, seen) {
        const names = Object.keys(object)
        run.spend(costOfMembers(names.length))
        let valid = true
        for (const name of names) {
          if (seen?.hasMember(name) === true || schema.matchesBelow(name, object[name] ?? null, run)) continue
          valid = false
          if (!run.collecting) return false
        }
        if (seen !== undefined) seen.allMembers = true
        return valid
      },
    }
  },
}

const unevaluatedItems: Keyword = {
  name: 'unevaluatedItems',
  applies: 'below',
  tracks: true,
  checks(_, site): Checks | undefined {
    const schema = site.subschema('unevaluatedItems')
    if (schema === undefined) return undefined
    return {
      array(items, run, seen) {
        let valid = true
        for (const [index, item] of items.entries()) {
          run.spend(1)
          if (seen?.hasItem(index) === true || schema.matchesBelow(index, item, run)) continue
          valid = false
          if (!run.collecting) return false
        }
        if (seen !== undefined) seen.items = items.length
        return valid
      },
    }
  },
}

export const unevaluated: readonly Keyword[] = [unevaluatedProperties, unevaluatedItems]
