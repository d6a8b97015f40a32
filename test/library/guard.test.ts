import { fileURLToPath } from 'node:url'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport as InMemoryV1 } from '@modelcontextprotocol/sdk/inMemory.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  Client as ClientV2, InMemoryTransport as InMemoryV2, StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import t from 'tap'
import {
  createRelay, createSchemaChecker, CustomsError, guard, type Entry, type GuardOptions, type SchemaChecker,
  type SdkTransport, type Subject,
} from '#index.js'
import { serveBodies } from '#test/kit/http.js'
import { start, urlOf } from '../e2e/harness.js'
import { ScriptedServer, tick } from './scripted.js'

const lying = fileURLToPath(new URL('../../docker/demo/lying-server.mjs', import.meta.url))
const lyingServer = { command: process.execPath, args: [lying] }
const info = { name: 'test', version: '1' }

const rulesOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ findings }) => findings.map(({ rule }) => rule))

t.test('what is no transport is refused', t => {
  const none = JSON.parse('{}') as SdkTransport
  t.throws(() => guard(none), { code: 'BAD_CONFIG', message: 'guard: the transport has no start(): ' +
    'give it one of the SDK\'s' })
  t.end()
})

t.test('clients of both SDKs get the checks with one line', async t => {
  const recorded: Entry[] = []
  const options: GuardOptions = { policy: 'standard', onRecord: entry => recorded.push(entry) }
  const v1 = new ClientV1(info)
  await v1.connect(guard(new StdioV1(lyingServer), options))
  const v2 = new ClientV2(info)
  await v2.connect(guard(new StdioV2(lyingServer), options))
  t.teardown(() => Promise.all([v1.close(), v2.close()]))

  for (const [name, client] of [['v1', v1], ['v2', v2]] as const) {
    const { tools } = await client.listTools()
    const names = tools.map(tool => tool.name)
    t.ok(names.includes('get_weather'), `${name}: an honest definition passes`)
    t.notOk(names.includes('add_numbers'), `${name}: hidden text is kept out of the list`)
    t.strictSame(
      tools.find(tool => tool.name === 'delete_everything')?.annotations, { title: 'Look around' },
      `${name}: no claims of strangers`,
    )

    const paris = await client.callTool({ name: 'get_weather', arguments: { city: 'Paris' } })
    t.strictSame(paris.structuredContent, { temperature: 21.5, conditions: 'sunny' }, name)
    const atlantis = await client.callTool({ name: 'get_weather', arguments: { city: 'Atlantis' } })
    t.equal(atlantis.isError, true, name)
    t.match(JSON.stringify(atlantis.content), /result\/schema/, name)
    t.equal(atlantis.structuredContent, undefined, name)
    const unlisted: Promise<unknown> = client.callTool({ name: 'add_numbers', arguments: { a: '1', b: '2' } })
    await t.rejects(unlisted, { code: -32602, message: /Unknown tool: add_numbers/ }, name)
  }
  t.ok(rulesOf(recorded).includes('result/schema'))
  t.match(
    recorded.find(({ event }) => event === 'tools/call'),
    { tool: 'get_weather', verdict: 'pass', client: { name: 'test' } },
  )
})

t.test('a modern client of v2 gets the same checks', async t => {
  const client = new ClientV2(info, { versionNegotiation: { mode: 'auto' } })
  await client.connect(guard(new StdioV2(lyingServer)))
  t.teardown(() => client.close())
  t.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
  const { tools } = await client.listTools()
  t.notOk(tools.some(tool => tool.name === 'add_numbers'))
  t.match(await client.callTool({ name: 'get_weather', arguments: { city: 'Atlantis' } }), { isError: true })
})

