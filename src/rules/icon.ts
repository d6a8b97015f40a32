import type { Edit } from '../protocol/edit.js'
import { isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import type { Powers } from '../core/rule.js'
import { most, nothing, one } from './problem.js'

/** More icons than that are not told apart: they go together. */
const mostIcons = 1000

// A client fetches what is named here: over the web's secure scheme, or not at all, when the picture is there already.
const harmless = /^(?:https:\/\/|data:image\/)/i

export const icon: Powers = {
  onTool({ definition, path }) {
    const icons = member(definition, 'icons')
    if (icons === undefined) return nothing
    if (!isArray(icons)) return one(`${path}/icons`, 'must be an array')
    if (icons.length > mostIcons) return one(`${path}/icons`, `are more than ${mostIcons}`)
    return harmful(icons)
      .slice(0, most)
      .map(index => ({ path: `${path}/icons/${index}`, message: 'src must be an https: or data:image/ URI' }))
  },
}

export const cutIcons = (tool: JsonObject): readonly Edit[] => {
  const icons = member(tool, 'icons')
  return isArray(icons) && icons.length <= mostIcons
    ? harmful(icons).map(index => ({ path: ['icons', index], remove: true }))
    : [{ path: ['icons'], remove: true }]
}

const harmful = (icons: readonly Json[]): readonly number[] =>
  icons.flatMap((icon, index) => (isHarmless(icon) ? [] : [index]))

const isHarmless = (icon: Json): boolean => {
  const src = isObject(icon) ? member(icon, 'src') : undefined
  return isString(src) && harmless.test(src)
}
