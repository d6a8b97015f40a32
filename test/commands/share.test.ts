import t from 'tap'
import { shareOf } from '../../dist/commands/share.js'
import { usual } from '../../dist/config/usual.js'

const role = (number: number, count: number) => ({ number, count, folder: '/none' })

t.test('what all sessions together may take up is divided, and never more than was said', async t => {
  const { sessions, limits } = shareOf(usual, role(1, 3))
  t.match(sessions, { max: 333, maxProcesses: 21, idleMs: usual.sessions.idleMs, graceMs: usual.sessions.graceMs })
  t.match(limits, { ...usual.limits, bufferedBytes: Math.floor(usual.limits.bufferedBytes / 3) })
})

t.test('each worker has an audit log of its own', async t => {
  const file = (named: string | undefined) => shareOf({ ...usual, audit: { ...usual.audit, file: named } }, role(2, 2)).audit.file
  t.equal(file('/logs/audit.ndjson'), '/logs/audit.2.ndjson')
  t.equal(file('/logs/audit'), '/logs/audit.2')
  t.equal(file('none'), 'none')
  t.equal(file(undefined), undefined, 'its name has the process in it')
})
