import { isArray, isObject, isString, member, type Json } from '../protocol/json.js'
import type { Rule } from '../core/rule.js'
import { most, nothing, one } from './finding.js'

// A client fetches what is named here: over the web's secure scheme, or not at all, when the picture is there already.
const harmless = /^(?:https:\/\/|data:image\/)/i

export const icon: Rule = {
  name: 'tool/icon',
  onTool({ definition, path }) {
    const icons = member(definition, 'icons')
    if (icons === undefined) return nothing
    if (!isArray(icons)) return one('tool/icon', `${path}/icons`, 'must be an array')
    return icons
      .flatMap((icon, index) =>
        isHarmless(icon) ? [] : one('tool/icon', `${path}/icons/${index}`, 'src must be an https: or data:image/ URI'),
      )
      .slice(0, most)
  },
}

const isHarmless = (icon: Json): boolean => {
  const src = isObject(icon) ? member(icon, 'src') : undefined
  return isString(src) && harmless.test(src)
}
