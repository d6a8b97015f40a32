import t from 'tap'
import { Ownership } from '../../dist/workers/ownership.js'

t.test('whose a session is, is asked once, and again when the answer is old', async t => {
  let now = 0
  const asked: string[] = []
  const ownership = new Ownership(1, key => Promise.resolve(asked.push(key) % 2 === 1 ? 2 : 1), () => now)
  t.equal(await ownership.ownerOf('a'), 2)
  t.equal(ownership.ownerOf('a'), 2, 'known')
  t.notOk(ownership.isGranted('a'))
  now = 1000
  t.equal(await ownership.ownerOf('a'), 1)
  t.ok(ownership.isGranted('a'), 'nobody had it: it is for who asked')
  t.same(asked, ['a', 'a'])
})

t.test('what turned out wrong is asked anew', async t => {
  let owner = 2
  const ownership = new Ownership(1, () => Promise.resolve(owner), () => 0)
  await ownership.ownerOf('a')
  owner = 3
  ownership.forget('a')
  t.equal(await ownership.ownerOf('a'), 3)
})

t.test('of very many answers the oldest are let go', async t => {
  let asked = 0
  const ownership = new Ownership(1, () => Promise.resolve((asked += 1, 2)), () => 0)
  for (let key = 0; key <= 10_000; key += 1) await ownership.ownerOf(String(key))
  await ownership.ownerOf('10000')
  t.equal(asked, 10_001)
  await ownership.ownerOf('0')
  t.equal(asked, 10_002)
})
