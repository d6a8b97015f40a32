import { isArray, isObject, isString, member, omit, type Json } from '../protocol/json.js'
import type { Mend, Powers } from '../core/rule.js'
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

export const withoutHarmful: Mend = {
  isBlock: true,
  onTool({ definition = {} }) {
    const icons = member(definition, 'icons')
    const isList = isArray(icons) && icons.length <= mostIcons
    return isList ? { ...definition, icons: icons.filter(isHarmless) } : omit(definition, 'icons')
  },
}

const harmful = (icons: readonly Json[]): readonly number[] =>
  icons.flatMap((icon, index) => (isHarmless(icon) ? [] : [index]))

const isHarmless = (icon: Json): boolean => {
  const src = isObject(icon) ? member(icon, 'src') : undefined
  return isString(src) && harmless.test(src)
}
