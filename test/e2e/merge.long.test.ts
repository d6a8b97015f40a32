import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import {
  Client as ModernClient, StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t from 'tap'
import { ForgingIssuer } from '../relay/auth/issuers.js'
import { auditOf, scratch } from './bridge.js'
import { begin, call, childrenOf, open, send, until } from './gateways.js'
import { sampler } from './sampler.js'
import { connect, info, namesOf, serve, server, stdio, textOf, two, whole, written } from './merged.js'

const { resolve } = createRequire(import.meta.url)
const official = (name: string) => resolve(`@modelcontextprotocol/server-${name}/dist/index.js`)

t.jobs = 2

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
  await whole(merged)
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
  const url = `${(await serve(t, configuration)).origin}/mcp`
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

for (const translate of ['auto', 'both', 'off']) {
  t.test(`a legacy and a modern server behind one endpoint, with translate: ${translate}`, async t => {
    const servers = { old: server('old', { legacyOnly: true }), new: server('new', { modernOnly: true }) }
    const configuration = { servers, translate, limits: { listMs: 3000 } }
    const legacy = await connect(t, new Client(info), 'stdio', configuration)
    const modern = new ModernClient(info, { versionNegotiation: { mode: 'auto' } })
    await modern.connect(new ModernStdio(stdio(written(t, configuration))))
    t.teardown(() => modern.close())
    for (const [era, client] of [['legacy', legacy], ['modern', modern]] as const) {
      const list = () => client.listTools()
      if (translate !== 'off') await until(async () => (await list())._meta?.['mcp-customs/missing'] === undefined)
      const { tools, _meta } = await list()
      const names = tools.map(({ name }) => name)
      if (translate === 'off') {
        t.match(_meta?.['mcp-customs/missing'], [{ server: era === 'legacy' ? 'new' : 'old' }], era)
      } else {
        t.ok(names.includes('old__echo') && names.includes('new__echo'), `${era}: ${names.join()}`)
        t.equal(textOf(await client.callTool({ name: 'new__echo', arguments: { text: 'x' } })), 'new: echo x')
        t.equal(textOf(await client.callTool({ name: 'old__echo', arguments: { text: 'x' } })), 'old: echo x')
      }
    }
  })
}

t.test('the record of a call has the shown name beside the server and its own name', async t => {
  const file = join(scratch(t), 'audit.ndjson')
  const client = await connect(t, new Client(info), 'stdio', { ...two, audit: { file } })
  await whole(client)
  await client.callTool({ name: 'b_c__echo' })
  await client.close()
  const records = readFileSync(file, 'utf8').trim().split('\n').map(line => JSON.parse(line) as Record<string, unknown>)
  t.match(records.filter(({ event }) => event === 'tools/call'), [{ server: 'b.c', tool: 'echo', shown: 'b_c__echo' }])
})

/** A client of a gateway with a token. */
const withToken = async (url: string, token: string): Promise<Client> => {
  const client = new Client(info)
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return client
}

t.test('tokens, deny and clients hold at the merged endpoint as at the server\'s own', async t => {
  const tokens = { reader: 'reader-reader-reader', writer: 'writer-writer-writer' }
  const { origin } = await serve(t, {
    auth: { tokens },
    servers: {
      a: { ...server('a'), deny: ['die'] },
      b: { ...server('b'), clients: [{ match: { token: 'reader' }, deny: ['echo'] }] },
    },
  })
  const url = `${origin}/mcp`
  t.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401)
  for (const [name, token] of Object.entries(tokens)) {
    const client = await withToken(url, token)
    t.teardown(() => client.close())
    await whole(client)
    const names = await namesOf(client)
    t.notOk(names.includes('a__die'))
    t.equal(names.includes('b__echo'), name === 'writer', name)
    t.match(textOf(await client.callTool({ name: 'a__die' }).catch((error: unknown) => ({ content: [{ text: String(error) }] }))), /may not be called|Unknown tool/)
    const called = await client.callTool({ name: 'b__echo' }).catch((error: unknown) => ({ content: [{ text: String(error) }] }))
    if (name === 'writer') t.equal(textOf(called), 'b: echo ')
    else t.notMatch(textOf(called), /b: echo/)
  }
})

