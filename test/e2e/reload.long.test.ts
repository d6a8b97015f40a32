import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { call, gateway, initialize, lives, open, send, textOf, until } from './gateways.js'

// Each waits for processes most of the time.
t.jobs = 2

const skip = process.platform !== 'linux' && 'stops processes'

const stop = (t: Test, pid: number): void => {
  process.kill(pid, 'SIGSTOP')
  t.teardown(() => {
    if (lives(pid)) process.kill(pid, 'SIGKILL')
  })
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

t.test('a reload holds for the first session of a relay process that was beginning', { skip }, async t => {
  const { url, relays, relay, write } = await gateway(t, ['one'])
  const first = send(url('one'), {}, initialize)
  await until(() => relays().length > 0)
  const [pid = 0] = relays()
  // Its parent waits until it runs its own program.
  await until(() => readFileSync(`/proc/${pid}/environ`, 'latin1').includes('MCP_CUSTOMS_RELAY='))
  stop(t, pid)
  write(['one'], {}, { tools: { echo: 'deny' } })
  await until(() => /was read again/.test(relay.stderr()))
  process.kill(pid, 'SIGCONT')
  t.equal((await first).status, 200)
  const session = await open(url('one'))
  t.match(await send(url('one'), session, call(1, 'echo', { word: 'denied' })), { text: /echo|denied/ })
  t.not(textOf(await send(url('one'), session, call(2, 'echo', { word: 'denied' }))), 'denied')
})

t.test('a relay process that hangs does not fail a reload: tokens and paths hold at once, its setup when it is replaced', {
  skip,
}, async t => {
  const { url, relays, relay, write } = await gateway(t, ['victim', 'other'], [], {}, {
    auth: { tokens: ['old-token-old-token'] },
  })
  const old = bearer('old-token-old-token')
  const now = bearer('new-token-new-token')
  t.equal((await send(url('victim'), old, initialize)).status, 200)
  const [pid = 0] = relays()
  t.equal((await send(url('other'), old, initialize)).status, 200)
  stop(t, pid)
  write(['victim', 'other', 'added'], { auth: { tokens: ['new-token-new-token'] } }, { tools: { echo: 'deny' } })
  // Whenever this is asked, the new server is not offered under an old token.
  await until(async () => {
    const { status } = await send(url('added'), old, initialize)
    t.not(status, 200)
    return status === 401
  })
  t.equal((await send(url('other'), old, initialize)).status, 401)
  t.equal((await send(url('added'), now, initialize)).status, 200)
  t.equal((await send(url('other'), now, initialize)).status, 200)
  const session = await open(url('victim'), now)
  t.not(textOf(await send(url('victim'), session, call(1, 'echo', { word: 'denied' }))), 'denied')
  await until(() => /was read again/.test(relay.stderr()))
  t.notMatch(relay.stderr(), /not read again/)
  t.match(relay.stderr(), /victim: the relay process \d+ has ended: it (?:did not take its new|gave no sign)/)
})

t.test('relay processes show tools by the profiles of the file or of the server, also after a reload', {
  skip,
}, async t => {
  const { url, relay, write } = await gateway(t, ['one', 'two'], [], {}, { profile: 'openai-strict' })
  const isStrict = async (server: string): Promise<boolean> => {
    const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    const { text } = await send(url(server), await open(url(server)), list)
    t.match(text, /"name":"echo"/)
    return text.includes('"required":[],"additionalProperties":false')
  }
  const strict = async () => [await isStrict('one'), await isStrict('two')]
  t.same(await strict(), [true, true])
  for (const [reloads, each, expected] of [[1, {}, false], [2, { profile: 'openai-strict' }, true]] as const) {
    write(['one', 'two'], {}, each)
    await until(() => relay.stderr().split('was read again').length > reloads)
    t.same(await strict(), [expected, expected])
  }
})

t.test('a number of relay processes that a reload changes takes a restart: sessions and calls go on', {
  skip,
}, async t => {
  const { url, relay, relays, write } = await gateway(t, ['one'], [], {}, { workers: 2, sessions: { max: 4 } })
  const reread = async (count: number, more: object, each: object) => {
    write(['one'], { sessions: { max: 4 }, ...more }, each)
    await until(() => relay.stderr().split('was read again').length > count)
  }
  const sessions = [await open(url('one')), await open(url('one'))]
  const before = relays()
  t.equal(before.length, 2)
  const echoed = async (id: number) => Promise.all(sessions.map(async session =>
    textOf(await send(url('one'), session, call(id, 'echo', { word: 'here' })))))
  await reread(1, { workers: 1 }, {})
  t.match(relay.stderr(), /"workers: changed, which takes a restart/)
  t.same(await echoed(1), ['here', 'here'])
  await reread(2, { workers: 2 }, { workers: 1 })
  t.match(relay.stderr(), /"servers\.one\.workers: changed, which takes a restart/)
  t.same(await echoed(2), ['here', 'here'])
  t.same(relays(), before)
})

t.test('a server beside the one that had the log for itself has a log of its own', async t => {
  const { url, relay, directory, write } = await gateway(t, ['one'])
  const session = await open(url('one'))
  write(['one', 'two'])
  await until(() => /was read again/.test(relay.stderr()))
  const added = await open(url('two'))
  t.equal(textOf(await send(url('two'), added, call(1, 'echo', { word: 'here' }))), 'here')
  t.equal(textOf(await send(url('one'), session, call(1, 'echo', { word: 'here' }))), 'here')
  t.match(readFileSync(join(directory, 'audit.ndjson'), 'utf8'), /"server":"one"/)
  t.match(readFileSync(join(directory, 'audit.two.ndjson'), 'utf8'), /"server":"two"/)
})
