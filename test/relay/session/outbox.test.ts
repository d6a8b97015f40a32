import t from 'tap'
import { Outbox } from '#relay/session/outbox.js'

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('actions after a record wait until it is written, in order; earlier actions do not wait', async t => {
  const log: string[] = []
  const outbox = new Outbox(() => t.fail('nothing has failed'), () => t.fail('no act threw'))
  const flush = () => void log.push('written')
  outbox.do(() => log.push('a'))
  outbox.recorded(flush)
  outbox.do(() => log.push('b'))
  outbox.recorded(flush)
  outbox.do(() => log.push('c'))
  t.strictSame(log, ['a'])
  await turn()
  t.strictSame(log, ['a', 'written', 'b', 'c'], 'records of one turn are written once')
  outbox.do(() => log.push('d'))
  t.equal(log.at(-1), 'd')
})

t.test('a record made while actions run delays only the actions after it', async t => {
  const log: string[] = []
  const outbox = new Outbox(() => t.fail('nothing has failed'), () => t.fail('no act threw'))
  outbox.recorded(() => void log.push('first written'))
  outbox.do(() => {
    log.push('a')
    outbox.recorded(() => void log.push('second written'))
    outbox.do(() => log.push('c'))
  })
  outbox.do(() => log.push('b'))
  await turn()
  t.strictSame(log, ['first written', 'a', 'b', 'second written', 'c'])
})

t.test('an action that is added by an action runs after those already queued', async t => {
  const log: string[] = []
  const outbox = new Outbox(() => t.fail('nothing has failed'), () => t.fail('no act threw'))
  outbox.recorded(() => void log.push('written'))
  outbox.do(() => {
    log.push('a')
    outbox.do(() => log.push('c'))
  })
  outbox.do(() => log.push('b'))
  await turn()
  t.strictSame(log, ['written', 'a', 'b', 'c'])
})

t.test(
  'a failed write is reported before the actions that wait for it, also when a later record is written',
  async t => {
    const log: string[] = []
    const outbox = new Outbox(failure => void log.push(String(failure)), () => t.fail('no act threw'))
    const full = (): never => {
      throw new Error('full')
    }
    outbox.recorded(full)
    outbox.do(() => log.push('a'))
    outbox.recorded(() => void log.push('written'))
    outbox.do(() => log.push('b'))
    await turn()
    t.strictSame(log, ['Error: full', 'written', 'a', 'b'])
  },
)

const deferred = () => {
  let resolve = (): void => undefined
  const promise = new Promise<void>(done => (resolve = done))
  return { promise, resolve: () => resolve() }
}

t.test('what comes after a record that is not ready waits for it, in order', async t => {
  const log: string[] = []
  const outbox = new Outbox(() => t.fail('nothing has failed'), () => t.fail('no act threw'))
  const made = (name: string) => () => {
    log.push(`record ${name}`)
    outbox.recorded(() => void log.push(`${name} written`))
  }
  const [first, second] = [deferred(), deferred()]
  outbox.do(() => log.push('a'))
  outbox.record(made('1'), first.promise)
  outbox.do(() => log.push('b'))
  outbox.record(made('2'), undefined)
  outbox.record(made('3'), second.promise)
  outbox.do(() => log.push('c'))
  await turn()
  t.strictSame(log, ['a'])
  first.resolve()
  await turn()
  await turn()
  t.strictSame(log, ['a', 'record 1', 'record 2', '1 written', '2 written', 'b'])
  outbox.do(() => log.push('d'))
  second.resolve()
  await turn()
  await turn()
  t.strictSame(log.slice(6), ['record 3', '3 written', 'c', 'd'])
})
