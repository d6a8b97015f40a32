// What the dearest schemas and values cost, as strangers would make them: node --expose-gc bench/hunt.mjs [COUNT] [SEED]
// In CPU time, the best of three where it is long: the longest turn of the event loop, and what a verdict takes on all threads together.
import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { createSchemaChecker } from '../dist/schema/index.js'

const [count, seed] = [Number(process.argv[2] ?? 20_000), Number(process.argv[3] ?? 1)]
const limits = { schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 100 }

let state = seed
const random = most => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * most)
}
/** Mostly small, sometimes as large as may be. */
const size = most => Math.max(1, Math.floor(most ** (random(1000) / 1000)))
const pick = list => list[random(list.length)]
const many = (length, make) => Array.from({ length }, (_, index) => make(index))
const members = (length, name, make) => Object.fromEntries(many(length, index => [name(index), make(index)]))
const nested = (depth, wrap, inner) => {
  for (let level = 0; level < depth; level++) inner = wrap(inner)
  return inner
}
const texts = ['a', 'ab', '/', '~', '%', 'é', '😀', '\u0000', '-', '1', '.', '@', ':', '{', '\\', ' ']
const text = most => pick(texts).repeat(size(most))
/** As long as others, and unlike them at its end only. */
const alike = length => index => 'k'.repeat(length) + String(index).padStart(6, '0')
/** As much of a list as the limits let through. */
const room = (each, most) => Math.max(1, Math.min(most, Math.floor(250_000 / each)))

const metaschemas = ['https://json-schema.org/draft/2020-12/schema', 'https://json-schema.org/draft/2019-09/schema', 'http://json-schema.org/draft-07/schema', 'http://json-schema.org/draft-06/schema', 'http://json-schema.org/draft-04/schema']
const formats = ['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference', 'uri-template', 'uuid', 'json-pointer', 'relative-json-pointer', 'regex']
const parts = ['a', 'a*', '(a+)+', '(a|a)*', '(a|aa)+', '.*', '\\p{L}', '[^\\p{L}\\p{N}]', '\\P{Script=Greek}', '\\p{Emoji}', 'a{0,99}', '(a{0,50}){0,50}', '(?=a)', '(?!b)', '(?<=a*)', '\\1', '(a*)', '\\b', '[a-z]', '[^]', '\\s+', 'é', '😀', '$', '^', '(?:a?){30}', '(', '|']
const pattern = most => many(size(most), () => pick(parts)).join('')
const json = depth => (depth === 0 ? pick([0, 1e308, 1e-7, 9007199254740993, '', text(2000), true, null]) : pick([() => many(size(20), () => json(depth - 1)), () => members(size(20), alike(size(50)), () => json(depth - 1)), () => json(0)])())

