import {
  isList, isRecord, isString, field, type Data, type DataObject,
} from '#relay/protocol/unmetered.js'
import type { Random } from './random.js'

const strings = [
  '', 'a', 'b', 'ab', 'abc', 'bb', 'é', '😀', 'a😀b', '\n', '\\n', 'n', '"', '\\', 'foo', 'a b', 'index.js',
  'toString', '__proto__', 'x'.repeat(20), 'aaaaaaaab', '\u007f', '\ud800',
  '2024-02-28', '2024-02-29', '2023-02-29', '2024-04-31', '0000-01-01', '2024-01-01T00:00:00Z',
  '2024-01-01T23:59:60Z', '2024-12-31t12:00:00.5+01:00', '2024-01-01T24:00:00Z',
  '2024-01-01T00:00:00+24:00', 'a@b.org', 'a.b@c-d.e', 'a@b', '.a@b.c', 'a@-b.c', 'a.@b.c', 'x+y_z@q.io',
  'a@b..c', 'https://a.b/c?d=e#f', 'http://x', 'ftp://h:21/', 'mailto:a@b', '://x',
  'http://a b/', 'a://b:x/', 'http://[::1]/', 'http://a/%zz', '00000000-0000-0000-0000-000000000000',
  'DEADBEEF-0000-4000-8000-00000000000g', 'P1D', '127.0.0.1',
] as const
const numbers = [
  0, -0, 1, 2, 3, -1, 1.5, 2.5, 0.1, 0.3, 1e21, 1e-7, 9007199254740992, 123456789012345, 1234567890123456,
  100, 19.99, 1e15, 999999999999999, -2,
] as const
const names = ['a', 'b', 'ab', 'c', 'toString', '__proto__', 'é', 'abcdefgh1', 'abcdefgh2', '\ud800'] as const
const types = ['string', 'integer', 'number', 'boolean', 'null', 'array', 'object'] as const
const formats = [
  'date', 'date-time', 'email', 'uuid', 'uri', 'uri', 'ipv4', 'time', 'hostname', 'regex', 'nothing',
] as const
const patterns = [
  'a', '^b+$', '^[a-z]$', '^[^@]+@', '^\\d{4}-', '(a|b)+c?$', '^$', '.', '\\w+\\s', '^(?!x)', '\\bfoo',
  '^[A-Za-z0-9_.-]{1,12}$', '\\.(js|ts)$', 'é', '😀', '^\\S*$', '^.{2}$', 'n', '\\\\', 'a*?b', '(a)\\1',
  '[^a]', '$', '^\\p{L}+$', '\\u{61}',
] as const

const from = (entries: readonly (readonly [string, Data])[]): DataObject => Object.fromEntries(entries)

/** Any value, mostly of a few kinds. */
export const value = (random: Random, depth = 0): Data => {
  switch (random.below(depth > 2 ? 5 : 8)) {
    case 0:
      return null
    case 1:
      return random.once(2)
    case 2:
    case 3:
      return random.in(numbers)
    case 4:
      return random.in(strings)
    case 5:
      return random.many(3, () => value(random, depth + 1))
    default:
      return from(random.many(3, () => [random.in(names), value(random, depth + 1)]))
  }
}

type Make = (random: Random, depth: number) => Data

const one: Make = (random, depth) => schema(random, depth + 1)
const some: Make = (random, depth) => [one(random, depth), ...random.many(2, () => one(random, depth))]
const list: Make = random => [...new Set([random.in(names), ...random.many(1, () => random.in(names))])]
const members = (keys: readonly string[]): Make =>
  (random, depth) => from(random.many(3, () => [random.in(keys), one(random, depth)]))
const small: Make = random => random.below(4)
const number: Make = random => random.in(numbers)
const flag: Make = random => random.once(2)

/** Every keyword, with values that it may have. */
const keywords: Readonly<Record<string, Make>> = {
  type: random => (random.once(3) ? [...new Set([random.in(types), random.in(types)])] : random.in(types)),
  enum: random => [value(random, 1), ...random.many(3, () => value(random, 1))],
  const: random => value(random, 1),
  minimum: number, maximum: number,
  exclusiveMinimum: (random, depth) => (random.once(4) ? flag(random, depth) : number(random, depth)),
  exclusiveMaximum: number,
  multipleOf: random => random.of(1, 2, 3, 0.1, 0.01, 1.5, 100, 1e20, 9007199254740991),
  minLength: small, maxLength: random => random.below(20), minItems: small, maxItems: small,
  minProperties: small, maxProperties: small,
  format: random => random.in(formats), pattern: random => random.in(patterns),
  required: list, properties: members(names), additionalProperties: (random, depth) =>
    (random.once(2) ? false : one(random, depth)),
  patternProperties: members(['^a', 'b', 'c$']), propertyNames: one, dependentRequired: () => ({ a: ['b'] }),
  dependentSchemas: members(['a', 'b']),
  dependencies: (random, depth) => ({ a: random.once(2) ? ['b'] : one(random, depth) }),
  items: (random, depth) => (random.once(4) ? some(random, depth) : one(random, depth)), prefixItems: some,
  additionalItems: one, contains: one, minContains: small, maxContains: small, uniqueItems: flag,
  allOf: some, anyOf: some, oneOf: some, not: one, if: one, then: one, else: one, unevaluatedProperties: flag,
  unevaluatedItems: flag,
  $ref: random => random.of('#/$defs/d', '#/$defs/e', '#', '#x'), $dynamicRef: () => '#x', title: () => 'x',
}
const all = Object.keys(keywords)
const common = [
  'type', 'type', 'properties', 'properties', 'items', 'required', 'enum', 'anyOf', 'oneOf', 'not',
  'minLength', 'format', 'pattern', 'additionalProperties', 'minimum',
] as const

