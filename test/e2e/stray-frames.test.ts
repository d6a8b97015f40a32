import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serveBodies } from '#test/kit/http.js'
import { auditOf, cli, scratch, wrap, type Open } from './bridge.js'
import { answer, call, honest, initializeOf, legacy, listResult, on, request, type Reaction } from './cases.js'
import { start } from './harness.js'
import { httpToStdio } from './http-bridges.js'
import { errorOf, okay, warm } from './sessions.js'

// Servers that answer notifications, log their traffic on stdout, or answer under an id of their own.

t.jobs = 3

const hello = initializeOf('"hello"')
const welcome = answer(
  '"hello"',
  `{"protocolVersion":"${legacy}","capabilities":{"tools":{}},"serverInfo":{"name":"stray","version":"1"}}`,
)
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
const rootsChanged = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
const list = listResult(legacy, [honest])

/** Answers to a notification. */
const toNotification = [
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}',
  '{"jsonrpc":"2.0","id":null,"result":{}}',
  '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}',
  '{"jsonrpc":"2.0","result":{}}',
]

/** Lines that a server writes about a request. */
const logged = [
  'Received: {"jsonrpc":"2.0","id":$ID,"method":"tools/call","params":{"name":"honest","arguments":{}}}',
  'Sending: {"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}',
  '{"jsonrpc":"2.0","id":$ID,"log":"started"}',
  '{"jsonrpc":"2.0","id":$ID,"method":"tools/ca',
]

const greeted = (...more: readonly Reaction[]): readonly Reaction[] =>
  [...more, on('initialize', welcome), on('tools/list', answer('$ID', list))]

for (const policy of ['observe', 'standard', 'compat']) {
  t.test(`wrap, ${policy}: a server that answers notifications or logs its traffic works as without the relay`, async t => {
    for (const stray of toNotification) {
      const { relay, audit } =
        wrap(t, { options: ['--policy', policy], reactions: greeted(on('notifications/initialized', stray)) })
      relay.send(hello)
      t.equal(await relay.responseTo('"hello"'), welcome)
      relay.send(initialized)
      relay.send(request(legacy, '1', 'tools/list'))
      t.equal(await relay.responseTo('1'), answer('1', list), stray)
      await relay.end()
      t.strictSame(relay.untaken, policy === 'observe' ? [stray] : [], 'the stray frame')
      t.match(audit().filter(({ event }) => event === 'wire'), [{ findings: [{ rule: 'wire/json-rpc' }] }])
    }
    const reactions = logged.map((line, at) => ({ when: `"line ${at}"`, say: [line, okay('$ID')] }))
    const wrapped = await warm(t, reactions, { options: ['--policy', policy] })
    for (const [at, line] of logged.entries()) {
      const [id, seen] = [`50${at}`, Array<string>()]
      wrapped.relay.send(call(legacy, id, 'honest', `{"a":"line ${at}"}`))
      while (seen.at(-1) !== okay(id)) seen.push(await wrapped.relay.next())
      t.strictSame(seen, [...(policy === 'observe' ? [line.replace('$ID', id)] : []), okay(id)])
    }
    await wrapped.relay.end()
  })
}

const served = async (t: Test, reactions: readonly Reaction[]): Promise<Open> => {
  const open =
    await httpToStdio.open(t, { options: [], config: undefined, reactions: greeted(...reactions) })
  open.send(hello)
  t.equal(await open.next(), welcome)
  open.send(initialized)
  open.send(request(legacy, '1', 'tools/list'))
  t.equal(await open.next(), answer('1', list))
  return open
}

t.test('serve: the answer to a notification costs no call that is open', async t => {
  const open = await served(t, [on('notifications/roots/list_changed', toNotification[0] ?? '', okay('2'))])
  open.send(call(legacy, '2', 'honest'))
  open.send(rootsChanged)
  t.equal(await open.next(), okay('2'))
  await open.close()
})

t.test('a call gets an error when only a frame follows that may be its answer', async t => {
  const frames = [toNotification[1] ?? '', answer('0', '{"content":[]}'), answer('"7"', '{}')]
  await Promise.all(frames.map(async frame => {
    const { relay } = await warm(t, [on('tools/call', frame)])
    relay.send(call(legacy, '7', 'honest'))
    t.equal(errorOf(await relay.responseTo('7')), -31000, frame)
    await relay.end()
  }))
  const open = await served(t, [on('tools/call', toNotification[1] ?? '')])
  open.send(call(legacy, '7', 'honest'))
  t.equal(errorOf(await open.next()), -31000, 'over HTTP')
  await open.close()
})

t.test('wrap URL: a stray body in the response to a notification concerns no request', async t => {
  let cut = (): void => {}
  const url = await serveBodies(t, (body, response, request) => {
    const say = (text: string, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(text)
    if (request.method !== 'POST') return response.writeHead(405).end()
    if (body.includes('"initialize"')) return say(welcome)
    if (body.includes('"tools/list"')) return (cut = () => { response.destroy() })
    if (!body.includes('roots/list_changed')) return say(toNotification[3] ?? '')
    response.on('close', () => { setImmediate(cut) })
    return say(toNotification[0] ?? '', 400)
  })
  const audit = join(scratch(t), 'audit.ndjson')
  const relay = start(t, process.execPath, [cli, 'wrap', '--audit', audit, url])
  relay.send(hello)
  t.equal(await relay.responseTo('"hello"'), welcome)
  relay.send(initialized)
  relay.send(request(legacy, '1', 'tools/list'))
  relay.send(rootsChanged)
  t.equal(errorOf(await relay.responseTo('1')), -31001, 'it is lost, and not answered by the stray body')
  await relay.end()
  t.strictSame(relay.untaken, [])
  t.ok(auditOf(audit).some(({ event, verdict }) => event === 'wire' && verdict === 'block'), 'it is on record')
})

t.test('a request of the server that is malformed gets an error, and the client does not see it', async t => {
  const pings = ['{"jsonrpc":"2.0","id":"p2","method":"ping","params":[]}', '{"id":"p4","method":"ping"}']
  const { relay, received } = await warm(t, [on('tools/call', ...pings, okay('7'))])
  relay.send(call(legacy, '7', 'honest'))
  t.equal(await relay.responseTo('7'), okay('7'))
  await relay.end()
  t.match(received().filter(line => line.includes('-32600')).map(line => JSON.parse(line) as unknown), [
    { id: 'p2', error: { code: -32600 } }, { id: 'p4', error: { code: -32600 } },
  ])
  t.strictSame(relay.untaken, [])
})
