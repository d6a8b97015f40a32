import fc from 'fast-check'
import t from 'tap'
import type { Json } from '../../dist/protocol/json.js'
import { encode } from '../../dist/schema/encode.js'
import { canonical, Distinct } from '../../dist/schema/equal.js'
import { isMultiple } from '../../dist/schema/multiple.js'
import { charSet, complement, overlap } from '../../dist/schema/pattern/char-set.js'
import { weigh } from '../../dist/schema/weigh.js'
import { json } from './ask.js'

const anyJson = fc.json({ maxDepth: 5, stringUnit: 'binary' }).map(json)

t.test('a value in pieces is the value, whatever its keys', t => {
  fc.assert(fc.property(anyJson, value => [...encode(value)].join('') === JSON.stringify(value)))
  t.equal([...encode(json('{"__proto__":[1,{"a":{}}],"":null}'))].join(''), '{"__proto__":[1,{"a":{}}],"":null}')
  const large = Array.from({ length: 100_000 }, (_, index) => ({ index }))
  const pieces = [...encode(large)]
  t.ok(pieces.length > 5, 'a large one comes in several')
  t.equal(pieces.join(''), JSON.stringify(large))
  t.end()
})

t.test('equal values, and only they, share a canonical text', t => {
  const shuffled = (value: Json): Json => {
    if (Array.isArray(value)) return value.map((item: Json) => shuffled(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).reverse().map(([key, child]) => [key, shuffled(child ?? null)]))
  }
  fc.assert(fc.property(anyJson, value => canonical(value) === canonical(shuffled(value))))
  fc.assert(fc.property(anyJson, anyJson, (a, b) => (canonical(a) === canonical(b)) === (canonical(json(JSON.stringify(a))) === canonical(b))))
  const different: readonly Json[] = [null, 'null', 0, '0', false, '', [], {}, [[]], [{}], { a: 1 }, { a: '1' }, [1, 2], [2, 1], ['1,2'], '[1,2]', 1e21]
  const seen = new Distinct()
  for (const value of different) t.ok(seen.add(value), JSON.stringify(value))
  for (const value of different) t.ok(seen.has(value) && !seen.add(value), JSON.stringify(value))
  t.ok(seen.has(-0), '-0 is 0')
  t.end()
})

t.test('multiples are those of decimal arithmetic', t => {
  const scaled = fc.tuple(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 0, max: 6 }))
  fc.assert(fc.property(scaled, ([value, of, digits]) => isMultiple(Number(`${value}e-${digits}`), Number(`${of}e-${digits}`)) === (value % of === 0)))
  t.ok(isMultiple(1e308, 1e-5))
  t.notOk(isMultiple(5e-324, 1))
  t.ok(isMultiple(0, 0.3))
  t.end()
})

t.test('the weight of a value is counted up to a bound', t => {
  fc.assert(fc.property(anyJson, value => weigh(value, Infinity) >= 1 && weigh(value, 3) <= weigh(value, Infinity)))
  t.equal(weigh([1, [2, 3]], Infinity), 5)
  t.equal(weigh({ a: 'x'.repeat(320) }, Infinity), 13)
  t.ok(weigh(Array.from({ length: 1e6 }, () => 0), 10) >= 10)
  t.end()
})

t.test('sets of characters are complemented and compared right', t => {
  const range = fc.tuple(fc.nat(300), fc.nat(300)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
  const sets = fc.array(range, { maxLength: 5 })
  const has = (set: readonly (readonly [number, number])[], code: number) => set.some(([from, to]) => code >= from && code <= to)
  fc.assert(fc.property(sets, fc.nat(400), (ranges, code) => has(charSet(...ranges), code) === has(ranges, code)))
  fc.assert(fc.property(sets, fc.nat(400), (ranges, code) => has(complement(charSet(...ranges)), code) !== has(ranges, code)))
  fc.assert(fc.property(sets, sets, (a, b) => overlap(charSet(...a), charSet(...b)) === Array.from({ length: 301 }, (_, code) => code).some(code => has(a, code) && has(b, code))))
  t.pass('always')
  t.end()
})