t.test('the checks are the same over HTTP and stdio', async t => {
  const server = start(t, process.execPath, [lying, '--http', '0'])
  const url = await urlOf(server)
  const v1 = new ClientV1(info)
  await v1.connect(guard(new HttpV1(new URL(url))))
  const v2 = new ClientV2(info, { versionNegotiation: { mode: 'auto' } })
  await v2.connect(guard(new HttpV2(new URL(url))))
  t.equal(v2.getNegotiatedProtocolVersion(), '2026-07-28')
  for (const client of [v1, v2]) {
    // Without a list: the guard asks for it.
    t.match(await client.callTool({ name: 'get_weather', arguments: { city: 'Atlantis' } }), {
      isError: true,
    })
    t.match(await client.callTool({ name: 'get_weather', arguments: { city: 'Paris' } }), {
      structuredContent: { temperature: 21.5 },
    })
    const { tools } = await client.listTools()
    t.notOk(tools.some(({ name }) => name === 'add_numbers'))
    await client.close()
  }
})

t.test('an authorization error of the server reaches the client unchanged', async t => {
  const url = await serveBodies(t, (_, response) =>
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end())
  const open = () => new HttpV1(new URL(url))
  const failureOf = (transport: SdkTransport): Promise<unknown> =>
    new ClientV1(info).connect(transport as Transport).then(() => undefined, (error: unknown) => error)
  const bare = await failureOf(open())
  t.type(bare, Error)
  t.same(await failureOf(guard(open())), bare)
})

/** A guarded in-memory transport, with a scripted server at its other end. */
const open = async (options: GuardOptions = {}) => {
  const [near, far] = InMemoryV1.createLinkedPair()
  const guarded = guard(near, options)
  const server = new ScriptedServer(far)
  const received: unknown[] = []
  const closed: string[] = []
  guarded.onmessage = message => received.push(message)
  guarded.onclose = () => closed.push('closed')
  await far.start()
  await guarded.start()
  return { near, far, guarded, server, received, closed }
}

const call = (id: number, name: string) => ({
  jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} },
})

t.test('a message without findings is delivered as the same object, with its extra data', async t => {
  const { guarded, server, far } = await open()
  const extras: unknown[] = []
  const received: unknown[] = []
  guarded.onmessage = (message, extra) => {
    received.push(message)
    extras.push(extra)
  }
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const
  await guarded.send(ping)
  t.equal(server.received[0], ping)
  const pong = { jsonrpc: '2.0', id: 1, result: { _meta: { big: 1.5 } } } as const
  await far.send(pong)
  const note = {
    jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: null },
  } as const
  const authInfo = { token: 't', clientId: 'c', scopes: [] }
  await far.send(note, { authInfo })
  t.equal(received[0], pong)
  t.equal(received[1], note)
  t.strictSame(extras[1], { authInfo })
})

t.test('options of send reach the transport', async t => {
  const sent: { message: unknown; options: unknown }[] = []
  const inner: SdkTransport = {
    start: () => Promise.resolve(),
    send(message, options) {
      sent.push({ message, options })
      return Promise.resolve()
    },
    close: () => Promise.resolve(),
    sessionId: 'session-1',
    hasPerRequestStream: true,
  }
  const guarded = guard(inner)
  await guarded.start()
  t.equal(guarded.sessionId, 'session-1')
  t.equal(guarded.hasPerRequestStream, true)
  t.equal(guarded.setProtocolVersion, undefined, 'nothing that the transport does not have')
  const onresumptiontoken = () => {}
  await guarded.send({ jsonrpc: '2.0', id: 1, method: 'ping' }, { resumptionToken: 'r', onresumptiontoken })
  const options = { relatedRequestId: 7 }
  await guarded.send(
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } }, options,
  )
  t.match(sent[0]?.options, { resumptionToken: 'r', onresumptiontoken })
  t.equal(sent[1]?.options, options)
  await guarded.close()
})

t.test('the version that was agreed on reaches the transport', async t => {
  const versions: string[] = []
  const [near, far] = InMemoryV1.createLinkedPair()
  const inner: SdkTransport = Object.assign(near, {
    setProtocolVersion: (version: string) => versions.push(version),
  })
  const server = new ScriptedServer(far)
  server.answerInitialize()
  await far.start()
  const client = new ClientV1(info)
  await client.connect(guard(inner))
  t.strictSame(versions, ['2025-11-25'])
  await client.close()
})

