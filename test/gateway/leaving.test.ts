import t from 'tap'
import { Leaving } from '../../dist/gateway/leaving.js'

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('what comes after a record waits until it is written, in its order; what comes before does not', async t => {
  const log: string[] = []
  const leaving = new Leaving(() => t.fail('nothing has failed'), () => t.fail('no act threw'))
  const flush = () => void log.push('written')
  leaving.do(() => log.push('a'))
  leaving.recorded(flush)
  leaving.do(() => log.push('b'))
  leaving.recorded(flush)
  leaving.do(() => log.push('c'))
  t.strictSame(log, ['a'])
  await turn()
  t.strictSame(log, ['a', 'written', 'b', 'c'], 'records of one turn are written once')
  leaving.do(() => log.push('d'))
  t.equal(log.at(-1), 'd')
})

t.test('what is recorded while others leave holds back what comes after it alone', async t => {
  const log: string[] = []
  const leaving = new Leaving(() => t.fail('nothing has failed'), () => t.fail('no act threw'))
  leaving.recorded(() => void log.push('first written'))
  leaving.do(() => {
    log.push('a')
    leaving.recorded(() => void log.push('second written'))
    leaving.do(() => log.push('c'))
  })
  leaving.do(() => log.push('b'))
  await turn()
  t.strictSame(log, ['first written', 'a', 'b', 'second written', 'c'])
})

t.test('what an act brings about comes after the acts that wait already', async t => {
  const log: string[] = []
  const leaving = new Leaving(() => t.fail('nothing has failed'), () => t.fail('no act threw'))
  leaving.recorded(() => void log.push('written'))
  leaving.do(() => {
    log.push('a')
    leaving.do(() => log.push('c'))
  })
  leaving.do(() => log.push('b'))
  await turn()
  t.strictSame(log, ['written', 'a', 'b', 'c'])
})

t.test('a record that cannot be written is told before what waits for it is done, also where a later one can', async t => {
  const log: string[] = []
  const leaving = new Leaving(failure => void log.push(String(failure)), () => t.fail('no act threw'))
  const full = (): never => {
    throw new Error('full')
  }
  leaving.recorded(full)
  leaving.do(() => log.push('a'))
  leaving.recorded(() => void log.push('written'))
  leaving.do(() => log.push('b'))
  await turn()
  t.strictSame(log, ['Error: full', 'written', 'a', 'b'])
})
