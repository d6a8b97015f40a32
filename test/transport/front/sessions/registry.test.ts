import t from 'tap'
import { Sessions } from '../../../../dist/transport/front/sessions/registry.js'
import { ManualTimers } from '../harness.js'

class Fake {
  reason: string | undefined
  end(reason: string): void {
    this.reason = reason
  }
}

const sessions = (max = 2) => {
  const timers = new ManualTimers()
  return { timers, sessions: new Sessions<Fake>({ max, idleMs: 1000, timers }) }
}

t.test('a session is found by its names, and by no name that objects have', t => {
  const { sessions: all } = sessions()
  const one = new Fake()
  all.add(one)
  all.name(one, 'a')
  all.name(one, 'b')
  t.equal(all.find('a'), one)
  t.equal(all.find('b'), one)
  for (const name of ['constructor', '__proto__', 'toString', '']) t.equal(all.find(name), undefined)
  t.equal(all.isNamed(one), true)
  all.remove(one)
  t.equal(all.find('a'), undefined)
  t.equal(all.size, 0)
  all.remove(one)
  all.name(one, 'c')
  t.equal(all.find('c'), undefined, 'what is gone cannot be named')
  t.end()
})

t.test('a name that passes to another session stays with it', t => {
  const { sessions: all } = sessions()
  const [first, second] = [new Fake(), new Fake()]
  all.add(first)
  all.add(second)
  all.name(first, 'a')
  all.name(second, 'a')
  all.remove(first)
  t.equal(all.find('a'), second)
  t.end()
})

t.test('only an idle session ends with time', t => {
  const { sessions: all, timers } = sessions()
  const one = new Fake()
  all.add(one)
  t.equal(timers.count(1000), 0)
  all.setIdle(one, true)
  all.setIdle(one, false)
  t.equal(timers.fire(1000), 0)
  t.equal(one.reason, undefined)
  all.setIdle(one, true)
  timers.fire(1000)
  t.equal(one.reason, 'nobody used the session')
  t.end()
})

t.test('the session that was idle longest makes room; one in use never does', t => {
  const { sessions: all } = sessions(3)
  const [busy, first, second] = [new Fake(), new Fake(), new Fake()]
  for (const one of [busy, first, second]) all.add(one)
  t.equal(all.makeRoom(), false)
  all.setIdle(second, true)
  all.setIdle(first, true)
  t.equal(all.makeRoom(), true)
  t.type(second.reason, 'string')
  t.same([busy.reason, first.reason], [undefined, undefined])
  t.same(all.all(), [busy, first])
  t.equal(all.makeRoom(), true)
  t.equal(first.reason, undefined)
  t.end()
})
