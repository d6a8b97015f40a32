import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { auditOf, scratch, scripted } from './bridge.js'
import { answer, honest, initializeOf, legacy, listResult, on, request } from './cases.js'
import { HttpClient, serve } from './http-bridges.js'

const named = (name: string) => honest.replace('"honest"', JSON.stringify(name))
const names = ['read_file', 'read_all', 'write_file', 'file_delete', 'read_then_delete', 'other']
const reactions = [
  on('initialize', answer('$ID',
    `{"protocolVersion":"${legacy}","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)),
  on('tools/list', answer('$ID', listResult(legacy, names.map(named)))),
  on('tools/call', answer('$ID', '{"content":[]}')),
]
const initialize = initializeOf('0')

interface Listed {
  readonly result: { readonly tools: readonly { name: string }[] }
}

/** A client of a server with these settings, its handshake done. */
const connected = async (t: Test, server: object) => {
  const directory = scratch(t)
  const { command } = scripted(directory, reactions)
  const audit = join(directory, 'audit.ndjson')
  const config = join(directory, 'customs.json')
  writeFileSync(config, JSON.stringify({
    version: 1, audit: { file: audit }, servers: { one: { command, inheritEnv: true, ...server } },
  }))
  const { url, relay } = await serve(t, ['--config', config])
  const client = new HttpClient(`${url}/mcp`)
  client.send(initialize)
  await client.next()
  return {
    client,
    async tools() {
      client.send(request(legacy, '1', 'tools/list'))
      return (JSON.parse(await client.next()) as Listed).result.tools
    },
    async call(name: string) {
      client.send(request(legacy, '2', 'tools/call', `"name":"${name}","arguments":{}`))
      return client.next()
    },
    async end() {
      await client.close()
      await relay.stop()
      return auditOf(audit)
    },
  }
}

const cases = [
  [{ allow: ['read_*'] }, ['read_file', 'read_all', 'read_then_delete']],
  [{ deny: ['*_delete'] }, ['read_file', 'read_all', 'write_file', 'other']],
  [{ allow: ['read_*', 'other'], deny: ['*delete'] }, ['read_file', 'read_all', 'other']],
  [{ allow: ['*'], tools: { other: 'deny' } }, names.filter(name => name !== 'other')],
  [{ deny: ['read_file*e', 'r*d*l*'] }, ['write_file', 'file_delete', 'other']],
] as const

for (const [server, expected] of cases) {
  void t.test(`clients see and call what ${JSON.stringify(server)} leaves`, async t => {
    const relay = await connected(t, server)
    t.same((await relay.tools()).map(({ name }) => name), expected)
    for (const name of names) {
      const isDenied = !expected.some(one => one === name)
      const called = await relay.call(name)
      t.equal(called.includes('"isError":true'), isDenied, name)
      if (isDenied) t.match(called, 'denies')
    }
    const records = (await relay.end()).filter(({ event }) => event === 'tools/call')
    t.equal(records.filter(({ verdict }) => verdict === 'block').length, names.length - expected.length)
  })
}

void t.test('clients read the operator\'s title and description, and the rules judge the server\'s', async t => {
  const relay = await connected(t, {
    tools: { other: { title: 'Ours', description: 'Use it "sparingly".' } },
  })
  const other = (await relay.tools()).find(({ name }) => name === 'other')
  t.match(other, { title: 'Ours', description: 'Use it "sparingly".' })
  await relay.end()
})

void t.test('a pattern takes a time that is linear in the name', async t => {
  const relay = await connected(t, { deny: [`${'a*'.repeat(2000)}b`] })
  const called = await relay.call('a'.repeat(200_000))
  t.match(called, 'Unknown tool')
  await relay.end()
})
