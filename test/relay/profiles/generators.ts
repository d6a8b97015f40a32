import type { Data, DataObject } from '#relay/protocol/unmetered.js'

/** A construct as a generator of schemas writes it. */
export interface Construct {
  readonly from: string
  /** @param at the JSON Pointer of the schema, for generators that refer to it */
  readonly schema: (at: string) => Data
  readonly definitions?: { readonly [key in '$defs' | 'definitions']?: DataObject }
  /** The dialect that the generator names at the root. */
  readonly dialect?: string
  readonly value: Data
}

const draft07 = 'http://json-schema.org/draft-07/schema#'
const newest = 'https://json-schema.org/draft/2020-12/schema'

const made = (from: string, schema: Data, value: Data, more: Partial<Construct> = {}): Construct =>
  ({ from, schema: () => schema, value, ...more })

const text = { type: 'string' }
const number = { type: 'number' }

/** zod 4 writes 2020-12 by itself; by zod-to-json-schema, zod 3 writes draft-07. */
const zod: readonly Construct[] = [
  made('z.string().email()', {
    type: 'string', format: 'email', pattern: '^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_\'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$',
  }, 'a@example.com'),
  made('z.url()', { type: 'string', format: 'uri' }, 'https://example.com/'),
  made('z.int()', { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 }, 1),
  made('z.number().positive()', { type: 'number', exclusiveMinimum: 0 }, 1),
  made('z.number().multipleOf(5)', { type: 'number', multipleOf: 5 }, 5),
  made('z.literal("a")', { type: 'string', const: 'a' }, 'a'),
  made('z.literal([1, "a", null])', { type: ['number', 'string', 'null'], enum: [1, 'a', null] }, 1),
  made('z.enum', { type: 'string', enum: ['a', 'b'] }, 'b'),
  made('z.nativeEnum of numbers', { type: 'number', enum: [0, 1] }, 1, { dialect: draft07 }),
  made('z.any()', {}, 1),
  made('z.null()', { type: 'null' }, null),
  made('z.never()', { not: {} }, null),
  made('z.boolean().default(true)', { default: true, type: 'boolean' }, false),
  made('z.string().nullable()', { anyOf: [text, { type: 'null' }] }, null),
  made('zod 3 nullable', { type: ['string', 'null'] }, null, { dialect: draft07 }),
  made('z.array(z.any())', { type: 'array' }, [1], { dialect: draft07 }),
  made('z.array().min().max()', { minItems: 1, maxItems: 3, type: 'array', items: text }, ['a']),
  made('z.tuple', { type: 'array', prefixItems: [text, number] }, ['a', 1]),
  made('z.tuple().rest()', { type: 'array', prefixItems: [text], items: number }, ['a', 1]),
  made('zod 3 tuple', { type: 'array', minItems: 2, maxItems: 2, items: [text, number] }, ['a', 1], { dialect: draft07 }),
  made('z.set', { type: 'array', uniqueItems: true, items: text }, ['a'], { dialect: draft07 }),
  made('z.record', { type: 'object', propertyNames: { type: 'string' }, additionalProperties: number }, { a: 1 }),
  made('z.record of an enum', {
    type: 'object', propertyNames: { type: 'string', enum: ['a', 'b'] }, additionalProperties: number, required: ['a', 'b'],
  }, { a: 1, b: 2 }),
  made('zod 3 record of a pattern', {
    type: 'object', additionalProperties: number, propertyNames: { minLength: 2, pattern: '^[a-z]+$' },
  }, { ab: 1 }, { dialect: draft07 }),
  made('z.map', {
    type: 'array', maxItems: 125,
    items: { type: 'array', items: [text, number], minItems: 2, maxItems: 2 },
  }, [['a', 1]], { dialect: draft07 }),
  made('z.object', {
    type: 'object', properties: { a: text, b: number }, required: ['a'], additionalProperties: false,
  }, { a: 'x' }),
  made('z.object().loose()', { type: 'object', properties: { a: text }, required: ['a'], additionalProperties: {} }, { a: 'x', n: 1 }),
  made('z.object().passthrough()', { type: 'object', properties: { a: text }, additionalProperties: true }, { n: 1 }),
  made('z.object().catchall()', { type: 'object', properties: { a: text }, additionalProperties: number }, { a: 'x', n: 1 }),
  made('z.union', { anyOf: [text, number, { type: 'array', items: text }] }, ['a']),
  made('zod 3 union of scalars', { type: ['string', 'number', 'boolean'] }, true, { dialect: draft07 }),
  made('z.discriminatedUnion', {
    oneOf: [
      { type: 'object', properties: { kind: { type: 'string', const: 'circle' }, radius: number }, required: ['kind', 'radius'], additionalProperties: false },
      { type: 'object', properties: { kind: { type: 'string', const: 'square' }, side: number }, required: ['kind', 'side'], additionalProperties: false },
    ],
  }, { kind: 'square', side: 1 }),
  made('a union without types', {
    type: 'object', properties: {},
    anyOf: [
      { properties: { kind: { const: 'circle' }, radius: number }, required: ['kind', 'radius'] },
      { properties: { kind: { const: 'square' }, side: number }, required: ['kind', 'side'] },
    ],
  }, { kind: 'circle', radius: 1 }),
  made('z.intersection', {
    allOf: [
      { type: 'object', properties: { a: text }, required: ['a'] },
      { type: 'object', properties: { b: number }, required: ['b'] },
    ],
  }, { a: 'x', b: 1 }),
  made('zod 3 intersection of strict objects', {
    allOf: [
      { type: 'object', properties: { a: text }, required: ['a'] }, { type: 'object', properties: { b: number }, required: ['b'] },
    ],
    unevaluatedProperties: false,
  }, { a: 'x', b: 1 }),
  made('z.lazy', { $ref: '#/$defs/__schema0' }, { name: 'a', children: [{ name: 'b', children: [] }] }, {
    definitions: {
      $defs: {
        __schema0: {
          type: 'object', properties: { name: text, children: { type: 'array', items: { $ref: '#/$defs/__schema0' } } },
          required: ['name', 'children'], additionalProperties: false,
        },
      },
    },
  }),
  {
    from: 'zod 3 lazy', dialect: draft07, value: { name: 'a', children: [] },
    schema: at => ({
      type: 'object', properties: { name: text, children: { type: 'array', items: { $ref: at } } },
      required: ['name'], additionalProperties: false,
    }),
  },
  {
    from: 'zod 3, a schema that is used twice', dialect: draft07, value: { a: { x: 'y' }, b: { x: 'z' } },
    schema: at => ({
      type: 'object', additionalProperties: false, required: ['a', 'b'],
      properties: { a: { type: 'object', properties: { x: text }, additionalProperties: false }, b: { $ref: `${at}/properties/a` } },
    }),
  },
]

