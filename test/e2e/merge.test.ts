import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { cli, scratch } from './bridge.js'
import { fixture, until } from './gateways.js'
import { start } from './harness.js'

const { resolve } = createRequire(import.meta.url)
const official = (name: string) => resolve(`@modelcontextprotocol/server-${name}/dist/index.js`)
const several = fixture('several.mjs')
const info = { name: 'test', version: '1' }

t.jobs = 3

const server = (name: string, given: object = {}) =>
  ({ command: [process.execPath, several, name, JSON.stringify(given)] })

const written = (t: Test, configuration: object): string => {
  const file = join(scratch(t), 'customs.json')
  writeFileSync(file, JSON.stringify({ merge: true, audit: { file: 'none' }, listen: '127.0.0.1:0', ...configuration }))
  return file
}

const stdio = (file: string) => ({
  command: process.execPath, args: [cli, 'wrap', '--config', file, '--merge'], stderr: 'ignore' as const,
  env: { PATH: process.env['PATH'] ?? '', XDG_STATE_HOME: join(file, '..', 'state') },
})

/** @returns the URL of the merged endpoint, once it accepts connections */
const serve = async (t: Test, configuration: object): Promise<string> => {
  const started = start(t, process.execPath, [cli, 'serve', '--config', written(t, configuration)])
  let url: string | undefined
  await until(() => {
    url = /listening on (\S+)/.exec(started.stderr())?.[1]
    return url !== undefined
  })
  return `${url ?? ''}/mcp`
}

const connect = async (t: Test, client: Client, transport: 'stdio' | 'http', configuration: object): Promise<Client> => {
  await client.connect(transport === 'stdio'
    ? new StdioClientTransport(stdio(written(t, configuration)))
    : new StreamableHTTPClientTransport(new URL(await serve(t, configuration))))
  t.teardown(() => client.close())
  return client
}

const textOf = (result: unknown): string | undefined =>
  (result as { content: { text?: string }[] }).content[0]?.text

const namesOf = async (client: Pick<Client, 'listTools'>): Promise<readonly string[]> =>
  (await client.listTools()).tools.map(({ name }) => name)

const two = { servers: { a: server('a'), 'b.c': server('b', { tools: ['echo', 'ask', 'app'], resources: ['x://1'] }) } }

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
    await until(async () => (await client.listTools())._meta === undefined)
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