const schema = (random: Random, depth: number): Data => {
  if (depth > 3) return random.once(2) ? { type: random.in(types) } : random.once(2)
  if (random.once(25)) return random.once(2)
  return from(random.many(4, () => {
    const name = random.once(2) ? random.in(all) : random.in(common)
    return [name, keywords[name]?.(random, depth) ?? null]
  }))
}

const dialects = [
  'https://json-schema.org/draft/2020-12/schema', 'https://json-schema.org/draft/2019-09/schema',
  'http://json-schema.org/draft-07/schema#', 'http://json-schema.org/draft-06/schema#',
  'http://json-schema.org/draft-04/schema#',
] as const

/** A schema of any dialect; many cannot be used. */
export const anySchema = (random: Random): DataObject => {
  const own = schema(random, 0)
  const $defs = {
    d: { type: ['object', 'array', 'string'], properties: { a: { type: 'string' } } }, e: schema(random, 2),
    f: { $dynamicAnchor: 'x', type: ['string', 'object'] },
  }
  return { ...(random.once(2) && { $schema: random.in(dialects) }), ...(isRecord(own) ? own : {}), $defs }
}

/** A value that mostly fits a schema. */
export const fitting = (schema: Data | undefined, root: Data, random: Random, depth = 0): Data => {
  if (!isRecord(schema) || depth > 6) return value(random, 1)
  const { const: constant, enum: values, $ref, allOf, anyOf, oneOf, properties, type, items, required } =
    schema
  if (constant !== undefined) return constant
  if (isList(values) && values.length > 0) return random.in(values)
  if (isString($ref)) {
    return fitting($ref.split('/').slice(1).reduce<Data | undefined>(
      (at, key) => (isRecord(at) ? field(at, key) : undefined), root,
    ), root, random, depth + 1)
  }
  for (const schemas of [allOf, anyOf, oneOf]) {
    if (isList(schemas) && schemas.length > 0 && properties === undefined) {
      return fitting(random.in(schemas), root, random, depth + 1)
    }
  }
  const named = isList(type) && type.length > 0 ? random.in(type) : type ?? (properties && 'object')
  switch (isString(named) ? named : '') {
    case 'string':
      return random.in(strings)
    case 'integer':
      return random.below(50) - 3
    case 'number':
      return random.in(numbers)
    case 'boolean':
      return random.once(2)
    case 'null':
      return null
    case 'array':
      return random.many(3, () => fitting(isList(items) ? items[0] : items, root, random, depth + 1))
    case 'object': {
      const declared = isRecord(properties) ? Object.keys(properties) : []
      const asked = [
        ...new Set([...declared, ...(isList(required) ? required.filter(isString) : [])]),
      ].filter(key => (isList(required) && required.includes(key)) || !random.once(3))
      const entries = asked.map((key): readonly [string, Data] => [
        key, fitting(isRecord(properties) ? field(properties, key) : undefined, root, random, depth + 1),
      ])
      return from(random.once(8) ? [...entries, [random.in(names), value(random, 1)]] : entries)
    }
    default:
      return value(random, 1)
  }
}

/** The value, changed in one place. */
export const changed = (whole: Data, random: Random): Data => {
  if (random.once(6)) return value(random, 1)
  if (isList(whole) && whole.length > 0) {
    const at = random.below(whole.length)
    return whole.with(at, changed(whole[at] ?? null, random))
  }
  if (isRecord(whole)) {
    const entries = Object.entries(whole).map(([key, inner = null]): readonly [string, Data] => [key, inner])
    if (entries.length === 0 || random.once(5)) {
      return from([...entries, [random.in(names), value(random, 1)]])
    }
    const at = random.below(entries.length)
    return from(random.once(4) ? entries.toSpliced(
      at, 1,
    ) : entries.map(([key, inner], index) => [key, index === at ? changed(inner, random) : inner]))
  }
  if (isString(whole)) return random.of(whole + random.in(strings), whole.slice(1), random.in(strings))
  return typeof whole === 'number'
    ? random.of(-whole, whole + 0.5, whole + 1, random.in(numbers))
    : value(random, 1)
}

/** The value as JSON, now and then spelled otherwise. */
export const written = (value: Data, random: Random): string => {
  let text = JSON.stringify(value, undefined, random.once(8) ? 1 : undefined)
  if (random.once(10)) {
    text = text.replace(/"(?:[^"\\]|\\.)*"/g, string =>
      (string.includes('\\') ? string : string.replace('a', '\\u0061')))
  }
  if (random.once(10)) text = text.replace('😀', '\\ud83d\\ude00')
  if (random.once(10)) text = text.replace(/([[:,]-?\d{1,15})(?=[,}\]])/, '$1.0')
  if (random.once(20)) text = text.replace(/([[:,]-?\d{1,15})(?=[,}\]])/, '$1e0')
  return text
}
