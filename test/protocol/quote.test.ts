import t from 'tap'
import fc from 'fast-check'
import { findHidden } from '../../dist/protocol/hidden-text.js'
import { clip, quote } from '../../dist/protocol/quote.js'

t.test('text from the wire is quoted, stripped of hidden characters and cut', t => {
  t.equal(quote('plain'), '"plain"')
  t.equal(quote('a\u202eb\u001b[31mc\u{e0041}'), '"ab[31mc"')
  t.equal(quote('x'.repeat(500)).length, 82)
  t.equal(quote('x'.repeat(78) + '🎉🎉'), `"${'x'.repeat(78)}…"`)
  t.end()
})

t.test('what is neither a control nor a format character, and yet invisible, is stripped too', t => {
  t.equal(clip('a\u3164b\u{e0100}c\u034fd'), 'abcd')
  t.end()
})

t.test('a flood of hidden characters is not read to its end', t => {
  t.equal(clip('\u200b'.repeat(1_000_000) + 'x'), '')
  t.end()
})

t.test('whatever the text, what is quoted is short, one line, and hides nothing', t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), text => {
      const clipped = clip(text)
      return clipped.length <= 80 && findHidden(clipped) === undefined && !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(clipped)
    }),
  )
  t.end()
})
