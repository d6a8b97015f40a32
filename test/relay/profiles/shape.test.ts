import t from 'tap'
import { processLedger } from '#relay/core/memory.js'
import { profiled } from '#desk/inspect/profiles.js'
import { fit } from '#relay/profiles/fit.js'
import { profiles } from '#relay/profiles/index.js'
import { shapesOf } from '#relay/profiles/shape.js'
import { isObject, type Json, type JsonObject, Meter, weigh } from '#relay/protocol/json.js'

const shapeOf = () => shapesOf(['gemini'], 's')?.of(undefined)

const property = (n: number) => [`p${n}`, { type: 'string', format: 'uri', title: `${n}` }] as const

/** A definition that its profile makes larger. */
const definition = (name: string): JsonObject => ({
  name,
  inputSchema: { type: 'object', properties: Object.fromEntries(Array.from({ length: 500 }, (_, n) => property(n))) },
})

/** Schemas around a schema, by keyword. */
const keywordsAround: Readonly<Record<string, (inner: Json) => Json>> = {
  properties: a => ({ properties: { a } }), items: items => ({ type: 'array', items }),
  prefixItems: a => ({ prefixItems: [a] }),
  contains: contains => ({ contains, minContains: 1, maxContains: 2 }),
  additionalProperties: additionalProperties => ({ additionalProperties }),
  patternProperties: a => ({ patternProperties: { '^a': a } }), propertyNames: propertyNames => ({ propertyNames }),
  dependentSchemas: a => ({ dependentSchemas: { a } }), allOf: a => ({ allOf: [a], minLength: 1 }),
  anyOf: a => ({ type: 'object', anyOf: [a, { required: ['b'] }] }),
  oneOf: a => ({ type: 'object', properties: { b: {} }, oneOf: [a, { required: ['b'] }] }), not: not => ({ not }),
  if: a => ({ if: a }), then: then => ({ if: { required: ['a'] }, then }), else: a => ({ if: true, else: a }),
  unevaluatedProperties: unevaluatedProperties => ({ unevaluatedProperties }),
  unevaluatedItems: unevaluatedItems => ({ unevaluatedItems }), $defs: a => ({ $defs: { a }, $ref: '#/$defs/a' }),
}

t.test('what a definition became is kept in the memory of the process, for all shapes of the same profiles', t => {
  const before = processLedger.kept
  const made = shapeOf()?.adapted(definition('a'), new Meter())
  if (!isObject(made)) throw new Error('no shape')
  const weight = processLedger.kept - before
  t.ok(weight >= weigh(made), `${weight} bytes`)
  t.equal(shapeOf()?.adapted(definition('a'), new Meter()), made, 'after the settings were read again too')
  t.equal(processLedger.kept - before, weight)
  t.end()
})

/** Each alternative is compared with each name. */
const alternatives = Array.from({ length: 400 }, (_, n) => ({
  properties: Object.fromEntries(Array.from({ length: 20 }, (_, m) => [`p${n}_${m}`, { type: 'string' }])),
}))

const costly = { name: 'costly', inputSchema: { type: 'object', anyOf: alternatives } }

t.test('a definition that costs too much is a minor problem, and costs its share alone', t => {
  const shape = shapeOf()
  const meter = new Meter()
  t.match(shape?.refusals(costly, meter), [{ message: 'has more parts than are looked at', isMinor: true }])
  t.equal(shape?.adapted(costly, meter), costly)
  const other = definition('b')
  t.not(shape?.adapted(other, meter), other)
  const [of] = profiled([{ name: 'costly', definition: costly }], profiles.filter(({ name }) => name === 'gemini'), 's')
  t.match(of?.tools, [{ verdict: 'refused', reasons: [{ message: 'has more parts than are looked at' }] }])
  t.end()
})

const fields = Object.keys(keywordsAround)

t.test('what is rewritten grows with the schema, and not with its depth', t => {
  const steps = (schema: Json): number => {
    const meter = new Meter(undefined, 1e9)
    for (const profile of profiles.filter(({ name }) => /gemini|openai|copilot/.test(name))) {
      fit({ name: 'a', inputSchema: { type: 'object', properties: { a: schema } } }, profile, meter)
    }
    return 1e9 - meter.left
  }
  for (const first of fields) {
    for (const second of fields) {
      const nested = (depth: number): Json => (depth === 0
        ? { type: 'string' }
        : keywordsAround[depth % 2 === 0 ? first : second]?.(nested(depth - 1)) ?? {})
      const [short, long] = [steps(nested(6)), steps(nested(24))]
      // Twice as deep as four times: what is merged on each level may be copied on each level.
      if (long > 16 * short) t.fail(`${first} in ${second}: ${short} steps, ${long} steps`)
    }
  }
  t.end()
})