/** Each makes a schema and a value. */
const kinds = {
  'long keys': () => {
    const length = size(40_000)
    return [{ properties: { ['k'.repeat(length)]: { allOf: many(size(4950), () => ({})) } } }, { ['k'.repeat(length)]: 1 }]
  },
  'keys of one length': () => {
    const name = alike(size(20_000))
    const number = room(name(0).length + 20, 3000)
    return [{ [pick(['properties', 'dependentSchemas', '$defs'])]: members(number, name, () => ({ type: 'integer' })), required: many(pick([0, 5]), name), additionalProperties: pick([true, false, {}]), unevaluatedProperties: pick([true, false]) }, members(number, name, index => index)]
  },
  'a value for each branch': () => [{ [pick(['anyOf', 'oneOf'])]: many(size(4900), index => pick([{ const: { x: index } }, { enum: [[index]] }])) }, { x: text(4_000_000) }],
  'texts of one length': () => {
    const name = alike(size(30_000))
    const number = Math.min(900, Math.ceil(8_000_000 / name(0).length))
    return [pick([{ uniqueItems: true }, { items: { enum: many(room(name(0).length, 900), name) } }]), many(number, name)]
  },
  'numbers that collide': () => [{ uniqueItems: true, items: { enum: many(3000, index => index * 2 ** 32) } }, many(size(200_000), index => index * 2 ** 32)],
  'doubling': () => {
    const keyword = pick(['allOf', 'anyOf', 'oneOf'])
    const both = { [keyword]: [{ properties: { a: { $ref: '#' } } }, { properties: { a: { $ref: '#' } } }] }
    return [both, nested(size(100), inner => ({ a: inner }), 1)]
  },
  'deep branches': () => [nested(size(60), inner => ({ [pick(['not', 'if', 'contains', 'propertyNames', 'additionalProperties', 'items'])]: inner }), { type: 'string' }), json(4)],
  'a chain of references': () => {
    const number = size(2400)
    return [{ $ref: '#/$defs/k0', $defs: members(number, index => `k${index}`, index => (index === number - 1 ? { [pick(['$ref', 'items'])]: pick(['#/$defs/k0', '#']) } : { $ref: `#/$defs/k${index + 1}` })) }, json(2)]
  },
  'patterns': () => [{ pattern: pattern(400) }, text(200_000)],
  'many patterns': () => [{ allOf: many(size(800), () => ({ pattern: pattern(10) })) }, text(10_000)],
  'patterns of names': () => [{ patternProperties: Object.fromEntries(many(size(500), () => [pattern(6), pick([true, false, {}])])) }, members(size(3000), alike(size(100)), () => 1)],
  'property classes': () => [{ allOf: many(size(220), () => ({ pattern: `^${pick(['\\p{L}', '\\p{Lu}', '\\P{N}', '[^\\p{L}\\p{N}]', '\\p{Script=Han}', '\\p{scx=Grek}', '\\p{Nope}'])}`.repeat(size(2000)).slice(0, 200) })) }, text(2000)],
  'every property': () => [{ pattern: many(size(2000), () => `\\p{${pick(['L', 'Lu', 'N', 'P', 'S', 'Z', 'Script='])}${pick(['', 'Grek', 'Han', 'u', 'd'])}}`).join('|') }, text(2000)],
  'meta-schemas': () => [{ title: `${state}`, [pick(['$ref', '$dynamicRef', '$recursiveRef'])]: pick(metaschemas), properties: members(size(2000), index => `k${index}`, () => ({ $ref: pick(metaschemas) })) }, members(size(2000), index => `k${index}`, () => json(2))],
  'dialects in dialects': () => [{ $defs: members(size(800), index => `k${index}`, index => ({ $id: `urn:${index}`, $schema: pick(metaschemas), properties: { a: {} } })), $ref: 'urn:0' }, json(2)],
  'duplicates': () => [{ $defs: members(size(1500), index => `k${index}`, () => ({ $id: 'urn:x', $anchor: pick(['a', 'b']), const: json(1) })) }, 1],
  'long ids': () => [{ $id: `http://a/${pick(['x', 'é', '../', '%41'])}`.padEnd(size(2000), 'x') + '/', $defs: members(size(3000), index => `k${index}`, index => ({ $id: `b${index}`, $ref: `${pick(['../', 'é', './'])}b${index}` })) }, 1],
  'many references to one deep place': () => [{ ...nested(58, inner => ({ properties: { a: inner } }), {}), $defs: members(size(2000), index => `k${index}`, () => ({ $ref: `#${'/properties/a'.repeat(29)}` })) }, 1],
  'true, 4,900 times': () => [{ title: `${state}`, $defs: members(4900, index => `k${index}`, () => true) }, 1],
  'unevaluated': () => [{ allOf: many(size(500), () => ({ anyOf: [{ properties: { a: true } }, { patternProperties: { '^k': true } }] })), unevaluatedProperties: false }, members(size(20_000), index => `k${index}`, () => 1)],
  'contains and contained': () => [{ contains: { contains: { const: 1 } }, unevaluatedItems: pick([true, false]), minContains: size(10) }, many(size(1000), () => many(size(1000), index => index))],
  'formats': () => [{ items: { format: pick(formats) } }, many(size(10), () => text(500_000))],
  'lengths': () => [{ allOf: many(size(1000), () => ({ maxLength: 1e6, minLength: 1 })) }, text(2_000_000)],
  'multiples': () => [{ items: { multipleOf: pick([1e-300, 0.01, 1e300, 3, 5e-324]) } }, many(size(50_000), () => pick([1e308, 1e-308, 19.99, 9007199254740993, -5e-324]))],
  'large objects': () => [{ propertyNames: { maxLength: 5 }, minProperties: 2, additionalProperties: { type: 'integer' } }, members(size(100_000), index => `k${index}`, index => index)],
  'equal values': () => {
    const value = json(3)
    return [{ anyOf: many(size(100), () => ({ const: [value, size(9)] })), uniqueItems: true }, many(size(1000), () => value)]
  },
  'dynamic scopes': () => [{ $id: 'urn:r', $dynamicAnchor: 'n', $defs: members(size(200), index => `k${index}`, index => ({ $id: `urn:${index}`, $dynamicAnchor: 'n', allOf: [{ $ref: `urn:${index + 1}` }] })), properties: { a: { $dynamicRef: '#n' } }, $ref: 'urn:0' }, nested(size(100), inner => ({ a: inner }), 1)],
  'anything as a schema': () => [{ properties: json(3), enum: pick([[json(2)], json(2)]), $ref: pick(['#/enum/0', '#/properties/k000000', text(3000)]) }, json(3)],
}

