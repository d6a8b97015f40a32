import t from 'tap'
import { fileOf, fileOfFront, type SharePart, shareOf } from '#relay/host/serve/share.js'
import { usual } from '#relay/config/configuration.js'

const part = (number: number, count: number, isOnly = false): SharePart =>
  ({ server: 'files', number, count, isOnly })

t.test('a server\'s session limit is divided among its relay processes', async t => {
  t.match(shareOf(usual, part(1, 3))
    .sessions, { max: 333, idleMs: usual.sessions.idleMs, graceMs: usual.sessions.graceMs })
  t.match(shareOf(usual, part(1, 1)).sessions, usual.sessions)
})

t.test('a relay process gets no client tokens and no other servers', async t => {
  const { tokens, servers } = shareOf({ ...usual, tokens: [{ token: 'one', name: 'a' }, { token: 'two', name: undefined }] }, part(1, 1))
  t.same(tokens.map(({ token }) => token), ['', ''], 'but whether there are any')
  t.same(servers, new Map())
})

t.test('each process has an audit log of its own', async t => {
  const file = (named: string | undefined, whose: SharePart) =>
    shareOf({ ...usual, audit: { ...usual.audit, file: named } }, whose).audit.file
  t.equal(file('/logs/audit.ndjson', part(1, 1, true)), '/logs/audit.ndjson')
  t.equal(file('/logs/audit.ndjson', part(1, 1)), '/logs/audit.files.ndjson')
  t.equal(file('/logs/audit.ndjson', part(2, 2)), '/logs/audit.files.2.ndjson')
  t.equal(file('/logs/audit', part(2, 2)), '/logs/audit.files.2')
  t.equal(file('none', part(2, 2)), 'none')
  t.equal(file(undefined, part(2, 2)), undefined, 'its name has the process in it')
  t.equal(fileOf('capture.ndjson', part(1, 1)), 'capture.files.ndjson')
  t.equal(fileOfFront('/logs/audit.ndjson'), '/logs/audit._front.ndjson')
})
