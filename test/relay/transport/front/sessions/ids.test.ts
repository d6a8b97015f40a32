import fc from 'fast-check'
import t, { type Test } from 'tap'
import { BoundIds } from '#relay/transport/front/sessions/ids.js'
import { ManualTimers } from '../../timers.js'
import { ask, echo, frameOf, handshake, initialize, post, start, type StartOptions } from '../harness.js'

t.test('an id is read by the server, key and owner that it was bound with, and by no others', t => {
  const text = fc.string({ minLength: 1, maxLength: 40 })
  fc.assert(fc.property(text, text, text, text, fc.nat(), (id, owner, key, other, at) => {
    const bound = new BoundIds(key, 'one').bind(id, owner)
    t.equal(new BoundIds(key, 'one').read(bound, owner), id)
    t.equal(new BoundIds(key, 'two').read(bound, owner), undefined)
    t.equal(new BoundIds(`${key}.`, 'one').read(bound, owner), undefined)
    if (other !== owner) t.equal(new BoundIds(key, 'one').read(bound, other), undefined)
    t.equal(new BoundIds(key, 'one').read(id, owner), undefined)
    const index = at % bound.length
    const changed = `${bound.slice(0, index)}${bound[index] === 'A' ? 'B' : 'A'}${bound.slice(index + 1)}`
    t.equal(new BoundIds(key, 'one').read(changed, owner), undefined)
    for (const more of [`${bound}=`, `${bound}A`, `${bound}.`, bound.slice(0, -1), ` ${bound}`]) {
      t.equal(new BoundIds(key, 'one').read(more, owner), undefined)
    }
  }))
  t.equal(new BoundIds('key', 'one').read('', ''), undefined)
  t.end()
})

const tokens = ['of-alice', 'of-bob'].map(token => ({ token }))
const as = (who: string, id?: string) => (
  { ...post, authorization: `Bearer of-${who}`, ...(id !== undefined && { 'mcp-session-id': id }) }
)
const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}'

/** A relay before an HTTP server that names each session `its.own`, and the ids that the server has seen. */
const relay = async (t: Test, options: StartOptions = {}) => {
  const seen: (string | undefined)[] = []
  const head = { status: 200, headers: new Map([['mcp-session-id', ['its.own']]]) }
  const started = await start(t, {
    server: 'http', tokens, sessionKey: 'key',
    act: (event, { transport }) => {
      if (event.type === 'bare-request') {
        seen.push(event.headers.get('mcp-session-id'))
        transport.hand?.({ type: 'head', exchange: event.exchange, ...head })
        transport.hand?.({ type: 'stream-ended', exchange: event.exchange, resumable: false })
      }
      if (event.type !== 'frame' || event.frame.message.kind !== 'request') return
      seen.push(event.frame.envelope?.headers?.get('mcp-session-id'))
      const answer = frameOf(`{"jsonrpc":"2.0","id":${event.frame.message.key},"result":{}}`)
      transport.send(event.exchange, { ...answer, envelope: { response: head } })
    },
    ...options,
  })
  return { ...started, seen }
}

const begun = async (port: number) => {
  const { headers } = await ask(port, { headers: as('alice'), body: initialize() })
  return String(headers['mcp-session-id'])
}

t.test('a session is its owner\'s alone, also where the relay does not know it', async t => {
  const [first, restarted, strange] =
    await Promise.all([relay(t), relay(t), relay(t, { sessionKey: 'of another relay' })])
  const id = await begun(first.port)
  t.match(id, /^its\.own\.[\w-]{43}$/)
  t.strictSame(first.seen.splice(0), [undefined])
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'ping' }
  for (const [name, { port, seen, sessions }] of Object.entries({ first, restarted })) {
    const begunHere = sessions.length
    for (const stranger of [
      as('bob', id), as('alice', 'its.own'), as('bob', 'its.own'), as('alice', `${id}A`),
      as('alice', `its.other${id.slice('its.own'.length)}`), as('alice', ''),
      { ...as('bob', id), ...modern }, { ...as('bob', 'its.own'), ...modern },
    ]) {
      for (const [method, body] of [['POST', ping], ['GET', ''], ['DELETE', '']] as const) {
        t.equal((await ask(port, { method, headers: stranger, body })).status, 404, `${name}: ${method}`)
      }
    }
    t.strictSame([seen, sessions.length], [[], begunHere], 'the server hears nothing of strangers')
    const got = await ask(port, { headers: as('alice', id), body: ping })
    t.match(got, { status: 200, headers: { 'mcp-session-id': id } }, name)
    t.equal((await ask(port, { method: 'DELETE', headers: as('alice', id) })).status, 200)
    t.strictSame(seen, ['its.own', 'its.own'], 'the server gets its own id')
  }
  t.equal((await ask(strange.port, { headers: as('alice', id), body: ping })).status, 404, 'another key')
})