const tallies = new Map(Object.keys(kinds).map(kind => [kind, { asked: 0, turn: 0, verdict: 0, unchecked: 0 }]))

/** CPU time in milliseconds: of this thread (the first figure of Linux's schedstat is in nanoseconds), and of all. */
const cpu = () => Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[0]) / 1e6
const cpuOfAll = () => (({ user, system }) => (user + system) / 1000)(process.cpuUsage())

const checker = createSchemaChecker(limits)

/** The longest turn while the answer is found, and the time that it took on both threads. */
const ask = async subject => {
  await setImmediate()
  let [before, others] = [cpu(), -cpuOfAll() + cpu()]
  let [turn, verdict] = [0, 0]
  let answer
  const look = () => {
    const now = cpu()
    turn = Math.max(turn, now - before)
    // Shorter turns are those of this loop itself.
    if (now - before > 0.5) verdict += now - before
    before = now
  }
  const asked = Promise.resolve(checker.check(subject)).then(found => (answer = found))
  for (look(); answer === undefined; look()) await setImmediate()
  await asked
  others += cpuOfAll() - cpu()
  return { answer, turn, verdict: verdict + others }
}

/** What others do to the machine is none of ours. */
const best = async subject => {
  const first = await ask(subject)
  for (let again = 0; again < 2 && (first.verdict > limits.validationMs || first.turn > 30); again++) {
    // With another title it is another schema, which has to be read.
    const { turn, verdict } = await ask(typeof subject.schema === 'object' ? { ...subject, schema: { ...subject.schema, $comment: `${again}` } } : subject)
    first.turn = Math.min(first.turn, turn)
    first.verdict = Math.min(first.verdict, verdict)
  }
  return first
}

const heaps = []
await ask({ kind: 'value', schema: { pattern: '^((a+)+)\\1!$' }, value: 'a'.repeat(60), path: '' })
for (let index = 0; index < count; index++) {
  const kind = pick(Object.keys(kinds))
  const [schema, value] = JSON.parse(JSON.stringify(kinds[kind]()))
  const tally = tallies.get(kind)
  for (const subject of [{ kind: 'schema', schema, path: '' }, { kind: 'value', schema, value, path: '' }]) {
    const { answer, turn, verdict } = await best(subject)
    tally.asked++
    tally.turn = Math.max(tally.turn, turn)
    tally.verdict = Math.max(tally.verdict, verdict)
    if (answer.some(one => /within|takes too long|too deep/.test(one.message))) tally.unchecked++
  }
  if (index % 2000 === 1999) {
    globalThis.gc?.()
    heaps.push(Math.round(process.memoryUsage().heapUsed / 1e6))
  }
}
for (const [kind, { asked, turn, verdict, unchecked }] of tallies) {
  console.log(`${kind.padEnd(34)} asked ${String(asked).padStart(5)}   turn ${turn.toFixed(0).padStart(4)} ms   verdict ${verdict.toFixed(0).padStart(4)} ms   exhausted ${unchecked}`)
}
console.log(`heap after each 2,000: ${heaps.join(' ')} MB; rss ${Math.round(process.memoryUsage().rss / 1e6)} MB`)
await checker.close()
