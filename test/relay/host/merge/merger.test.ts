import t from 'tap'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'
import { limitsFor } from '#relay/profiles/limits.js'
import { fitsTemplate } from '#relay/host/merge/resources.js'
import { type Answers, frameOf, Merged, RpcError, serverWith, textIn, tool, type Message } from './harness.js'

const never: Answers = { initialize: () => undefined }

t.test('names have the prefix of their server, also when there is one server', t => {
  const one = new Merged({ a: serverWith('a', { tools: [tool('x')] }) }).begin()
  t.strictSame(one.names('tools/list', 'tools'), ['a__x'])
  const two = new Merged({ a: serverWith('a', { tools: [tool('x')] }), b: serverWith('b', { tools: [tool('x')] }) }).begin()
  t.strictSame(two.names('tools/list', 'tools'), ['a__x', 'b__x'])
  t.equal(textIn(two.ask('tools/call', { name: 'b__x' })), 'b: x', 'the server gets its own name')
  t.end()
})

t.test('a name of more than 64 characters is shortened, and always to the same', t => {
  const long = 'x'.repeat(64)
  const make = () => new Merged({ a: serverWith('a', { tools: [tool(long), tool(`${long}y`)] }) }).begin()
  const names = make().names('tools/list', 'tools')
  t.match(names[0], /^a__x{48}_[0-9a-f]{12}$/)
  t.equal(new Set(names).size, 2)
  t.strictSame(make().names('tools/list', 'tools'), names)
  t.equal(textIn(make().ask('tools/call', { name: names[0] })), `a: ${long}`, 'before it was listed too')
  t.end()
})

t.test('names and number of tools are those that the client\'s profile takes, of all servers together', t => {
  const many = (count: number) => Array.from({ length: count }, (_, number) => tool(`tool${number}`))
  const [long, servers] = ['x'.repeat(46), () => ({
    a: serverWith('a', { tools: [tool(long), ...many(99)] }), b: serverWith('b', { tools: many(100) }),
  })]
  const limitsOf = limitsFor(['auto'], 'mcp-customs')
  const as = (name: string) => {
    const merged = new Merged(servers(), { limitsOf })
    merged.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name, version: '1' } })
    return merged
  }
  const cursor = as('cursor-vscode')
  const [shortened = ''] = cursor.names('tools/list', 'tools')
  t.match(shortened, /^a__x{32}_[0-9a-f]{12}$/, '60 characters with the name of the entry and a separator')
  t.equal(textIn(cursor.ask('tools/call', { name: shortened })), `a: ${long}`)
  t.match(cursor.ask('tools/call', { name: `a__${long}` }), { error: { code: -32602 } }, 'another client\'s name is unknown')
  const code = as('Visual Studio Code')
  const list = code.names('tools/list', 'tools')
  t.equal(list.length, 128)
  t.equal(list[0], `a__${long}`)
  t.match(code.found, [{
    server: 'b', rule: 'tool/profile',
    message: /^the client \(vscode\) takes 128 tools of all servers, so 72 are left out: "tool28", .*, …$/,
  }])
  t.equal(textIn(code.ask('tools/call', { name: 'b__tool99' })), 'b: tool99', 'it can still be called')
  t.equal(as('other').names('tools/list', 'tools').length, 200)
  t.end()
})

t.test('the number of tools counts those of earlier pages', t => {
  const tools = (from: number) => Array.from({ length: 100 }, (_, number) => tool(`tool${from + number}`))
  const merged = new Merged({
    a: serverWith('a', { tools: tools(0) }), b: serverWith('b', { tools: tools(100) }), c: serverWith('c', { tools: tools(200) }),
  }, { limitsOf: limitsFor(['vscode'], 'mcp-customs'), maxItems: 100 }).begin()
  const first = merged.ask('tools/list')?.['result'] as { tools: unknown[]; nextCursor: string }
  const second = merged.ask('tools/list', { cursor: first.nextCursor })?.['result'] as typeof first
  t.equal(first.tools.length + second.tools.length, 128)
  t.equal(second.nextCursor, undefined)
  t.end()
})

t.test('a name that two tools claim is dropped for both, and comes back when one of them is gone', t => {
  let tools = [tool('b__c'), tool('own')]
  const merged = new Merged({
    a: { ...serverWith('a'), 'tools/list': () => ({ tools }) }, a__b: serverWith('a__b', { tools: [tool('c')] }),
  }).begin()
  t.strictSame(merged.names('tools/list', 'tools'), ['a__own'])
  const message = 'would be shown as "a__b__c", which several claim: "a", "a__b"'
  t.strictSame(merged.found, [
    { server: 'a', rule: 'tool/duplicate', name: 'b__c', message }, { server: 'a__b', rule: 'tool/duplicate', name: 'c', message },
  ])
  t.match(merged.ask('tools/call', { name: 'a__b__c' }), { error: { code: -32602, message: /^Unknown tool: a__b__c/ } })
  tools = [tool('own')]
  t.strictSame(merged.names('tools/list', 'tools'), ['a__own', 'a__b__c'])
  t.equal(textIn(merged.ask('tools/call', { name: 'a__b__c' })), 'a__b: c')
  t.end()
})