t.test('scopes hold at the merged endpoint, also where the operator writes the merged name of a tool', async t => {
  const issuer = await ForgingIssuer.open(t)
  const audience = 'https://gateway.example.com'
  const { origin } = await serve(t, {
    auth: { issuer: issuer.url, audience },
    servers: {
      a: { ...server('a'), tools: { a__slow: { scopes: ['slow'] } }, deny: ['a__change'] },
      b: { ...server('b'), scopes: ['b'] },
    },
  })
  const url = `${origin}/mcp`
  for (const scope of ['', 'slow b']) {
    const client = await withToken(url, await issuer.token({ aud: `${audience}/mcp`, scope }))
    t.teardown(() => client.close())
    await until(() => namesOf(client).then(names => names.includes(scope === '' ? 'a__echo' : 'b__echo'), () => false))
    const names = await namesOf(client)
    t.equal(names.includes('a__slow'), scope !== '', scope)
    t.equal(names.includes('b__echo'), scope !== '', scope)
    t.notOk(names.includes('a__change'), 'denied by its merged name')
    for (const name of ['a__slow', 'b__echo']) {
      const called = client.callTool({ name }).then(result => JSON.stringify(result), String)
      t.equal(/"text":"(?:slow|b: echo )"/.test(await called), scope !== '', `${name}, ${scope}`)
    }
    t.equal(textOf(await client.callTool({ name: 'a__echo' })), 'a: echo ')
  }
})

t.test('what lists leave out is on record, and /readyz names who is missing', async t => {
  const file = join(scratch(t), 'audit.ndjson')
  const configuration = {
    audit: { file }, admin: '127.0.0.1:0', limits: { listMs: 2000 },
    servers: {
      a: server('a', { tools: ['b__c', 'echo'], resources: ['x://1'] }), a__b: server('b', { tools: ['c'], resources: ['x://1'] }),
      never: server('never', { never: true }),
    },
  }
  const read = async (client: Client) => {
    // Relay processes begin with the first request to their server.
    await until(() => namesOf(client).then(names => names.join() === 'a__echo', () => false))
    await client.listResources()
  }
  const wanted = [
    { event: 'tools/list', from: 'relay', server: 'a', verdict: 'block', findings: [{ rule: 'tool/duplicate', tool: 'b__c' }] },
    { event: 'tools/list', from: 'relay', server: 'a__b', verdict: 'block', findings: [{ rule: 'tool/duplicate', tool: 'c' }] },
    { event: 'resources/list', from: 'relay', server: 'a__b', verdict: 'log', findings: [{ rule: 'resource/duplicate', resource: 'x://1' }] },
  ]
  const left = (log: string) => {
    const records = auditOf(log).filter(({ from, findings }) => from === 'relay' && findings.length > 0)
    return wanted.map(({ server: of, event }) =>
      records.findLast(one => one.server === of && one.event === event))
  }
  const { origin, started } = await serve(t, configuration)
  const overHttp = new Client(info)
  await overHttp.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`)))
  t.teardown(() => overHttp.close())
  await read(overHttp)
  const front = file.replace('audit.', 'audit._front.')
  await until(() => left(front).every(one => one !== undefined))
  t.match(left(front), wanted, 'of a gateway in the log of the front')
  const [, admin = ''] = /page on (\S+)\/\?/.exec(started.stderr()) ?? []
  const ready = await fetch(`${admin}/readyz`).then(response => response.text())
  t.match(ready, /missing: never: /)
  await overHttp.close()
  started.child.kill()
  await started.exit
  const overStdio = await connect(t, new Client(info), 'stdio', configuration)
  await read(overStdio)
  await overStdio.close()
  t.match(left(file), wanted, 'of wrap in its own')
})

t.test('a session is that of its replica, whose name begins its id', async t => {
  const replicas = await Promise.all(['one', 'two'].map(replica => serve(t, { ...two, sessions: { replica } })))
  const [one = '', other = ''] = replicas.map(({ origin }) => `${origin}/mcp`)
  const transport = new StreamableHTTPClientTransport(new URL(one))
  const client = new Client(info)
  await client.connect(transport)
  t.teardown(() => client.close())
  await whole(client)
  t.match(transport.sessionId, /^one:/)
  const ask = (url: string) => fetch(url, {
    method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__echo"}}',
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-session-id': transport.sessionId ?? '',
      'mcp-protocol-version': '2025-11-25',
    },
  })
  t.match(await (await ask(one)).text(), /a: echo /)
  const elsewhere = await ask(other)
  t.equal(elsewhere.status, 404)
  t.match(await elsewhere.text(), /began at another replica/)
})

t.test('600 tools, names of 65 characters, a server that is killed every second, and one that changes its list', async t => {
  const long = 'n'.repeat(62)
  const { origin, started } = await serve(t, {
    admin: '127.0.0.1:0',
    servers: {
      many: server('many', { count: 600 }), long: server('long', { tools: [`${long}abc`, `${long}abd`] }), killed: server('killed'),
    },
  })
  const client = new Client(info)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`)))
  t.teardown(() => client.close())
  await whole(client)
  const names = await namesOf(client)
  t.equal(names.filter(name => name.startsWith('many__')).length, 605)
  t.equal(names.filter(name => name.startsWith('long__')).length, 2)
  t.ok(names.every(name => name.length <= 64))
  for (const name of names.filter(one => one.startsWith('long__'))) {
    t.match(textOf(await client.callTool({ name })), /^long: n{62}ab/)
  }
  for (let kills = 0; kills < 5; kills += 1) {
    await client.callTool({ name: 'killed__die' }).catch(() => undefined)
    await client.callTool({ name: 'many__change' })
    t.equal(textOf(await client.callTool({ name: 'many__tool599' })), 'many: tool599 ', 'the others notice nothing')
    t.ok((await namesOf(client)).length >= 600)
  }
  await until(async () => (await client.callTool({ name: 'killed__echo' })).isError !== true)
  const merger = childrenOf(started.pid).length
  t.ok(merger >= 4, 'a front, a merger, and a relay process for each server')
})

