import t from 'tap'
import fc from 'fast-check'
import { findHidden, stripHidden } from '../../dist/protocol/hidden-text.js'

const hidden: readonly (readonly [title: string, text: string, codePoint: number, index: number])[] = [
  ['a bidi override', 'a\u202eb', 0x202e, 1],
  ['a bidi embedding', 'a\u202ab', 0x202a, 1],
  ['a bidi isolate', 'a\u2066b', 0x2066, 1],
  ['a bidi mark among Latin letters', 'ab\u200ecd', 0x200e, 2],
  ['a bidi mark behind another', '\u05d0\u200f\u200e', 0x200e, 2],
  ['a zero width space among Latin letters', 'pass\u200bword', 0x200b, 4],
  ['a zero width joiner among Latin letters', 'a\u200db', 0x200d, 1],
  ['a zero width non-joiner among Latin letters', 'a\u200cb', 0x200c, 1],
  ['a zero width joiner behind an emoji and before a letter', '👩\u200da', 0x200d, 2],
  ['three joiners behind one Persian letter', 'می\u200c\u200c\u200cx', 0x200c, 3],
  ['a word joiner', 'a\u2060b', 0x2060, 1],
  ['an invisible plus', 'a\u2064b', 0x2064, 1],
  ['a byte order mark inside', 'a\ufeffb', 0xfeff, 1],
  ['a letter spelt in tags', 'a\u{e0041}', 0xe0041, 1],
  ['tags behind a flag that is none', '🏴\u{e0041}\u{e0042}\u{e007f}', 0xe0041, 2],
  ['tags behind the flag of England', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}\u{e0041}', 0xe0041, 14],
  ['a flag without its end', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}', 0xe0067, 2],
  ['bytes in variation selectors behind an emoji', '😀\u{e0101}\u{e0102}', 0xe0101, 2],
  ['a second variation selector behind an emoji', '☺\ufe0f\ufe01', 0xfe01, 2],
  ['a variation selector behind a Latin letter', 'a\ufe0f', 0xfe0f, 1],
  ['a variation selector at the start', '\ufe0fa', 0xfe0f, 0],
  ['a variation selector behind a space', 'a \ufe00', 0xfe00, 2],
  ['a terminal escape', 'a\u001b[31mb', 0x1b, 1],
  ['a control of the second set', 'a\u009b31mb', 0x9b, 1],
  ['NUL', 'a\0', 0, 1],
  ['backspace', 'a\bb', 8, 1],
  ['delete', 'a\u007f', 0x7f, 1],
  ['a Hangul filler', 'a\u3164b', 0x3164, 1],
  ['a Hangul choseong filler among Latin letters', 'a\u115fb', 0x115f, 1],
  ['an interlinear annotation', 'a\ufff9b', 0xfff9, 1],
  ['a combining grapheme joiner among Latin letters', 'a\u034fb', 0x34f, 1],
  ['a shorthand control', 'a\u{1bca0}', 0x1bca0, 1],
  ['a musical control', 'a\u{1d173}', 0x1d173, 1],
]

t.test('hidden characters are found, with their place', t => {
  for (const [title, text, codePoint, index] of hidden) {
    const found = findHidden(text)
    t.match(found, { codePoint, index }, title)
    t.type(found?.name, 'string')
    t.equal(findHidden(stripHidden(text)), undefined, `${title}: none is left when stripped`)
  }
  t.end()
})

const fine: readonly (readonly [title: string, text: string])[] = [
  ['plain text with tab and line ends', 'a\tb\r\nc'],
  ['Latin letters with accents, also combining ones', 'déjà e\u0301 ñ'],
  ['no-break spaces and a soft hyphen', 'a\u00a0b\u202fc\u00add'],
  ['an emoji that chooses its style', '☺\ufe0f ☎\ufe0e ©\ufe0f'],
  ['a keycap', '1\ufe0f\u20e3'],
  ['a family', '👨‍👩‍👧‍👦'],
  ['a joined emoji with a skin tone', '👩🏽‍⚕️'],
  ['a rainbow flag', '🏳️‍🌈'],
  ['a heart on fire', '❤️‍🔥'],
  ['the flag of a country', '🇩🇪'],
  ['the flag of England', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'],
  ['the flag of Texas', '🏴\u{e0075}\u{e0073}\u{e0074}\u{e0078}\u{e007f}'],
  ['Persian with a non-joiner', 'می\u200cخواهم'],
  ['Hindi with a joiner', 'क्\u200dष'],
  ['Malayalam with a joiner at the end', 'ന്\u200d'],
  ['Thai with a zero width space', 'สวัสดี\u200bครับ'],
  ['Hebrew with a mark behind a full stop', 'שלום.\u200f'],
  ['an ideograph with its variant', '葛\u{e0100}'],
  ['a slashed zero', '0\ufe00'],
  ['Mongolian with a selector', 'ᠠ\u180b'],
  ['old Hangul with a filler', '\u115f\u1161'],
  ['a byte order mark at the start', '\ufeff{}'],
  ['musical notes, whose surrogates begin as those of the controls', '\u{1d11e}'],
]

t.test('what does its proper work is not hidden', t => {
  for (const [title, text] of fine) {
    t.equal(findHidden(text), undefined, title)
    t.equal(stripHidden(text), text, `${title}: nothing is stripped`)
  }
  t.end()
})

t.test('every code point that Unicode calls ignorable is hidden between Latin letters, but for the soft hyphen', t => {
  const missed: string[] = []
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
    const character = String.fromCodePoint(codePoint)
    if (!/\p{Default_Ignorable_Code_Point}/u.test(character) || codePoint === 0xad) continue
    if (findHidden(`a${character}b`) === undefined) missed.push(codePoint.toString(16))
  }
  t.same(missed, [])
  t.end()
})

t.test('a long text is searched to its end', t => {
  t.match(findHidden(`${'x'.repeat(100_000)}\u202e`), { index: 100_000 })
  t.match(findHidden(`€${'x'.repeat(100_000)}\u202e`), { index: 100_001 })
  t.equal(findHidden('x'.repeat(100_000)), undefined)
  t.end()
})

// Characters that are fine or hidden by what stands beside them, so that leaving one out may bring others together.
const doubtful = fc.constantFrom(
  ...Array.from(
    'a ☺👩🏽🏴אمก葛ᠠ\u0301\u034f\u115f\u1161\u180b\u200b\u200c\u200d\u200e\u200f\u202e\ufe00\ufe0f\ufeff' +
      '\u{e0067}\u{e0062}\u{e007f}\u{e0101}\u{1d11e}\u{1d173}',
  ),
)

t.test('stripping leaves nothing hidden, and only leaves out', t => {
  fc.assert(
    fc.property(fc.oneof(fc.array(doubtful, { maxLength: 12 }), fc.array(fc.string({ unit: 'binary' }))), parts => {
      const text = parts.join('')
      const stripped = stripHidden(text)
      const remaining = stripped[Symbol.iterator]()
      let next = remaining.next()
      for (const character of text) if (next.done !== true && character === next.value) next = remaining.next()
      return findHidden(stripped) === undefined && next.done === true
    }),
    { numRuns: 2000 },
  )
  t.end()
})
