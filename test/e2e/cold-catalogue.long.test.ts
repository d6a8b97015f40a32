import t from 'tap'
import {
  answer, call, honest, legacy, listResult, modern, on, report, result, type Reaction,
} from './cases.js'
import {
  cold, ended, errorOf, fine, findingsOf, lie, limited, nothingMore, okay, weather,
} from './sessions.js'

const page = (tools: readonly string[], next?: string) =>
  listResult(legacy, tools, next === undefined ? '' : `,"nextCursor":"${next}"`)
const pages: readonly Reaction[] = [
  on('page-3', answer('$ID', page([report(weather)]))),
  on('page-2', answer('$ID', page([honest], 'page-3'))),
  on('tools/list', answer('$ID', page(['{"name":"other","inputSchema":{"type":"object"}}'], 'page-2'))),
]

t.test('a call before any list waits until the relay has listed every page', async t => {
  const wrapped = await cold(
    t, [...pages, { when: '"report"', say: [answer('$ID', lie)] }, on('tools/call', answer('$ID', fine))],
  )
  wrapped.relay.send(call(legacy, '1', 'honest'))
  t.equal(await wrapped.relay.next(), okay('1'), 'and nothing of the lists reaches the client')
  wrapped.relay.send(call(legacy, '2', 'report'))
  t.strictSame(findingsOf(await wrapped.relay.next()), ['result/schema'])
  await nothingMore(t, wrapped)
  await ended(t, wrapped)
  const lists = wrapped.received().filter(line => line.includes('"tools/list"'))
  t.equal(lists.length, 3, 'once')
  t.strictSame(
    wrapped.received().filter(line => line.includes('"tools/call"')),
    [call(legacy, '1', 'honest'), call(legacy, '2', 'report')], 'the calls arrive as they were sent',
  )
})

t.test('a call before any list, stateless, is listed for with what the call brought along', async t => {
  const wrapped = await cold(t, [
    on('tools/list', answer('$ID', listResult(modern, [report(weather)]))),
    on('tools/call', answer('$ID', result(modern, lie))),
  ], {}, modern)
  wrapped.relay.send(call(modern, '1', 'report', '{}', '{"roots":{}}'))
  t.strictSame(findingsOf(await wrapped.relay.next()), ['result/schema'])
  await ended(t, wrapped)
  const list = JSON.parse(wrapped.received()[0] ?? '{}') as {
    method?: string; params?: { _meta?: Record<string, unknown> }
  }
  t.equal(list.method, 'tools/list')
  t.match(list.params?._meta, {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
  })
})

t.test('several calls that wait for one list go on in their order', async t => {
  const wrapped = await cold(t, [...pages, on('tools/call', answer('$ID', fine))])
  for (const id of ['1', '2', '3']) wrapped.relay.send(call(legacy, id, 'honest'))
  for (const id of ['1', '2', '3']) t.equal(await wrapped.relay.next(), okay(id))
  await ended(t, wrapped)
  t.equal(wrapped.received().filter(line => line.includes('"tools/list"')).length, 3)
})

t.test('after a cold list a tool that is not in it is unlisted', async t => {
  const wrapped = await cold(t, pages)
  wrapped.relay.send(call(legacy, '1', 'nowhere'))
  t.equal(errorOf(await wrapped.relay.next()), -32602)
  await ended(t, wrapped)
  t.notOk(wrapped.received().some(line => line.includes('"tools/call"')))
})

t.test('when the list changes, the relay asks again before the next call', async t => {
  const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
  const wrapped = await cold(t, [
    { when: '"tools/list"', once: true, say: [answer('$ID', `{"tools":[${report()}]}`)] },
    on('tools/list', answer('$ID', `{"tools":[${report(weather)}]}`)),
    { when: '"tools/call"', once: true, say: [changed, okay('1')] },
    on('tools/call', answer('$ID', lie)),
  ])
  wrapped.relay.send(call(legacy, '1', 'report'))
  t.equal(await wrapped.relay.next(), changed, 'the notification passes')
  t.equal(await wrapped.relay.next(), okay('1'))
  wrapped.relay.send(call(legacy, '2', 'report'))
  t.strictSame(findingsOf(await wrapped.relay.next()), ['result/schema'], 'judged by the new list')
  await ended(t, wrapped)
})

t.test('a list that the server made before a change does not count; the client hears of each change', async t => {
  const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
  const wrapped = await cold(t, [
    { when: '"tools/list"', once: true, say: [changed, answer('$ID', `{"tools":[${report()}]}`)] },
    on('tools/list', answer('$ID', `{"tools":[${report(weather)}]}`)), on('tools/call', answer('$ID', lie)),
  ])
  wrapped.relay.send(call(legacy, '1', 'report'))
  t.equal(await wrapped.relay.next(), changed)
  t.strictSame(findingsOf(await wrapped.relay.next()), ['result/schema'], 'judged by the second list')
  await ended(t, wrapped)
})

const failures: readonly (readonly [string, readonly Reaction[]])[] = [
  ['never comes', []],
  ['is refused', [on('tools/list', '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"no"}}')]],
  ['is no list', [on('tools/list', answer('$ID', '{"tools":5}'))]],
  ['is not even JSON', [on('tools/list', '{"jsonrpc":"2.0","id":$ID,"result":{')]],
  ['never ends', [on('tools/list', answer('$ID', page([report(weather)], 'more-$ID')))]],
]

for (const [how, reactions] of failures) {
  t.test(`a call whose list ${how} passes, and its result does not`, async t => {
    const wrapped =
      await cold(t, [...reactions, on('tools/call', answer('$ID', fine))], limited({ listMs: 300 }))
    wrapped.relay.send(call(legacy, '1', 'unknown'))
    t.strictSame(findingsOf(await wrapped.relay.responseTo('1')), ['result/unchecked'])
    await ended(t, wrapped)
    t.match(
      wrapped.audit().flatMap(record => record.findings.map(finding => finding.rule)).join(' '),
      'call/unchecked',
    )
  })
}

t.test('a server that ends while the relay lists leaves no call unanswered', async t => {
  const { relay } = await cold(t, [on('tools/list', { exit: 0 })])
  relay.send(call(legacy, '1', 'honest'))
  t.equal(errorOf(await relay.responseTo('1')), -31001)
  await relay.exit
})

t.test('the relay\'s ids are nobody else\'s', async t => {
  const wrapped = await cold(t, [
    ...pages, on('tools/call', answer('$ID', fine)), on('x/echo', answer('$ID', '{"echo":true}')),
    { when: '"x/replay"', say: [answer('$ID', '{}')] },
  ])
  wrapped.relay.send(call(legacy, '1', 'honest'))
  t.equal(await wrapped.relay.next(), okay('1'))
  const used = wrapped.received().filter(line => line.includes('"tools/list"')).map(line =>
    JSON.stringify((JSON.parse(line) as { id: unknown }).id))
  t.equal(new Set(used).size, 3)
  for (const id of used) {
    wrapped.relay.send(`{"jsonrpc":"2.0","id":${id},"method":"x/echo"}`)
    t.equal(await wrapped.relay.next(), answer(id, '{"echo":true}'), 'a client may use them for itself')
  }
  await ended(t, wrapped)
})
