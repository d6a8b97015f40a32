// What is innocent once carries a secret where a text has many of it: what stands in the same place now with it and now without it, or
// with another one, is a code.

/** What may be there or not, as the writer likes: soft hyphen, bidi marks, Mongolian separator, zero width spaces and joiners. */
const optional = '\\u00ad\\u061c\\u180e\\u200b-\\u200f'
const selectors = '\\u180b-\\u180d\\u180f\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}'
/** A character that is seen, and what stands behind it unseen. */
const seen = new RegExp(`([^${optional}${selectors}])([${selectors}]*)([${optional}]*)`, 'gu')
const letter = /[\p{L}\p{M}]/u

/** So often may what is alike be treated differently in one text, or as often as one in eight is. */
const maxChanges = 16
const oneIn = 8

/** So many marks may stand among so many letters: words have more letters, in any script. */
const maxInWindow = 24
const windowLetters = 60

/** @returns where a code is found out; undefined where there is none */
export const findVaried = (text: string): number | undefined => {
  const forms = new Map<string, string>()
  const recent: number[] = []
  const styles = { '\ufe0e': 0, '\ufe0f': 0 }
  let [changes, unseen, letters] = [0, 0, 0]
  // The marks behind b, which is the second of the three characters before this one.
  let [a, b, c, behindB, behindC] = ['', '', '', '', '']
  const differs = (place: string, form: string): boolean => {
    if (form !== '') unseen++
    const known = forms.get(place)
    forms.set(place, form)
    return known !== undefined && known !== form && ++changes > maxChanges && changes * oneIn > unseen
  }
  for (const { 1: one = '', 2: selected = '', 3: marks = '', index } of text.matchAll(seen)) {
    if (selected === '\ufe0e' || selected === '\ufe0f') styles[selected]++
    // In Mongolian the letter before decides which form a letter has.
    const place = mongolian.test(one) ? `${c} ${one}` : one
    if (differs(`${a}${b} ${c}${one}`, behindB) || differs(place, selected) || Math.min(...Object.values(styles)) > maxChanges) return index
    ;[a, b, c, behindB, behindC] = [b, c, one, behindC, marks]
    if (!letter.test(one)) continue
    letters++
    if (marks === '') continue
    recent.push(letters)
    if (recent.length > maxInWindow && letters - (recent.shift() ?? 0) < windowLetters) return index + one.length + selected.length
  }
  return undefined
}

const mongolian = /[\u1800-\u18af]/
