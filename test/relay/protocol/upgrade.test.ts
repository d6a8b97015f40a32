import fc from 'fast-check'
import t from 'tap'
import { isRecord, unmetered, type DataObject } from '#relay/protocol/unmetered.js'
import { Meter } from '#relay/protocol/json.js'
import { upgrade } from '#relay/protocol/upgrade.js'
import { absent, asker, corpus, drafts, groupsOf, samples, suite } from '../schema/ask.js'

const upgraded = (schema: DataObject): DataObject | undefined => {
  const made = upgrade(schema, new Meter())
  return made && unmetered(made)
}

const newest = 'https://json-schema.org/draft/2020-12/schema'
const uris = {
  4: 'http://json-schema.org/draft-04/schema#',
  6: 'http://json-schema.org/draft-06/schema#',
  7: 'http://json-schema.org/draft-07/schema#',
  2019: 'https://json-schema.org/draft/2019-09/schema',
} as const

const a = { type: 'string' }

const cases: readonly (readonly [
  title: string, draft: keyof typeof uris, schema: DataObject, made: DataObject | undefined,
])[] = [
  [
    'what needs no other words', 7,
    { type: 'object', properties: { a }, required: ['a'], 'x-own': { items: [1] } },
    { type: 'object', properties: { a }, required: ['a'], 'x-own': { items: [1] } },
  ],
  [
    'definitions, and what points into them', 7, { definitions: { 'a/b': a }, $ref: '#/definitions/a~1b' },
    { $defs: { 'a/b': a }, $ref: '#/$defs/a~1b' },
  ],
  [
    'definitions beside $defs', 7, { definitions: { a }, $defs: { a }, allOf: [{ $ref: '#/definitions/a' }] },
    { definitions: { a }, $defs: { a }, allOf: [{ $ref: '#/definitions/a' }] },
  ],
  [
    'a property that is called like a keyword', 4, { properties: { definitions: { id: 'x:a' }, id: a } },
    { properties: { definitions: { $id: 'x:a' }, id: a } },
  ],
  [
    'a tuple, and the rest of it', 7, { items: [a, {}], additionalItems: false },
    { prefixItems: [a, {}], items: false },
  ],
  [
    'a reference to nothing, where an older dialect never looked', 4, { $defs: { a: { $ref: '#/items' } } },
    undefined,
  ],
  ['an anchor that is not there', 7, { properties: { a: { $ref: '#foo' } } }, undefined],
  [
    'a resource beside a reference that stands alone',
    7,
    {
      allOf: [{ $ref: '#/definitions/a', properties: { x: { $id: 'sub' } } }, { $ref: 'sub' }],
      definitions: { a },
    },
    undefined,
  ],
  ['the rest of no tuple', 7, { items: a, additionalItems: false }, { items: a }],
  [
    'a reference into a tuple', 6, { items: [a], not: { $ref: '#/items/0' } },
    { prefixItems: [a], not: { $ref: '#/prefixItems/0' } },
  ],
  [
    'dependencies of both kinds', 7, { dependencies: { a: ['b'], b: { items: [a] } } },
    { dependentRequired: { a: ['b'] }, dependentSchemas: { b: { prefixItems: [a] } } },
  ],
  [
    'exclusive bounds of draft-04', 4,
    { minimum: 1, exclusiveMinimum: true, maximum: 2, exclusiveMaximum: false },
    { exclusiveMinimum: 1, maximum: 2 },
  ],
  [
    'exclusive bounds since draft-06', 6, { minimum: 1, exclusiveMinimum: 2 },
    { minimum: 1, exclusiveMinimum: 2 },
  ],
  [
    'an id of draft-04',
    4,
    { id: 'https://x/y#', properties: { a: { id: '#z' }, b: { $ref: '#z' } } },
    { $id: 'https://x/y', properties: { a: { $anchor: 'z' }, b: { $ref: '#z' } } },
  ],
  [
    'what a lonely reference hides', 7,
    { properties: { a: { $ref: '#/definitions/b', maxLength: 1, title: 'A' } }, definitions: { b: a } },
    { properties: { a: { $ref: '#/$defs/b', title: 'A' } }, $defs: { b: a } },
  ],
  [
    'a reference is not lonely any more', 2019, { $ref: '#/$defs/b', maxLength: 1, $defs: { b: a } },
    { $ref: '#/$defs/b', maxLength: 1, $defs: { b: a } },
  ],
  [
    'keywords that meant nothing yet', 7,
    { unevaluatedProperties: false, dependentRequired: { a: ['b'] }, prefixItems: [a] }, {},
  ],
  ['const in draft-04', 4, { const: 1, enum: [1] }, { enum: [1] }],
  [
    'recursion without an anchor', 2019, { properties: { a: { $recursiveRef: '#' } } },
    { properties: { a: { allOf: [{ $ref: '#' }] } } },
  ],
  [
    'recursion of one resource', 2019,
    { $recursiveAnchor: true, properties: { a: { allOf: [a], $recursiveRef: '#' } } },
    { properties: { a: { allOf: [a, { $ref: '#' }] } } },
  ],
  [
    'recursion of several resources',
    2019,
    { $recursiveAnchor: true, items: { $id: 'x:b', $recursiveAnchor: true, not: { $recursiveRef: '#' } } },
    {
      $dynamicAnchor: 'recursive',
      items: { $id: 'x:b', $dynamicAnchor: 'recursive', not: { allOf: [{ $dynamicRef: '#recursive' }] } },
    },
  ],
  ['a reference to what is hidden', 7, { $ref: '#/properties/a', properties: { a } }, undefined],
  ['a reference to where no schema stands', 7, { $ref: '#/x/a', x: { a } }, undefined],
  ['a reference to a meta-schema', 7, { $ref: uris[7] }, undefined],
  ['an anchor that is none in 2020-12', 7, { definitions: { a: { $id: '#a:b' } } }, undefined],
  ['what counts as evaluated since', 2019, { contains: a, unevaluatedItems: false }, undefined],
  ['a part of another dialect', 7, { properties: { a: { $id: 'x:a', $schema: uris[4] } } }, undefined],
]

