import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Budget } from '#relay/schema/budget.js'
import { formatOf } from '#relay/schema/keywords/formats.js'

const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['date', ['2024-02-29', '0000-01-01', '2000-02-29'], [
    '2023-02-29', '1900-02-29', '2024-13-01', '2024-00-10', '2024-04-31', '2024-1-01', '2024-01-01T',
    '২০২৪-01-01', '',
  ]],
  ['time', [
    '10:00:00Z', '10:00:00.123456789z', '23:59:60Z', '00:59:60+01:00', '18:29:60-05:30', '10:00:00+23:59',
  ], [
    '10:00:00', '24:00:00Z', '10:60:00Z', '10:00:60Z', '22:59:60Z', '10:00:00.Z', '10:00:00+0100',
    '10:00:00+24:00', '10:00:00Zx',
  ]],
  ['date-time', ['2024-05-06T07:08:09.123Z', '2024-05-06t07:08:09+02:00', '1998-12-31T23:59:60Z'], [
    '2024-05-06 07:08:09Z', '2024-05-06T07:08:09', '2024-05-06', '2024-02-30T07:08:09Z',
    '1998-12-31T22:59:60Z',
  ]],
  ['duration', ['P1Y', 'PT1S', 'P1W'], ['P', 'PT', '1Y', 'P1S']],
  ['email', ['a@b.org', 'first.last+tag@example.co.uk'], ['a', '@b.org', 'a@', 'a b@c.org']],
  ['hostname', ['example.com', 'a-b.c'], ['-a.com', 'a_b.com', '']],
  ['ipv4', ['127.0.0.1'], ['256.0.0.1', '1.2.3', '1.2.3.4.5']],
  ['ipv6', ['::1', 'fe80::1', '::ffff:1.2.3.4'], ['1::2::3', '12345::', '1.2.3.4']],
  ['uri', ['http://a.b/c?d#e', 'urn:a:b'], ['/a', 'a b', '//a']],
  ['uri-reference', ['/a/b', '#c', 'http://a'], ['\\\\a', 'a b']],
  ['uri-template', ['/a/{b}'], ['/a/{b']],
  [
    'uuid', ['2EB8AA08-AA98-11EA-B4AA-73B441D16380', '00000000-0000-0000-0000-000000000000'],
    ['urn:uuid:2eb8aa08-aa98-11ea-b4aa-73b441d16380', '2eb8aa08aa9811eab4aa73b441d16380'],
  ],
  ['json-pointer', ['', '/a~0b/0'], ['a', '/~2']],
  ['relative-json-pointer', ['0#', '1/a'], ['/a', '01/a']],
  ['regex', ['^a+$'], ['(']],
]

t.test('formats are judged as their specifications say', t => {
  for (const [name, valid, invalid] of cases) {
    const format = formatOf(name)
    for (const text of valid) t.equal(format?.test(text, new Budget(1_000_000)), true, `${name} ${text}`)
    for (const text of invalid) {
      t.equal(format?.test(text, new Budget(1_000_000)), false, `not ${name} ${text}`)
    }
  }
  t.end()
})

t.test('formats that JSON Schema does not define are not judged', t => {
  for (const name of ['int32', 'byte', 'password', 'toString', '__proto__', '', 'Email']) {
    t.equal(formatOf(name), undefined, name)
  }
  t.end()
})

const piece = fc.constantFrom(
  ...'0123456789abzAZ.:-+@/?#%~[]_$ Tt'.split(''), '29', '30', '31', '60', '255', '256', '%2F', '%g', '::',
  '//', '~0', '\u00e9',
)

t.test('the pattern of a format matches texts of that format alone', async t => {
  let patterns = 0
  for (const [name, valid, invalid] of cases) {
    const format = formatOf(name)
    if (format?.pattern === undefined) continue
    patterns++
    const pattern = new RegExp(format.pattern, 'u')
    t.ok(valid.some(text => pattern.test(text)), `${name}: some of them`)
    const changed =
      fc.record({ text: fc.constantFrom(...valid, ...invalid), at: fc.nat(), cut: fc.nat(2), piece })
        .map(({ text, at, cut, piece }) =>
          text.slice(0, at % (text.length + 1)) + piece + text.slice((at % (text.length + 1)) + cut))
    fc.assert(
      fc.property(fc.oneof(
        changed, fc.array(piece, { maxLength: 12 }).map(pieces => pieces.join('')),
      ), text => {
        if (pattern.test(text)) assert.ok(format.test(text, new Budget(1_000_000)), `${name} ${text}`)
      }),
      { numRuns: Number(process.env['RUNS'] ?? 2000) },
    )
  }
  t.ok(patterns >= 9, `${patterns} patterns`)
})