t.test('a send that fails fails for its caller with the error itself, and with nothing else', async t => {
  const failure = new Error('unauthorized')
  const received: unknown[] = []
  const recorded: Entry[] = []
  const inner: SdkTransport = {
    start: () => Promise.resolve(), send: () => Promise.reject(failure), close: () => Promise.resolve(),
  }
  const guarded = guard(inner, { onRecord: entry => recorded.push(entry) })
  guarded.onmessage = message => received.push(message)
  await guarded.start()
  await t.rejects(guarded.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' }), failure)
  await t.rejects(guarded.send({ jsonrpc: '2.0', method: 'notifications/initialized' }), failure)
  t.strictSame(received, [])
  t.match(recorded.filter(({ event }) => event === 'tools/list'), [{ id: 1 }], 'it is on record all the same')
  await guarded.close()
})

t.test('a call whose list cannot be asked for is judged without it', async t => {
  const inner: SdkTransport = {
    start: () => Promise.resolve(),
    send: message =>
      JSON.stringify(message).includes('tools/list') ? Promise.reject(new Error('no')) : Promise.resolve(),
    close: () => Promise.resolve(),
  }
  const recorded: Entry[] = []
  const guarded = guard(inner, { onRecord: entry => recorded.push(entry) })
  const received: unknown[] = []
  guarded.onmessage = message => received.push(message)
  await guarded.start()
  await guarded.send(call(1, 'anything'))
  inner.onmessage?.({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'done' }] } })
  t.match(received, [{ id: 1, result: { isError: true } }], 'what cannot be checked does not pass')
  t.ok(rulesOf(recorded).includes('result/unchecked'))
  await guarded.close()
})

t.test('a cancelled request is forgotten', async t => {
  const inner: SdkTransport = {
    start: () => Promise.resolve(), send: () => new Promise(() => {}), close: () => Promise.resolve(),
  }
  const recorded: Entry[] = []
  const guarded = guard(inner, { onRecord: entry => recorded.push(entry) })
  const received: unknown[] = []
  guarded.onmessage = message => received.push(message)
  await guarded.start()
  const controller = new AbortController()
  void guarded.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { requestSignal: controller.signal })
  controller.abort()
  t.strictSame(received, [])
  t.match(recorded.filter(({ event }) => event === 'tools/list'), [{ id: 1 }])
  await guarded.close()
})

t.test('a stream that ends before the answer is an answer, and its caller is told as well', async t => {
  let end: (() => void) | undefined
  const inner: SdkTransport = {
    start: () => Promise.resolve(),
    send(_message, options) {
      end = (options as { onRequestStreamEnd: () => void }).onRequestStreamEnd
      return Promise.resolve()
    },
    close: () => Promise.resolve(),
  }
  const guarded = guard(inner)
  const heard: unknown[] = []
  guarded.onmessage = message => heard.push(message)
  await guarded.start()
  await guarded.send(
    { jsonrpc: '2.0', id: 1, method: 'ping' }, { onRequestStreamEnd: () => heard.push('told') },
  )
  end?.()
  end?.()
  t.match(heard, [{ id: 1, error: { code: -31001 } }, 'told', 'told'])
  await guarded.close()
})

t.test('a server request without a declared capability is refused, and never reaches the client', async t => {
  const { far, server, received } = await open()
  await far.send({
    jsonrpc: '2.0', id: 9, method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 },
  })
  t.strictSame(received, [])
  t.match(server.received, [{ id: 9, error: { code: -32601 } }])
})

t.test('pending requests get an error before onclose is called', async t => {
  const { far, guarded } = await open()
  const heard: unknown[] = []
  guarded.onmessage = message => heard.push(message)
  guarded.onclose = () => heard.push('closed')
  await guarded.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
  await far.close()
  t.match(heard, [{ id: 1, error: { code: -31001 } }, 'closed'])
  await t.rejects(guarded.send({ jsonrpc: '2.0', id: 2, method: 'ping' }), /not open/)
})

