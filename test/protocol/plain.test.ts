import fc from 'fast-check'
import t from 'tap'
import { findHidden } from '../../dist/protocol/hidden-text.js'
import { isPlain } from '../../dist/protocol/plain.js'

t.test('a plain text is one in which nothing can be hidden', t => {
  const cases: readonly [string, boolean][] = [
    ['{"a":"b \\t\\n\\r \\"quoted\\" \\\\ /"}', true],
    ['{"a":"\\u001b[31m"}', false],
    ['{"a":"\\b"}', false],
    ['{"a":"\\f"}', false],
    ['{"a":"\u007f"}', false],
    ['{"a":"\u200b"}', false],
    ['{"a":"ü"}', false],
  ]
  for (const [text, plain] of cases) t.equal(isPlain(Buffer.from(text)), plain, text)
  t.end()
})

t.test('no string of a plain text has a hidden character', t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const json = JSON.stringify(text)
      return !isPlain(Buffer.from(json)) || findHidden(text) === undefined
    }),
  )
  t.end()
})
