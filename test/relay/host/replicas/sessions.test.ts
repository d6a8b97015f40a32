import t from 'tap'
import { SharedSessions } from '#relay/host/replicas/sessions.js'
import { MemoryEngine, secret, storeIn } from './memory.js'

const setUp = (ttlMs = 4000) => {
  const store = new MemoryEngine()
  const replica = () =>
    new SharedSessions({ store: storeIn(store), prefix: 'p', ttlMs, secret, now: () => store.now })
  return { store, one: replica(), other: replica() }
}

const session = { kind: 'find', part: 'session', name: '' } as const

t.test('what one replica keeps of a session, another finds', async t => {
  const { one, other } = setUp()
  const first = one.session('weather', undefined)
  t.equal(await first.ask({ ...session, kind: 'keep', value: { revision: '2025-06-18' } }), 'none', 'without a name')
  first.named('secret-id')
  await first.ask({ ...session, kind: 'keep', value: { revision: '2025-06-18' } })
  t.match(await other.session('weather', 'secret-id').ask(session), { revision: '2025-06-18' })
  t.equal(await other.session('files', 'secret-id').ask(session), 'none', 'another server')
  t.equal(await other.session('weather', 'other-id').ask(session), 'none', 'another session')
})

t.test('a value is taken once over all replicas', async t => {
  const { one, other } = setUp()
  const asked = { part: 'asked', name: '7' } as const
  await one.session('weather', 'a').ask({ kind: 'keep', ...asked, value: { method: 'roots/list' } })
  t.same(await other.session('weather', 'a').ask({ kind: 'take', ...asked }), { method: 'roots/list' })
  t.equal(await one.session('weather', 'a').ask({ kind: 'take', ...asked }), 'used')
  t.equal(await one.session('weather', 'a').ask({ kind: 'take', part: 'asked', name: '8' }), 'none')
})

t.test('keys and values hold no id of a session, request or task', async t => {
  const { store, one } = setUp()
  const kept = one.session('weather', 'secret-session')
  await kept.ask({ ...session, kind: 'keep', value: { revision: '2025-06-18' } })
  await kept.ask({ kind: 'keep', part: 'task', name: 'secret-task', value: { tool: 'forecast' } })
  t.notMatch(JSON.stringify([...store.held]), 'secret')
  t.equal(store.held.size, 2)
})

t.test('a session that is used is kept, and kept again where the store has lost it', async t => {
  const { store, one, other } = setUp()
  const kept = one.session('weather', 'a')
  await kept.ask({ ...session, kind: 'keep', value: { revision: '2025-06-18' } })
  const before = store.operations
  kept.touch()
  t.equal(store.operations, before, 'a use soon after costs nothing')
  for (let turn = 0; turn < 5; turn++) {
    store.now += 3000
    kept.touch()
    await Promise.resolve()
  }
  t.match(await other.session('weather', 'a').ask(session), { revision: '2025-06-18' })
  store.held.clear()
  store.generation++
  kept.touch()
  await new Promise(resolve => setImmediate(resolve))
  t.match(await other.session('weather', 'a').ask(session), { revision: '2025-06-18' })
  store.now += 5000
  t.equal(await other.session('weather', 'a').ask(session), 'none', 'unused, it is forgotten')
})

t.test('a session and a group of clients have no name in common', async t => {
  const { one, other } = setUp()
  await one.session('weather', 'a').ask({ ...session, kind: 'keep', value: { revision: '2025-06-18' } })
  t.equal(await other.session('weather', 'a', 'group').ask(session), 'none')
  const renamed = other.session('weather', 'a')
  renamed.named('b')
  t.equal(await renamed.ask(session), 'none', 'a new name replaces the old one')
})

t.test('what could not be kept is kept later, and what another has kept since stays', async t => {
  const { store, one, other } = setUp()
  const mark = { part: 'list', name: 'mark' } as const
  const [kept, joined] = [one.session('weather', 'a'), other.session('weather', 'a')]
  store.problem = { reason: 'no answer', since: '' }
  t.equal(await kept.ask({ kind: 'keep', ...mark, value: { is: '1' } }), 'unreachable')
  t.equal(await joined.ask({ kind: 'find', ...mark }), 'unreachable')
  store.problem = undefined
  joined.touch()
  kept.touch()
  await new Promise(resolve => setImmediate(resolve))
  t.match(await joined.ask({ kind: 'find', ...mark }), { is: '1' })
  await joined.ask({ kind: 'keep', ...mark, value: { is: '2' } })
  store.generation++
  kept.touch()
  await new Promise(resolve => setImmediate(resolve))
  t.match(await joined.ask({ kind: 'find', ...mark }), { is: '2' })
})

t.test('requests expire within an hour, and with their session', async t => {
  const { store, one } = setUp(24 * 60 * 60_000)
  const kept = one.session('weather', 'a')
  await kept.ask({ kind: 'keep', part: 'list', name: 'mark', value: { is: '1' } })
  for (const part of ['asked', 'request'] as const) await kept.ask({ kind: 'keep', part, name: '7', value: {} })
  t.same([...store.held.values()].map(({ until }) => until), [24 * 60 * 60_000, 60 * 60_000, 60 * 60_000])
  await kept.ask({ ...session, kind: 'forget' })
  t.equal(store.held.size, 0)
})

t.test('a store that fails, and a value that is too long, are unreachable', async t => {
  const { store, one } = setUp()
  const kept = one.session('weather', 'a')
  const value = { text: 'x'.repeat(3_000_000) }
  t.equal(await kept.ask({ kind: 'keep', part: 'tools', name: '', value }), 'unreachable')
  store.problem = { reason: 'no answer', since: '' }
  t.equal(await kept.ask(session), 'unreachable')
  store.problem = undefined
  t.equal(await kept.ask(session), 'none')
  const key = [...store.held.keys()][0] ?? ''
  store.held.set(key, { value: 'no JSON', until: Infinity })
  t.equal(await kept.ask(session), 'none')
})