t.test('an unknown tool is refused; nobody is asked whose prefix it does not have', t => {
  const merged = new Merged({ a: serverWith('a'), b: serverWith('b', { tools: [tool('x')] }) }).begin()
  t.equal(textIn(merged.ask('tools/call', { name: 'b__x' })), 'b: x')
  t.strictSame(merged.sent.filter(({ message }) => message['method'] === 'tools/list').map(({ leg }) => leg), ['b'])
  t.match(merged.ask('tools/call', { name: 'c__x' }), { error: { code: -32602 } })
  t.end()
})

t.test('prompts and their completions find their server by the shown name', t => {
  const merged = new Merged({ a: serverWith('a', { prompts: [{ name: 'p' }] }), b: serverWith('b', { prompts: [{ name: 'p' }] }) }).begin()
  t.strictSame(merged.names('prompts/list', 'prompts'), ['a__p', 'b__p'])
  t.match(merged.ask('prompts/get', { name: 'b__p' }), { result: { description: 'b: p' } })
  t.match(
    merged.ask('completion/complete', { ref: { type: 'ref/prompt', name: 'a__p' }, argument: { name: 'x', value: '' } }),
    { result: { completion: { values: ['{"type":"ref/prompt","name":"p"}'] } } },
  )
  t.end()
})

t.test('a resource belongs to the first server that lists it, else to the one whose template fits', t => {
  const merged = new Merged({
    a: serverWith('a', { resources: [{ uri: 'x://1', name: '1' }], templates: [{ uriTemplate: 'a://{id}', name: 't' }] }),
    b: serverWith('b', {
      resources: [{ uri: 'x://1', name: '1' }, { uri: 'x://2', name: '2' }],
      templates: [{ uriTemplate: 'a://{id}', name: 't' }, { uriTemplate: 'b://{+path}', name: 't' }],
    }),
  }).begin()
  const reads = (uri: string) => merged.ask('resources/read', { uri })
  t.match(reads('x://1'), { result: { contents: [{ text: 'a' }] } })
  t.match(reads('x://2'), { result: { contents: [{ text: 'b' }] } })
  t.match(reads('a://9'), { result: { contents: [{ text: 'a' }] } })
  t.match(reads('b://9/8'), { result: { contents: [{ text: 'b' }] } })
  t.match(reads('c://9'), { error: { code: -32602, message: /it could be one of a, b/ } })
  t.strictSame(merged.names('resources/list', 'resources', 'uri'), ['x://1', 'x://2'])
  t.strictSame(merged.names('resources/templates/list', 'resourceTemplates', 'uriTemplate'), ['a://{id}', 'b://{+path}'])
  const message = 'is that of the server "a", which lists it too and comes first'
  t.strictSame(merged.found, ['x://1', 'a://{id}'].map(name => ({ server: 'b', rule: 'resource/duplicate', name, message })))
  t.equal(merged.sent.filter(({ message }) => (message['params'] as Message | undefined)?.['uri'] === 'c://9').length, 0)
  t.end()
})

t.test('what is left out of a list for one reason is one finding, which names 20 at most', t => {
  const resources = Array.from({ length: 100 }, (_, number) => ({ uri: `x://${number}`, name: 'x' }))
  const [tools, others] = ['b__', ''].map(prefix => ['x', 'y'].map(name => tool(`${prefix}${name}`)))
  const merged = new Merged({
    a: serverWith('a', { resources, tools: tools ?? [] }), b: serverWith('b', { resources }),
    a__b: serverWith('a__b', { tools: others ?? [] }),
  }).begin()
  t.equal(merged.names('resources/list', 'resources').length, 100)
  const named = Array.from({ length: 20 }, (_, number) => `"x://${number}"`).join(', ')
  t.strictSame(merged.found, [{
    server: 'b', rule: 'resource/duplicate',
    message: `the server "a" lists them too and comes first, so 100 are left out: ${named}, …`,
  }])
  merged.names('tools/list', 'tools')
  const message = 'several claim the names that would be shown: "a", "a__b", so 2 are left out: '
  t.strictSame(merged.found.slice(1), [
    { server: 'a', rule: 'tool/duplicate', message: `${message}"b__x", "b__y"` },
    { server: 'a__b', rule: 'tool/duplicate', message: `${message}"x", "y"` },
  ])
  t.end()
})

t.test('a resource that a server named in a tool, result or notification belongs to that server', t => {
  const merged = new Merged({
    a: serverWith('a', { resources: [] }),
    b: {
      ...serverWith('b', { resources: [], tools: [tool('x', { _meta: { ui: { resourceUri: 'ui://app' } } })] }),
      'tools/call': () => ({ content: [{ type: 'resource_link', uri: 'b://link', name: 'l' }] }),
    },
  }).begin()
  t.match(merged.ask('resources/read', { uri: 'ui://app' }), { error: { code: -32602 } }, 'nobody has named it yet')
  merged.advance(2000)
  merged.names('tools/list', 'tools')
  t.match(merged.ask('resources/read', { uri: 'ui://app' }), { result: { contents: [{ text: 'b' }] } })
  merged.ask('tools/call', { name: 'b__x' })
  t.match(merged.ask('resources/read', { uri: 'b://link' }), { result: { contents: [{ text: 'b' }] } })
  t.end()
})

