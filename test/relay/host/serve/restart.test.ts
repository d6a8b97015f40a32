import t from 'tap'
import { readAddress } from '#relay/config/address.js'
import { type Configuration, type ServerConfiguration, usual } from '#relay/config/configuration.js'
import { runningSetup, untilRestart } from '#relay/host/serve/restart.js'
import type { Setup } from '#relay/host/server/setup.js'
import { plainSetup } from '../plain-setup.js'

const server = (name: string, workers?: number): ServerConfiguration => ({
  name, command: ['server'], env: new Map(), inheritEnv: [], cwd: undefined, policy: undefined, rules: new Map(),
  tools: new Map(), lock: undefined, workers,
})

const setupOf = (more: Partial<Configuration> = {}, servers = [server('a')]): Setup =>
  ({ configuration: { ...usual, ...more }, servers: servers.map(plainSetup) })

/** The numbers of relay processes under which the servers run. */
const counts = ({ servers }: Setup) => servers.map(one => `${one.server.name} ${one.server.workers}`)

const tls = { cert: 'c.pem', key: 'k.pem', clientCa: undefined }
const audit = { ...usual.audit, file: '/logs/audit.ndjson' }

const cases: readonly (readonly [string, Partial<Configuration>, Partial<Configuration>])[] = [
  ['listen', {}, { listen: readAddress('0.0.0.0:1', ['listen']) }],
  ['state', {}, { state: { url: 'redis://a', prefix: 'p', ttlMs: 1, key: 'k' } }],
  ['workers', {}, { workers: 2 }],
  ['admin', {}, { admin: { host: '127.0.0.1', port: 1 } }],
  ['telemetry', {}, { telemetry: { ...usual.telemetry, headers: new Map([['a', 'b']]) } }],
  ['tls', {}, { tls }],
  ['tls', { tls }, {}],
  ['tls.clientCa', { tls }, { tls: { ...tls, clientCa: 'ca.pem' } }],
  ['tls.clientCa', { tls: { ...tls, clientCa: 'ca.pem' } }, { tls }],
  ['audit.file', { audit }, { audit: { ...audit, file: '/other/audit.ndjson' } }],
  ['audit.targets', { audit }, { audit: { ...audit, targets: [{ target: 'a', options: {}, from: 'f' }] } }],
  ['audit.signKey', { audit }, { audit: { ...audit, signKey: '/key.pem' } }],
  ['audit.keepDays', { audit }, { audit: { ...audit, keepDays: 1 } }],
  ['audit.rotate', { audit: { ...audit, rotate: 'daily' } }, { audit }],
  ['audit.onFailure', { audit }, { audit: { ...audit, onFailure: 'continue' } }],
]

for (const [name, before, after] of cases) {
  t.test(`${name} stays as it was, is named at each reload, and may change back`, async t => {
    const first = runningSetup(setupOf(before))
    const second = untilRestart(first, setupOf(after))
    t.same(second.setup.configuration, first.setup.configuration)
    t.same(second.late, [name])
    t.same(untilRestart(second, setupOf(after)).late, [name])
    t.same(untilRestart(second, setupOf(before)).late, [])
  })
}

t.test('what needs no restart changes beside what does', async t => {
  const before = { tls, audit }
  const after = {
    tls: { cert: 'new.pem', key: 'new.pem', clientCa: 'ca.pem' },
    audit: { ...audit, file: 'none', payloads: 'none' as const, intent: true }, sessions: { ...usual.sessions, max: 7 },
  }
  const { setup: { configuration }, late } = untilRestart(runningSetup(setupOf(before)), setupOf(after))
  t.same(late, ['tls.clientCa', 'audit.file'])
  t.same(configuration.tls, { cert: 'new.pem', key: 'new.pem', clientCa: undefined })
  t.same(configuration.audit, { ...audit, payloads: 'none', intent: true })
  t.equal(configuration.sessions.max, 7)
  const ca = { ...tls, clientCa: 'ca.pem' }
  const renewed = untilRestart(runningSetup(setupOf({ tls: ca })), setupOf({ tls: { ...ca, clientCa: 'new.pem' } }))
  t.match(renewed, { setup: { configuration: { tls: { clientCa: 'new.pem' } } }, late: [] })
})

t.test('a server keeps its number of relay processes, and a new one has its own', async t => {
  const first = runningSetup(setupOf({ workers: 2 }, [server('a'), server('b', 3)]))
  const ofFile = untilRestart(first, setupOf({ workers: 1 }, [server('a'), server('b', 3), server('c')]))
  t.same(counts(ofFile.setup), ['a 2', 'b 3', 'c 2'])
  t.same(ofFile.late, ['workers'])
  const own = untilRestart(first, setupOf({ workers: 2 }, [server('a', 1), server('b'), server('c', 5)]))
  t.same(counts(own.setup), ['a 2', 'b 3', 'c 5'])
  t.same(own.late, ['servers.a.workers', 'servers.b.workers'])
  const same = untilRestart(first, setupOf({ workers: 3 }, [server('a', 2), server('b')]))
  t.same(same.late, ['workers', 'servers.b.workers'], 'b has the number of the file, which is 2 until then')
})

t.test('a server that was removed comes back with the number of the processes that it may still have', async t => {
  const first = runningSetup(setupOf({}, [server('a', 2), server('b')]))
  const without = untilRestart(first, setupOf({}, [server('b')]))
  t.same(without.late, [])
  const again = untilRestart(without, setupOf({}, [server('a', 4), server('b')]))
  t.same(counts(again.setup), ['a 2', 'b 1'])
  t.same(again.late, ['servers.a.workers'])
})
