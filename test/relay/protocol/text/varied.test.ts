import fc from 'fast-check'
import t from 'tap'
import { findVaried } from '#relay/protocol/text/varied.js'

const optional = '\\u00ad\\u061c\\u180e\\u200b-\\u200f'
const selectors = '\\u180b-\\u180d\\u180f\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}'
const seen = new RegExp(`([^${optional}${selectors}])([${selectors}]*)([${optional}]*)`, 'gu')

/** The same, said by a pattern: simple, and slow. */
const byPattern = (text: string): number | undefined => {
  const forms = new Map<string, string>()
  const recent: number[] = []
  const styles = { '\ufe0e': 0, '\ufe0f': 0 }
  let [changes, unseen, letters] = [0, 0, 0]
  let [a, b, c, behindB, behindC] = ['\0', '\0', '\0', '', '']
  const differs = (place: string, form: string): boolean => {
    if (form !== '') unseen++
    const known = forms.get(place)
    forms.set(place, form)
    return known !== undefined && known !== form && ++changes > 16 && changes * 8 > unseen
  }
  for (const { 1: one = '', 2: selected = '', 3: marks = '', index } of text.matchAll(seen)) {
    if (selected === '\ufe0e' || selected === '\ufe0f') styles[selected]++
    const place = /[\u1800-\u18af]/.test(one) ? `${c} ${one}` : one
    if (differs(
      `${a}${b} ${c}${one}`, behindB,
    ) || differs(place, selected) || Math.min(...Object.values(styles)) > 16) return index
    ;[a, b, c, behindB, behindC] = [b, c, one, behindC, marks]
    if (!/[\p{L}\p{M}]/u.test(one)) continue
    letters++
    if (marks === '') continue
    recent.push(letters)
    if (recent.length > 24 && letters - (recent.shift() ?? 0) < 60) {
      return index + one.length + selected.length
    }
  }
  return undefined
}

const characters = [
  'a', 'b', '1', ' ', 'א', 'ن', 'م', 'ᠠ', 'ᠡ', '❤', '☎', '👩', '💻', '\u200c', '\u200d', '\u00ad', '\ufe0f',
  '\ufe0e', '\u180b', '\u{e0100}', '\u200f', '\ud800', '\udc00',
]

t.test('the search finds the same code points as a regular expression', t => {
  let found = 0
  fc.assert(
    fc.property(fc.array(
      fc.constantFrom(...characters), { maxLength: 12 },
    ), fc.array(fc.nat(), { maxLength: 300, size: 'max' }), (some, choices) => {
      const alphabet = [...some, some.join(''), 'a']
      const text = choices.map(choice => alphabet[choice % alphabet.length]).join('')
      const index = byPattern(text)
      if (index !== undefined) found++
      return findVaried(text) === index
    }),
    { numRuns: 2000 },
  )
  t.ok(found > 20, `${found} codes`)
  t.end()
})
