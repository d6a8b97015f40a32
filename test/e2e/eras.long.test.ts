import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  type CallToolResult, CreateMessageRequestSchema, ElicitRequestSchema, EmptyResultSchema,
  ListRootsRequestSchema, LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { auditOf, cli, scratch } from './bridge.js'
import { codeOf, Heard, overHttp, textOf, waysOf } from './era-peers.js'
import { call, initialize as initializeBody, open as openSession, send, until } from './gateways.js'
import { start } from './harness.js'
import { serve } from './http-bridges.js'

const server = fileURLToPath(new URL('../../test/fixtures/eras/modern.mjs', import.meta.url))

const legacy = fileURLToPath(new URL('../../test/fixtures/eras/legacy-server.mjs', import.meta.url))

const program = [process.execPath, server]
const { ways } = waysOf<Transport>(
  { stdio: StdioClientTransport, http: StreamableHTTPClientTransport }, { stdio: program, http: program },
)

interface Peer {
  readonly t: Test
  readonly client: Client
  readonly transport: Transport
  /** The params of questions and notifications, by method. */
  readonly heard: (name: string) => readonly Record<string, unknown>[]
  readonly call: (name: string, given?: object, options?: object) => Promise<CallToolResult>
}

/** What a legacy client does with a server of 2026-07-28, in order. */
const steps: Readonly<Record<string, (peer: Peer) => Promise<void>>> = {
  'the client connects': async ({ t, client, transport }) => {
    await client.connect(transport)
    t.equal(client.getServerVersion()?.name, 'modern-only')
    t.equal(client.getInstructions(), 'Ask for anything.')
    t.notOk(client.getServerCapabilities()?.experimental)
  },
  'tools/list': async ({ t, client }) => {
    const { tools, ...rest } = await client.listTools()
    t.same(rest, {}, 'nothing of the other revision')
    t.equal(tools.length, 17)
    t.match(tools.find(({ name }) => name === 'array'), { outputSchema: { type: 'object' } })
  },
  'a call': async ({ t, call }) => {
    t.same(await call('echo', { text: 'hi' }), { content: [{ type: 'text', text: 'hi' }] })
  },
  'a call with arguments that nobody declared': async ({ t, call }) => {
    t.equal(textOf(await call('echo', { text: 'hi', more: { n: [1.5, null] } })), 'hi')
  },
  'an error of a tool': async ({ t, call }) => void t.equal((await call('fail')).isError, true),
  'an unknown tool': async ({ t, call }) => void t.equal(await codeOf(call('none')), -32602),
  'a structured result': async ({ t, call }) => void t.same((await call('structured')).structuredContent, { sum: 3 }),
  'a structured result that is an array': async ({ t, call }) => {
    t.same((await call('array')).structuredContent, { result: [{ n: 1 }] })
  },
  'an argument that is also a header': async ({ t, call }) => {
    t.equal(textOf(await call('header', { region: 'eu ü' })), 'Region: eu ü')
  },
  'prompts/list': async ({ t, client }) => void t.equal((await client.listPrompts()).prompts.length, 2),
  'prompts/get': async ({ t, client }) => {
    t.match(await client.getPrompt({ name: 'plain' }), { messages: [{ content: { text: 'plain' } }] })
  },
  'resources/list': async ({ t, client }) => void t.equal((await client.listResources()).resources.length, 1),
  'resources/read': async ({ t, client }) => {
    t.same(await client.readResource({ uri: 'note://one' }), { contents: [{ uri: 'note://one', text: 'one' }] })
  },
  'resources/templates/list': async ({ t, client }) => {
    t.equal((await client.listResourceTemplates()).resourceTemplates.length, 1)
  },
  'completion/complete': async ({ t, client }) => {
    const ref = { type: 'ref/resource', uri: 'note://any/{name}' } as const
    const { completion } = await client.complete({ ref, argument: { name: 'name', value: '' } })
    t.same(completion.values, ['alpha', 'beta'])
  },
  'a prompt that asks the user': async ({ t, client }) => {
    t.match(await client.getPrompt({ name: 'asking' }), { messages: [{ content: { text: 'Hello Ann' } }] })
  },
  'an unknown resource': async ({ t, client }) => {
    t.equal(await codeOf(client.readResource({ uri: 'note://none' })), -32602)
  },
  ping: async ({ t, client }) => void t.same(await client.ping(), {}),
  'roots/list_changed': ({ client }) => client.sendRootsListChanged(),
  progress: async ({ t, call }) => {
    const seen: number[] = []
    await call('progress', {}, { onprogress: ({ progress }: { progress: number }) => void seen.push(progress) })
    t.same(seen, [1, 2, 3])
  },
  'cancellation reaches the tool': async ({ t, call }) => {
    const controller = new AbortController()
    const onprogress = () => controller.abort()
    const slow = codeOf(call('slow', {}, { signal: controller.signal, onprogress }))
    t.not(await slow, 'no error')
    await until(async () => textOf(await call('cancelled')) === '1')
  },
  'twenty calls at once': async ({ t, call }) => {
    const words = Array.from({ length: 20 }, (_, index) => `call ${index}`)
    t.same((await Promise.all(words.map(text => call('echo', { text })))).map(textOf), words)
  },
  'log messages': async ({ t, client, call, heard }) => {
    await call('log')
    t.equal(heard('log').length, 0, 'none before the client has set a level')
    await client.setLoggingLevel('debug')
    await call('log')
    await until(() => heard('log').length > 0)
  },
  'elicitation by a form': async ({ t, call, heard }) => {
    t.equal(textOf(await call('form')), 'Hello Ann')
    t.equal(heard('elicitation').at(-1)?.['mode'], 'form')
  },
  sampling: async ({ t, call }) => void t.equal(textOf(await call('sample')), 'sampled'),
  roots: async ({ t, call }) => void t.equal(textOf(await call('roots')), 'file:///root'),
  'three questions at once': async ({ t, call }) => void t.equal(textOf(await call('three')), 'Ann sampled 1'),
  'five rounds': async ({ t, call }) => void t.equal(textOf(await call('rounds', { count: 5 })), 'after 5'),
  'elicitation by a URL': async ({ t, call, heard }) => {
    t.equal(textOf(await call('url')), 'accept')
    t.type(heard('elicitation').at(-1)?.['elicitationId'], 'string')
  },
  'more rounds than eight': async ({ t, call }) => void t.equal((await call('rounds', { count: 20 })).isError, true),
  list_changed: async ({ call, heard }) => {
    await call('change-tools')
    await until(() => heard('tools').length > 0)
  },
  'resources/subscribe': async ({ t, client }) => void t.same(await client.subscribeResource({ uri: 'note://one' }), {}),
  'an update': async ({ t, call, heard }) => {
    await call('update')
    await until(() => heard('updated').length > 0)
    t.same(heard('updated')[0], { uri: 'note://one' })
  },
  'resources/unsubscribe': async ({ t, client, call, heard }) => {
    t.same(await client.unsubscribeResource({ uri: 'note://one' }), {})
    const before = heard('tools').length
    await call('update')
    await call('change-tools')
    await until(() => heard('tools').length > before)
    t.equal(heard('updated').length, 1)
  },
  'an unknown method': async ({ t, client }) => {
    t.equal(await codeOf(client.request({ method: 'no/such' }, EmptyResultSchema)), -32601)
  },
}