t.test('close closes the transport once, and calls onclose once', async t => {
  const heard: string[] = []
  const inner: SdkTransport = {
    start: () => Promise.resolve(),
    send: () => Promise.resolve(),
    close() {
      heard.push('close')
      // As the in-memory transports do it.
      inner.onclose?.()
      inner.onclose?.()
      return Promise.resolve()
    },
  }
  const guarded = guard(inner)
  guarded.onclose = () => heard.push('closed')
  await guarded.start()
  await Promise.all([guarded.close(), guarded.close()])
  await guarded.close()
  t.strictSame(heard, ['close', 'closed'])
})

t.test('a transport that never calls onclose is closed all the same', async t => {
  const guarded = guard({
    start: () => Promise.resolve(), send: () => Promise.resolve(), close: () => Promise.resolve(),
  })
  const heard: unknown[] = []
  guarded.onmessage = message => heard.push(message)
  guarded.onclose = () => heard.push('closed')
  await guarded.start()
  await guarded.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
  await guarded.close()
  t.match(heard, [{ id: 1, error: { code: -31001 } }, 'closed'])
})

t.test('the error of a transport that does not start is thrown', async t => {
  const failure = new Error('no such program')
  const guarded = guard({
    start: () => Promise.reject(failure), send: () => Promise.resolve(), close: () => Promise.resolve(),
  })
  await t.rejects(guarded.start(), failure)
})

t.test('errors of the transport go to its former handler and to the client', async t => {
  const [near] = InMemoryV2.createLinkedPair()
  const heard: string[] = []
  near.onerror = error => heard.push(`before: ${error.message}`)
  near.onclose = () => heard.push('before: closed')
  const guarded = guard(near)
  guarded.onerror = error => heard.push(error.message)
  await guarded.start()
  near.onerror(new Error('noise'))
  await guarded.close()
  t.strictSame(heard, ['before: noise', 'noise', 'before: closed'])
})

t.test('when onRecord throws, nothing passes any more', async t => {
  const failure = new Error('disk full')
  const { guarded, closed, server, received } = await open({
    onRecord: ({ event }) => {
      if (event === 'tools/list') throw failure
    },
  })
  const errors: Error[] = []
  guarded.onerror = error => errors.push(error)
  server.answer('tools/list', { tools: [{ name: 'secret', inputSchema: { type: 'object' } }] })
  await guarded.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  await tick()
  t.match(received, [{ id: 1, error: { code: -31001 } }])
  t.notMatch(JSON.stringify(received), 'secret')
  t.strictSame(closed, ['closed'])
  t.strictSame(errors, [failure])
})

t.test('a message that is no JSON value is an error, not a message', async t => {
  const { guarded, near, received } = await open()
  const errors: Error[] = []
  guarded.onerror = error => errors.push(error)
  await t.rejects(guarded.send({ jsonrpc: '2.0', id: 1n, method: 'ping' }), TypeError)
  await t.rejects(guarded.send(undefined), TypeError)
  near.onmessage?.({ jsonrpc: '2.0', method: 'x', params: { _meta: { n: 1n } } } as never)
  t.equal(errors.length, 1)
  t.strictSame(received, [])
})

