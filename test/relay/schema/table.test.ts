import assert from 'node:assert/strict'
import t from 'tap'
import { isList, isRecord, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { byteValidator } from '#relay/protocol/read-fast.js'
import { Budget } from '#relay/schema/budget.js'
import { read } from '#relay/schema/read/read.js'
import { tableOf } from '#relay/schema/table/table.js'
import { verdict } from '#relay/schema/evaluate.js'
import { absent, corpus, drafts, groupsOf, json, samples, suite } from './ask.js'

const steps = 100_000_000
const depth = 300

/** What the judge and the engine say of values by a schema; undefined of a schema that cannot be used. */
const asked = (schema: DataObject | boolean) => {
  const reading = read(schema, 5000, new Budget(steps), depth)
  const table = reading.schema && tableOf(reading.schema.root, new Budget(steps))
  if (table === undefined) return undefined
  return (text: string) => {
    const isKnown = byteValidator.isSurelyValid(Buffer.from(text), table)
    const isValid = verdict(reading, json(text), new Budget(steps), depth).length === 0
    if (isKnown) assert.ok(isValid, JSON.stringify({ schema, text }))
    return { isKnown, isValid }
  }
}

t.test('a value is surely valid only where the engine finds nothing, in every dialect', {
  skip: absent(suite),
}, async t => {
  for (const [draft, uri] of drafts) {
    let [valid, known] = [0, 0]
    for (const { schema, tests } of groupsOf(draft, uri)) {
      const ask = asked(schema)
      for (const { data } of ask === undefined ? [] : tests) {
        const told = ask?.(JSON.stringify(data))
        if (told?.isValid === true) valid++
        if (told?.isKnown === true) known++
      }
    }
    t.ok(known > valid / 3, `${draft}: ${known} of ${valid} valid ones are surely so`)
  }
})

t.test('responses of real servers get the same verdict, most by the table', { skip: absent(corpus) }, async t => {
  let [valid, known] = [0, 0]
  for (const { schema, values } of samples()) {
    const ask = values.length === 0 ? undefined : asked(schema)
    for (const value of values.flatMap(value => [value, ...changed(value)])) {
      const told = ask?.(JSON.stringify(value))
      if (told?.isValid === true) valid++
      if (told?.isKnown === true) known++
    }
  }
  t.ok(known > 0.8 * valid, `${known} of ${valid} valid ones are surely so`)
})

/** The value with one member or element of another kind, or without it. */
const changed = (value: Data): readonly Data[] => {
  if (isList(value)) {
    return value.slice(0, 3).flatMap((one, index) => [
      value.filter((_, at) => at !== index),
      ...[null, ...changed(one)].map(other => value.with(index, other)),
    ])
  }
  if (!isRecord(value)) return [typeof value === 'number' ? 0.5 : -1]
  return Object.keys(value).slice(0, 8).flatMap(key => {
    const { [key]: one = null, ...rest } = value
    return [
      rest, { ...value, [key]: null }, { ...rest, [`${key}s`]: one },
      ...changed(one).slice(0, 3).map(other => ({ ...value, [key]: other })),
    ]
  })
}

const cases: readonly (readonly [
  keywords: string, schema: DataObject | boolean, known: readonly string[], others: readonly string[],
])[] = [
  ['no keyword', {}, ['1', '"x"', '[{}]'], []],
  ['false', false, [], ['1', 'null']],
  ['type', { type: ['integer', 'null'] }, ['1', '-0', '1.0', 'null'], ['1.5', '"1"', '[]', '1e0']],
  [
    'enum', { enum: ['a', 'é', 1, 0.5, null, true] }, ['"a"', '"é"', '1', '0.5', 'null', 'true'],
    ['"b"', '2', 'false', '[]', '"\\u0061"'],
  ],
  ['const', { const: 'a' }, ['"a"'], ['"A"', '1']],
  ['an ill-formed constant', { enum: ['\ud800'] }, [], ['"\ufffd"']],
  [
    'bounds', { minimum: -1, exclusiveMaximum: 2.5 }, ['-1', '2.4999', '"x"'],
    ['-1.1', '2.5', '1e9', '123456789012345678'],
  ],
  ['multipleOf', { multipleOf: 3 }, ['9', '0', '-6'], ['10', '1.5']],
  ['multipleOf a fraction', { multipleOf: 0.5 }, ['"x"'], ['1.5', '1.2']],
  [
    'lengths', { minLength: 2, maxLength: 3 }, ['"ab"', '"😀é漢"', '"\\n\\u00e9"', '"\\ud83d\\ude00x"'],
    ['"a"', '"abcd"', '"😀"', '"\\ud83d\\ude00"'],
  ],
  [
    'pattern', { pattern: '^[A-Z][a-z \'-]{0,20}$' }, [`"Ada l'ove-"`, '1'],
    ['"ada"', '"A1"', '"Ad\\u0061"', `"A${'a'.repeat(30)}"`, '"Aé"'],
  ],
  ['a pattern anywhere', { pattern: 'b+c' }, ['"abbcd"'], ['"ac"', '""']],
  ['a pattern of which the judge knows nothing', { pattern: '^(?=a)' }, ['1'], ['"a"', '"b"']],
  [
    'items', { items: { type: 'string' }, minItems: 1, maxItems: 2 }, ['["a"]', '["a","b"]', '{}'],
    ['[]', '[1]', '["a","b","c"]'],
  ],
  [
    'prefixItems', { prefixItems: [{ type: 'string' }, true], items: false }, ['[]', '["a"]', '["a",1]'],
    ['[1]', '["a",1,2]'],
  ],
  [
    'properties', {
      properties: { a: { type: 'string' }, b: true }, required: ['a', 'c'],
      additionalProperties: { type: 'number' },
    },
    ['{"a":"x","c":1}', '{"c":1,"b":[],"a":"","d":2}', '[]'],
    ['{"a":"x"}', '{"a":1,"c":1}', '{"a":"x","c":"y"}', '{"a":"x","c":1,"d":"y"}'],
  ],
  [
    'a required member that is not declared', { required: ['a'], additionalProperties: false }, [],
    ['{"a":1}', '{}'],
  ],
  ['numbers of members', { minProperties: 1, maxProperties: 2 }, ['{"a":1}'], ['{}', '{"a":1,"b":2,"c":3}']],
  [
    'names of objects', { properties: { toString: { type: 'string' } } },
    ['{}', '{"toString":"x"}', '{"__proto__":1}'], ['{"toString":1}'],
  ],
  [
    '$ref', { $ref: '#/$defs/d', $defs: { d: { type: 'array', items: { $ref: '#/$defs/d' } } } },
    ['[[],[[]]]'], ['[[],[1]]', '{}'],
  ],
  ['anyOf', { anyOf: [{ type: 'string', minLength: 2 }, { type: 'null' }] }, ['"ab"', 'null'], ['"a"', '1']],
  [
    'allOf', { allOf: [{ required: ['a'] }, { properties: { a: { type: 'null' } } }] }, ['{"a":null}'],
    ['{}', '{"a":1}'],
  ],
  [
    'oneOf', { oneOf: [{ type: 'integer' }, { type: 'number', minimum: 5 }] }, ['1', '5.5'],
    ['6', '1.5', '"x"'],
  ],
  ['not', { not: { type: 'string', minLength: 1 } }, ['""', '1'], ['"x"']],
  ['if', { if: { type: 'string' }, then: { minLength: 1 } }, [], ['"x"', '1']],
  [
    'unevaluatedProperties', { properties: { a: true }, unevaluatedProperties: false }, ['1', '[]'],
    ['{"a":1}', '{}'],
  ],
  [
    'patternProperties beside additionalProperties',
    { not: { patternProperties: { '^a': true }, additionalProperties: false } }, [], ['{"a":1}', '{"b":1}'],
  ],
  ['an unknown format', { format: 'color' }, ['"red"'], []],
  ['a format of which the byte validator knows nothing', { format: 'ipv6' }, ['1'], ['"::1"']],
  [
    'ipv4', { format: 'ipv4' }, ['"127.0.0.1"', '"255.249.199.0"'],
    ['"256.0.0.1"', '"1.2.3"', '"01.2.3.4"', '"1.2.3.4."'],
  ],
  [
    'time', { format: 'time' }, ['"23:59:59.5Z"', '"00:00:00+23:59"'],
    ['"24:00:00Z"', '"00:00:00"', '"23:59:60Z"'],
  ],
  ['json-pointer', { format: 'json-pointer' }, ['""', '"/a~0/~1"'], ['"a"', '"/~2"']],
  [
    'date', { format: 'date' }, ['"2024-12-31"', '1'],
    ['"2023-02-29"', '"2024-04-31"', '"2024-1-1"', '"2024-01-011"', '"2024-00-10"'],
  ],
  [
    'date-time', { format: 'date-time' }, ['"2024-01-31T23:59:59Z"', '"2024-01-01t00:00:00.123+01:30"'],
    [
      '"2024-01-01T24:00:00Z"', '"2024-01-01T00:00:00"', '"2024-01-01T00:00:00.Z"', '"2024-01-01 00:00:00Z"',
      '"2024-01-01T00:00:00Zx"',
    ],
  ],
  [
    'email', { format: 'email' }, ['"a.b+c@d-e.org"'],
    ['"a@b"', '".a@b.org"', '"a..b@c.org"', '"a@-b.org"', '"a@b.org-"', '"a@b@c.org"', '"@b.org"'],
  ],
  [
    'uuid', { format: 'uuid' }, ['"00000000-0000-4000-8000-00000000aBcD"'],
    ['"00000000-0000-4000-8000-00000000000g"', '"00000000000040008000000000000000"'],
  ],
  ['uri', { format: 'uri' }, [
    '"https://a.b:80/c?d=e#f"', '"http://x"', '"urn:x"', '"https://u:p@a%20b/;c"', '"file:///a"',
  ], ['"//a.b"', '"https://a b"', '"http://a#b#c"', '"http://[::1]/"', '"a:%2"']],
  ['a format in what must not be', { not: { format: 'date' } }, [], ['"2024-01-01"', '"x"']],
]

t.test('keyword by keyword: values that the table accepts, and values left to the engine', async t => {
  for (const [keywords, schema, known, others] of cases) {
    const ask = asked(schema)
    for (const text of known) t.ok(ask?.(text).isKnown, `${keywords}: ${text}`)
    for (const text of others) t.notOk(ask?.(text).isKnown, `${keywords}: ${text}`)
  }
})

t.test('bounds of draft-04, where a flag excludes the bound', async t => {
  const ask =
    asked({ $schema: 'http://json-schema.org/draft-04/schema#', minimum: 1, exclusiveMinimum: true })
  t.notOk(ask?.('1').isKnown)
  t.ok(ask?.('"x"').isKnown)
})

t.test('work on one value has an end', async t => {
  const names = Array.from({ length: 3000 }, (_, index) => `n${String(index).padStart(4, '0')}`)
  const ask = asked({ properties: Object.fromEntries(names.map(name => [name, true])) })
  const backwards = `{${names.toReversed().map(name => `"${name}":1`).join()}}`
  t.same(ask?.(backwards), { isKnown: false, isValid: true })
  t.ok(ask?.(`{${names.map(name => `"${name}":1`).join()}}`).isKnown)
})

/** A thousand times the same schema, and ten thousand times. */
const thousandfold = (schema: DataObject, times = 3): DataObject => {
  const tenfold = (step: number): readonly (readonly [
    string, Data,
  ])[] => [[`s${step}`, { allOf: Array.from({ length: 10 }, () => ({ $ref: `#/$defs/s${step - 1}` })) }]]
  return { $ref: `#/$defs/s${times}`, $defs: Object.fromEntries([
    ['s0', schema], ...Array.from({ length: times }, (_, index) => tenfold(index + 1)).flat(),
  ]) }
}
const long = 'x'.repeat(20_000)
const list = JSON.stringify(Array.from({ length: 20_000 }, () => 1))

const heavy: readonly (readonly [what: string, schema: DataObject, text: string])[] = [
  ['a length that is counted', { minLength: 10_000 }, JSON.stringify(long)],
  ['a format', { format: 'email' }, JSON.stringify(`${long}@example.org`)],
  ['a pattern', { pattern: 'y$' }, JSON.stringify(`${long}y`)],
  ['a long constant', { const: long }, JSON.stringify(long)],
  ['one of many', { enum: Array.from({ length: 2000 }, (_, index) => `${index}`) }, '"1999"'],
  ['a long name', { required: [long] }, JSON.stringify({ [long]: 1 })],
  ['items', { items: { minimum: 0 } }, list],
  ['items that may be anything', { prefixItems: [true], items: { type: 'number' } }, list],
  [
    'members that may be anything', { required: ['k1'] },
    JSON.stringify(Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`k${index}`, 1]))),
  ],
]

t.test('a schema that is read repeatedly costs steps each time', async t => {
  for (const [what, schema, text] of heavy) {
    const known = (times: number) => {
      const root = read(thousandfold(schema, times), 5000, new Budget(steps), depth).schema?.root
      const table = root && tableOf(root, new Budget(steps))
      let spent = 0
      const isKnown = table !== undefined
        && byteValidator.isSurelyValid(Buffer.from(text), table, steps => (spent += steps))
      t.ok(spent > 0 && spent <= 400_000, `${what}: ${spent} steps`)
      return isKnown
    }
    t.ok(known(1), `${what}: ten times`)
    t.notOk(known(3), `${what}: a thousand times`)
  }
})