t.test('the merger\'s process dies: its sessions are over, and the next one serves again', async t => {
  const { origin, started } = await serve(t, two)
  const first = new Client(info)
  await first.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`)))
  await whole(first)
  for (const pid of childrenOf(started.pid)) process.kill(pid, 'SIGKILL')
  await t.rejects(first.callTool({ name: 'a__echo' }))
  const second = new Client(info)
  await until(() => second.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`))).then(() => true, () => false))
  t.teardown(() => second.close())
  await whole(second)
  t.equal(textOf(await second.callTool({ name: 'a__echo' })), 'a: echo ')
})

t.test('a server\'s idle relay process ends: the next one knows what the client of the merged session declared', async t => {
  const sampling = await sampler(t)
  const { origin, started } = await serve(t, {
    sessions: { idleMs: 1000 }, servers: { a: { url: sampling.url, deny: ['none'] } },
  })
  const url = `${origin}/mcp`
  const headers = await open(url)
  const stream = await begin(url, 'GET', headers, '')
  let heard = ''
  stream.setEncoding('utf8').on('data', (text: string) => void (heard += text))
  const sampled = async (id: number) => {
    let answer = ''
    void send(url, headers, call(id, 'a__sample')).then(({ text }) => (answer = text))
    await until(() => answer !== '' || heard.includes('sampling/createMessage'))
    t.match(answer, /Method not found/)
    t.notMatch(heard, /sampling/)
  }
  await sampled(1)
  const many = childrenOf(started.pid).length
  await until(() => childrenOf(started.pid).length < many)
  await sampled(2)
  t.equal(sampling.sessions(), 1, 'in the same session of the server')
  stream.destroy()
})