t.test('an unknown option is named in the error', t => {
  const inner: SdkTransport = {
    start: () => Promise.resolve(), send: () => Promise.resolve(), close: () => Promise.resolve(),
  }
  const cases: [string, object, RegExp][] = [
    ['a policy', { policy: 'lax' }, /policy: no preset "lax" \(observe, standard, strict, compat\)/],
    ['a rule', { rules: { 'result/shema': 'log' } }, /rules: no rule "result\/shema"/],
    ['an action', { rules: { 'result/schema': 'warn' } }, /rules: result\/schema: no action "warn"/],
    [
      'demote where there is nothing to demote',
      { rules: { 'tool/name': 'demote' } },
      /demote is for rules under result\//,
    ],
    ['a limit', { limits: { bytes: 1 } }, /limits: no limit "bytes"/],
    ['a limit out of range', { limits: { depth: 1 } }, /limits: depth must be an integer from 8 to 1000/],
    ['an option', { polcy: 'strict' }, /^no option "polcy"; did you mean "policy"\?$/],
    [
      'an option that is like nothing', { xxxxxxxxxx: 1 },
      /^no option "xxxxxxxxxx" \(policy, rules, trusted, tools, limits, server, onRecord, checker, translate\)$/,
    ],
    ['an option of prototypes', { constructor: {} }, /^no option "constructor"/],
    [
      'a tool\'s option', { tools: { rm: { denied: true } } },
      /^tools: rm: no option "denied" \(deny, outputSchema, resultSchema, structured, annotations\)$/,
    ],
    ['a tool that is none', { tools: { rm: 'deny' } }, /^tools: rm must be an object$/],
    ['a denial that is none', { tools: { rm: { deny: 'yes' } } }, /^tools: rm: deny must be true or false$/],
    [
      'a schema that is none', { tools: { rm: { outputSchema: null } } },
      /^tools: rm: outputSchema must be an object, true or false$/,
    ],
    ['trust that is none', { trusted: 'no' }, /^trusted must be true or false$/],
    ['rules that are none', { rules: null }, /^rules must be an object$/],
    ['limits that are none', { limits: 5 }, /^limits must be an object$/],
    ['a hearer that is none', { onRecord: {} }, /^onRecord must be a function$/],
    ['a rule that nearly is one', { rules: { 'result/shema': 'log' } }, /did you mean "result\/schema"\?$/],
    [
      'annotations that are no JSON', { tools: { echo: { annotations: { n: 1n } } } },
      /^tools: echo: annotations must be an object of JSON$/,
    ],
    [
      'annotations that are a list', { tools: { echo: { annotations: [] } } },
      /tools: echo: annotations must be an object/,
    ],
  ]
  for (const [name, options, message] of cases) {
    t.throws(() => guard(inner, options), { code: 'BAD_CONFIG', message }, name)
    t.throws(() => guard(inner, options), CustomsError, name)
  }
  t.throws(() => guard(inner, null as never), {
    code: 'BAD_CONFIG', message: 'the options must be an object',
  })
  t.throws(() => createRelay({ sesion: 'x' } as never), {
    code: 'BAD_CONFIG', message: 'no option "sesion"; did you mean "session"?',
  })
  t.throws(() => createRelay({ onRecord() {} } as never), {
    code: 'BAD_CONFIG', message: /no option "onRecord"/,
  })
  t.end()
})

t.test('whatever a caller\'s own functions throw, now or later, is told, and stops nothing else', async t => {
  const unhandled: unknown[] = []
  const hear = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', hear)
  process.on('uncaughtException', hear)
  t.teardown(() => {
    process.off('unhandledRejection', hear)
    process.off('uncaughtException', hear)
  })
  const fails = (name: string) => (): never => {
    throw new Error(name)
  }
  const failsLater = (name: string) => () => Promise.reject(new Error(name)) as never
  for (const failing of [fails, failsLater]) {
    const { guarded, server, near } = await open()
    const told: string[] = []
    guarded.onmessage = failing('onmessage')
    guarded.onclose = failing('onclose')
    guarded.onerror = error => {
      told.push(error.message)
      return failing('onerror')()
    }
    near.close = failing('close')
    server.answer('tools/list', { tools: [] })
    await guarded.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    await t.rejects(guarded.close(), { message: 'close' })
    await tick()
    t.strictSame([...new Set(told)], ['onmessage', 'onclose'])
    t.strictSame(unhandled, [])
  }
})

