import t from 'tap'
import { Quota } from '../../../../dist/transport/front/sessions/quota.js'

/** How many places a client gets when it asks for as many as there are. */
const taken = (quota: Quota, client: string): number => {
  let count = 0
  while (quota.take(client)) count++
  return count
}

t.test('nobody can take the last place from all others', t => {
  const cases = [[1, [1, 0]], [2, [2, 0]], [10, [9, 1, 0]], [64, [58, 6, 0]], [70, [63, 7, 0]], [1000, [900, 90, 9, 1, 0]]] as const
  for (const [max, shares] of cases) {
    const quota = new Quota(() => max)
    t.same(shares.map((_, client) => taken(quota, String(client))), shares, String(max))
  }
  t.end()
})

t.test('a place that was left is there for whoever asks first', t => {
  const quota = new Quota(() => 2)
  t.equal(taken(quota, 'one'), 2)
  t.equal(quota.take('two'), false)
  quota.leave('one')
  quota.leave('three')
  t.equal(quota.take('two'), true)
  t.equal(taken(quota, 'one'), 0)
  t.end()
})

t.test('a bound that is lowered refuses what is new, and takes nothing back', t => {
  let max = 10
  const quota = new Quota(() => max)
  t.equal(taken(quota, 'one'), 9)
  max = 5
  t.equal(quota.take('two'), false)
  for (let i = 0; i < 6; i++) quota.leave('one')
  t.equal(quota.take('two'), true)
  t.end()
})
