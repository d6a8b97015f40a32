import t from 'tap'
import { Pace } from '#relay/transport/front/pace.js'
import { ManualTimers } from '../timers.js'
import { ask, begin, echo, initialize, post, start } from './harness.js'

t.test('a network has a burst, then its turns, and is cut off when it would wait too long', t => {
  let now = 0
  const pace = new Pace(() => now)
  const waits = Array.from({ length: 3000 }, () => pace.wait('a'))
  t.equal(waits.filter(wait => wait === 0).length, 200)
  t.equal(waits[200], 5)
  t.equal(waits[300], 505)
  t.equal(waits.filter(wait => wait === undefined).length, 800, 'beyond ten seconds')
  t.equal(pace.wait('b'), 0, 'another network')
  now += 5000
  t.equal(pace.wait('a'), 5005, 'those that were cut off took no turn')
  now += 60_000
  t.equal(pace.wait('a'), 0)
  t.end()
})

t.test('strangers wait for their turn, and clients that are known do not', async t => {
  const { port, refused } = await start(t, { act: echo, tokens: [{ token: 'known' }], timers: new ManualTimers() })
  const strangers = Array.from({ length: 600 }, () =>
    begin(port, { headers: post, body: initialize() }).then(response => response.resume(), () => undefined))
  await Promise.race(strangers)
  const { status } = await ask(port, { headers: { ...post, authorization: 'Bearer known' }, body: initialize() })
  t.equal(status, 200)
  t.ok(refused.length < 600, `${refused.length} were answered`)
})
