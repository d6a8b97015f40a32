// What the dearest schemas and values cost, as strangers would make them: node --expose-gc bench/hunt.mjs [COUNT] [SEED] [DIST] [RATIO] [KINDS]
// SCALE=8 divides the sizes, and lets cases of 2 ms count: four times as many cases in the same time.
// Compares the CPU time of reading each schema and judging each value with the steps that were paid for it, and the memory that stays with
// the bytes; of every tenth the longest turn of the event loop when the checker is asked. Exits with 1 when something was more than RATIO (5)
// times what was paid.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [count, seed] = [Number(process.argv[2] ?? 20_000), Number(process.argv[3] ?? 1)]
const dist = pathToFileURL(`${resolve(process.argv[4] ?? new URL('../dist', import.meta.url).pathname)}/`)
const load = name => import(new URL(`schema/${name}.js`, dist))
const [{ createSchemaChecker }, { Budget, stepsPerMs }, { read }] = await Promise.all(['index', 'budget', 'read/read'].map(load))
// Editions before this one had the verdict in a file of its own.
const { verdict } = await load('evaluate').catch(() => load('verdict'))
const [{ fit }, { profiles }, { Meter }] = await Promise.all(['profiles/fit', 'profiles/index', 'protocol/json'].map(name => import(new URL(`${name}.js`, dist))))
const limits = { schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 100 }

const scale = Number(process.env.SCALE ?? 1)

let state = seed
const random = most => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * most)
}
/** Mostly small, sometimes as large as may be. */
const size = most => Math.max(1, Math.floor((most / scale) ** (random(1000) / 1000)))
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
parts.push('()', '[ab]?', '(a|b)', '[a-z]{1,5000}', '(?:ab?){0,900}', '(?!--)', '(?:(?!x)[^])*')
const classes = ['[a-m]', '[acegik]', '[bdfh]', '[^aeiou]', '[à-ö]', '[一-丿]', '\\w', '[0-4]', '[b-f]']
const oddClass = () => `[${many(size(6), () => String.fromCharCode(pick([97, 48, 224, 0x4e00]) + random(26))).join('')}]`
const pattern = most => many(size(most), () => pick(parts)).join('')
const json = depth => (depth === 0 ? pick([0, 1e308, 1e-7, 9007199254740993, '', text(2000), true, null]) : pick([() => many(size(20), () => json(depth - 1)), () => members(size(20), alike(size(50)), () => json(depth - 1)), () => json(0)])())

