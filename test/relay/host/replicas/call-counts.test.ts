import fc from 'fast-check'
import t from 'tap'
import type { CountAsk } from '#relay/core/vocabulary.js'
import { isObject, member } from '#relay/protocol/json.js'
import { CallCounts } from '#relay/host/replicas/call-counts.js'
import { MemoryEngine, secret, storeIn } from './memory.js'

const setUp = () => {
  const engine = new MemoryEngine()
  const replicas = [0, 0, 0].map(() =>
    new CallCounts({ store: storeIn(engine), prefix: 'p', secret, now: () => engine.now }))
  const ask = (perMinute: number, more: Partial<CountAsk> = {}): CountAsk =>
    ({ kind: 'count', part: 'calls', name: 'x', client: 'a', perMinute, isHeld: true, ...more })
  const count = async (replica: number, asked: CountAsk, server = 's') => {
    const reply = await replicas[replica]?.count(server, asked)
    return isObject(reply) ? member(reply, 'waitMs') : reply
  }
  return { engine, ask, count }
}

t.test('all replicas together let a client make its calls of any minute', async t => {
  const { engine, ask, count } = setUp()
  engine.now = 100_000
  const waits = await Promise.all([0, 1, 2, 0, 1, 2].map(at => count(at, ask(4))))
  t.strictSame(waits.sort(), [0, 0, 0, 0, 60_000, 60_000])
  t.equal(await count(0, ask(4, { client: 'b' })), 0, 'another client')
  t.equal(await count(1, ask(4, { name: 'y' })), 0, 'another tool')
  t.equal(await count(2, ask(4), 'other'), 0, 'another server')
  t.equal(await count(0, ask(5)), 0, 'a limit that was raised holds at once')
  t.equal(await count(1, ask(1)), 60_000, 'a limit that was lowered too')
  engine.now += 60_000
  t.equal(await count(2, ask(4)), 0)
  t.notMatch(JSON.stringify([...engine.held]), /other|"[abxy]"/, 'no name is in the store')
})

t.test('no sliding minute has more calls than the limit, whichever replicas they reach at the same time', async () => {
  await fc.assert(fc.asyncProperty(
    fc.integer({ min: 1, max: 5 }),
    fc.array(fc.record({
      step: fc.integer({ min: 0, max: 30_000 }), at: fc.array(fc.nat(2), { minLength: 1, maxLength: 8 }),
    }), { maxLength: 20 }),
    async (limit, rounds) => {
      const { engine, ask, count } = setUp()
      const made: number[] = []
      for (const { step, at } of rounds) {
        engine.now += step
        const waits = await Promise.all(at.map(replica => count(replica, ask(limit))))
        const before = made.filter(time => time > engine.now - 60_000).length
        const counting = made.filter(time => time > engine.now - 61_000).length
        const passed = waits.filter(wait => wait === 0).length
        if (before + passed > limit) return false
        // It is stricter than the limit by the calls of one second at most.
        if (passed < Math.min(at.length, limit - counting)) return false
        made.push(...Array.from({ length: passed }, () => engine.now))
      }
      return true
    },
  ))
})

t.test('calls over the limit that are made all the same count too', async t => {
  const { engine, ask, count } = setUp()
  engine.now = 1_000_000
  const logged = ask(1, { isHeld: false })
  t.equal(await count(0, logged), 0)
  engine.now += 30_000
  t.equal(await count(1, logged), 30_000)
  engine.now += 30_000
  t.equal(await count(2, logged), 30_000)
})

t.test('a client that calls much keeps a short value', async t => {
  const { engine, ask, count } = setUp()
  for (let call = 0; call < 3000; call++) {
    engine.now += 30
    await count(call % 3, ask(100_000))
  }
  t.ok(([...engine.held.values()][0]?.value.length ?? Infinity) < 1500)
})

t.test('a replica whose clock is wrong shuts nobody out, and a store that is away is told', async t => {
  const { engine, ask, count } = setUp()
  engine.now = 10_000_000
  t.equal(await count(0, ask(1)), 0)
  for (const now of [1_000_000, 1_000_500]) {
    engine.now = now
    t.equal(await count(1, ask(1)), now === 1_000_000 ? 0 : 59_500)
  }
  engine.problem = { reason: 'no answer', since: '' }
  t.equal(await count(2, ask(1)), 'unreachable')
  engine.problem = undefined
  t.not(await count(2, ask(1)), 'unreachable')
})
