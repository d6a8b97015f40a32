import { judge, many, schema, value } from './stall.js'

const a = 'a'.repeat(50)

/** For each format the texts that make a careless expression go back and forth. */
const formats: readonly (readonly [string, readonly string[]])[] = [
  ['duration', ['P' + '1'.repeat(100_000), 'P1Y'.repeat(30_000)]],
  ['email', [
    'a'.repeat(100_000), 'a.'.repeat(50_000) + '@', 'a@' + 'a'.repeat(100_000) + '!',
    'a@' + '-a'.repeat(50_000), 'a@' + 'a-'.repeat(50_000),
  ]],
  ['hostname', ['a.'.repeat(50_000), 'a-'.repeat(50_000), '1'.repeat(100_000)]],
  ['ipv4', ['1.'.repeat(50_000), '1'.repeat(100_000)]],
  ['ipv6', ['1:'.repeat(50_000), ':'.repeat(100_000), '::'.repeat(50_000)]],
  ['uri', [
    'a:'.repeat(50_000), 'http://' + 'a@'.repeat(50_000) + '"', 'http://' + 'a:'.repeat(50_000) + ' ',
    'a:/' + '/a'.repeat(50_000) + '^',
  ]],
  ['uri-reference', [
    'a'.repeat(100_000) + '"^', '//' + 'a@'.repeat(50_000) + '^', '/'.repeat(100_000) + '^',
    '%41'.repeat(30_000) + '%',
  ]],
  ['uri-template', ['{a}'.repeat(30_000) + '{', '{a,'.repeat(30_000), '{' + 'a'.repeat(100_000)]],
  ['json-pointer', ['/a'.repeat(50_000) + '~', '~0'.repeat(50_000)]],
  ['relative-json-pointer', ['1'.repeat(100_000) + '~', '0' + '/~1'.repeat(30_000) + '~']],
  ['time', ['10:00:00.' + '1'.repeat(100_000)]],
  ['uuid', ['0'.repeat(100_000)]],
]

judge(formats.map(([format, texts]) => [
  `the format ${format}`, () => value({ items: { format } }, texts), ['format', 'unchecked', ''],
]))

judge([
  // Regular expressions that take exponential or polynomial time.
  ['(a+)+', () => value({ pattern: '^(a+)+$' }, `${a}!`), ['mismatch']],
  ['(a|a)*', () => value({ pattern: '^(a|a)*$' }, `${a}!`), ['mismatch']],
  ['(a|aa)+', () => value({ pattern: '^(a|aa)+$' }, `${a}!`), ['mismatch']],
  ['(.*a){20}', () => value({ pattern: '^(.*a){20}$' }, `${a}!`), ['mismatch']],
  ['a*a*a*a*a*b', () => value({ pattern: '^a*a*a*a*a*b$' }, 'a'.repeat(20_000)), ['mismatch', 'unchecked']],
  [
    '\\s+$ without an anchor', () => value({ pattern: '\\s+$' }, `${' '.repeat(100_000)}x`),
    ['mismatch', 'unchecked'],
  ],
  ['an automaton of 2^500 states', () => value(
    { pattern: '(a|b)*a(a|b){500}c' }, `c${many(20_000, index => 'ab'[(index * index) % 7 % 2]).join('')}`,
  ), ['mismatch', 'unchecked']],
  ['look-ahead and (a+)+', () => value({ pattern: '^(?=a)(a+)+$' }, `${a}!`), ['mismatch']],
  ['back references', () => value({ pattern: '^(a*)*\\1b$' }, `${a}!`), ['unchecked', 'mismatch']],
  [
    '(a+)+ in patternProperties', () => value({ patternProperties: { '^(a+)+$': false } }, { [`${a}!`]: 1 }),
    [''],
  ],
  [
    'look-ahead in patternProperties',
    () => value({ patternProperties: { '^(?=a)(a+)+$': false } }, { [`${a}!`]: 1 }), [''],
  ],
  [
    'look-ahead in propertyNames',
    () => value({ propertyNames: { pattern: '^(?=a)(a+)+$' } }, { [`${a}!`]: 1 }), ['mismatch'],
  ],
  ['a pattern of 200 kB', () => schema({ pattern: '(a|b)*'.repeat(30_000) }), ['', 'schema']],
  ['100,000 open groups', () => schema({ pattern: '('.repeat(100_000) }), ['cost']],
  [
    '2,000 patterns', () => value({ allOf: many(2000, index => ({ pattern: `^(a|${index}b)*c$` })) }, a),
    ['mismatch', 'unchecked'],
  ],
  [
    '10,500 groups and a look-ahead',
    () => value({ items: { pattern: `(?=a)${'()'.repeat(10_500)}` } }, many(50, () => a)), ['', 'unchecked'],
  ],
  [
    '10,500 groups and a back reference',
    () => value({ items: { pattern: `(a)${'()'.repeat(10_500)}\\1` } }, many(50, () => a)), ['', 'unchecked'],
  ],
  [
    '1,000 look-arounds', () => value({ pattern: '(?=.*a)(?<!b)'.repeat(500) }, a.repeat(2000)),
    ['', 'unchecked'],
  ],
  ['a thousand kinds of characters', () => value(
    { items: {
      pattern: `^(?:${many(500, index => `[a-z${String.fromCharCode(0x4e00 + index)}-\\u9fff]?`).join('')})*$`,
    } },
    many(10, index =>
      many(400, at => String.fromCharCode(0x4e00 + ((index * 7919 + at * 104_729) % 20_000))).join('')),
  ), ['', 'mismatch', 'unchecked']],
  ['300 counted repetitions, each with another maximum', () => value(
    { items: { pattern: many(300, index => `a{0,${101 + index}}`).join('') } }, many(400, index => 'a'.repeat(index)),
  ), ['', 'unchecked']],
  ['short texts, after a text of 2,048 kinds of characters', () => {
    const characters = many(2048, index => String.fromCharCode(0x4e00 + index))
    const halves = many(11, bit => `[${characters.filter((_, index) => ((index >> bit) & 1) === 1).join('')}]`)
    const pattern = `\\b|${halves.join('|')}`
    return value({ items: { pattern } }, [characters.join(''), ...many(8000, () => 'b')])
  }, ['']],
  [
    'a counted repetition of counted repetitions',
    () => value({ pattern: '^((a{0,99}){0,99}){0,99}$' }, `${a}!`), ['unchecked', 'mismatch'],
  ],
  // Formats.
  [
    'an e-mail address of 5 MB', () => value({ format: 'email' }, `a@${'a.'.repeat(2_500_000)}`),
    ['format', 'unchecked'],
  ],
  [
    'a URI of 5 MB', () => value({ format: 'uri' }, `http://${'a@'.repeat(2_500_000)}`),
    ['', 'format', 'unchecked'],
  ],
  [
    'a regular expression as a value', () => value({ format: 'regex' }, '(a'.repeat(200_000)),
    ['format', 'unchecked'],
  ],
])
