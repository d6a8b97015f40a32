import fc from 'fast-check'
import t from 'tap'
import { equal, type Data } from '#relay/protocol/unmetered.js'
import { FairQueue } from '#relay/protocol/turns.js'
import { Budget, nameKey } from '#relay/schema/budget.js'
import { compilePattern, isPattern } from '#relay/schema/pattern/pattern.js'
import { read } from '#relay/schema/read/read.js'
import { Distinct } from '#relay/schema/distinct.js'
import { isMultiple } from '#relay/schema/keywords/numbers.js'
import { json } from './ask.js'

const plenty = () => new Budget(100_000_000)

const paid = (budget: Budget) => (steps: number) => budget.spend(steps)

const anyJson = fc.json({ maxDepth: 5, stringUnit: 'binary' }).map(json)

t.test('equal values, and only they, are equal, and are not distinct', t => {
  const shuffled = (value: Data): Data => {
    if (Array.isArray(value)) return value.map((item: Data) => shuffled(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).reverse().map(([key, child]) => [key, shuffled(child ?? null)]),
    )
  }
  fc.assert(fc.property(anyJson, value => equal(value, shuffled(value))))
  fc.assert(fc.property(anyJson, anyJson, (a, b) => {
    const seen = new Distinct()
    seen.add(a, plenty())
    return seen.add(shuffled(b), plenty()) !== equal(a, b)
  }))
  const different: readonly Data[] = [
    null, 'null', 0, '0', false, '', [], {}, [[]], [{}], { a: 1 }, { a: '1' }, { a: 1, b: 1 }, [1, 2], [2, 1],
    ['1,2'], '[1,2]', 1e21, 'a'.repeat(2000), 'a'.repeat(2001), ['a'.repeat(2000)],
  ]
  const seen = new Distinct()
  for (const value of different) t.ok(seen.add(value, plenty()), JSON.stringify(value).slice(0, 50))
  for (const value of different) t.notOk(seen.add(value, plenty()), JSON.stringify(value).slice(0, 50))
  t.notOk(seen.add(-0, plenty()), '-0 is 0')
  for (const [index, a] of different.entries()) {
    for (const [other, b] of different.entries()) t.equal(equal(a, b), index === other)
  }
  t.end()
})

t.test('comparing ends at the first difference, and is paid for', t => {
  const long = 'x'.repeat(10_000_000)
  const budget = new Budget(2000)
  for (let index = 0; index < 50; index++) t.notOk(equal({ x: index }, { x: long }, paid(budget)))
  t.throws(() => equal([long], [`${long.slice(1)}y`], paid(new Budget(1000))))
  t.end()
})

t.test('items whose hashes would collide cost what others of their size do', t => {
  const steps = (one: number, other: number): number => {
    const budget = plenty()
    const seen = new Distinct()
    for (let index = 0; index < 4096; index++) {
      seen.add(Array.from({ length: 12 }, (_, bit) => ((index >> bit) & 1 ? one : other)), budget)
    }
    return 100_000_000 - budget.left
  }
  // Of these two numbers, all sums of multiplied halves differ in the highest bits only.
  t.ok(steps(1, -1.0625004768371582) < 1.5 * steps(1.5, -2.0625004768371582))
  t.end()
})

t.test('reading a schema pays for elements that are no schemas, and for the steps of pointers', t => {
  const steps = (schema: Data): number => {
    const budget = plenty()
    read(schema, 5000, budget, 300)
    return 100_000_000 - budget.left
  }
  t.ok(steps({ prefixItems: Array.from({ length: 10_000 }, () => 0) }) > 500_000)
  t.ok(steps({ $ref: `#${'/'.repeat(100_000)}` }) > 1_000_000)
  t.end()
})

t.test('a short text is its own key, and a long one has an unforgeable digest', t => {
  t.equal(nameKey('a'.repeat(1000)).length, 1000)
  const long = 'a'.repeat(1001)
  t.ok(nameKey(long).length < 100)
  t.equal(nameKey(long), nameKey(long))
  t.not(nameKey(long), nameKey(`${long}a`))
  t.end()
})

t.test('waiting sessions take turns, and each has a share', t => {
  const queue = new FairQueue<string>(3)
  for (let index = 0; index < 5; index++) t.equal(queue.push('a', `a${index}`), index < 3)
  t.ok(queue.push('b', 'b0'))
  t.ok(queue.push('c', 'c0'))
  const order: string[] = []
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) order.push(item)
  t.strictSame(order, ['a0', 'b0', 'c0', 'a1', 'a2'])
  t.ok(queue.isEmpty)
  t.end()
})