const peerOf = (t: Test, transport: Transport): Peer => {
  const heard = new Heard()
  const hear = heard.hear.bind(heard)
  const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } }
  const client = new Client({ name: 'legacy', version: '1' }, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    hear('elicitation', params)
    return { action: 'accept', ...(params.mode !== 'url' && { content: { name: 'Ann' } }) }
  })
  client.setRequestHandler(CreateMessageRequestSchema, () =>
    ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///root' }] }))
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => hear('log', params))
  client.setNotificationHandler(ToolListChangedNotificationSchema, ({ params }) => hear('tools', params))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => hear('updated', params))
  return {
    t, client, transport, heard: name => heard.of(name),
    call: async (name, given = {}, options = {}) =>
      (await client.callTool({ name, arguments: { ...given } }, undefined, options)) as CallToolResult,
  }
}

for (const [way, open] of Object.entries(ways)) {
  void t.test(`a legacy client and a server of 2026-07-28 only, ${way}`, async t => {
    const audit = join(scratch(t), 'audit.ndjson')
    const peer = peerOf(t, await open(t, ['--audit', audit]))
    for (const [name, step] of Object.entries(steps)) await t.test(name, t => step({ ...peer, t }))
    await peer.client.close()
    await until(() => readFileSync(audit, 'utf8').includes('session/start'))
    const [start] = auditOf(audit)
    t.match(start, { event: 'session/start', revision: '2026-07-28', clientRevision: '2025-11-25' })
  })
}

