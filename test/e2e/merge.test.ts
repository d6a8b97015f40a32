import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { cli } from './bridge.js'
import { until } from './gateways.js'
import { start } from './harness.js'
import { connect, info, namesOf, server, textOf, two, whole, written } from './merged.js'

t.jobs = 3

for (const transport of ['stdio', 'http'] as const) {
  t.test(`two servers behind one endpoint, over ${transport}`, async t => {
    const client = new Client(info, { capabilities: { elicitation: {} } })
    const asked: unknown[] = []
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params._meta?.['mcp-customs/server'])
      return { action: 'accept' as const, content: { from: params.message } }
    })
    let changes = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changes += 1))
    await connect(t, client, transport, two)
    await whole(client)
    t.match(await namesOf(client), ['a__echo', 'a__ask', 'a__die', 'a__change', 'a__slow', 'b_c__echo', 'b_c__ask', 'b_c__app'])
    t.equal(textOf(await client.callTool({ name: 'b_c__echo', arguments: { text: 'é' } })), 'b: echo é')
    t.strictSame(
      await Promise.all(['a__ask', 'b_c__ask'].map(async name => textOf(await client.callTool({ name })))),
      ['a got {"action":"accept","content":{"from":"from a"}}', 'b got {"action":"accept","content":{"from":"from b"}}'],
      'each gets the answer to its own question',
    )
    t.strictSame([...asked].sort(), ['a', 'b.c'])
    const progress: unknown[] = []
    await client.callTool({ name: 'a__slow' }, undefined, { onprogress: one => progress.push(one) })
    t.match(progress, [{ progress: 1 }])
    t.match(await client.readResource({ uri: 'ui://b/app' }), { contents: [{ text: 'b' }] }, 'the page of an app')
    t.match(await client.readResource({ uri: 'template://a/7' }), { contents: [{ text: 'a' }] })
    await t.rejects(client.readResource({ uri: 'link://a/none' }), /could be one of a, b\.c/)
    changes = 0
    await client.callTool({ name: 'a__change' })
    await until(() => changes > 0)
    t.ok((await namesOf(client)).includes('a__more5'))
    const died = await client.callTool({ name: 'a__die' })
    t.match(textOf(died), /The server "a" is not available/)
    t.equal(died.isError, true)
    t.equal(textOf(await client.callTool({ name: 'b_c__echo' })), 'b: echo ', 'the other works meanwhile')
    await until(async () => textOf(await client.callTool({ name: 'a__echo' })) === 'a: echo ')
  })
}

t.test('what cannot be merged is refused at load, by key and reason', async t => {
  const configuration = { servers: { 'b.c': server('b'), b_c: server('b') } }
  const started = start(t, process.execPath, [cli, 'serve', '--config', written(t, configuration)])
  t.equal((await started.exit).code, 2)
  const reason = 'merge: the prefix "b_c" is that of b.c too: give b_c another under merge.prefix'
  t.match(started.stderr(), reason)
  const file = written(t, { ...configuration, merge: false })
  const wrapped = start(t, process.execPath, [cli, 'wrap', '--config', file, '--merge'])
  wrapped.closeInput()
  t.equal((await wrapped.exit).code, 2)
  t.match(wrapped.stderr(), `mcp-customs: ${file}: ${reason}`)
})
