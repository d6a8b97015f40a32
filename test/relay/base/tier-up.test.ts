import t from 'tap'
import { frameCame, optimizeLater } from '#relay/base/tier-up.js'

t.test('V8 optimizes later until a session has had many frames of its server, where that pays', async t => {
  const usual = new Map([['20.20.2', '--interrupt-budget=67584'], ['22.23.5', '--invocation-count-for-turbofan=3000']])
  for (const version of ['20.20.2', '22.23.5', '24.22.3', '26.12.1']) {
    const set: string[] = []
    const note = (flag: string) => set.push(flag)
    optimizeLater(version, note)
    const late = set.splice(0)
    for (let frame = 1; frame < 1000; frame++) frameCame(note)
    t.same(set, [])
    for (let frame = 0; frame < 1000; frame++) frameCame(note)
    const wanted = usual.get(version)
    t.same(set, wanted === undefined ? [] : [wanted])
    t.equal(late.length, set.length)
    if (wanted !== undefined) t.equal(late[0]?.split('=')[0], wanted.split('=')[0])
  }
})

t.test('V8 takes these flags while it runs', async () => {
  optimizeLater()
  for (let frame = 0; frame < 1000; frame++) frameCame()
})
