import { deepEqual } from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { ChurnMap, ChurnSet } from '#relay/core/memory.js'

const key = fc.nat({ max: 9 })
const steps = fc.array(fc.oneof(fc.record({ key, value: fc.nat() }), fc.record({ key })), { maxLength: 500 })

t.test('a ChurnMap behaves like a Map', t => {
  fc.assert(fc.property(steps, all => {
    const [
      map, set, expected,
    ] = [new ChurnMap<number, number>(), new ChurnSet<number>(), new Map<number, number>()]
    for (const step of all) {
      if ('value' in step) {
        map.set(step.key, step.value)
        set.add(step.key)
        expected.set(step.key, step.value)
      } else {
        const was = expected.delete(step.key)
        deepEqual([map.delete(step.key), set.delete(step.key)], [was, was])
      }
      deepEqual([map.get(step.key), set.has(step.key)], [expected.get(step.key), expected.has(step.key)])
    }
    deepEqual(
      [map.entries(), map.keys(), map.values(), map.size, map.first()],
      [[...expected], [...expected.keys()], [...expected.values()], expected.size, [...expected.values()][0]],
    )
    deepEqual([set.values(), set.size], [[...expected.keys()], expected.size])
  }))
  t.end()
})

t.test('deleted entries are released without a full garbage collection', t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (how?: { readonly type: 'minor' }) => void
  const map = new ChurnMap<number, Buffer>()
  const size = 20_000
  let last = 0
  for (; last < 30; last++) map.set(last, Buffer.allocUnsafeSlow(size))
  // From now on its table is old.
  collect()
  collect()
  const { arrayBuffers: before } = process.memoryUsage()
  for (const end = last + 6000; last < end; last++) {
    map.delete(last - 30)
    map.set(last, Buffer.allocUnsafeSlow(size))
    if (last % 500 === 0) collect({ type: 'minor' })
  }
  collect({ type: 'minor' })
  collect({ type: 'minor' })
  const held = (process.memoryUsage().arrayBuffers - before) / size
  t.ok(held < 1000, `of 6,000 that were taken out, ${Math.round(held)} are held`)
  t.end()
})
