import t from 'tap'
import { quote } from '../../dist/core/quote.js'

t.test('text from the wire is quoted, stripped of hidden characters and cut', t => {
  t.equal(quote('plain'), '"plain"')
  t.equal(quote('a\u202eb\u001b[31mc\u{e0041}'), '"ab[31mc"')
  t.equal(quote('x'.repeat(500)).length, 82)
  t.equal(quote('x'.repeat(78) + '🎉🎉'), `"${'x'.repeat(78)}…"`)
  t.end()
})