const typebox: readonly Construct[] = [
  made('Type.Literal of a number', { const: 1, type: 'number' }, 1),
  made('Type.Union of literals', { anyOf: [{ const: 'a', type: 'string' }, { const: 'b', type: 'string' }] }, 'b'),
  made('Type.Union of objects', {
    anyOf: [
      { type: 'object', required: ['kind', 'x'], properties: { kind: { const: 'a', type: 'string' }, x: number } },
      { type: 'object', required: ['kind', 'y'], properties: { kind: { const: 'b', type: 'string' }, y: text } },
    ],
  }, { kind: 'a', x: 1 }),
  made('Type.Tuple', { type: 'array', items: [text, number], additionalItems: false, minItems: 2, maxItems: 2 }, ['a', 1], { dialect: draft07 }),
  made('Type.Record', { type: 'object', patternProperties: { '^(.*)$': number } }, { a: 1 }),
  made('Type.Intersect', {
    type: 'object', allOf: [{ type: 'object', properties: { a: text }, required: ['a'] }, { type: 'object', properties: { b: number } }],
    unevaluatedProperties: false,
  }, { a: 'x', b: 1 }),
  made('Type.Not', { not: text }, 1),
  made('Type.Unsafe enum', { type: 'string', enum: ['a', 'b'], default: 'a' }, 'a'),
  made('Type.TemplateLiteral', { type: 'string', pattern: '^(a|b)-(0|[1-9][0-9]*)$' }, 'a-1'),
  made('Type.Unknown', {}, { a: 1 }),
  made('Type.Array with contains', { type: 'array', items: number, contains: { type: 'integer' }, minContains: 1, maxContains: 3, uniqueItems: true }, [1, 1.5]),
]

