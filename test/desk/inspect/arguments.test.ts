import fc from 'fast-check'
import t from 'tap'
import { argumentPhrases, argumentsOf } from '#desk/inspect/definition.js'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'

const object = (properties: DataObject, more: DataObject = {}): DataObject =>
  ({ type: 'object', properties, ...more })

t.test('arguments are shown in one line', t => {
  const cases: [string, Data | undefined, string][] = [
    ['no schema', undefined, ''],
    ['true', true, ''],
    ['nothing declared', { type: 'object' }, ''],
    [
      'required and not', object({ a: { type: 'string' }, b: { type: 'integer' } }, { required: ['a'] }),
      'a: string, b?: integer',
    ],
    ['required, and not declared', { required: ['a'] }, 'a: any'],
    [
      'a list', object({ a: { type: 'array', items: { type: 'number' } }, b: { type: 'array' } }),
      'a?: number[], b?: any[]',
    ],
    ['values', object({ a: { enum: ['x', 1, null] }, b: { const: 'y' } }), 'a?: "x" | 1 | null, b?: "y"'],
    ['very many values', object({ a: { enum: [1, 2, 3, 4, 5, 6, 7, 8] } }), 'a?: 1 | 2 | 3 | 4 | 5 | 6 | …'],
    [
      'several types',
      object({ a: { type: ['string', 'null'] }, b: { type: 'array', items: { type: ['string', 'null'] } } }),
      'a?: string | null, b?: (string | null)[]',
    ],
    [
      'alternatives', object({ a: { anyOf: [{ type: 'string' }, { type: 'object' }] } }),
      'a?: string | object',
    ],
    ['true and false', object({ a: true, b: false }), 'a?: any, b?: never'],
    [
      'a reference',
      object({ a: { $ref: '#/$defs/one~1two' } }, { $defs: { 'one/two': { type: 'string' } } }), 'a?: string',
    ],
    ['a reference to nothing', object({ a: { $ref: '#/$defs/x' } }), 'a?: any'],
    ['a reference to itself', object({ a: { $ref: '#/properties/a' } }), 'a?: any'],
    ['a part of all', { allOf: [object({ a: { type: 'string' } }, { required: ['a'] })] }, 'a: string'],
    ['one of several forms', {
      oneOf: [object({ a: { type: 'string' } }, { required: ['a'] }), object({ b: {} }, { required: ['b'] })],
    }, 'a?: string, b?: any'],
    ['what is no schema', object({ a: 7, b: null, c: [] }), 'a?: any, b?: any, c?: any'],
    [
      'a name that steers terminals', object({ '\u001b[31ma\u202e': { const: '\u001b[2J' } }),
      'a?: "\\u001b[2J"',
    ],
    ['names of Object.prototype', object({ toString: { $ref: '#/constructor' } }), 'toString?: any'],
  ]
  for (const [name, schema, line] of cases) t.equal(argumentPhrases(schema).join(' '), line, name)
  t.equal(argumentPhrases(
    object(Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`a${index}`, true]))),
  ).at(-1), 'and 59 more')
  t.end()
})

t.test('no schema takes long or exhausts the reader', t => {
  const dear = object({ a: { $ref: '#' } }, {
    allOf: Array.from({ length: 9 }, () => ({ $ref: '#' })),
    anyOf: Array.from({ length: 9 }, () => ({ $ref: '#' })),
  })
  t.match(argumentsOf(dear), [{ name: 'a', required: false }])
  fc.assert(fc.property(fc.jsonValue(), value => Array.isArray(argumentsOf(value as Data))))
  t.end()
})
