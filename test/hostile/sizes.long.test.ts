import { judge, json, many, members, schema, value } from './stall.js'

judge([
  // Size.
  ['10 MB of description', () => schema({ description: 'x'.repeat(10_000_000) }), ['cost']],
  ['10 MB of enum', () => schema({ enum: many(1_200_000, index => index) }), ['cost']],
  [
    '10 MB, as the schema of a value', () => value({ enum: many(1_200_000, index => index) }, 1),
    ['unchecked'],
  ],
  ['50,000 levels', () => schema(json(`${'{"not":'.repeat(5000)}{}${'}'.repeat(5000)}`)), ['cost']],
  ['100,000 properties declared', () => schema({ properties: members(100_000, () => true) }), ['cost']],
  [
    '4,900 properties declared', () => schema({ properties: members(4900, () => ({ type: 'string' })) }),
    [''],
  ],
  ['an enum of 20,000 objects', () => value(
    { items: { enum: many(15_000, index => ({ index })) } }, many(2000, index => ({ index: -index })),
  ), ['mismatch', 'unchecked']],
  ['100,000 properties sent', () => value(
    { additionalProperties: { type: 'string' } }, members(100_000, index => `${index}`),
  ), ['', 'unchecked']],
  ['100,000 properties, 50 patterns', () => value(
    { patternProperties: Object.fromEntries(many(50, index => [`^(x|${index})+y`, false])) },
    members(100_000, index => index),
  ), ['', 'unchecked']],
  ['100,000 names to match', () => value(
    { propertyNames: { pattern: '^k[0-9]+$' } }, members(100_000, index => index),
  ), ['', 'unchecked']],
  [
    '100,000 different objects',
    () => value({ uniqueItems: true }, many(100_000, index => ({ index, more: [index] }))), ['', 'unchecked'],
  ],
  [
    'two million numbers', () => value({ items: { type: 'number' } }, many(2_000_000, index => index)),
    ['', 'unchecked'],
  ],
  [
    'a million empty objects', () => value({ items: { minProperties: 1 } }, many(1_000_000, () => ({}))),
    ['mismatch', 'unchecked'],
  ],
  [
    'a text of 8 MB to be counted', () => value({ maxLength: 7_000_000 }, '😀'.repeat(4_000_000)),
    ['', 'unchecked'],
  ],
  ['numbers of 300 digits to be divided', () => value(
    { items: { multipleOf: 1e-300 } }, many(100_000, () => 1.1e300),
  ), ['', 'mismatch', 'unchecked']],
])
