import fc from 'fast-check'
import t from 'tap'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import { absent, asker, drafts, groupsOf, suite } from './ask.js'

/** Values that are right for some keyword in some dialect, and wrong for most. */
const leaf = fc.constantFrom<Data>(
  null, true, false, 0, 1, -1, 1.5, 2.0, '', 'a', 'string', 'object', '^a$', [], ['a'], ['a', 'a'],
  ['string', 'null'], [1, 1.0], [1, 2], {},
  { a: ['b'] }, { a: true }, { a: 1 }, { a: ['b', 'b'] }, [null],
)

const keywords = [
  'type', 'enum', 'const', 'multipleOf', 'maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum',
  'maxLength', 'minLength', 'pattern',
  'items', 'prefixItems', 'additionalItems', 'maxItems', 'minItems', 'uniqueItems', 'contains', 'minContains',
  'maxContains', 'maxProperties',
  'minProperties', 'required', 'properties', 'patternProperties', 'additionalProperties', 'dependencies',
  'dependentRequired',
  'dependentSchemas', 'propertyNames', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else',
  'unevaluatedItems', 'unevaluatedProperties',
  'definitions', '$defs', 'title', 'description', 'default', 'examples', 'format', 'readOnly', 'writeOnly',
  'deprecated', '$comment',
  'contentEncoding', 'contentMediaType', 'contentSchema', '$vocabulary', '$recursiveAnchor', 'unheard',
]

const { schema: anySchema } = fc.letrec<{ schema: DataObject; value: Data }>(tie => ({
  schema: fc.dictionary(fc.constantFrom(...keywords), tie('value'), { maxKeys: 4 }),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    tie('schema'),
    fc.array(tie('schema'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('schema'), { maxKeys: 2 }),
  ),
}))

for (const [draft, uri] of drafts) {
  t.test(`the table of keywords says what the meta-schema of ${draft} says`, async () => {
    const ask = asker()
    const meta = { $schema: uri, $ref: uri }
    await fc.assert(
      fc.asyncProperty(anySchema, async generated => {
        const schema = { $schema: uri, ...generated }
        const byTable = await ask.schema(schema)
        const byMeta = (await ask.value(meta, schema)).filter(({ kind }) => kind !== 'format')
        if ((byTable.length === 0) !== (byMeta.length === 0)) {
          throw new Error(JSON.stringify({ schema, byTable, byMeta }))
        }
      }),
      { numRuns: 1500 },
    )
    await ask.close()
  })

  t.test(`the schemas of the suite fit the meta-schema of ${draft}`, { skip: absent(suite) }, async t => {
    const ask = asker()
    const unfit: string[] = []
    for (const { schema, description } of groupsOf(draft, uri)) {
      if (typeof schema === 'boolean' || schema.$schema !== uri) continue
      const found = await ask.value({ $schema: uri, $ref: uri }, schema)
      if (found.some(({ kind }) => kind !== 'format')) unfit.push(description)
    }
    t.strictSame(unfit, [])
    await ask.close()
  })
}
