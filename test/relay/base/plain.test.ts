import { plainJson } from '#relay/protocol/quote.js'
import fc from 'fast-check'
import t from 'tap'
import { plain, plainLines } from '#relay/base/plain.js'
import { columnsOf, wrapText } from '#desk/terminal/style.js'
import { evil, harmful } from '../../desk/inspect/run.js'

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.constantFrom(
    '\u001b[31m', '\u009b2J', '\u202e', '\u200d', '\ufe0f', '\u0301', '\r', '\n', '\t', '\u2028', 'a', '操',
    '👩', ' ', '\ud800',
  )).map(parts => parts.join('')),
)

t.test('plain removes everything invisible', t => {
  fc.assert(fc.property(text, fc.integer({ min: 1, max: 100 }), (text, most) => {
    const shown = plain(text, most)
    return !/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/u.test(shown) && shown.length <= most
      && !/\p{M}{5}/u.test(shown)
  }))
  fc.assert(fc.property(text, text => plainLines(text, 5, 50).length <= 6
    && plainLines(text, 5, 50).every(line => !/[\p{Cc}\p{Cs}]/u.test(line))))
  t.end()
})

t.test('texts as they are shown', t => {
  const cases: [string, string, string][] = [
    ['plain text', 'Get weather', 'Get weather'],
    ['an escape, with all that belongs to it', '\u001b[31mred\u001b[0m', 'red'],
    ['line ends and tabs', 'one\r\ntwo\tthree', 'one two three'],
    ['hidden letters', `a${String.fromCodePoint(0xe0041)}b`, 'ab'],
    ['other scripts', '天気 погода 👍', '天気 погода 👍'],
    ['a long text', 'x'.repeat(100), `${'x'.repeat(79)}…`],
    ['a pile of marks', `a${'\u0301'.repeat(50)}b`, 'á\u0301\u0301\u0301b'],
  ]
  for (const [name, given, shown] of cases) t.equal(plain(given).normalize(), shown.normalize(), name)
  t.strictSame(plainLines('one\n  two\n\tthree\nfour', 3, 20), ['one', '  two', ' three', '… 1 more lines'])
  t.notMatch(plainLines(evil('x'), 5, 50).join('\n'), harmful)
  t.end()
})

t.test('JSON is exact, with invisible characters escaped', t => {
  fc.assert(fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, key) => {
    const json = plainJson({ [key]: value, key })
    return JSON.stringify(JSON.parse(json)) === JSON.stringify({ [key]: value, key }) && !harmful.test(json)
  }))
  t.equal(plainJson('\u202e👩‍👩é\u007f'), '"\\u202e👩\\u200d👩é\\u007f"')
  t.equal(plainJson(String.fromCodePoint(0xe0041)), '"\\udb40\\udc41"')
  t.end()
})

t.test('wrapped lines fill the width and lose nothing', t => {
  fc.assert(fc.property(text.map(text =>
    plain(text, 200)), fc.integer({ min: 2, max: 40 }), (text, width) => {
    const lines = wrapText(text, width)
    return lines.every(line => columnsOf(line) <= width)
      && lines.join('').replaceAll(' ', '') === text.replaceAll(' ', '')
  }))
  t.strictSame(wrapText('a word, and another', 8), ['a word,', 'and', 'another'])
  t.strictSame(wrapText('unbreakable', 4), ['unbr', 'eaka', 'ble'])
  t.strictSame(wrapText('操作操作', 5), ['操作', '操作'])
  t.end()
})