t.test('when a promise of onRecord is rejected, nothing passes from then on', async t => {
  const { guarded, server, received, closed } = await open({
    onRecord: ({ event }) => (event === 'tools/list' ? Promise.reject(new Error('disk full')) : undefined),
  })
  const errors: string[] = []
  guarded.onerror = ({ message }) => errors.push(message)
  server.answer('tools/list', { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] })
  await guarded.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  await tick()
  t.strictSame([closed, errors], [['closed'], ['disk full']])
  const before = received.length
  await guarded.send(call(2, 'echo')).catch(() => undefined)
  t.equal(server.asked('tools/call'), 0)
  t.equal(received.length, before)
})

t.test('an invalid signal fails only its own request', async t => {
  const { guarded, server, received } = await open()
  await t.rejects(
    guarded.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { requestSignal: {} }), TypeError,
  )
  server.answer('tools/list', { tools: [] })
  await guarded.send({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
  t.match(received.at(-1), { id: 2, result: { tools: [] } })
})

t.test('guards share a checker, and do not close it', async t => {
  const inner = createSchemaChecker()
  let checks = 0
  let closes = 0
  const checker: SchemaChecker = {
    check: subject => (checks++, inner.check(subject)),
    close: () => (closes++, inner.close()),
  }
  t.teardown(() => inner.close())
  for (const name of ['one', 'two']) {
    const { guarded, server, received } = await open({ checker })
    server.answer('tools/list', {
      tools: [{ name, inputSchema: { type: 'object' }, outputSchema: { type: 'object', required: ['n'] } }],
    })
    server.answer('tools/call', { content: [], structuredContent: {} })
    await guarded.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    await guarded.send(call(2, name))
    t.match(received.at(-1), { id: 2, result: { isError: true } })
    await guarded.close()
    await tick()
  }
  t.ok(checks >= 4)
  t.equal(closes, 0)
})

t.test('a value that is not JSON is not checked, and does no harm', async t => {
  const checker = createSchemaChecker()
  t.teardown(() => checker.close())
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const large = { list: Array.from({ length: 50_000 }, (_, index) => index), n: 1n }
  const cases: unknown[] = [
    ...[circular, large, { f() {} }, [NaN], Symbol('x')].flatMap(value => [
      { kind: 'value', schema: { type: 'object' }, value, path: '/x' },
      { kind: 'value', schema: { const: value }, value: {}, path: '/x' },
      { kind: 'schema', schema: value, path: '/x' },
    ]),
    null, undefined, 7, {}, { kind: 'other', schema: {}, path: '' }, { kind: 'schema', schema: {} },
  ]
  for (const subject of cases) {
    t.match(await checker.check(subject as Subject), [{ kind: 'unchecked' }])
  }
  t.strictSame(
    await checker.check({ kind: 'value', schema: { type: 'object' }, value: {}, path: '' }), [],
    'the next is judged',
  )
})

t.test('options decide: rules, trust, single tools', async t => {
  const { guarded, server, received } = await open({
    policy: 'strict',
    rules: { 'tool/name': 'off', 'call/unlisted': 'log' },
    trusted: true,
    tools: { denied: { deny: true }, typed: { outputSchema: { type: 'object', required: ['n'] } } },
  })
  const inputSchema = { type: 'object' }
  const annotations = { readOnlyHint: true }
  server.answer('tools/list', {
    tools: [
      { name: 'näme', inputSchema, annotations }, { name: 'denied', inputSchema },
      { name: 'typed', inputSchema },
    ],
  })
  await guarded.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  t.match(received[0], {
    result: { tools: [{ name: 'näme', annotations }, { name: 'typed', outputSchema: { required: ['n'] } }] },
  })
  server.answer('tools/call', { content: [], structuredContent: {} })
  await guarded.send(call(2, 'typed'))
  t.match(received[1], { id: 2, result: { isError: true } })
  await guarded.send(call(3, 'denied'))
  t.match(received[2], { id: 3, result: { isError: true } })
  t.equal(server.asked('tools/call'), 1, 'a denied call never leaves')
})