const pydantic: readonly Construct[] = [
  made('Optional[str] = None', { anyOf: [text, { type: 'null' }], default: null, title: 'Value' }, null),
  made('Literal["a", "b"]', { enum: ['a', 'b'], title: 'Value', type: 'string' }, 'a'),
  made('Literal[1, "a"]', { enum: [1, 'a'], title: 'Value' }, 1),
  made('Literal["a"]', { const: 'a', title: 'Value', type: 'string' }, 'a'),
  made('Literal[None]', { const: null, title: 'Value', type: 'null' }, null),
  made('Decimal', { anyOf: [number, { type: 'string', pattern: '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$' }], title: 'Value' }, '1.5'),
  made('Any', { title: 'Value' }, 1),
  made('list', { items: {}, title: 'Value', type: 'array' }, [1]),
  made('dict', { additionalProperties: true, title: 'Value', type: 'object' }, { a: 1 }),
  made('dict[str, int]', { additionalProperties: { type: 'integer' }, title: 'Value', type: 'object' }, { a: 1 }),
  made('tuple[int, str]', {
    maxItems: 2, minItems: 2, prefixItems: [{ type: 'integer' }, text], title: 'Value', type: 'array',
  }, [1, 'a']),
  made('set[int]', { items: { type: 'integer' }, title: 'Value', type: 'array', uniqueItems: true }, [1]),
  made('bytes', { format: 'binary', title: 'Value', type: 'string' }, 'a'),
  made('timedelta', { format: 'duration', title: 'Value', type: 'string' }, 'P1D'),
  made('conint(gt=0, lt=9)', { exclusiveMaximum: 9, exclusiveMinimum: 0, title: 'Value', type: 'integer' }, 3),
  made('Enum', { $ref: '#/$defs/Color' }, 'red', {
    definitions: { $defs: { Color: { enum: ['red', 'blue'], title: 'Color', type: 'string' } } },
  }),
  made('IntEnum', { $ref: '#/$defs/Level', default: 1 }, 2, {
    definitions: { $defs: { Level: { enum: [1, 2], title: 'Level', type: 'integer' } } },
  }),
  made('Model | None', { anyOf: [{ $ref: '#/$defs/M' }, { type: 'null' }], default: null }, { a: 1 }, {
    definitions: { $defs: { M: { properties: { a: { title: 'A', type: 'integer' } }, required: ['a'], title: 'M', type: 'object' } } },
  }),
  made('a model in itself', { $ref: '#/$defs/Node', description: 'The first.' }, { next: { next: null } }, {
    definitions: {
      $defs: { Node: { properties: { next: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }], default: null } }, title: 'Node', type: 'object' } },
    },
  }),
  made('Field(discriminator="kind")', {
    discriminator: { mapping: { a: '#/$defs/A', b: '#/$defs/B' }, propertyName: 'kind' },
    oneOf: [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/B' }], title: 'Value',
  }, { kind: 'b', y: 'x' }, {
    definitions: {
      $defs: {
        A: { additionalProperties: false, properties: { kind: { const: 'a', type: 'string' }, x: number }, required: ['kind', 'x'], title: 'A', type: 'object' },
        B: { additionalProperties: false, properties: { kind: { const: 'b', type: 'string' }, y: text }, required: ['kind', 'y'], title: 'B', type: 'object' },
      },
    },
  }),
  made('pydantic 1, a model with a default', { title: 'V', default: {}, allOf: [{ $ref: '#/definitions/M' }] }, { a: 1 }, {
    dialect: draft07, definitions: { definitions: { M: { title: 'M', type: 'object', properties: { a: { type: 'integer' } } } } },
  }),
]

