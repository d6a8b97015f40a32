import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Meter } from '#relay/protocol/json.js'
import { isRecord, unmetered, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { fit } from '#relay/profiles/fit.js'
import { profiles } from '#relay/profiles/index.js'
import type { Profile } from '#relay/profiles/profile.js'
import { checkAtOnce } from '../core/engine.js'
import { absent, corpus, drafts, groupsOf, samples, suite } from '../schema/ask.js'
import { nearly } from '../schema/nearly.js'
import { accepts } from './oracle.js'
import { calls, inputs } from './schemas.js'

/** Profiles that force no subset. */
const wide = profiles.filter(({ input }) => input.isStrict !== true)

const adapted = (definition: DataObject, profile: Profile, meter = new Meter()): DataObject =>
  unmetered(fit(definition, profile, meter).made)

const toolOf = (inputSchema: Data) => ({ name: 'tool', inputSchema })

const fits = (schema: Data, value: Data): boolean =>
  isRecord(schema)
  && checkAtOnce({ kind: 'value', schema, value, path: '' }).every(({ kind }) => kind === 'format')

const isUsable = (schema: Data): boolean => checkAtOnce({ kind: 'schema', schema, path: '' }).length === 0

/** More of everything; else a part, because it takes minutes. */
const isAll = process.env['MCP_CUSTOMS_TEST_ALL'] === '1'

/** The input schema that each profile makes of one; each must be usable, and accepted by its checker. */
const shown = (
  t: Test, schema: Data, of = profiles,
): readonly (readonly [name: string, schema: DataObject])[] =>
  of.map(profile => {
    const tool = adapted(toolOf(schema), profile)
    const about = () => `${profile.name}: ${JSON.stringify(schema)} became ${JSON.stringify(tool)}`
    const refused = accepts(tool, profile, new Meter())
    if (refused.length > 0) t.fail(`${about()}: ${JSON.stringify(refused[0])}`)
    if (fit(tool, profile, new Meter()).refused.length > 0) t.fail(`${about()}, which is refused again`)
    const made = unmetered(tool)['inputSchema']
    if (!isRecord(made) || !isUsable(made)) t.fail(`${about()}: not usable`)
    return [profile.name, isRecord(made) ? made : {}]
  })

t.test('whatever the official suite calls valid is valid under each profile', { skip: absent(suite) }, t => {
  let values = 0
  for (const [draft, uri] of isAll ? drafts : drafts.slice(0, 1)) {
    for (const { file, schema, tests } of groupsOf(draft, uri)) {
      if (!isRecord(schema) || !isUsable(schema)) continue
      for (const [name, made] of shown(t, schema, wide)) {
        for (const { data, valid, description } of tests) {
          if (!valid || !isRecord(data)) continue
          values++
          if (!fits(made, data)) t.fail(`${draft}/${file}, ${description}: ${name}: ${JSON.stringify(made)}`)
        }
      }
    }
  }
  t.comment(`${values} values`)
  t.ok(values > 1000)
  t.end()
})

t.test('what a schema accepts, the schema that a profile makes of it accepts', t => {
  let accepted = 0
  fc.assert(
    fc.property(inputs, fc.array(calls, { minLength: 5, maxLength: 5 }), (input, values) => {
      const schema = JSON.parse(JSON.stringify(input)) as DataObject
      if (!isUsable(schema)) return
      const made = shown(t, schema)
      for (const value of values) {
        if (!fits(schema, value)) continue
        accepted++
        for (const [name, wider] of made) {
          if (name !== 'openai-strict' && !fits(wider, value))
            throw new Error(`${name}: ${JSON.stringify(value)} is refused by ${JSON.stringify(wider)}`)
        }
      }
    }),
    { numRuns: isAll ? 3000 : 100 },
  )
  t.comment(`${accepted} accepted values`)
  t.ok(accepted > 20)
  t.end()
})

t.test('an accepted value stays accepted where schemas are folded, merged, copied or left out', t => {
  const property = (x: Data, more: object = {}) => ({ type: 'object', properties: { x }, ...more })
  const $u = { properties: { a: true }, unevaluatedProperties: false } as const
  const cases: readonly (readonly [string, DataObject, Data])[] = [
    ['an alternative with a list of types', {
      type: 'object',
      anyOf: [
        { type: ['object', 'null'], properties: { a: { type: 'string' } }, required: ['a'] },
        { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] },
      ],
    }, { a: 'x' }],
    ['a tuple of one schema, the items of another', {
      type: 'object',
      allOf: [
        { properties: { x: { type: 'array', prefixItems: [{ type: 'integer' }] } } },
        { properties: { x: { prefixItems: [true, { type: 'integer' }], items: false } } },
      ],
    }, { x: [1, 2] }],
    ['a denied schema that is closed', property({ not: { $ref: '#/properties/u' } }, {
      properties: { x: { not: { $ref: '#/properties/u' } }, u: $u },
    }), { x: { b: 1 } }],
    ['a condition that is closed', property(true, {
      properties: { x: { if: { $ref: '#/properties/u' }, then: false }, u: $u },
    }), { x: { b: 1 } }],
    ['a denied schema that accepts nothing', {
      type: 'object', $defs: { no: false }, not: { $ref: '#/$defs/no' }, allOf: [{ properties: { r: { $ref: '#' } } }],
    }, {}],
    ['a denied schema of which a part accepts nothing', property({ not: { allOf: [{ $ref: '#/$defs/no' }] } }, {
      $defs: { no: false }, allOf: [{ properties: { r: { $ref: '#' } } }],
    }), { x: 1 }],
    ['an argument with the name of a keyword', {
      type: 'object', $defs: { n: { type: 'string' } },
      properties: { default: { $id: 'https://x/y', $defs: { n: { type: 'integer' } }, $ref: '#/$defs/n' } },
    }, { default: 5 }],
  ]
  for (const [title, schema, value] of cases) {
    t.ok(fits(schema, value), title)
    for (const [name, made] of shown(t, schema, wide))
      if (!fits(made, value)) t.fail(`${title}: ${name}: ${JSON.stringify(made)}`)
  }
  t.end()
})

