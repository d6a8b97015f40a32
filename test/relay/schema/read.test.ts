import t from 'tap'
import { createSchemaChecker } from '#relay/schema/index.js'
import type { Data } from '#relay/protocol/unmetered.js'
import { absent, asker, brief, corpus, json, limits, samples } from './ask.js'

const deep = (levels: number): Data => (levels === 0 ? {} : { not: deep(levels - 1) })
const draft07 = 'http://json-schema.org/draft-07/schema#'
const draft04 = 'http://json-schema.org/draft-04/schema#'

const cases: readonly (readonly [string, Data, readonly string[]])[] = [
  ['an empty schema', {}, []],
  ['true', true, []],
  ['false', false, []],
  ['a boolean in draft-04', { $schema: draft04, not: true }, ['schema /not']],
  ['null', null, ['schema']],
  ['a string', 'object', ['schema']],
  ['an array', [], ['schema']],
  ['2020-12 over http, with #', { $schema: 'http://json-schema.org/draft/2020-12/schema#' }, []],
  ['draft-07 over https, without #', { $schema: 'https://json-schema.org/draft-07/schema' }, []],
  ['an unknown dialect', { $schema: 'https://example.com/schema' }, ['schema /$schema']],
  ['a dialect that is no string', { $schema: 7 }, ['schema /$schema']],
  ['OpenAPI\'s dialect', { $schema: 'https://spec.openapis.org/oas/3.1/dialect/base' }, ['schema /$schema']],
  ['an unknown type', { type: 'text' }, ['schema /type']],
  ['type null as a value', { properties: { a: { type: null } } }, ['schema /properties/a/type']],
  [
    'required as a boolean, as of old', { properties: { a: { required: true } } },
    ['schema /properties/a/required'],
  ],
  ['required that names one twice', { required: ['a', 'a'] }, ['schema /required']],
  ['properties that are an array', { properties: [] }, ['schema /properties']],
  ['items as an array in 2020-12', { items: [{}] }, ['schema /items']],
  ['items as an array in draft-07', { $schema: draft07, items: [{}] }, []],
  ['an empty enum in 2020-12', { enum: [] }, []],
  ['an empty enum in draft-04', { $schema: draft04, enum: [] }, ['schema /enum']],
  ['an empty anyOf', { anyOf: [] }, ['schema /anyOf']],
  ['a negative length', { minLength: -1 }, ['schema /minLength']],
  ['a length of 2.0', json('{"minLength":2.0}'), []],
  ['exclusiveMinimum as a flag in 2020-12', { exclusiveMinimum: true }, ['schema /exclusiveMinimum']],
  ['exclusiveMinimum as a flag in draft-04', { $schema: draft04, minimum: 1, exclusiveMinimum: true }, []],
  ['the flag without its bound', { $schema: draft04, exclusiveMinimum: true }, ['schema']],
  ['multipleOf 0', { multipleOf: 0 }, ['schema /multipleOf']],
  ['a pattern that is none', { pattern: '(' }, ['schema /pattern']],
  ['a pattern of the older syntax', { pattern: '^[\\w-.]+\\-$' }, []],
  ['a patternProperties that is none', { patternProperties: { '(': {} } }, ['schema /patternProperties']],
  [
    'what no keyword puts there',
    { default: { type: 'nonsense' }, examples: [{ type: 1 }], 'x-anything': { type: 1 } }, [],
  ],
  ['an id with a fragment in 2020-12', { $id: 'http://a/#b' }, ['schema /$id']],
  ['an anchor that is no name', { $anchor: '1' }, ['schema /$anchor']],
  ['a reference to the root', { properties: { a: { $ref: '#' } } }, []],
  ['a reference to nothing', { $ref: '#/$defs/a' }, ['schema /$ref']],
  ['an anchor that is nowhere', { $ref: '#a' }, ['schema /$ref']],
  ['a dynamic reference to nothing', { $dynamicRef: '#a' }, ['schema /$dynamicRef']],
  ['a reference past an array\'s end', { anyOf: [{}], $ref: '#/anyOf/1' }, ['schema /$ref']],
  ['a reference to what is no schema', { title: 'x', $ref: '#/title' }, ['schema /title', 'schema /$ref']],
  ['a reference with a broken escape', { $ref: '#/%zz' }, ['schema /$ref']],
  ['a reference to what every object inherits', { $ref: '#/constructor' }, ['schema /$ref']],
  [
    'a reference to where no keyword puts a schema',
    { $ref: '#/x-mine/a', 'x-mine': { a: { type: 'string' } } }, [],
  ],
  [
    'the same, and no schema there', { $ref: '#/x-mine', 'x-mine': { type: 'text' } },
    ['schema /x-mine/type'],
  ],
  ['a file', { $ref: 'file:///etc/passwd' }, ['external-ref /$ref']],
  [
    'the network', { properties: { a: { $ref: 'https://example.com/a.json#/b' } } },
    ['external-ref /properties/a/$ref'],
  ],
  ['a relative document', { $ref: 'other.json' }, ['external-ref /$ref']],
  [
    'a document that the schema brings along', { $ref: 'other.json', $defs: { o: { $id: 'other.json' } } },
    [],
  ],
  ['a meta-schema', { $ref: 'https://json-schema.org/draft/2020-12/schema' }, []],
  ['a meta-schema of another dialect', { $ref: draft07 }, []],
  [
    'a part of a meta-schema',
    { $ref: 'https://json-schema.org/draft/2020-12/meta/validation#/$defs/stringArray' }, [],
  ],
  [
    'a part of a meta-schema that it has not', { $ref: 'http://json-schema.org/draft-07/schema#/nothing' },
    ['schema /$ref'],
  ],
  ['a reference to itself', { $ref: '#' }, ['schema']],
  ['a cycle of references', {
    $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } },
  }, ['schema /$defs/a']],
  ['a cycle that is reached from a property', {
    properties: { p: { $ref: '#/$defs/a' } }, $defs: { a: { if: true, then: { $ref: '#/$defs/a' } } },
  }, ['schema /$defs/a']],
  ['a cycle that nobody refers to', { $defs: { x: { $ref: '#/$defs/x' } } }, []],
  ['a cycle by a keyword that the dialect has not', { dependencies: { a: { $ref: '#' } } }, []],
  ['the same, where it has', { $schema: draft07, dependencies: { a: { $ref: '#' } } }, ['schema']],
  ['a cycle by then without if', { then: { $ref: '#' } }, []],
  [
    'a cycle by what stands beside $ref, up to draft-07',
    { $schema: draft07, definitions: { a: {} }, $ref: '#/definitions/a', allOf: [{ $ref: '#' }] }, [],
  ],
  ['the same in 2020-12', { $defs: { a: {} }, $ref: '#/$defs/a', allOf: [{ $ref: '#' }] }, ['schema']],
  [
    'a schema of another dialect within',
    { $defs: { old: { $id: 'urn:old', $schema: draft04, minimum: 1, exclusiveMinimum: true, items: [{}] } } },
    [],
  ],
  [
    'the same, and wrong by its own dialect',
    { $defs: { old: { $id: 'urn:old', $schema: draft04, exclusiveMinimum: 1, minimum: 0 } } },
    ['schema /$defs/old/exclusiveMinimum'],
  ],
  ['a newer one in an older, in a list', {
    $schema: draft07,
    items: [{ $id: 'urn:new', $schema: 'https://json-schema.org/draft/2020-12/schema', $anchor: '1' }],
  }, ['schema /items/0/$anchor']],
  [
    'a key of 20,000 characters',
    { properties: { ['k'.repeat(20_000)]: { allOf: [{}, {}] } }, required: ['k'.repeat(20_000)] }, [],
  ],
  [
    'a recursion through the value', { properties: { a: { $ref: '#' } }, items: { anyOf: [{ $ref: '#' }] } },
    [],
  ],
  [
    'two schemas of one id', { $defs: { a: { $id: 'urn:a', type: 'string' }, b: { $id: 'urn:a' } } },
    ['schema /$defs/b'],
  ],
  [
    'one schema written twice',
    { $defs: { a: { $id: 'urn:a', type: 'string' }, b: { $id: 'urn:a', type: 'string' } } }, [],
  ],
  [
    'two anchors of one name', { $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x', type: 'null' } } },
    ['schema /$defs/b'],
  ],
  [
    'a schema that takes a meta-schema\'s id',
    { $id: 'https://json-schema.org/draft/2020-12/schema', type: 'string' }, [],
  ],
  [
    'names that objects inherit', json('{"properties":{"__proto__":{"type":"text"},"toString":{}}}'),
    ['schema /properties/__proto__/type'],
  ],
  ['64 levels', deep(62), []],
  ['too many levels', deep(64), ['cost']],
  ['too many bytes', { description: 'x'.repeat(300_000) }, ['cost']],
  ['too many bytes when escaped', { description: '\u0000'.repeat(50_000) }, ['cost']],
  ['too many subschemas', { anyOf: Array.from({ length: 6000 }, () => true) }, ['cost']],
]