/** Of many items that do not match the first twenty would be enough. */
const forItems = schema => pick([{ items: schema }, { items: { not: schema } }, { contains: schema }])

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
  'kinds of characters': () => {
    const source = `${pick(['', '^'])}(${many(size(3000), () => pick([oddClass(), pick(classes)]) + pick(['', '?', '*'])).join(pick(['', '|']))})`
    return [{ items: { pattern: source.slice(0, 60_000) } }, many(10, () => many(size(400), () => String.fromCharCode(pick([97, 48, 224, 0x4e00]) + random(30))).join(''))]
  },
  // First many states for few characters, then many kinds of characters.
  'kinds after states': () => {
    const bits = 6 + random(6)
    const letters = many(2 ** bits, index => String.fromCharCode(0x4e00 + index))
    const sets = many(bits, bit => `[${letters.filter((_, index) => (index >> bit) % 2 === 1).join('')}]`)
    const pattern = `${pick(['', '^'])}(?:${pick(['', '[ab]*'])}a[ab]{${6 + random(8)}}|${sets.join('|')})${pick(['!', '!$', ''])}`
    return [{ items: { pattern } }, [many(20_000, () => pick('ab')).join(''), letters.join('')]]
  },
  'groups for many texts': () => [forItems({ pattern: `${pick(['(?=a)', '(?<=a)', '(a)\\1', 'a'])}${pick(['()', '(a?)', '(?:)', '(b|)']).repeat(1 + random(10_500))}` }), Array.from({ length: 1 + random(3000) }).fill(pick(['', 'b', 'b', 'ab']))],
  'parts behind': () => [{ pattern: `(?<${pick(['=', '!'])}${pick(['()', '(?:)', '(a?)', 'a?', '(?:a|b)']).repeat(size(10_500))}${pick(['a', 'x'])})${pick(['', '(a)\\1'])}` }, text(20_000)],
  'groups': () => [{ items: { pattern: `${pick(['(?=a)', '(a)', '^', '(?<n>a)'])}${pick(['()', '(a?)', '(?:)', '(b|)', '(?=(a*))']).repeat(size(10_500))}${pick(['', '\\1', '\\k<n>', '$'])}` } }, many(size(20), () => text(20_000))],
  'look-arounds': () => [{ pattern: many(size(60), () => `(?${pick(['=', '!', '<=', '<!'])}${pattern(4)})${pick(['', '.', 'a*', '\\b'])}`).join('') }, text(50_000)],
  'counts': () => [{ pattern: `${pick(['', '^'])}${many(size(4), () => `(?:${pick(['[a-z]', 'a', 'ab?', '(a|b)', '\\w\\s?'])}){${random(3)},${size(65_535)}}`).join(pick(['', 'x', '-']))}${pick(['', '$'])}` }, pick(['a', 'ab', 'a ', 'x-']).repeat(size(50_000))],
  'wrong everywhere': () => {
    const name = index => pick(['k', '\u202e', 'é', '\u200b']).repeat(size(4000)) + index
    const wrong = () => pick([{ $ref: '#/x' }, { $ref: 'http://x/y' }, { type: 'text' }, { $id: 'http://[' }, { minLength: -1 }, { pattern: '(' }, { $schema: 'urn:x' }, { $id: 'urn:same', title: `${random(9)}` }, 7])
    const inner = members(size(2500), index => `p${index}`, wrong)
    return [nested(size(30), deeper => ({ $defs: { [name(random(9))]: deeper } }), { [pick(['$defs', 'properties'])]: inner }), 1]
  },
  'wrong values': () => [nested(size(20), inner => ({ additionalProperties: inner }), { items: { type: 'string', minLength: 9 } }), nested(20, inner => ({ [pick(['k', '\u202e']).repeat(size(20_000))]: inner }), many(size(2000), () => pick([1, 'x'])))],
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

const tallies = new Map(Object.keys(kinds).map(kind => [kind, { asked: 0, turn: 0, verdict: 0, unchecked: 0, ratio: 0 }]))

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

/** More is an error. */
const maxRatio = Number(process.argv[5] ?? 5)
/** Less cannot be measured, in milliseconds and in bytes. */
const [leastMs, leastBytes] = [scale > 1 ? 2 : 10, 16e6]
/** No disturbance lasts longer. */
const tooLongMs = 1000
const failures = []

const bytesNow = () => (({ heapUsed, arrayBuffers }) => heapUsed + arrayBuffers)(process.memoryUsage())

/** What some work costs, and what was paid. */
const paid = work => {
  const budget = new Budget(limits.validationMs * stepsPerMs)
  const { left } = budget
  const bytes = bytesNow()
  const from = cpu()
  let result
  try {
    result = work(budget)
  } catch {
    // Spent, or too deep for this thread.
  }
  const ms = cpu() - from
  return { result, ms, ratio: ms / ((left - budget.left) / stepsPerMs), bytes: bytesNow() - bytes - maxRatio * budget.kept }
}

/** Bytes that stay, beside what was paid, after work that was given something to work on. */
const staying = (prepare, work) => {
  const collect = () => [0, 1].forEach(() => globalThis.gc?.())
  const given = prepare()
  const budget = new Budget(limits.validationMs * stepsPerMs)
  collect()
  const before = bytesNow()
  let result
  try {
    result = work(given, budget)
  } catch {
    // As above.
  }
  collect()
  return [bytesNow() - before - maxRatio * budget.kept, given, result][0]
}

