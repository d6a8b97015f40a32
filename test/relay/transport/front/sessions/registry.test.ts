import t from 'tap'
import { Sessions } from '#relay/transport/front/sessions/registry.js'
import { ManualTimers } from '../../timers.js'

class Fake {
  reason: string | undefined
  end(reason: string): void {
    this.reason = reason
  }
}

const sessions = (max = 2) => {
  const timers = new ManualTimers()
  return { timers, sessions: new Sessions<Fake>({ max: () => max, idleMs: () => 1000, timers }) }
}

t.test('a session is found by its names only, not by names of object properties', t => {
  const { sessions: all } = sessions()
  const one = new Fake()
  all.add(one, 'client', false)
  all.name(one, 'a')
  all.name(one, 'b')
  t.equal(all.find('a'), one)
  t.equal(all.find('b'), one)
  for (const name of ['constructor', '__proto__', 'toString', '']) t.equal(all.find(name), undefined)
  t.equal(all.isNamed(one), true)
  all.remove(one)
  t.equal(all.find('a'), undefined)
  t.equal(all.all().length, 0)
  all.remove(one)
  all.name(one, 'c')
  t.equal(all.find('c'), undefined, 'what is gone cannot be named')
  t.end()
})

t.test('a name that another session takes is not lost when the first session ends', t => {
  const { sessions: all } = sessions()
  const [first, second] = [new Fake(), new Fake()]
  all.add(first, 'client', false)
  all.add(second, 'client', false)
  all.name(first, 'a')
  all.name(second, 'a')
  all.remove(first)
  t.equal(all.find('a'), second)
  t.end()
})

t.test('only idle sessions time out', t => {
  const { sessions: all, timers } = sessions()
  const one = new Fake()
  all.add(one, 'client', false)
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

t.test('no session makes room, but for those that are expendable and idle: the client\'s own first', t => {
  const { sessions: all } = sessions(4)
  const [kept, busy, theirs, own] = [new Fake(), new Fake(), new Fake(), new Fake()]
  t.equal(all.add(kept, 'one', false), true)
  t.equal(all.add(busy, 'one', true), true)
  t.equal(all.add(theirs, 'two', true), true)
  t.equal(all.add(own, 'one', true), true)
  t.equal(all.add(new Fake(), 'one', true), false)
  for (const idle of [kept, theirs, own]) all.setIdle(idle, true)
  t.equal(all.add(new Fake(), 'one', true), true)
  t.type(own.reason, 'string')
  t.equal(all.add(new Fake(), 'one', true), true)
  t.type(theirs.reason, 'string')
  t.equal(all.add(new Fake(), 'one', true), false)
  t.same([kept.reason, busy.reason], [undefined, undefined])
  t.end()
})
