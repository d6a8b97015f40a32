import t from 'tap'
import { join } from 'node:path'
import { auditOf, cli, scratch } from './bridge.js'
import { call, initializeOf, legacy, on, request } from './cases.js'
import { start } from './harness.js'
import { ended, okay, warm } from './sessions.js'

const hello = initializeOf()

t.test('a server that frames by Content-Length works, and one line says what it does', async t => {
  const result =
    `{"protocolVersion":"${legacy}","capabilities":{},"serverInfo":{"name":"framed","version":"1"}}`
  const program = `
    const head = text => 'Content-Length: ' + Buffer.byteLength(text) + '\\r\\n\\r\\n'
    const say = text => process.stdout.write(head(text) + text)
    require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
      const { id, method } = JSON.parse(line)
      if (id !== undefined)
        say(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'initialize' ? ${result} : {} }))
    })`
  const audit = join(scratch(t), 'audit.ndjson')
  const relay =
    start(t, process.execPath, [cli, 'wrap', '--audit', audit, '--', process.execPath, '-e', program])
  relay.send(hello)
  t.equal(await relay.responseTo('1'), `{"jsonrpc":"2.0","id":1,"result":${result}}`)
  relay.send(request(legacy, '2', 'ping'))
  t.equal(await relay.responseTo('2'), '{"jsonrpc":"2.0","id":2,"result":{}}')
  await relay.end()
  t.equal(relay.stderr().match(/Content-Length/g)?.length, 1, relay.stderr())
  const found = auditOf(audit).flatMap(({ findings }) => findings)
  t.match(found, [{ rule: 'wire/json', message: /Content-Length/ }])
})

t.test('progress under a token that nobody gave is on record, and passes', async t => {
  const foreign =
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tool-5","progress":0}}'
  const wrapped = await warm(t, [on('tools/call', foreign, okay('$ID'))])
  wrapped.relay.send(call(legacy, '5', 'honest'))
  t.equal(await wrapped.relay.next(), foreign)
  t.equal(await wrapped.relay.next(), okay('5'))
  await ended(t, wrapped)
  t.match(wrapped.audit().filter(({ event }) => event === 'notifications/progress'), [
    { verdict: 'log', findings: [{ rule: 'wire/id', path: '/params/progressToken' }] },
  ])
})