t.test('multiples are those of decimal arithmetic', t => {
  const scaled = fc.tuple(
    fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.integer({ min: 1, max: 10_000 }),
    fc.integer({ min: 0, max: 6 }),
  )
  fc.assert(fc.property(scaled, ([value, of, digits]) => isMultiple(
    Number(`${value}e-${digits}`), Number(`${of}e-${digits}`),
  ) === (value % of === 0)))
  t.ok(isMultiple(1e308, 1e-5))
  t.notOk(isMultiple(5e-324, 1))
  t.ok(isMultiple(0, 0.3))
  t.notOk(isMultiple(Infinity, 2))
  t.end()
})

/** Steps that some work takes, and bytes that it keeps. */
const costs = (work: (budget: Budget) => unknown): { readonly steps: number; readonly bytes: number } => {
  const budget = new Budget(1e12)
  work(budget)
  return { steps: 1e12 - budget.left, bytes: budget.kept }
}

t.test('reporting the problems of a schema costs steps, and only for reported problems', t => {
  const wrong = (count: number, depth: number): Data => {
    let schema: Data = {
      $defs: Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, { $ref: '#/x' }])),
    }
    for (let level = 0; level < depth; level++) {
      schema = { $defs: { [`${'k\u200b'.repeat(1500)}${level}`]: schema } }
    }
    return schema
  }
  const cost = (count: number, depth: number) =>
    costs(budget => read(wrong(count, depth), 5000, budget, 300)).steps
  t.ok(cost(20, 25) > 20 * 25 * 3000, 'names are read for each problem')
  t.ok(cost(2000, 25) < 2 * cost(20, 25), 'and for twenty problems only')
  t.end()
})

t.test('the memory of a compiled pattern is counted as it grows, and released', t => {
  // Each text has characters of other kinds, in other orders.
  const classes = Array.from({ length: 14 }, (_, bit) =>
    `[${Array.from({ length: 2 ** 14 }, (_, code) => code).filter(code => (code >> bit) & 1).slice(0, 400).map(code => `\\u{${(0x4e00 + code).toString(16)}}`).join('')}]?`)
  const pattern = compilePattern(classes.join('').repeat(3), new Budget(1e9))
  let [kept, most] = [0, 0]
  const before = process.memoryUsage().arrayBuffers
  for (let index = 0; index < 60; index++) {
    const text = Array.from(
      { length: 400 }, (_, at) => String.fromCharCode(0x4e00 + ((index * 7919 + at * 104_729) % 2 ** 14)),
    ).join('')
    kept += costs(budget => pattern?.test(`${text}x`, budget)).bytes
    most = Math.max(most, kept)
  }
  t.ok(most > 10_000, `${most} bytes`)
  t.ok(most < 20e6, `${most} bytes`)
  t.ok(process.memoryUsage().arrayBuffers - before < 20e6)
  t.end()
})

t.test('a class of many characters is paid for with the sorting of them', t => {
  const codes = Array.from({ length: 10_000 }, (_, at) => 0x4e00 + ((at * 7919) % 20_000))
  t.ok(costs(budget => isPattern(`[${String.fromCharCode(...codes)}]`, budget)).steps > 30 * 10_000)
  t.end()
})

t.test('a state costs more than its allocation, because collecting it takes longer', t => {
  const states = 150 * 150 * 3
  const pattern = compilePattern('(?:(?:a?b?){0,150}c){0,150}', new Budget(1e9))
  t.ok(costs(budget => pattern?.test('abc', budget)).steps < 10_000, 'of which a short text needs none')
  t.ok(costs(budget => pattern?.test('abc'.repeat(60), budget)).steps > 30 * states)
  t.end()
})

t.test('groups without end are paid for each time that they are entered', t => {
  const source = `(a)${'()'.repeat(5000)}\\1`
  const pattern = compilePattern(source, new Budget(1e9))
  const texts = Array.from({ length: 10 }, () => 'aa')
  const cost = costs(budget => { for (const text of texts) pattern?.test(text, budget) })
  t.ok(cost.steps > 10 * 5000 * 10)
  t.end()
})

t.test('a property class of one pattern is not pushed out for good by those of others', t => {
  const cost = () => costs(budget => compilePattern('^\\p{Sc}$', budget)).steps
  const first = cost()
  for (const name of [
    'L', 'N', 'P', 'S', 'Z', 'C', 'Lu', 'Ll', 'Lt', 'Lm', 'Lo', 'Mn', 'Mc', 'Me', 'Nd', 'Nl', 'No', 'Pc',
    'Pd', 'Ps',
  ]) {
    for (const form of [
      `\\p{${name}}`, `\\P{${name}}`, `\\p{gc=${name}}`, `\\P{gc=${name}}`, `\\p{General_Category=${name}}`,
      `\\P{General_Category=${name}}`,
    ]) {
      t.ok(isPattern(form, new Budget(1e6)), form)
    }
  }
  t.ok(cost() >= first - 5, 'it was let go')
  t.ok(cost() < first - 10_000, 'and is kept again')
  t.end()
})
