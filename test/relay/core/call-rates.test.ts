import fc from 'fast-check'
import t from 'tap'
import { CallRates } from '#relay/core/call-rates.js'
import { processLedger } from '#relay/core/memory.js'

t.test('a client has its calls in any minute, and is told when it may call again', t => {
  const rates = new CallRates()
  const at = (now: number, client = 'a', tool = 'x') => rates.count(client, tool, 2, now, true)
  t.strictSame([at(0), at(10_000), at(20_000), at(59_999)], [0, 0, 40_000, 1], 'the third waits for the first')
  t.equal(at(20_000, 'b'), 0, 'another client')
  t.equal(at(20_000, 'a', 'y'), 0, 'another tool')
  t.strictSame([at(60_000), at(60_001)], [0, 9_999], 'the second of the first minute counts still')
  t.equal(rates.count('a', 'x', 3, 60_002, true), 0, 'a limit that was raised holds at once')
  t.equal(rates.count('a', 'x', 1, 60_003, true), 59_999, 'a limit that was lowered holds at once')
  t.end()
})

t.test('calls over the limit that are made all the same count too', t => {
  const rates = new CallRates()
  const at = (now: number) => rates.count('a', 'x', 1, now, false)
  t.strictSame([at(0), at(30_000), at(60_000)], [0, 30_000, 30_000])
  t.end()
})

t.test('no sliding minute has more calls than the limit', t => {
  fc.assert(fc.property(
    fc.integer({ min: 1, max: 5 }), fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 60 }),
    (limit, steps) => {
      const rates = new CallRates()
      let now = 0
      const made: number[] = []
      for (const step of steps) {
        now += step
        const waitMs = rates.count('a', 'x', limit, now, true)
        const before = made.filter(time => time > now - 60_000)
        if (waitMs === 0) made.push(now)
        if ((waitMs === 0) !== (before.length < limit)) return false
        if (waitMs > 0 && waitMs !== (before.at(-limit) ?? 0) + 60_000 - now) return false
      }
      return true
    },
  ))
  t.end()
})

t.test('the memory of many clients is weighed, bounded, and given back', t => {
  const before = processLedger.kept
  const rates = new CallRates()
  for (let client = 0; client < 100_000; client++) rates.count(`client ${client}`, 'x', 1, client / 10, true)
  t.ok(processLedger.kept - before > 1_000_000)
  t.ok(processLedger.kept - before <= 16 * 1024 * 1024)
  rates.count('last', 'x', 1, 1_000_000, true)
  t.ok(processLedger.kept - before < 1000, 'windows of a minute without calls are forgotten')
  t.end()
})