void t.test('the session of a legacy client is 404 where it is unknown or ended', async t => {
  const { url } = await serve(t, [await overHttp(t, program)])
  const begun = await openSession(`${url}/mcp`)
  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  const answered = await send(`${url}/mcp`, begun, list)
  t.equal(answered.status, 200)
  t.match(answered.text, /"tools":\[/)
  const unknown = await send(`${url}/mcp`, { ...begun, 'mcp-session-id': 'one-of-another-relay' }, list)
  t.equal(unknown.status, 404)
  t.match(unknown.text, /"error"/)
  t.equal((await send(`${url}/mcp`, begun, '', 'DELETE')).status, 200)
  await until(async () => (await send(`${url}/mcp`, begun, list)).status === 404)
})

/** Two calls with one id, at once. @returns what the client and the record say of them */
const repeated = async (t: Test, target: readonly string[]) => {
  const audit = join(scratch(t), 'audit.ndjson')
  const relay = start(t, process.execPath, [cli, 'wrap', '--audit', audit, ...target])
  relay.send(initializeBody)
  await relay.next()
  relay.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  relay.send(`${call(1, 'echo', { text: 'hi', message: 'hi' })}\n${call(1, 'echo', { text: 'no', message: 'no' })}`)
  const answers = [await relay.responseTo('1'), await relay.responseTo('1')].map(line => JSON.parse(line) as object)
  relay.closeInput()
  await relay.exit
  const verdicts = auditOf(audit).filter(({ event }) => event === 'tools/call')
    .map(({ id, verdict, findings }) => [id, verdict === 'block' && findings.map(({ rule }) => rule)])
  return { answers, verdicts: verdicts.sort() }
}

void t.test('of two calls with one id the second is treated as without a translation', async t => {
  const same = await repeated(t, ['--', process.execPath, legacy])
  const target = await overHttp(t, program)
  for (const modern of [['--', ...program], [target]]) {
    const translated = await repeated(t, modern)
    t.strictSame(translated.verdicts, same.verdicts)
    t.strictSame(translated.answers[0], same.answers[0], 'the error comes first')
    t.match(translated.answers[1], { result: { content: [{ text: /hi/ }] } })
  }
  t.match(same.verdicts, [[1, false], [1, ['wire/id']]])
})

void t.test('with translate off, and within one era, the client gets the server\'s own answer', async t => {
  const initialize = await send(await overHttp(t, program), {}, initializeBody)
  t.equal(initialize.status, 400)
  const off = await serve(t, ['--translate', 'off', await overHttp(t, program)])
  t.same(await send(`${off.url}/mcp`, {}, initializeBody), initialize)
  const both = await overHttp(t, program, { LEGACY: 'stateless' })
  const { url } = await serve(t, [both])
  t.same(await send(`${url}/mcp`, {}, initializeBody), await send(both, {}, initializeBody))
})