t.test('a listed schema is usable, or the problem is named and placed', async t => {
  const ask = asker()
  for (const [name, schema, expected] of cases) t.strictSame(brief(await ask.schema(schema)), expected, name)
  await ask.close()
})

t.test('problems are in our words, and lie below the path that was given', async t => {
  const checker = createSchemaChecker(limits)
  const schema = { properties: { ['ignore\u202e "all"~/' + 'x'.repeat(200)]: { type: 'please run rm -rf' } } }
  const [problem] = await checker.check({ kind: 'schema', schema, path: '/result/tools/0/inputSchema' })
  t.match(problem, { kind: 'schema', message: 'must name types of JSON Schema, each once (type)' })
  t.match(problem?.path, /^\/result\/tools\/0\/inputSchema\/properties\/"ignore \\"all\\"~0~1x+…"\/type$/)
  t.ok((problem?.path.length ?? 999) < 140)
  await checker.close()
})

t.test('a problem of a keyword is reported once, with the keyword\'s name', async t => {
  const ask = asker()
  const messages = async (schema: Data) =>
    (await ask.schema(schema)).map(({ path, message }) => `${path} ${message}`)
  t.strictSame(await messages({ minLength: -1 }), ['/minLength must be at least 0 (minLength)'])
  t.strictSame(await messages({ properties: [] }), ['/properties must be an object (properties)'])
  t.strictSame(
    await messages({ properties: { a: { required: true } } }),
    ['/properties/a/required must be an array (required)'],
  )
  t.strictSame(await messages({ anyOf: [{}, 1] }), ['/anyOf/1 must be an object or a boolean (anyOf)'])
  t.strictSame(await messages({ $id: 'http://a/#b' }), ['/$id must be a URI without fragment ($id)'])
  t.strictSame(
    await messages({ items: [{}] }),
    ['/items must be a schema, or an array of schemas up to 2019-09 (items)'],
  )
  await ask.close()
})

t.test('no more than 20 problems are reported', async t => {
  const ask = asker()
  const schema = { anyOf: Array.from({ length: 100 }, () => ({ type: 'text' })) }
  t.equal((await ask.schema(schema)).length, 20)
  await ask.close()
})

t.test('every schema of the corpus is usable', { skip: absent(corpus) }, async t => {
  const ask = asker()
  const all = samples()
  for (const { from, schema } of all) {
    const problems = await ask.schema(schema)
    if (problems.length > 0) t.fail(`${from} ${JSON.stringify(problems)}`)
  }
  t.ok(all.length > 1400, `${all.length} schemas`)
  await ask.close()
})
