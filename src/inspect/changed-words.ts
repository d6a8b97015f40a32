import { diffWordsWithSpace } from 'diff'
import { reveal, revealAll } from './reveal.js'
import type { Style } from './style.js'

/** Changes of words that are looked for: two texts with more have little in common, and finding them all would take long. */
const mostEdits = 400

/** Characters of what did not change that are shown beside what did. */
const context = 40

/**
 * A text by its changed words: `[-taken out-]`, `{+put in+}`, and a little of what stands around them.
 * @returns phrases, to be broken between lines; undefined when the texts have little in common
 */
export const changedWords = (before: string, after: string, style: Style): readonly string[] | undefined => {
  const pieces = diffWordsWithSpace(before, after, { maxEditLength: mostEdits })
  if (pieces === undefined) return undefined
  const kept = pieces.reduce((sum, { added, removed, value }) => (added || removed ? sum : sum + value.length), 0)
  if (kept * 3 < Math.max(before.length, after.length)) return undefined
  // Where both are spelt alike but for how the characters are composed, the eye sees no difference.
  const show = before.normalize('NFKC') === after.normalize('NFKC') ? revealAll : reveal
  const phrases = pieces.map(({ added, removed, value }, index) => {
    if (added) return styled(`{+${show(value)}+}`, style.good)
    if (removed) return styled(`[-${show(value)}-]`, style.bad)
    return reveal(shortened(value, index > 0, index + 1 < pieces.length))
  })
  return phrases.join('').split(' ')
}

/** Each word by itself, so that a style does not run over the end of a line. */
const styled = (text: string, style: (text: string) => string): string => text.split(' ').map(style).join(' ')

const shortened = (text: string, hasBefore: boolean, hasAfter: boolean): string => {
  const from = hasBefore ? context : 0
  const to = hasAfter ? context : 0
  return text.length <= from + to + 1 ? text : `${cut(text.slice(0, from))}…${to === 0 ? '' : cut(text.slice(-to))}`
}

/** The cut may have gone through a character. */
const cut = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
