import { registerSchema, unregisterSchema, validate } from '@hyperjump/json-schema/draft-2020-12'
import '@hyperjump/json-schema/draft-07'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { isString, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { absent, asker, corpus, samples, type Sample } from './ask.js'
import { nearly } from './nearly.js'

const options = {
  strict: false, validateFormats: false, validateSchema: false, addUsedSchema: false, logger: false,
  ownProperties: true,
} as const

const [ajv, ajv2020] = [new Ajv(options), new Ajv2020(options)]

/** Ajv's verdict; a yardstick here, no part of the relay. */
const ajvFor = (schema: DataObject) =>
  (isString(schema.$schema) && schema.$schema.includes('draft-07') ? ajv : ajv2020).compile(schema)

const fits = async (ask: ReturnType<typeof asker>, schema: DataObject, value: Data): Promise<boolean> =>
  !(await ask.value(schema, value)).some(({ kind }) => kind !== 'format')

const distinct =
  (): readonly Sample[] => [
    ...new Map(samples().map(sample => [JSON.stringify(sample.schema), sample])).values(),
  ]

t.test('under every schema of the corpus, real and generated values get the verdict that ajv gives', {
  skip: absent(corpus),
}, async t => {
  const ask = asker()
  let [real, generated, valid] = [0, 0, 0]
  for (const {
    from, schema, values,
  } of [...distinct(), ...samples().filter(sample => sample.values.length > 0)]) {
    const ajv = ajvFor(schema)
    const compare = async (value: Data) => {
      const ours = await fits(ask, schema, value)
      if (ours !== ajv(value)) t.fail(`${from}: ours ${String(ours)}: ${JSON.stringify(value).slice(0, 300)}`)
      if (ours) valid++
    }
    for (const value of values) await compare(value)
    const made = fc.sample(nearly(schema, schema), { numRuns: 4, seed: 1 })
    for (const value of made) await compare(value)
    real += values.length
    generated += made.length
  }
  t.comment(`${real} real and ${generated} generated values, ${valid} of them valid`)
  t.ok(real > 300 && valid > 1000, 'enough of each')
  await ask.close()
})

t.test('a third engine agrees on the responses of real servers, and on a sample of the rest', {
  skip: absent(corpus),
}, async t => {
  const ask = asker()
  let compared = 0
  for (const [index, { from, schema, values }] of distinct().entries()) {
    if (index % 20 !== 0 && !from.endsWith(' out')) continue
    const uri = `https://corpus.example/${index}`
    registerSchema(
      schema as Parameters<typeof registerSchema>[0], uri, 'https://json-schema.org/draft/2020-12/schema',
    )
    const theirs = await validate(uri)
    for (const value of [...values, ...fc.sample(nearly(schema, schema), { numRuns: 4, seed: 2 })]) {
      compared++
      if ((await fits(ask, schema, value)) !== theirs(value as Parameters<typeof theirs>[0]).valid) {
        t.fail(`${from}: ${JSON.stringify(value).slice(0, 300)}`)
      }
    }
    unregisterSchema(uri)
  }
  t.comment(`${compared} values`)
  t.ok(compared > 200)
  await ask.close()
})

/**
 * Small schemas, of every keyword of 2020-12 but the references that a generated schema could not resolve.
 */
const { schema: anySchema } = fc.letrec<{ schema: DataObject }>(tie => {
  const branches = fc.array(tie('schema'), { minLength: 1, maxLength: 2 })
  const entry = (keyword: string, value: fc.Arbitrary<Data>) => value.map(made => [keyword, made] as const)
  const entries = [
    entry('type', fc.constantFrom<Data>(
      'string', 'integer', 'object', 'array', ['string', 'null'], ['object', 'array', 'number'],
    )),
    entry('enum', fc.constantFrom<Data>(['a'], [1, null], [{ a: 1 }, 'b'], [[], {}])),
    ...['minLength', 'maxItems', 'minimum', 'exclusiveMaximum', 'minContains', 'maxProperties'].map(keyword =>
      entry(keyword, fc.nat(2))),
    entry('pattern', fc.constantFrom('a', '^b+$', '^[a-z]$')),
    entry('required', fc.uniqueArray(fc.constantFrom('a', 'b'), { maxLength: 2 })),
    entry('dependentRequired', fc.constant({ a: ['b'] })),
    ...['properties', 'dependentSchemas'].map(keyword =>
      entry(keyword, fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 }))),
    entry('patternProperties', fc.dictionary(fc.constantFrom('^a', 'b'), tie('schema'), { maxKeys: 2 })),
    ...['prefixItems', 'allOf', 'anyOf', 'oneOf'].map(keyword => entry(keyword, branches)),
    ...[
      'items', 'contains', 'propertyNames', 'additionalProperties', 'not', 'if', 'then', 'else',
    ].map(keyword => entry(keyword, tie('schema'))),
    ...['uniqueItems', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'].map(keyword =>
      entry(keyword, fc.boolean())),
    entry('$ref', fc.constant('#/$defs/d')),
  ]
  return {
    schema: fc.uniqueArray(
      fc.oneof({ depthSize: 'small', withCrossShrink: false }, ...entries),
      { maxLength: 4, selector: ([keyword]) => keyword },
    )
      .map(chosen => Object.fromEntries(chosen) as DataObject),
  }
})