t.test('updates come from the server at which the client has subscribed', t => {
  const merged = new Merged({ a: serverWith('a', { resources: [{ uri: 'x://1' }] }), b: serverWith('b', { resources: [] }) }).begin()
  t.match(merged.ask('resources/subscribe', { uri: 'x://1' }), { result: {} })
  merged.fromServer('b', { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x://1' } })
  t.equal(merged.notices('notifications/resources/updated'), 0)
  merged.fromServer('a', { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x://1' } })
  t.equal(merged.notices('notifications/resources/updated'), 1)
  merged.ended('a')
  merged.advance(1000)
  t.equal(merged.sent.filter(({ message }) => message['method'] === 'resources/subscribe').length, 2, 'again, after it came back')
  merged.ask('resources/unsubscribe', { uri: 'x://1' })
  t.match(merged.sent.at(-1), { leg: 'a', message: { method: 'resources/unsubscribe' } })
  t.end()
})

t.test('a question is withdrawn by its server alone, or with it, also where several have one id', t => {
  const merged = new Merged({ a: serverWith('a'), b: serverWith('b'), c: serverWith('c') }).begin()
  for (const leg of ['a', 'b', 'c']) merged.fromServer(leg, { jsonrpc: '2.0', id: 7, method: 'elicitation/create', params: {} })
  const ids = merged.client.filter(({ method }) => method === 'elicitation/create').map(({ id }) => id)
  const withdrawn = () => merged.client.filter(({ method }) => method === 'notifications/cancelled')
    .map(({ params }) => (params as Message)['requestId'])
  merged.fromServer('b', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } })
  t.strictSame(withdrawn(), [ids[1]])
  merged.fromServer('b', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } })
  t.equal(withdrawn().length, 1, 'once')
  merged.replace({ servers: [{ name: 'a', prefix: 'a' }] })
  t.strictSame(withdrawn(), [ids[1], ids[2]], 'c is no longer configured')
  merged.fromClient({ jsonrpc: '2.0', id: ids[0], result: { action: 'decline' } })
  t.match(merged.sent.at(-1), { leg: 'a', message: { id: 7, result: { action: 'decline' } } })
  t.end()
})

t.test('one server cannot use up the questions of the others, also when it uses one id again and again', t => {
  const merged = new Merged({ a: serverWith('a'), b: serverWith('b') }).begin()
  const ask = (leg: string, id: number) => {
    merged.fromServer(leg, { jsonrpc: '2.0', id, method: 'roots/list' })
    return merged.sent.at(-1)?.leg !== leg || merged.sent.at(-1)?.message['error'] === undefined
  }
  t.notOk(Array.from({ length: 10_001 }, () => ask('a', 7)).includes(false))
  t.equal(merged.notices('notifications/cancelled'), 10_000, 'the client is told of each that was replaced')
  merged.fromClient({ jsonrpc: '2.0', id: merged.client.at(-1)?.['id'], result: { roots: [] } })
  t.match(merged.sent.at(-1), { leg: 'a', message: { id: 7, result: { roots: [] } } })
  t.equal(Array.from({ length: 5001 }, (_, id) => ask('a', id)).indexOf(false), 5000, 'half is for the other server')
  t.ok(ask('b', 1))
  merged.ended('a')
  merged.advance(1000)
  t.ok(ask('a', 1), 'nothing is left open of a server that has ended')
  t.end()
})

t.test('questions from before the answer to initialize are withdrawn with their server', t => {
  const merged = new Merged({ a: serverWith('a'), b: never })
  merged.ask('initialize', { protocolVersion: '2025-11-25' }, 'init')
  merged.fromServer('a', { jsonrpc: '2.0', id: 7, method: 'roots/list' })
  merged.ended('a')
  t.match(merged.client.at(-1), { method: 'notifications/cancelled', params: { requestId: merged.client.at(-2)?.['id'] } })
  t.end()
})