t.test('a schema of an older dialect in the words of 2020-12', t => {
  for (const [title, draft, schema, made] of cases) {
    t.strictSame(upgraded({ $schema: uris[draft], ...schema }), made && { ...made, $schema: newest }, title)
  }
  t.equal(upgraded({ $schema: newest }), undefined)
  t.equal(upgraded({ $schema: 'https://a.example/dialect' }), undefined)
  t.equal(upgraded({}), undefined)
  t.end()
})

const words = fc.constantFrom(
  'definitions', '$defs', 'items', 'additionalItems', 'dependencies', 'properties', 'allOf', 'not', '$ref',
  '$id', 'id', '$anchor', '$recursiveRef', '$recursiveAnchor', 'minimum', 'exclusiveMinimum', '#',
  '#/definitions/a', '#/items/0', '#a', 'x:a', 'a', '%', '#/%', '$schema', '__proto__',
)

t.test('no schema makes it throw', t => {
  const json = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 5 }, words, fc.boolean(), fc.integer(), fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(words, tie('value'), { maxKeys: 5 }),
    ),
  })).value
  fc.assert(fc.property(json, fc.constantFrom(...Object.values(uris)), (schema, $schema) => {
    if (isRecord(schema)) upgraded({ ...schema, $schema })
  }), { numRuns: 1000 })
  t.end()
})

for (const [draft, uri] of drafts.slice(1)) {
  t.test(`all verdicts of the official suite stay when ${draft} is rewritten`, {
    skip: absent(suite),
  }, async t => {
    const ask = asker()
    const wrong: string[] = []
    let rewritten = 0
    let kept = 0
    let left = 0
    for (const { file, description, schema, tests } of groupsOf(draft, uri)) {
      if (!isRecord(schema) || (await ask.schema(schema)).length > 0) continue
      const made = upgraded(schema)
      if (made === undefined) {
        left++
        t.comment(`left: ${file}: ${description}`)
        continue
      }
      rewritten++
      const problems = await ask.schema(made)
      if (problems.length > 0) wrong.push(`${file}: ${description}: ${JSON.stringify(problems)}`)
      for (const test of tests) {
        const found = (await ask.value(made, test.data)).filter(({ kind }) => kind !== 'format')
        if ((found.length === 0) === test.valid && found.every(({ kind }) => kind === 'mismatch')) kept++
        else wrong.push(`${file}: ${description}: ${test.description}`)
      }
    }
    t.comment(`${draft}: ${rewritten} schemas rewritten, ${kept} verdicts kept, ${left} schemas left`)
    t.strictSame(wrong, [])
    t.ok(rewritten > 100 && left < rewritten / 10, 'nearly all of it can be rewritten')
    await ask.close()
  })
}

t.test('every schema that real servers declared in an older dialect is rewritten, and what they sent is judged alike', {
  skip: absent(corpus),
}, async t => {
  const ask = asker()
  let rewritten = 0
  for (const { from, schema, values } of samples()) {
    const { $schema } = schema
    if ($schema === undefined || $schema === newest) continue
    const made = upgraded(schema)
    if (made === undefined) {
      t.fail(from)
      continue
    }
    rewritten++
    t.same(await ask.schema(made), [], from)
    for (const value of values) {
      t.equal((await ask.value(made, value)).length, (await ask.value(schema, value)).length, from)
    }
  }
  t.comment(`${rewritten} schemas`)
  t.ok(rewritten > 100)
  await ask.close()
})