t.test('an output schema is shown for what it declares, or left out', t => {
  const outputSchema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [true] }
  for (const profile of profiles) {
    const tool = adapted({ name: 'a', inputSchema: { type: 'object' }, outputSchema }, profile)
    const made = unmetered(tool)['outputSchema']
    t.ok(made === undefined || fits(made, ['x']), profile.name)
    t.same(accepts(tool, profile, new Meter()), [], profile.name)
  }
  t.end()
})

t.test('a strict profile limits the characters of names and values', t => {
  const list = (count: number, length: number, one = '') =>
    ({ enum: Array.from({ length: count }, (_, n) => `${one}${n}`.padEnd(length, 'x')) })
  for (const [title, properties, isAccepted] of [
    ['a long list of short values', { a: list(300, 40) }, true],
    ['a long list of long values', { a: list(300, 60) }, false],
    ['a short list of long values', { a: list(200, 100) }, true],
    ['many values', Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`p${n}`, list(100, 250, `${n} `)])), false],
    ['long names', Object.fromEntries(Array.from({ length: 1300 }, (_, n) => [`${n}`.padEnd(100, 'x'), { type: 'string' }])), false],
  ] as const) {
    for (const profile of profiles.filter(({ input }) => input.isStrict === true)) {
      const { made, refused } = fit(toolOf({ type: 'object', properties }), profile, new Meter())
      t.same(accepts(made, profile, new Meter()), [], title)
      t.equal(refused.some(({ message }) => message.includes('characters')), !isAccepted, title)
    }
  }
  t.end()
})

t.test('a large schema that many references copy is copied a few times', t => {
  const numbers = Array.from({ length: 1000 }, (_, n) => n)
  const z = { type: 'string', ...Object.fromEntries(numbers.map((n): [string, Data] => [`x${n}`, n])) }
  const references = numbers.map((n): [string, Data] => [`p${n}`, { $ref: '#/properties/z' }])
  const schema: Data = {
    type: 'object', anyOf: [{ required: ['p0'] }, { required: ['p1'] }],
    properties: { ...Object.fromEntries(references), z },
  }
  for (const profile of profiles) {
    const tool = adapted(toolOf(schema), profile, new Meter(undefined, 1_000_000))
    t.same(accepts(tool, profile, new Meter()), [], profile.name)
    t.ok(JSON.stringify(tool).length < 500_000, profile.name)
  }
  t.end()
})

t.test('each profile accepts each tool of real servers, and each takes the arguments', { skip: absent(corpus) }, t => {
  let [schemas, values] = [0, 0]
  for (const [index, { from, schema, values: real }] of samples().entries()) {
    if (from.endsWith(' out')) continue
    schemas++
    for (const profile of profiles) {
      const tool = adapted(toolOf(schema), profile)
      if (accepts(tool, profile, new Meter()).length > 0) t.fail(`${profile.name}: ${from}`)
    }
    if (!isAll && index % 20 !== 0 && real.length === 0) continue
    const made = shown(t, schema)
    const generated = fc.sample(nearly(schema, schema), { numRuns: isAll ? 200 : 5, seed: 3 })
    for (const value of [...real, ...generated]) {
      if (!isRecord(value) || !fits(schema, value)) continue
      values++
      for (const [name, wider] of made) {
        if (name !== 'openai-strict' && !fits(wider, value))
          t.fail(`${from}: ${name}: ${JSON.stringify(value).slice(0, 300)}`)
      }
    }
  }
  t.comment(`${schemas} schemas, ${values} accepted values`)
  t.ok(schemas > 800 && values > 200)
  t.end()
})