t.test('no change of lists is reported before the answer to initialize', t => {
  const merged = new Merged({ a: serverWith('a'), b: never, c: serverWith('c') })
  merged.ask('initialize', { protocolVersion: '2025-11-25' }, 'init')
  merged.fromServer('c', { jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  merged.replace({ servers: [{ name: 'b', prefix: 'b' }, { name: 'c', prefix: 'c' }] })
  t.strictSame(merged.client, [])
  merged.advance(1000)
  t.equal(merged.client[0]?.['id'], 'init')
  merged.replace({ servers: [{ name: 'b', prefix: 'b' }] })
  t.equal(merged.notices('notifications/tools/list_changed'), 1, 'and after it every change is')
  t.end()
})

t.test('capabilities are a union, and instructions stand under the names of their servers', t => {
  const merged = new Merged({
    a: serverWith('a', { instructions: 'use a', capabilities: { logging: {} } }),
    b: serverWith('b', { instructions: 'use b', resources: [], capabilities: { resources: { subscribe: true }, completions: {}, tasks: {} } }),
  })
  merged.begin()
  t.strictSame(merged.responseTo('init')?.['result'], {
    protocolVersion: '2025-11-25',
    capabilities: {
      tools: { listChanged: true }, resources: { listChanged: true, subscribe: true },
      completions: {}, logging: {},
    },
    instructions: '# a\n\nuse a\n\n# b\n\nuse b', serverInfo: { name: 'mcp-customs', version: '1' },
  })
  t.equal(merged.client.length, 1, 'and no change of lists is reported')
  t.end()
})

t.test('nobody waits for a server that never answers', t => {
  const merged = new Merged({ a: serverWith('a', { tools: [tool('x')] }), b: never }, { listMs: 5000 }).begin()
  t.ok(merged.responseTo('init'))
  t.equal(merged.now, 1000)
  merged.ask('tools/list', undefined, 'list')
  merged.advance(3999)
  t.notOk(merged.responseTo('list'))
  merged.advance(1)
  t.match(merged.responseTo('list'), {
    result: { tools: [{ name: 'a__x' }], _meta: { 'mcp-customs/missing': [{ server: 'b', reason: /not begun/ }] } },
  })
  t.match(merged.ask('tools/list'), { result: { tools: [{ name: 'a__x' }] } }, 'the second time at once')
  t.match(textIn(merged.ask('tools/call', { name: 'b__x' })), /The server "b" is not available/)
  t.equal(textIn(merged.ask('tools/call', { name: 'a__x' })), 'a: x')
  t.end()
})

t.test('a list waits listMs at most; when the server answers, the list has changed', t => {
  const merged = new Merged({ a: serverWith('a', { tools: [tool('x')] }), b: { ...serverWith('b'), 'tools/list': () => undefined } }).begin()
  merged.ask('tools/list', undefined, 'list')
  merged.advance(1000)
  t.match(merged.responseTo('list'), { result: { tools: [{ name: 'a__x' }], _meta: { 'mcp-customs/missing': [{ server: 'b' }] } } })
  for (let again = 0; again < 5; again += 1) t.ok(merged.ask('tools/list'), 'nobody waits again')
  const asked = merged.sent.filter(({ leg, message }) => leg === 'b' && message['method'] === 'tools/list')
  t.equal(asked.length, 1, 'and it is not asked again')
  t.equal(merged.notices('notifications/tools/list_changed'), 0)
  merged.answer('b', asked[0]?.message['id'], { tools: [tool('y')] })
  t.equal(merged.notices('notifications/tools/list_changed'), 1)
  t.equal(textIn(merged.ask('tools/call', { name: 'b__y' })), 'b: y')
  t.end()
})

t.test('when no server answers, a list is an error', t => {
  const merged = new Merged({ a: never, b: { ...serverWith('b'), initialize: () => new RpcError(-32000, 'no') } }).begin()
  merged.ask('tools/list', undefined, 'list')
  merged.advance(1000)
  t.match(merged.responseTo('list'), { error: { code: -31001, message: /No server has answered: a: .*; b: .*"no"/ } })
  t.end()
})

t.test('a server that dies is missing, is tried again, and its return is a change of its lists', t => {
  const merged = new Merged({ a: serverWith('a', { tools: [tool('x')] }), b: { ...serverWith('b', { tools: [tool('x')] }), 'tools/call': () => undefined } }).begin()
  merged.names('tools/list', 'tools')
  merged.ask('tools/call', { name: 'b__x' }, 'call')
  merged.ended('b', 'its process ended')
  t.match(textIn(merged.responseTo('call')), /The server "b" is not available: its process ended/)
  t.equal(merged.notices('notifications/tools/list_changed'), 1)
  t.strictSame(merged.names('tools/list', 'tools'), ['a__x'])
  t.match(textIn(merged.ask('tools/call', { name: 'b__x' })), /its process ended/)
  merged.advance(1000)
  t.equal(merged.notices('notifications/tools/list_changed'), 2)
  t.strictSame(merged.names('tools/list', 'tools'), ['a__x', 'b__x'])
  for (let kills = 0; kills < 20; kills += 1) {
    merged.ended('b')
    merged.advance(1000)
  }
  const opened = merged.effects.filter(effect => effect.type === 'open' && effect.leg === 'b').length
  t.ok(opened < 9, `it is tried less and less often: ${opened} times`)
  t.end()
})

t.test('while a server is down, no other server gets its names', t => {
  const merged = new Merged({ a: serverWith('a', { tools: [tool('b__c')] }), a__b: serverWith('a__b', { tools: [tool('c')] }) }).begin()
  t.strictSame(merged.names('tools/list', 'tools'), [])
  merged.ended('a__b')
  t.strictSame(merged.names('tools/list', 'tools'), [])
  t.end()
})

t.test('two servers ask with equal ids: each gets the answer to its own question, as the client wrote it', t => {
  const merged = new Merged({ a: serverWith('a'), b: serverWith('b') }).begin()
  const question = (text: string) => `{"jsonrpc":"2.0", "id":1, "method":"elicitation/create","params":{"message":"${text}"}}`
  merged.fromServer('a', question('from a'))
  merged.fromServer('b', question('from b'))
  const [one, other] = merged.client.filter(message => message['method'] === 'elicitation/create')
  t.match(one, { params: { message: 'from a', _meta: { 'mcp-customs/server': 'a' } } })
  t.match(other, { params: { message: 'from b', _meta: { 'mcp-customs/server': 'b' } } })
  t.not(one?.['id'], other?.['id'])
  merged.fromClient({ jsonrpc: '2.0', id: other?.['id'], result: { action: 'accept', content: { to: 'b' } } })
  merged.fromClient({ jsonrpc: '2.0', id: one?.['id'], result: { action: 'decline' } })
  t.strictSame(merged.sent.slice(-2).map(({ leg, message }) => [leg, message]), [
    ['b', { jsonrpc: '2.0', id: 1, result: { action: 'accept', content: { to: 'b' } } }],
    ['a', { jsonrpc: '2.0', id: 1, result: { action: 'decline' } }],
  ])
  merged.fromClient({ jsonrpc: '2.0', id: one?.['id'], result: { action: 'accept' } })
  t.equal(merged.sent.at(-1)?.leg, 'a', 'a second answer goes nowhere')
  merged.fromServer('a', question('again'))
  merged.fromServer('a', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
  const asked = merged.client.findLast(message => message['method'] === 'elicitation/create')
  t.match(merged.client.at(-1), { method: 'notifications/cancelled', params: { requestId: asked?.['id'] } })
  t.end()
})

t.test('equal progress tokens of two calls stay apart, and go back as the client wrote them', t => {
  const silent = (name: string) => ({ ...serverWith(name, { tools: [tool('x')] }), 'tools/call': () => undefined })
  const merged = new Merged({ a: silent('a'), b: silent('b') }).begin()
  merged.names('tools/list', 'tools')
  merged.fromClient('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__x","_meta":{"progressToken":1.0}}}')
  merged.fromClient('{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"b__x","_meta":{"progressToken":1.0}}}')
  const [one, other] = merged.sent.filter(({ message }) => message['method'] === 'tools/call')
    .map(({ message }) => (message['params'] as { _meta: { progressToken: number } })._meta.progressToken)
  t.not(one, other)
  merged.fromServer('b', { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: other, progress: 1 } })
  t.equal(merged.texts.at(-1), '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.0,"progress":1}}')
  merged.fromServer('b', { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: one, progress: 2 } })
  t.equal(merged.notices('notifications/progress'), 1, 'a server reports on its own requests only')
  merged.answer('b', other, { content: [] })
  t.equal(merged.texts.at(-1), '{"jsonrpc":"2.0","id":"1","result":{"content":[]}}')
  t.end()
})

t.test('a result keeps its bytes, but for the id', t => {
  const merged = new Merged({ a: { ...serverWith('a', { tools: [tool('x')] }), 'tools/call': () => undefined } }).begin()
  merged.names('tools/list', 'tools')
  merged.fromClient('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"n":1.50e0,"u":"\\u00e9"},"name":"a__x"}}')
  const { message } = merged.sent.at(-1) ?? {}
  merged.fromServer('a', `{ "result" : {"content":[ {"type":"text","text":"\\u00e9"} ], "n": 1.50e0}, "id":${String(message?.['id'])},"jsonrpc":"2.0"}`)
  t.equal(merged.texts.at(-1), '{ "result" : {"content":[ {"type":"text","text":"\\u00e9"} ], "n": 1.50e0}, "id":7,"jsonrpc":"2.0"}')
  t.end()
})

t.test('a cancellation goes to the server that runs the call, under its id', t => {
  const merged = new Merged({ a: { ...serverWith('a', { tools: [tool('x')] }), 'tools/call': () => undefined } }).begin()
  merged.ask('tools/call', { name: 'a__x' }, 'call')
  const { message } = merged.sent.find(one => one.message['method'] === 'tools/call') ?? {}
  merged.fromClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'call', reason: 'enough' } })
  t.match(merged.sent.at(-1), { leg: 'a', message: { method: 'notifications/cancelled', params: { requestId: message?.['id'], reason: 'enough' } } })
  merged.answer('a', message?.['id'], { content: [] })
  t.notOk(merged.responseTo('call'), 'a late answer reaches nobody')
  t.notOk(merged.merger.isAwaited)
  t.end()
})