const smallValue = fc.letrec<{ value: Data }>(tie => ({
  value: fc.oneof({
    depthSize: 'small', withCrossShrink: true,
  }, fc.constantFrom<Data>(null, true, 0, 1, 2, 1.5, '', 'a', 'b', 'bb', 'ab'),
  fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(
    fc.constantFrom('a', 'b', 'ab', 'c'), tie('value'), { maxKeys: 3, noNullPrototype: true },
  )),
})).value

/**
 * The verdicts of Ajv; undefined where it errs: `[]` passes some schemas with `contains`; an item is
 * unevaluated that matched an empty schema; and the code that it makes sometimes throws.
 */
const byAjv = (schema: DataObject, values: readonly Data[]): readonly boolean[] | undefined => {
  if (/"(?:unevaluated|contains")/.test(JSON.stringify(schema))) return undefined
  try {
    const validate = new Ajv2020(options).compile(schema)
    return values.map(value => validate(value))
  } catch {
    return undefined
  }
}

/** SCHEMAS=17000 is the hunt, of 100,000 values; a share of it is for every day. */
const schemas = Number(process.env['SCHEMAS'] ?? 1500)

t.test('under generated schemas, two other engines give the same verdicts', {
  timeout: 3_600_000,
}, async t => {
  const ask = asker()
  let [count, values, valid, judgedByAjv] = [0, 0, 0, 0]
  await fc.assert(
    fc.asyncProperty(anySchema, fc.array(
      smallValue, { minLength: 4, maxLength: 8 },
    ), async (generated, made) => {
      // What the reference leads to must not lead back in place.
      const schema = {
        ...generated,
        $defs: { d: { type: ['object', 'array', 'string'], properties: { a: { type: 'string' } } } },
      }
      const uri = `https://generated.example/${++count}`
      registerSchema(schema, uri, 'https://json-schema.org/draft/2020-12/schema')
      try {
        const hyperjump = await validate(uri)
        const third = byAjv(schema, made)
        if (third !== undefined) judgedByAjv += made.length
        for (const [index, value] of made.entries()) {
          const ours = await fits(ask, schema, value)
          const theirs = [hyperjump(value as Parameters<typeof hyperjump>[0]).valid, third?.[index] ?? ours]
          if (theirs.some(one => one !== ours)) {
            throw new Error(JSON.stringify({ schema, value, ours, theirs }))
          }
          values++
          if (ours) valid++
        }
      } finally {
        unregisterSchema(uri)
      }
    }),
    { numRuns: schemas },
  )
  t.comment(`${values} values, ${valid} of them valid, ${judgedByAjv} judged by Ajv too`)
  t.ok(judgedByAjv > values / 4 && count >= schemas && valid > values / 10 && valid < values)
  await ask.close()
})
