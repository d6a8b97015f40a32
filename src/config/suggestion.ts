import { closestMatch } from 'leven'

/**
 * `; did you mean "…"?`, or nothing when no candidate is near: a third of the letters may be wrong, at most three, and two
 * letters may have changed places.
 */
export const suggestion = (word: string, candidates: readonly string[]): string => {
  const maxDistance = word.length < 4 ? 1 : Math.min(3, Math.max(2, Math.floor(word.length / 3)))
  const nearest = closestMatch(word, candidates, { maxDistance })
  return nearest === undefined ? '' : `; did you mean ${JSON.stringify(nearest)}?`
}
