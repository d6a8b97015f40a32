import t from 'tap'
import { shareOf } from '../../dist/commands/share.js'
import { usual } from '../../dist/config/usual.js'

const role = (number: number, count: number) => ({ number, count, folder: '/none', listen: { host: '127.0.0.1', port: 7400 } })

t.test('what all sessions together may take up is divided, and never more than was said', async t => {
  const { sessions, limits } = shareOf(usual, role(1, 3))
  t.match(sessions, { max: 333, maxProcesses: 21, idleMs: usual.sessions.idleMs, graceMs: usual.sessions.graceMs })
  t.match(limits, { ...usual.limits, bufferedBytes: Math.floor(usual.limits.bufferedBytes / 3) })
})

t.test('each worker has room for the longest message for which one process has', async t => {
  const buffered = (messageBytes: number, bufferedBytes: number) => shareOf({ ...usual, limits: { ...usual.limits, messageBytes, bufferedBytes } }, role(1, 4)).limits.bufferedBytes
  t.equal(buffered(1000, 2000), 1000)
  t.equal(buffered(2000, 1000), 1000, 'never more than was said')
  t.equal(buffered(1000, 8000), 2000)
})

t.test('a worker listens where the others do, whatever is configured by now', async t => {
  t.same(shareOf({ ...usual, listen: { host: '::1', port: 1 } }, role(1, 2)).listen, { host: '127.0.0.1', port: 7400 })
})

t.test('each worker has an audit log of its own', async t => {
  const file = (named: string | undefined) => shareOf({ ...usual, audit: { ...usual.audit, file: named } }, role(2, 2)).audit.file
  t.equal(file('/logs/audit.ndjson'), '/logs/audit.2.ndjson')
  t.equal(file('/logs/audit'), '/logs/audit.2')
  t.equal(file('none'), 'none')
  t.equal(file(undefined), undefined, 'its name has the process in it')
})
