import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { onRenewal } from '#relay/host/serve/front.js'
import { openLog } from '#relay/audit/log.js'
import { ManualTimers } from '../transport/timers.js'

t.test('certificates are read again when their files change, and only then', t => {
  const directory = t.testdir({ first: { cert: 'a', key: 'a' }, second: { cert: 'bb', key: 'bb' } })
  const [cert, key] = [join(directory, 'now', 'cert'), join(directory, 'now', 'key')]
  // As an orchestrator mounts them: a link that is put in the place of another.
  const point = (to: string) => {
    symlinkSync(join(directory, to), join(directory, 'next'), 'junction')
    renameSync(join(directory, 'next'), join(directory, 'now'))
  }
  point('first')
  const timers = new ManualTimers()
  let files = [cert, key]
  let renewed = 0
  let isUsable = true
  const stop = onRenewal(() => files, () => {
    renewed++
    if (!isUsable) throw new Error('no certificate and its key')
  }, openLog('silent', () => undefined), timers)
  const look = () => {
    timers.fire(10_000)
    return renewed
  }
  t.equal(look(), 0)
  point('second')
  t.equal(look(), 1)
  t.equal(look(), 1)
  isUsable = false
  writeFileSync(cert, 'ccc')
  t.equal(look(), 2)
  t.equal(look(), 2, 'what cannot be used is tried once')
  isUsable = true
  writeFileSync(key, 'ccc')
  t.equal(look(), 3)
  mkdirSync(join(directory, 'gone'))
  files = [join(directory, 'gone', 'cert')]
  t.equal(look(), 4, 'the configuration names others')
  writeFileSync(files[0] ?? '', 'd')
  t.equal(look(), 5)
  stop()
  t.equal(timers.count(10_000), 0)
  t.end()
})