/** The best of some: what the garbage collector and the interpreter take, until the code is compiled again, is not the engine's. */
const compare = (kind, what, index, prepare, work) => {
  const given = prepare()
  const run = () => paid(budget => work(given, budget))
  let least = run()
  const isDear = ({ ms, ratio }) => ms > leastMs && ratio > maxRatio
  for (let again = 0; again < 20 && least.ms < tooLongMs && isDear(least); again++) {
    // Once: it throws compiled code away as well.
    if (again === 0) globalThis.gc?.()
    const other = run()
    if (other.ratio < least.ratio) least = other
  }
  const tally = tallies.get(kind)
  if (least.ms > leastMs) tally.ratio = Math.max(tally.ratio, least.ratio)
  if (isDear(least)) failures.push(`${kind}, case ${index}: ${what}: ${least.ms.toFixed(0)} ms of CPU, ${least.ratio.toFixed(1)} times what was paid`)
  const bytes = least.bytes > leastBytes ? Math.min(staying(prepare, work), staying(prepare, work)) : 0
  if (bytes > leastBytes) failures.push(`${kind}, case ${index}: ${what}: ${(bytes / 1e6).toFixed(0)} MB beside what was paid`)
  return least.result
}

/** A step of a meter is 2.5 steps of a budget. */
const stepsOfFitting = (tool, profile) => {
  const meter = new Meter(undefined, 1_000_000)
  try {
    fit(tool, profile, meter)
  } catch {
    // Spent.
  }
  return Math.ceil(2.5 * (1_000_000 - meter.left))
}

const heaps = []
await ask({ kind: 'value', schema: { pattern: '^((a+)+)\\1!$' }, value: 'a'.repeat(60), path: '' })
const names = Object.keys(kinds).filter(name => name.includes(process.argv[6] ?? ''))
// V8 has not compiled anything yet: the first cases are not judged.
for (let index = -100; index < count; index++) {
  if (index === 0) failures.length = 0
  const kind = pick(names)
  const [schema, value] = JSON.parse(JSON.stringify(kinds[kind]()))
  const tally = tallies.get(kind)
  tally.asked++
  const before = failures.length
  const reading = compare(kind, 'the schema', index, () => schema, (one, budget) => read(one, limits.subschemas, budget, 300))
  if (reading?.schema !== undefined) {
    const again = () => read(JSON.parse(JSON.stringify(schema)), limits.subschemas, new Budget(limits.validationMs * stepsPerMs), 300)
    compare(kind, 'the value', index, again, (one, budget) => verdict(one, value, budget, 300))
  }
  if (reading?.schema !== undefined) {
    compare(kind, 'the profiles', index, () => ({ name: 'a', inputSchema: { type: 'object', properties: { a: schema } } }), (tool, budget) => {
      for (const profile of profiles.filter(({ name }) => /openai|gemini|copilot/.test(name))) budget.spend(stepsOfFitting(tool, profile))
    })
  }
  for (const subject of index % (10 * scale) > 0 || failures.length > before ? [] : [{ kind: 'schema', schema, path: '' }, { kind: 'value', schema, value, path: '' }]) {
    const { answer, turn, verdict } = await best(subject)
    tally.turn = Math.max(tally.turn, turn)
    tally.verdict = Math.max(tally.verdict, verdict)
    if (answer.some(one => /within|takes too long|too deep/.test(one.message))) tally.unchecked++
  }
  if (index % 2000 === 1999) {
    globalThis.gc?.()
    heaps.push(Math.round(process.memoryUsage().heapUsed / 1e6))
  }
}
for (const [kind, { asked, turn, verdict, unchecked, ratio }] of tallies) {
  if (asked === 0) continue
  console.log(`${kind.padEnd(34)} cases ${String(asked).padStart(5)}   of paid ${ratio.toFixed(1).padStart(5)}   turn ${turn.toFixed(0).padStart(4)} ms   verdict ${verdict.toFixed(0).padStart(4)} ms   exhausted ${unchecked}`)
}
console.log(`heap after each 2,000: ${heaps.join(' ')} MB; rss ${Math.round(process.memoryUsage().rss / 1e6)} MB`)
for (const failure of failures.slice(0, 40)) console.log(failure)
console.log(`${count} cases, ${failures.length} more than ${maxRatio} times what was paid`)
process.exitCode = failures.length > 0 ? 1 : 0
await checker.close()
