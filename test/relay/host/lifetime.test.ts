import t from 'tap'
import { Lifetime } from '#relay/host/lifetime.js'

/** Something that ends when the test says so, and the clock of those who wait for it. */
const begin = () => {
  const log: string[] = []
  const due = new Set<() => void>()
  const timers = {
    after: (ms: number, act: () => void) => {
      if (ms > 2 ** 31 - 1) throw new RangeError('no clock counts so far')
      due.add(act)
      return () => void due.delete(act)
    },
    every: () => () => undefined,
  }
  const lifetime = new Lifetime(timers)
  const slow = (name: string) => {
    let settle = () => {}
    const ended = new Promise<void>(resolve => (settle = resolve))
    lifetime.add(urgency => {
      log.push(`${name} ${urgency}`)
      return ended
    })
    return { settle }
  }
  return { lifetime, log, due, slow }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

t.test('resources are ended once, in reverse order', async t => {
  const { lifetime, log, slow } = begin()
  const [first, second] = [slow('first'), slow('second')]
  lifetime.end()
  lifetime.end()
  t.same(log, ['second 1'])
  second.settle()
  await turn()
  t.same(log, ['second 1', 'first 1'])
  first.settle()
  await lifetime.ended
})

t.test('hurry asks the ending resource again, and later ones with the raised urgency', async t => {
  const { lifetime, log, slow } = begin()
  const [first, second] = [slow('first'), slow('second')]
  lifetime.hurry()
  lifetime.hurry()
  t.same(log, ['second 1', 'second 2'])
  second.settle()
  await turn()
  lifetime.hurry()
  t.same(log, ['second 1', 'second 2', 'first 1', 'first 2', 'first 3'])
  first.settle()
  await lifetime.ended
})

t.test('a resource has ended when any of its requests to end settles', async () => {
  const { lifetime } = begin()
  lifetime.add(urgency => (urgency === 1 ? new Promise(() => {}) : undefined))
  lifetime.end()
  lifetime.hurry()
  await lifetime.ended
})

t.test('a resource that does not end is given up after its time', async t => {
  const { lifetime, log, due, slow } = begin()
  const first = slow('first')
  slow('second')
  lifetime.end()
  t.equal(due.size, 1)
  for (const act of due) act()
  due.clear()
  await turn()
  t.same(log, ['second 1', 'first 1'])
  first.settle()
  await lifetime.ended
  t.equal(due.size, 0, 'no clock is left running')
})

t.test('a failure to end does not stop the others, and is reported at the end', async t => {
  const { lifetime, log, slow } = begin()
  slow('first').settle()
  lifetime.add(() => Promise.reject(new Error('second')), 2 ** 31)
  lifetime.add(() => {
    throw new Error('third')
  })
  lifetime.end()
  await t.rejects(lifetime.ended, { message: 'third' })
  t.same(log, ['first 1'])
})

t.test('an outside error ends everything, and is reported then', async t => {
  const { lifetime, log, slow } = begin()
  const first = slow('first')
  lifetime.fail(new Error('elsewhere'))
  t.same(log, ['first 1'])
  first.settle()
  await t.rejects(lifetime.ended, { message: 'elsewhere' })
})