t.test('a session that nobody used for long stays its owner\'s', async t => {
  const timers = new ManualTimers()
  const { port, session } = await relay(t, { timers, idleMs: 1000 })
  const id = await begun(port)
  const opened = await session(0)
  await opened.until('exchange-ended')
  timers.fire(1000)
  await opened.until('ended')
  t.equal((await ask(port, { headers: as('bob', id), body: ping })).status, 404)
  t.equal((await ask(port, { headers: as('alice', id), body: ping })).status, 200)
})

t.test('without a key ids are bound until the process ends; without tokens they pass unchanged', async t => {
  const [one, other] = await Promise.all([1, 2].map(() => relay(t, { sessionKey: undefined })))
  if (one === undefined || other === undefined) return
  const id = await begun(one.port)
  t.equal((await ask(one.port, { headers: as('alice', id), body: ping })).status, 200)
  t.equal((await ask(one.port, { headers: as('bob', id), body: ping })).status, 404)
  t.equal((await ask(other.port, { headers: as('alice', id), body: ping })).status, 404)
  const open = await relay(t, { tokens: [] })
  t.equal(await begun(open.port), 'its.own')
  t.equal((await ask(open.port, { headers: as('bob', 'its.own'), body: ping })).status, 200)
  t.strictSame(open.seen, [undefined, 'its.own'])
})

t.test('a replica with a name puts it before the ids of an HTTP server, and any other one reads them', async t => {
  const [first, second] = await Promise.all(['a', 'b-2.c'].map(replica => relay(t, { replica })))
  if (first === undefined || second === undefined) return
  const id = await begun(first.port)
  t.match(id, /^a:its\.own\.[\w-]{43}$/)
  t.match(
    await ask(second.port, { headers: as('alice', id), body: ping }),
    { status: 200, headers: { 'mcp-session-id': id.replace('a:', 'b-2.c:') } }, 'the next request goes there at once',
  )
  t.equal((await ask(second.port, { headers: as('bob', id), body: ping })).status, 404)
  t.equal((await ask(second.port, { headers: as('alice', id.replace('a:', '')), body: ping })).status, 200)
  const open = await relay(t, { tokens: [], replica: 'a' })
  t.equal(await begun(open.port), 'a:its.own')
  t.equal((await ask(open.port, { headers: as('alice', 'gone:its:own'), body: ping })).status, 200)
  t.strictSame([second.seen, open.seen], [['its.own', 'its.own'], [undefined, 'its:own']])
})

t.test('a session in front of a process is 404 at every other replica, which says why', async t => {
  const [home, other, nameless] = await Promise.all(['a', 'b', undefined].map(replica => start(t, { replica, act: echo })))
  if (home === undefined || other === undefined || nameless === undefined) return
  const id = await handshake(home.port)
  t.match(id, /^a:[\w-]{36}$/)
  const at = async (port: number, session: string, method = 'POST') => {
    const headers = { ...post, 'mcp-session-id': session }
    const got = await ask(port, { method, headers, body: method === 'POST' ? ping : '' })
    return [got.status, /at another replica/.test(got.body)]
  }
  t.strictSame(await at(home.port, id), [200, false])
  for (const { port } of [other, nameless]) {
    for (const method of ['POST', 'GET', 'DELETE']) t.strictSame(await at(port, id, method), [404, true], method)
    t.strictSame(await at(port, 'b c:d'), [404, false], 'no name of a replica')
  }
  t.strictSame(await at(home.port, `${id}0`), [404, false], 'its own, which is not there any more')
  t.strictSame(await at(other.port, 'b:0'), [404, false])
})