const go: readonly Construct[] = [
  made('jsonschema-go, a slice', { type: ['null', 'array'], items: text }, null),
  made('jsonschema-go, a pointer', { type: ['null', 'integer'] }, 1),
  made('jsonschema-go, a map', { type: 'object', additionalProperties: { type: 'integer' } }, { a: 1 }),
  made('jsonschema-go, any', { description: 'anything' }, [1]),
  made('jsonschema-go, a struct', { type: 'object', properties: { a: text }, required: ['a'], additionalProperties: false }, { a: 'x' }),
  made('invopop, any as true', { type: 'object', properties: { a: true }, additionalProperties: false }, { a: 1 }),
  made('invopop, a reference', { $ref: '#/$defs/T' }, { a: [{ b: 'x' }] }, {
    dialect: newest,
    definitions: {
      $defs: {
        T: { properties: { a: { items: { $ref: '#/$defs/U' }, type: 'array' } }, additionalProperties: false, type: 'object', required: ['a'] },
        U: { properties: { b: text }, additionalProperties: false, type: 'object' },
      },
    },
  }),
  made('invopop, oneof_type', { oneOf: [text, { type: 'array' }] }, 'a'),
  made('invopop, bytes', { type: 'string', contentEncoding: 'base64' }, 'YQ=='),
  made('invopop, time', { type: 'string', format: 'date-time' }, '2026-11-28T00:00:00Z'),
  made('mcp-go, an array', { type: 'array' }, [1]),
  made('mcp-go, an object', { type: 'object', properties: {} }, { a: 1 }),
]

const dotnet: readonly Construct[] = [
  made('int?', { type: ['integer', 'null'], default: null }, null),
  made('double with NaN', { anyOf: [number, { enum: ['NaN', 'Infinity', '-Infinity'] }] }, 'NaN'),
  made('a number from text', { type: ['string', 'integer'], pattern: '^-?(?:0|[1-9]\\d*)$' }, '1'),
  made('an enum', { enum: ['Red', 'Blue'] }, 'Red'),
  made('an enum?', { enum: ['Red', 'Blue', null] }, null),
  made('an enum? with a type', { type: ['string', 'null'], enum: ['Red', 'Blue', null], default: null }, 'Red'),
  made('string[]?', { type: ['array', 'null'], items: { type: ['string', 'null'] } }, [null]),
  made('Dictionary', { type: 'object', additionalProperties: { type: 'integer' } }, { a: 1 }),
  made('object', {}, 1),
  made('JsonElement', true, 1),
  made('Guid', { type: 'string', format: 'uuid' }, '8c7a1a3e-6f0c-4a3c-9b55-0a6d5c0f2d11'),
  made('TimeSpan', { type: 'string', pattern: '^-?(\\d+\\.)?\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,7})?$' }, '00:00:01'),
  made('a class?', { type: ['object', 'null'], properties: { a: { type: ['string', 'null'] } }, required: ['a'] }, { a: null }),
  made('JsonPolymorphic', {
    type: ['object', 'null'], required: ['$type'],
    anyOf: [
      { properties: { $type: { const: 'a' }, x: { type: 'integer' } }, required: ['x'] },
      { properties: { $type: { const: 'b' }, y: text } },
    ],
  }, { $type: 'b', y: 'x' }),
  {
    from: 'a class in itself', value: { next: {} },
    schema: at => ({ type: ['object', 'null'], properties: { next: { $ref: at } } }),
  },
]

