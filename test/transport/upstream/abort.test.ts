import t from 'tap'
import { CallSignal } from '../../../dist/transport/upstream/abort.js'

t.test('whoever listens is told of the end once, and who has left is not', t => {
  const signal = new CallSignal()
  const told: string[] = []
  const gone = () => void told.push('gone')
  signal.addEventListener('abort', () => void told.push('first'))
  signal.addEventListener('abort', gone)
  signal.addEventListener('abort', () => void told.push('second'))
  signal.removeEventListener('abort', gone)
  t.equal(signal.aborted, false)
  signal.abort()
  signal.abort()
  t.equal(signal.aborted, true)
  t.same(told, ['first', 'second'])
  t.end()
})

t.test('as an AbortSignal it is aborted when the call is, before or after', t => {
  const signal = new CallSignal()
  const before = signal.asAbortSignal()
  t.equal(before.aborted, false)
  signal.abort()
  t.equal(before.aborted, true)
  t.equal(signal.asAbortSignal().aborted, true)
  t.end()
})