t.test('list_changed is reported once in a second for each kind', t => {
  const merged = new Merged({ a: serverWith('a'), b: serverWith('b', { prompts: [] }) }).begin()
  for (let times = 0; times < 50; times += 1) {
    merged.fromServer('a', { jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    merged.fromServer('b', { jsonrpc: '2.0', method: 'notifications/prompts/list_changed' })
    merged.advance(100)
  }
  t.equal(merged.notices('notifications/tools/list_changed'), 6)
  t.equal(merged.notices('notifications/prompts/list_changed'), 6)
  t.end()
})

t.test('a change of resources is told once: those of templates have no notification of their own', t => {
  const merged = new Merged({ a: serverWith('a', { resources: [], templates: [] }) }).begin()
  merged.advance(2000)
  const method = 'notifications/resources/list_changed'
  const before = merged.notices(method)
  merged.fromServer('a', { jsonrpc: '2.0', method })
  merged.advance(2000)
  t.equal(merged.notices(method) - before, 1)
  t.end()
})

t.test('all pages are one page; what has no room follows by a cursor, which is stale after a change', t => {
  const page = (name: string): Answers => ({
    ...serverWith(name),
    'tools/list': ({ cursor }) => {
      const at = Number(cursor ?? 0)
      return { tools: [tool(`t${at}`), tool(`u${at}`)], ...(at < 4 && { nextCursor: String(at + 1) }) }
    },
  })
  const all = new Merged({ a: page('a'), b: page('b') }).begin()
  t.equal(all.names('tools/list', 'tools').length, 20)
  const few = new Merged({ a: page('a'), b: page('b') }, { maxItems: 6 }).begin()
  const names: string[] = []
  let cursor: string | undefined
  let first: string | undefined
  do {
    const { result } = few.ask('tools/list', cursor === undefined ? {} : { cursor }) as unknown as
      { result: { tools: { name: string }[]; nextCursor?: string } }
    t.ok(result.tools.length <= 6)
    names.push(...result.tools.map(({ name }) => name))
    cursor = result.nextCursor
    first ??= cursor
  } while (cursor !== undefined)
  t.equal(new Set(names).size, 20)
  t.equal(names.length, 20)
  t.equal(textIn(few.ask('tools/call', { name: 'b__u4' })), 'b: u4')
  few.fromServer('a', { jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  t.match(few.ask('tools/list', { cursor: first }), { error: { code: -32602 } })
  t.match(few.ask('tools/list', { cursor: 'nonsense' }), { error: { code: -32602 } })
  t.end()
})

t.test('the schemas whose arguments are repeated in headers are known of all pages, as far as there is room', t => {
  const inHeader = (name: string, description = '') => tool(name, { inputSchema: {
    type: 'object', properties: { region: { type: 'string', description, 'x-mcp-header': 'Region' } },
  } })
  const huge = inHeader('huge', 'x'.repeat(15 * 1024 * 1024))
  const pages = [[inHeader('first')], [inHeader('second')], [huge, tool('plain')], [huge, inHeader('late')]]
  const merged = new Merged({ a: {
    ...serverWith('a'),
    'tools/list': ({ cursor }) => {
      const at = Number(cursor ?? 0)
      return { tools: pages[at], ...(at + 1 < pages.length && { nextCursor: String(at + 1) }) }
    },
  } }, { maxItems: 1, maxBytes: Infinity }).begin()
  let cursor: string | undefined
  do ({ nextCursor: cursor } = merged.ask('tools/list', { cursor })?.['result'] as { nextCursor?: string })
  while (cursor !== undefined)
  const known = () => ['first', 'second', 'huge', 'plain', 'late'].filter(name => merged.merger.inputSchemaOf('a', name))
  t.strictSame(known(), ['first', 'second', 'huge'])
  merged.ask('tools/list')
  t.strictSame(known(), ['first'], 'a list that is read anew replaces what was known')
  t.end()
})

t.test('the level of logging goes to every server, also to one that comes later; loggers name their server', t => {
  const merged = new Merged({ a: serverWith('a', { capabilities: { logging: {} } }), b: serverWith('b') }).begin()
  t.match(merged.ask('logging/setLevel', { level: 'info' }), { result: {} })
  const levels = () => merged.sent.filter(({ message }) => message['method'] === 'logging/setLevel').map(({ leg }) => leg)
  t.strictSame(levels(), ['a'])
  merged.ended('a')
  merged.advance(1000)
  t.strictSame(levels(), ['a', 'a'])
  merged.fromServer('a', { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } })
  t.match(merged.client.at(-1), { params: { logger: 'a' } })
  merged.fromServer('a', { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1, logger: 'own' } })
  t.match(merged.client.at(-1), { params: { logger: 'own' } })
  merged.fromClient({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' })
  t.strictSame(merged.sent.slice(-2).map(({ leg }) => leg), ['a', 'b'])
  t.end()
})

t.test('after a reload there are other servers, and every list has changed', t => {
  const merged = new Merged({ a: serverWith('a', { tools: [tool('x')] }), b: serverWith('b', { tools: [tool('y')] }) }).begin()
  merged.names('tools/list', 'tools')
  merged.servers.set('c', serverWith('c', { tools: [tool('z')] }))
  merged.replace({ servers: [{ name: 'a', prefix: 'A' }, { name: 'c', prefix: '' }] })
  t.ok(merged.notices('notifications/tools/list_changed') > 0)
  t.strictSame(merged.names('tools/list', 'tools'), ['A__x', 'z'])
  t.match(merged.ask('tools/call', { name: 'b__y' }), { error: { code: -32602 } })
  t.end()
})

t.test('a reload of profiles and separator reaches a running session, and makes its cursors stale', t => {
  const [a, b] = ['a', 'b'].map(name => serverWith(name, { tools: [tool('x'), tool('y')] }))
  const merged = new Merged({ a: a ?? {}, b: b ?? {} }, { maxItems: 2 }).begin()
  const { nextCursor: cursor } = merged.ask('tools/list')?.['result'] as { nextCursor: string }
  merged.replace({ separator: '.', limitsOf: () => ({ profile: 'p', longest: 64, tools: 1 }), nonce: 'another', maxItems: 1000 })
  t.ok(merged.notices('notifications/tools/list_changed') > 0)
  t.match(merged.ask('tools/list', { cursor }), { error: { code: -32602 } })
  t.strictSame(merged.names('tools/list', 'tools'), ['a.x'])
  t.equal(textIn(merged.ask('tools/call', { name: 'b.y' })), 'b: y')
  t.match(merged.ask('tools/call', { name: 'b__y' }), { error: { code: -32602 } })
  t.end()
})

t.test('a frame that readers could read in two ways passes to no server', t => {
  const merged = new Merged({ a: serverWith('a', { tools: [tool('x')] }) }).begin()
  merged.names('tools/list', 'tools')
  merged.fromClient('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__x","name":"a__y"}}')
  t.match(merged.client.at(-1), { id: 1, error: { code: -31000 } })
  merged.fromClient('{"jsonrpc":"2.0","id":2,"method":"tools/call"')
  t.match(merged.client.at(-1), { id: 2, error: { code: -31000 } })
  t.equal(merged.sent.filter(({ message }) => message['method'] === 'tools/call').length, 0)
  t.end()
})

t.test('a modern client: each request has an exchange of its own, and its _meta goes to the servers', t => {
  const modern = (name: string): Answers => ({
    ...serverWith(name, { tools: [tool('x')] }),
    'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, instructions: `use ${name}` }),
  })
  const merged = new Merged({ a: modern('a'), b: modern('b') }, { isStateless: true, hasExchanges: true })
  t.match(merged.askModern('server/discover'), { result: {
    supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } }, resultType: 'complete', cacheScope: 'private',
  } })
  t.match(merged.askModern('tools/list'), { result: { tools: [{ name: 'a__x' }, { name: 'b__x' }], resultType: 'complete', cacheScope: 'private' } })
  const lists = merged.sent.filter(({ message }) => message['method'] === 'tools/list')
  t.match(lists[0]?.message['params'], { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } })
  t.equal(new Set(merged.sent.map(({ exchange }) => exchange)).size, merged.sent.length)
  t.equal(textIn(merged.askModern('tools/call', { name: 'b__x' })), 'b: x')
  t.match(merged.askModern('ping'), { error: { code: -32601 } })
  merged.servers.set('a', { ...modern('a'), 'tools/call': () => undefined })
  merged.askModern('tools/call', { name: 'a__x' }, 'left')
  const called = merged.sent.at(-1)
  const effect = merged.effects.find(one => one.type === 'send-to-leg' && one.exchange === called?.exchange)
  t.ok(effect)
  t.end()
})

t.test('a modern client that leaves cancels its request', t => {
  const merged = new Merged({ a: { ...serverWith('a', { tools: [tool('x')], isModern: true }), 'tools/call': () => undefined } }, { isStateless: true, hasExchanges: true })
  const exchange = exchangeNamed('http-1')
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  merged.fromClient({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { _meta, name: 'a__x' } }, exchange)
  const call = merged.sent.find(({ message }) => message['method'] === 'tools/call')
  merged.left(exchange)
  t.match(merged.sent.at(-1), { exchange: call?.exchange, message: { method: 'notifications/cancelled', params: { requestId: call?.message['id'] } } })
  t.notOk(merged.merger.isAwaited)
  t.end()
})

t.test('what a legacy client asked on a stream that ended is not sent any more', t => {
  const merged = new Merged({ a: { ...serverWith('a', { tools: [tool('x')] }), 'tools/list': () => undefined } }).begin()
  const exchange = exchangeNamed('http-1')
  merged.fromClient({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a__x' } }, exchange)
  const list = merged.sent.at(-1)?.message
  t.equal(list?.['method'], 'tools/list', 'the call waits for the list')
  merged.left(exchange)
  merged.answer('a', list?.['id'], { tools: [tool('x')] })
  t.strictSame(merged.sent.filter(({ message }) => message['method'] === 'tools/call'), [])
  t.notOk(merged.merger.isAwaited)
  t.end()
})

t.test('a legacy client\'s stream ends: so does that to the server\'s relay, and the client can still cancel', t => {
  const merged = new Merged({
    a: { ...serverWith('a', { tools: [tool('x')] }), 'tools/call': () => undefined },
  }, { hasExchanges: true }).begin()
  merged.names('tools/list', 'tools')
  const call = (http: string) => {
    const exchange = exchangeNamed(http)
    merged.fromClient({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a__x' } }, exchange)
    const sent = merged.sent.at(-1)
    merged.left(exchange)
    return sent
  }
  const cancel = () => merged.fromClient(
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, exchangeNamed('http-3'))
  const first = call('http-1')
  t.match(merged.effects.at(-1), { type: 'abandon', leg: 'a', exchange: first?.exchange, key: String(first?.message['id']) })
  t.equal(merged.sent.at(-1), first, 'the server is told nothing: the stream may have been lost')
  t.notOk(merged.merger.isAwaited)
  const second = call('http-2')
  t.equal(second?.message['method'], 'tools/call', 'the id is free')
  cancel()
  t.match(merged.sent.at(-1)?.message, { method: 'notifications/cancelled', params: { requestId: second?.message['id'] } })
  const count = merged.sent.length
  cancel()
  t.equal(merged.sent.length, count, 'once')
  t.end()
})

t.test('of the requests of ended streams, a thousand can be cancelled', t => {
  const merged = new Merged({
    a: { ...serverWith('a', { tools: [tool('x')] }), 'tools/call': () => undefined },
  }).begin()
  merged.names('tools/list', 'tools')
  for (let id = 0; id <= 1000; id += 1) {
    const exchange = exchangeNamed(`http-${id}`)
    merged.fromClient({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'a__x' } }, exchange)
    merged.left(exchange)
  }
  const cancel = (requestId: number) => {
    const before = merged.sent.length
    merged.fromClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
    return merged.sent.length - before
  }
  t.equal(cancel(0), 0)
  t.equal(cancel(1), 1)
  t.equal(cancel(1000), 1)
  t.end()
})

t.test('a client of both eras is sent to the handshake where a server has no other revision', t => {
  const both: Answers = { ...serverWith('a'), 'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: {} }) }
  const mixed = new Merged({ a: both, b: serverWith('b') })
  t.match(mixed.askModern('server/discover'), { error: { code: -32601 } })
  mixed.begin()
  t.match(mixed.responseTo('init'), { result: { capabilities: { tools: {} } } })
  t.match(new Merged({ a: both, b: serverWith('b') }, { translates: false }).askModern('server/discover'), { result: {} })
  t.match(new Merged({ b: serverWith('b') }, { translates: false }).askModern('server/discover'), { error: {} })
  t.end()
})

t.test('streams of changes are merged: one acknowledgement, and everything under the client\'s id', t => {
  const acknowledge = (merged: () => Merged, leg: string): Answers => ({
    ...serverWith(leg, { resources: [{ uri: `${leg}://1` }], isModern: true }),
    'subscriptions/listen': ({ notifications }, { id }) => {
      merged().fromServer(leg, {
        jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged',
        params: { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications },
      })
      return undefined
    },
  })
  const merged: Merged = new Merged(
    { a: acknowledge(() => merged, 'a'), b: acknowledge(() => merged, 'b') }, { isStateless: true, hasExchanges: true },
  )
  merged.askModern('subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: ['b://1', 'c://1'] } }, 'listen')
  const _meta = { 'io.modelcontextprotocol/subscriptionId': 'listen' }
  t.strictSame(merged.client, [{
    jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged',
    params: { _meta, notifications: { toolsListChanged: true, resourceSubscriptions: ['b://1'] } },
  }])
  const at = (leg: string) => merged.sent.find(one => one.leg === leg && one.message['method'] === 'subscriptions/listen')
  const updated = (leg: string) => merged.fromServer(leg, {
    jsonrpc: '2.0', method: 'notifications/resources/updated',
    params: { _meta: { 'io.modelcontextprotocol/subscriptionId': at(leg)?.message['id'] }, uri: `${leg}://1` },
  })
  updated('b')
  t.match(merged.client.at(-1), { method: 'notifications/resources/updated', params: { _meta, uri: 'b://1' } })
  merged.fromServer('a', {
    jsonrpc: '2.0', method: 'notifications/tools/list_changed',
    params: { _meta: { 'io.modelcontextprotocol/subscriptionId': at('a')?.message['id'] } },
  })
  t.strictSame(merged.client.at(-1), { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } })
  merged.left(exchangeNamed('another'))
  t.equal(merged.merger.isAwaited, true)
  t.end()
})

t.test('lists are asked for with the scopes of the client that asks', t => {
  const merged = new Merged({ a: serverWith('a', { tools: [tool('x')] }) }).begin()
  const frame = {
    ...frameOf({ jsonrpc: '2.0', id: 'scoped', method: 'tools/list' }),
    envelope: { headers: new Map(), scopes: ['mcp'], client: 'c' },
  }
  merged.perform(merged.merger.handle({ type: 'client-frame', exchange: stdioExchange, frame }, merged.now))
  const asked = merged.effects.findLast(effect =>
    effect.type === 'send-to-leg' && effect.frame.bytes.includes('"tools/list"'))
  t.match(asked, { frame: { envelope: { scopes: ['mcp'] } } })
  t.end()
})

t.test('a request that was cancelled while its server began is not sent', t => {
  const merged = new Merged({ a: serverWith('a', { tools: [tool('x')] }) }).begin()
  merged.names('tools/list', 'tools')
  merged.servers.set('a', never)
  merged.perform(merged.merger.handle({ type: 'leg-ended', leg: 'a', reason: 'it has died' }, merged.now))
  merged.advance(1000)
  const call = { jsonrpc: '2.0', id: 'late', method: 'tools/call', params: { name: 'a__x' } }
  const hear = (message: Message) => merged.perform(
    merged.merger.handle({ type: 'client-frame', exchange: stdioExchange, frame: frameOf(message) }, merged.now))
  hear(call)
  hear({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'late' } })
  const greeting = merged.sent.findLast(({ message }) => message['method'] === 'initialize')
  merged.answer('a', greeting?.message['id'], { protocolVersion: '2025-11-25', capabilities: { tools: {} } })
  t.strictSame(merged.sent.filter(({ message }) => message['method'] === 'tools/call'), [])
  t.end()
})

t.test('templates that cost too much make a URI unknown, and nobody waits', t => {
  const templates = Array.from({ length: 900 }, (_, index) => ({
    uriTemplate: `a{x}${'{+y}b'.repeat(180)}${index}`, name: String(index),
  }))
  const merged = new Merged({ a: serverWith('a', { templates }), b: serverWith('b') }).begin()
  const uri = `a${'b'.repeat(3900)}`
  t.match(merged.ask('resources/read', { uri }), { error: { code: -32602, message: /^Unknown resource/ } })
  t.equal(fitsTemplate('a{x}{+y}b', uri, { left: 1 }), false)
  t.equal(fitsTemplate('a{x}{+y}b', uri), true)
  t.end()
})
