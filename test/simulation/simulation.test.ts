import t from 'tap'
import { notYet } from './not-yet.js'
import { play, warmUp, type WorldName } from './run.js'

// The simulation replaces the timers of its process, so it has a process of its own (scripts/processes.mjs).
t.jobs = 1

/** How many histories are played, and the most seconds that they may take on a slow machine. */
const [histories, seconds] = [2000, 20]

t.test('no history breaks an invariant', async t => {
  await warmUp()
  const until = performance.now() + seconds * 1000
  let seed = 1
  for (; seed <= histories && performance.now() < until; seed++) {
    const world: WorldName = seed % 5 === 0 ? 'gateway' : 'session'
    const { violations, lines } = await play(world, seed)
    const found = violations.filter(({ invariant }) => !notYet.has(invariant))
    if (found.length > 0)
      t.same(found, [], `npm run simulate -- ${seed} --world ${world}\n${lines.join('\n')}`)
  }
  t.pass(`${seed - 1} histories`)
})

t.test('a history is the same whenever it is played', async t => {
  for (const world of ['gateway', 'session'] as const) {
    const [one, other] = [await play(world, 77), await play(world, 77)]
    t.same(other.lines, one.lines)
    const again = await play(world, 77, one.steps)
    t.same(again.lines, one.lines, 'also from its steps')
  }
})