const schemars: readonly Construct[] = [
  made('Option<u32>', { type: ['integer', 'null'], format: 'uint32', minimum: 0 }, 1),
  made('u8', { type: 'integer', format: 'uint8', minimum: 0, maximum: 255 }, 255),
  made('f64', { type: 'number', format: 'double' }, 1.5),
  made('a unit enum', { type: 'string', enum: ['A', 'B'] }, 'A'),
  made('a unit enum with descriptions', {
    oneOf: [{ description: 'first', type: 'string', const: 'a' }, { description: 'second', type: 'string', const: 'b' }],
  }, 'b'),
  made('schemars 0.8, a unit enum with descriptions', {
    oneOf: [{ description: 'first', type: 'string', enum: ['a'] }, { description: 'second', type: 'string', enum: ['b'] }],
  }, 'b', { dialect: draft07 }),
  made('an externally tagged enum', {
    oneOf: [
      { type: 'string', enum: ['None'] },
      { type: 'object', properties: { Some: { type: 'integer', format: 'int32' } }, required: ['Some'], additionalProperties: false },
    ],
  }, { Some: 1 }),
  made('an enum of structs, externally tagged', {
    oneOf: [
      { type: 'object', properties: { A: text }, required: ['A'], additionalProperties: false },
      { type: 'object', properties: { B: number }, required: ['B'], additionalProperties: false },
    ],
  }, { B: 1 }),
  made('an internally tagged enum', {
    oneOf: [
      { type: 'object', properties: { kind: { type: 'string', const: 'a' }, x: number }, required: ['kind', 'x'] },
      { type: 'object', properties: { kind: { type: 'string', const: 'b' } }, required: ['kind'] },
    ],
  }, { kind: 'b' }),
  made('an adjacently tagged enum', {
    oneOf: [
      { type: 'object', properties: { t: { type: 'string', const: 'a' }, c: number }, required: ['t', 'c'] },
      { type: 'object', properties: { t: { type: 'string', const: 'b' }, c: { type: 'array', prefixItems: [text, text], minItems: 2, maxItems: 2 } }, required: ['t', 'c'] },
    ],
  }, { t: 'b', c: ['x', 'y'] }),
  made('an untagged enum', { anyOf: [text, number, { type: 'null' }] }, null),
  made('(String, i32)', { type: 'array', prefixItems: [text, { type: 'integer', format: 'int32' }], minItems: 2, maxItems: 2 }, ['a', 1]),
  made('schemars 0.8, a tuple', { type: 'array', items: [text, number], minItems: 2, maxItems: 2 }, ['a', 1], { dialect: draft07 }),
  made('schemars 0.8, Option of a struct', { anyOf: [{ $ref: '#/definitions/S' }, { type: 'null' }] }, null, {
    dialect: draft07,
    definitions: { definitions: { S: { type: 'object', required: ['a'], properties: { a: text } } } },
  }),
  made('schemars 0.8, a described struct', { description: 'one', allOf: [{ $ref: '#/definitions/S' }] }, { a: 'x' }, {
    dialect: draft07, definitions: { definitions: { S: { type: 'object', required: ['a'], properties: { a: text } } } },
  }),
  made('serde_json::Value', true, 1),
  made('HashMap', { type: 'object', additionalProperties: text }, { a: 'x' }),
  made('Box<Self>', { $ref: '#/$defs/Tree' }, { left: null }, {
    definitions: { $defs: { Tree: { type: 'object', properties: { left: { anyOf: [{ $ref: '#/$defs/Tree' }, { type: 'null' }] } } } } },
  }),
  made('deny_unknown_fields with flatten', {
    type: 'object', properties: { a: text }, unevaluatedProperties: false,
    anyOf: [{ type: 'object', properties: { b: number }, required: ['b'] }, { type: 'object', properties: { c: text }, required: ['c'] }],
  }, { a: 'x', c: 'y' }),
]

/** What a person writes by hand. */
const others: readonly Construct[] = [
  made('if, then, else', {
    type: 'object', properties: { kind: text }, if: { properties: { kind: { const: 'a' } }, required: ['kind'] },
    then: { properties: { x: number }, required: ['x'] }, else: { properties: { y: text } },
  }, { kind: 'a', x: 1 }),
  made('dependentRequired', { type: 'object', properties: { a: text, b: text }, dependentRequired: { a: ['b'] } }, {}),
  made('dependentSchemas', { type: 'object', properties: { a: text }, dependentSchemas: { a: { properties: { b: number } } } }, { a: 'x', b: 1 }),
  made('dependencies', { type: 'object', properties: { a: text, b: text }, dependencies: { a: ['b'] } }, {}, { dialect: draft07 }),
  made('one of several required members', { type: 'object', properties: { a: text, b: text }, oneOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: 'x' }),
  made('members that no schema declares', { type: 'object', required: ['a'] }, { a: 1 }),
  made('names that are keywords', { type: 'object', properties: { enum: number, type: { type: ['integer', 'null'] }, properties: {}, const: true } }, { enum: 1 }),
  made('names that APIs refuse', { type: 'object', properties: { 'a b': text, 'ünï/c': number }, required: ['a b'] }, { 'a b': 'x' }),
  made('objects and lists in enum', { enum: [{ a: 1 }, [1], null, true, 1.5] }, [1]),
  made('a constant object', { const: { a: 1 } }, { a: 1 }),
  made('OpenAPI 3.0', { type: 'string', nullable: true, example: 'x', xml: { name: 'a' } }, 'a'),
  made('a list of types with everything', { type: ['array', 'object', 'string', 'integer', 'null'], items: text, properties: { a: {} }, minLength: 1, minimum: 2 }, ['a']),
]

export const constructs: readonly Construct[] =
  [...zod, ...typebox, ...pydantic, ...go, ...dotnet, ...schemars, ...others]