t.test('official servers give the same answers behind one endpoint as alone', async t => {
  const folder = scratch(t)
  writeFileSync(join(folder, 'a.txt'), 'a\r\nbé\n')
  const servers = {
    everything: { command: [process.execPath, official('everything'), 'stdio'] },
    filesystem: { command: [process.execPath, official('filesystem'), folder] },
    memory: { command: [process.execPath, official('memory')], env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
  }
  const alone = new Map<string, Client>()
  for (const [name, { command: [command = '', ...args], ...more }] of Object.entries(servers)) {
    const client = new Client(info, { capabilities: {} })
    await client.connect(new StdioClientTransport({
      command, args, stderr: 'ignore', env: { PATH: process.env['PATH'] ?? '', ...('env' in more ? more.env : {}) },
    }))
    t.teardown(() => client.close())
    alone.set(name, client)
  }
  const rules = { policy: 'observe' }
  const merged = await connect(t, new Client(info, { capabilities: {} }), 'stdio', { servers, ...rules })
  await until(async () => (await merged.listTools())._meta === undefined)
  const listed = (await merged.listTools()).tools
  for (const [name, client] of alone) {
    const own = (await client.listTools()).tools
    t.strictSame(
      listed.filter(tool => tool.name.startsWith(`${name}__`)), own.map(tool => ({ ...tool, name: `${name}__${tool.name}` })), name,
    )
  }
  const calls = [
    ['everything', 'echo', { message: 'héllo 🎉 <&> \u2028' }], ['everything', 'get-sum', { a: 0.1, b: 2e21 }],
    ['everything', 'get-structured-content', { location: 'New York' }], ['everything', 'get-tiny-image', {}],
    ['everything', 'get-annotated-message', { messageType: 'error', includeImage: true }],
    ['filesystem', 'read_text_file', { path: join(folder, 'a.txt') }], ['filesystem', 'list_directory', { path: folder }],
    ['filesystem', 'read_text_file', { path: '/etc/passwd' }], ['memory', 'read_graph', {}],
  ] as const
  for (const [name, tool, args] of calls) {
    t.strictSame(
      await merged.callTool({ name: `${name}__${tool}`, arguments: args }),
      await alone.get(name)?.callTool({ name: tool, arguments: args }), `${name} ${tool}`,
    )
  }
  const everything = alone.get('everything')
  const { resources } = await merged.listResources()
  const own = (await everything?.listResources())?.resources ?? []
  t.strictSame(resources.slice(0, own.length), own)
  const uri = resources[0]?.uri ?? ''
  t.strictSame(await merged.readResource({ uri }), await everything?.readResource({ uri }))
  const { prompts } = await merged.listPrompts()
  t.strictSame(prompts.map(({ name }) => name), (await everything?.listPrompts())?.prompts.map(({ name }) => `everything__${name}`))
  t.strictSame(
    await merged.getPrompt({ name: 'everything__args-prompt', arguments: { city: 'Paris' } }),
    await everything?.getPrompt({ name: 'args-prompt', arguments: { city: 'Paris' } }),
  )
})

t.test('a modern client, over stdio and HTTP, and a server that never answers', async t => {
  const configuration = { ...two, servers: { ...two.servers, never: server('never', { never: true }) }, limits: { listMs: 1500 } }
  const url = await serve(t, configuration)
  for (const transport of [new ModernHttp(new URL(url)), new ModernStdio(stdio(written(t, configuration)))]) {
    const client = new ModernClient(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await client.connect(transport)
    t.teardown(() => client.close())
    const listed = () => client.listTools().then(({ tools }) => tools.length, () => 0)
    // Relay processes begin with the first request to their server.
    await until(async () => await listed() === 8)
    const list = await client.listTools()
    t.match(list._meta?.['mcp-customs/missing'], [{ server: 'never' }])
    t.equal(textOf(await client.callTool({ name: 'b_c__echo', arguments: { text: 'x' } })), 'b: echo x')
    t.match(textOf(await client.callTool({ name: 'never__x', arguments: {} })), /The server "never" is not available/)
    t.match(await client.readResource({ uri: 'x://1' }), { contents: [{ text: 'b' }] })
  }
})

const wrong = [
  ['merge.servers.0', { merge: { servers: ['c'] } }, 'there is no server "c" (there is: a, b.c)'],
  ['merge.prefix.c', { merge: { prefix: { c: 'x' } } }, 'there is no server "c" (there is: a, b.c)'],
  ['merge.prefix.b.c', { merge: { prefix: { 'b.c': 'a' } } }, 'the prefix "a" is that of a too'],
  ['merge', { servers: { 'b.c': server('b'), b_c: server('b') } }, 'the prefix "b_c" is that of b.c too'],
  ['merge.prefix.b.c', { merge: { prefix: { a: '', 'b.c': '' } } }, 'one server at most may have no prefix'],
  ['merge.separator', { merge: { separator: '' } }, 'must be 1 to 16 letters'],
  ['merge.prefix.a', { merge: { prefix: { a: 'ü' } } }, 'must be up to 64 letters'],
  ['merge.path', { merge: { path: '/a/mcp' } }, 'is the endpoint of the server a'],
  ['merge.path', { merge: { path: 'mcp' } }, 'must be a path such as /mcp'],
] as const

t.test('what cannot be merged is refused at load, by key and reason', async t => {
  await Promise.all(wrong.map(async ([key, configuration, reason]) => {
    const started = start(t, process.execPath, [cli, 'serve', '--config', written(t, { ...two, ...configuration })])
    t.equal((await started.exit).code, 2, `${key}: ${reason}`)
    t.match(started.stderr().replaceAll('"b.c"', 'b.c'), `${key}: ${reason}`)
  }))
})
