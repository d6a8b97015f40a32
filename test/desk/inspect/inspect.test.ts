import t from 'tap'
import type { Policy } from '#relay/core/vocabulary.js'
import { isFine } from '#desk/inspect/inspection.js'
import { watching } from '#desk/inspect/link.js'
import { ruleNames } from '#relay/rules/index.js'
import { discovered, error, initialized, type Quirk, result, tool } from './quirks.js'
import { rulesOf, run } from './run.js'

t.test('a server of either era is reached with the fewest connections', async t => {
  let probed = false
  const cases: [string, Quirk, string, number][] = [
    ['legacy', {}, '2025-11-25', 2],
    [
      'legacy, that ends when it is probed', { 'server/discover': (_params, server) => server.end() },
      '2025-11-25', 2,
    ],
    ['legacy, that refuses a process that was probed', {
      'server/discover': () => ((probed = true), error(-32600, 'Not initialized')),
      initialize: (_params, server) =>
        (server.asked.includes('server/discover') ? error(-32600, 'Too late') : result(initialized)),
    }, '2025-11-25', 2],
    [
      'modern only', { 'server/discover': () => result(discovered), initialize: () => error(-32601, 'No') },
      '2026-07-28', 1,
    ],
    ['both', { 'server/discover': () => result(discovered) }, '2026-07-28', 1],
    [
      'dual, that discovers only legacy revisions',
      { 'server/discover': () => result({ ...discovered, supportedVersions: ['2025-11-25'] }) }, '2025-11-25',
      2,
    ],
    [
      'an old one', { initialize: () => result({ ...initialized, protocolVersion: '2024-11-05' }) },
      '2024-11-05', 2,
    ],
    ['one that says what it supports', {
      'server/discover': () =>
        error(-32022, 'Unsupported protocol version', { supported: ['2031-01-01', '2025-11-25'] }),
    }, '2025-11-25', 2],
  ]
  for (const [name, quirk, revision, connections] of cases) {
    const { inspection, servers } = await run(quirk)
    t.equal(inspection.connected.revision, revision, name)
    t.equal(servers.length, connections, name)
    t.ok(servers.every(({ closed }) => closed), `${name}: nothing is left open`)
    t.notOk(
      servers.some(({ asked }) => asked.includes('server/discover') && asked.includes('initialize')),
      `${name}: asked the one or the other`,
    )
  }
  t.ok(probed)
})

t.test('a server that does not answer the probe gets an initialize as well', async t => {
  const silent = await run({ 'server/discover': () => undefined }, { probeMs: 1 })
  t.equal(silent.inspection.connected.revision, '2025-11-25')
  t.equal(silent.servers.length, 1)
  t.strictSame(silent.servers[0]?.asked.slice(0, 2), ['server/discover', 'initialize'])

  // Answers only when it was asked both.
  let second = false
  const slow = await run({
    'server/discover': () => (second ? result(discovered) : undefined),
    initialize: (_params, server) => {
      second = true
      server.say(1, { result: discovered })
      return undefined
    },
  }, { probeMs: 1 })
  t.equal(slow.inspection.connected.revision, '2026-07-28')
  t.equal(slow.servers.length, 2, 'the first connection may be of the old era by now')
  t.notOk(slow.servers[1]?.asked.includes('initialize'))
})

t.test('an unreachable server is reported in one line', async t => {
  const never = () => undefined
  const cases: [string, Quirk, RegExp][] = [
    [
      'silent', { 'server/discover': never, initialize: never },
      /^quirky: no answer within 0\.5 s; is it an MCP server\? \(--timeout SECONDS waits longer\)$/,
    ],
    ['silent after the probe', { initialize: never }, /^quirky: no answer within 0\.5 s/],
    [
      'refuses', { initialize: () => error(-32000, 'go\u001b[0m away\n') },
      /^quirky: the server answered with error -32000: "go\[0m away"$/,
    ],
    [
      'claims to be us', { initialize: () => error(-31001, 'mcp-customs: \u001b[0mfine\n\n') },
      /^quirky: fine$/,
    ],
    [
      'ends', { initialize: (_params, server) => server.end('the server exited with code 3') },
      /^quirky: the server exited with code 3$/,
    ],
    [
      'without a version', { initialize: () => result({}) },
      /^quirky: its answer to initialize names no protocolVersion$/,
    ],
    [
      'from the future',
      { 'server/discover': () => result({ ...discovered, supportedVersions: ['2031-01-01'] }) },
      /^quirky: it supports only revisions that are unknown here: "2031-01-01"$/,
    ],
  ]
  for (const [name, quirk, message] of cases) {
    await t.rejects(
      run(quirk, { timeoutMs: message.source.includes('no answer') ? 500 : 20_000 }),
      { code: 'CANNOT_REACH', message }, name,
    )
  }
})

t.test('a server whose tools cannot be listed is reported with the reason, and is not fine', async t => {
  const cases: [string, Quirk, RegExp][] = [
    [
      'an error', { 'tools/list': () => error(-32603, 'broken') },
      /^the server answered with error -32603: "broken"$/,
    ],
    ['a list that is none', { 'tools/list': () => result({}) }, /^the result has no list of tools$/],
    [
      'a list that never comes', { 'tools/list': () => undefined },
      /^no answer to tools\/list within 0\.5 s$/,
    ],
    ['an answer by a wrong id', { 'tools/list': (_params, server, id) => server.write(
      JSON.stringify({ jsonrpc: '2.0', id: String(id), result: { tools: [] } }),
    ) as undefined }, /no answer|wire\/id/],
    [
      'dies', { 'tools/list': (_params, server) => server.end('the server exited with code 7') },
      /^the server exited with code 7$/,
    ],
  ]
  for (const [name, quirk, problem] of cases) {
    const { inspection } = await run(quirk, { timeoutMs: 500, call: { tool: 'echo', arguments: {} } })
    t.match(inspection.lists.tools.problem, problem, name)
    t.notOk(isFine(inspection), name)
    t.equal(inspection.call?.response, undefined, `${name}: nothing is called`)
  }
  t.ok(isFine((await run({})).inspection))
})

t.test('many findings do not hide another', async t => {
  const many = Array.from({ length: 300 }, (_, index) => tool(`tool_${index}`))
  const { inspection } =
    await run({ 'tools/list': () => result({ tools: [...many, tool('last', { title: 'x\u202e' })] }) })
  t.equal(inspection.findings.filter(({ rule }) => rule === 'advice/no-output-schema').length, 301)
  t.match(
    inspection.findings.find(({ action }) => action === 'block'), { rule: 'tool/hidden-text', tool: 'last' },
  )
  t.equal(inspection.more, 0)
})

t.test('all pages are read, and findings are assigned to the tools of their page', async t => {
  const { inspection } = await run({
    'tools/list': ({ cursor }) => {
      const page = Number(cursor ?? 0)
      return result({
        tools: [tool(`tool_${page}`), tool(`other_${page}`, { outputSchema: {} })],
        ...(page < 2 && { nextCursor: String(page + 1) }),
      })
    },
  })
  t.strictSame(
    inspection.tools.map(({ name }) => name), ['tool_0', 'other_0', 'tool_1', 'other_1', 'tool_2', 'other_2'],
  )
  const advised = inspection.findings.filter(({ rule }) => rule === 'advice/no-output-schema')
  t.match(advised, [{ tool: 'tool_0', within: '' }, { tool: 'tool_1' }, { tool: 'tool_2' }])
  t.equal(inspection.lists.tools.problem, undefined)
})

t.test('endless pages are cut off, and a cursor that came before ends a list', async t => {
  let page = 0
  const circle =
    await run({ 'tools/list': () => result({ tools: [tool(`tool_${page++}`)], nextCursor: 'again' }) })
  t.equal(circle.inspection.lists.tools.problem, undefined)
  t.ok(circle.inspection.findings.some(({ rule, path }) => rule === 'list/shape' && /nextCursor$/.test(path)))
  t.equal(circle.inspection.tools.length, 2)
  for (const [revision, pages] of [['2025-11-25', 1], ['2026-07-28', 2]] as const) {
    const { inspection } = await run({
      ...(revision === '2026-07-28' && { 'server/discover': () => result(discovered) }),
      'tools/list': ({ cursor }) => result({
        tools: [tool(cursor === '' ? 'second' : 'first')], ...(cursor !== '' && { nextCursor: '' }),
        ...(revision === '2026-07-28' && { resultType: 'complete', ttlMs: 0, cacheScope: 'public' }),
      }),
    })
    t.equal(inspection.lists.tools.problem, undefined)
    t.equal(inspection.tools.length, pages, `an empty cursor in ${revision}`)
  }
  const endless = await run({ 'tools/list': () =>
    result({ tools: page < 10 ? [tool(`tool_${page}`)] : [], nextCursor: String(page++) }) })
  t.match(endless.inspection.lists.tools.problem, /never end/)
  t.ok(page > 100 && page < 5000)
})

t.test('endlessly repeated violations are kept only up to a limit', async t => {
  let page = 0
  const description = 'x'.repeat(8_000_000)
  const large = await run({ 'tools/list': () =>
    result({ tools: [tool(`tool_${page}`, { description })], nextCursor: String(page++) }) })
  t.match(large.inspection.lists.tools.problem, /never end/)
  t.ok(large.inspection.tools.length < 20)
  const noisy = await run({
    'tools/list'(_params, server, id) {
      for (let line = 0; line < 5000; line++) server.write('noise')
      server.say('s', { method: 'sampling/createMessage', params: {} })
      server.say(id, { result: { tools: [] } })
      return undefined
    },
  })
  t.equal(noisy.inspection.findings.filter(({ rule }) => rule === 'wire/json').length, 1000)
  t.strictSame(rulesOf(noisy.inspection), ['wire/json', 'server/request'])
})

t.test('prompts and resources are listed when their capability is announced', async t => {
  const lists: Quirk = {
    'prompts/list': () => result({ prompts: [{ name: 'greet' }] }),
    'resources/list': () => result({ resources: [{ uri: 'file:///a', name: 'a\u202e' }] }),
    'resources/templates/list': () => error(-32603, 'broken'),
  }
  const unannounced = await run(lists)
  t.strictSame(unannounced.servers[1]?.asked, ['initialize', 'tools/list'])
  const capabilities = { prompts: {}, resources: {} }
  const announced = await run({
    ...lists, initialize: () => result({ ...initialized, capabilities }),
    'tools/list': () => error(-32601, 'No tools'),
  })
  const { inspection } = announced
  t.strictSame(inspection.lists.prompts.items.map(({ value }) => value), [{ name: 'greet' }])
  t.match(inspection.findings, [{ rule: 'content/hidden-text', event: 'resources/list', action: 'log' }])
  t.match(inspection.lists.resourceTemplates.problem, /-32603/)
  t.strictSame(inspection.tools, [])
  t.equal(inspection.lists.tools.problem, undefined, 'no tools were announced')
  const untold = await run({
    ...lists, initialize: () => result({ ...initialized, capabilities }),
    'resources/templates/list': () => error(-32601, 'Method not found'),
  })
  t.equal(
    untold.inspection.lists.resourceTemplates.problem, undefined, 'who has resources may have no templates',
  )
})

t.test('malformed elements and duplicate names are distinguished', async t => {
  const { inspection } = await run({
    'tools/list': () => result({ tools: [tool('same'), tool('same'), { description: 'Nameless.' }, 7] }),
  })
  t.strictSame(
    inspection.tools.map(({ findings }) => findings.filter(({ action }) => action === 'block')
      .map(({ rule }) => rule)),
    [[], ['tool/duplicate'], ['tool/definition', 'tool/definition'], ['tool/definition']],
  )
})

t.test('ping is answered, and no other request of the server', async t => {
  const { inspection, servers } = await run({
    'tools/list'(_params, server, id) {
      server.say('a', { method: 'ping' })
      server.say('b', { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } })
      server.say(id, { result: { tools: [] } })
      return undefined
    },
  })
  t.match(servers[1]?.answers, [{}, { code: -32601 }])
  t.match(inspection.findings, [{ rule: 'server/request', action: 'block', event: 'sampling/createMessage' }])
})

t.test('noise and ambiguity are reported, and the list is still read', async t => {
  const { inspection } = await run({
    'tools/list'(_params, server, id) {
      server.write('Listening on port 3000')
      server.write(
        `{"jsonrpc":"2.0","id":${id},"result":{"tools":[${JSON.stringify(tool('first'))}],"x":1,"x":2}}`,
      )
      return undefined
    },
  })
  t.strictSame(inspection.tools.map(({ name }) => name), ['first'])
  t.strictSame(rulesOf(inspection), ['wire/json', 'wire/ambiguous', 'advice/no-output-schema'])
})

t.test('a call is made by the definition that was listed, and judged', async t => {
  const outputSchema = { type: 'object', required: ['city'] }
  const quirk: Quirk = { 'tools/list': () => result({ tools: [tool('look_up', { outputSchema })] }) }
  const good = await run(quirk, { call: { tool: 'look_up', arguments: { city: 'Paris' } } })
  t.match(good.inspection.call, {
    tool: 'look_up', response: { kind: 'result', result: { structuredContent: { city: 'Paris' } } },
    findings: [],
  })
  t.equal(good.servers[1]?.asked.filter(method => method === 'tools/list').length, 1, 'the list is known')
  const bad = await run(quirk, { call: { tool: 'look_up', arguments: { town: 'Paris' } } })
  t.match(bad.inspection.call?.findings, [{ rule: 'result/schema', action: 'block', tool: 'look_up' }])
  t.match(
    bad.inspection.call?.response, { kind: 'result', result: { structuredContent: { town: 'Paris' } } },
    'shown as the server gave it',
  )
  t.strictSame(good.doings, ['connecting', 'listing', 'calling look_up'])
})

t.test('a call that cannot be made is a usage error; an unanswered one is not', async t => {
  const denied = new Map([['echo', { denied: true, outputSchema: undefined, annotations: undefined }]])
  await t.rejects(run({}, { call: { tool: 'nope', arguments: {} } }), {
    code: 'BAD_USAGE', message: /the server lists no such tool \(there is: echo\)/,
  })
  await t.rejects(run({}, { call: { tool: 'echo', arguments: {} }, tools: denied }), {
    code: 'BAD_USAGE', message: /denies this tool/,
  })
  const never: Quirk = { 'tools/call': () => undefined }
  await t.rejects(run(never, { call: { tool: 'echo', arguments: {} }, timeoutMs: 500 }), {
    code: 'CANNOT_REACH', message: 'quirky: no answer to the call within 0.5 s',
  })
  const { inspection } =
    await run({ 'tools/call': () => error(-32603, 'failed') }, { call: { tool: 'echo', arguments: {} } })
  t.match(inspection.call?.response, { kind: 'error', error: { code: -32603 } })
})

t.test('a call that the policy blocks is not sent', async t => {
  const inputSchema = { type: 'object', required: ['city'] }
  const quirk: Quirk = { 'tools/list': () => result({ tools: [tool('look_up', { inputSchema })] }) }
  const call = { tool: 'look_up', arguments: {} }
  const refused = await run(quirk, { call, rules: new Map([['call/arguments', 'block']]) })
  t.notOk(refused.servers[1]?.asked.includes('tools/call'))
  t.match(refused.inspection.call?.findings, [{ rule: 'call/arguments', action: 'block' }])
  const warned = await run(quirk, { call })
  t.ok(warned.servers[1]?.asked.includes('tools/call'))
})

t.test('the operator\'s settings of tools are shown and applied', async t => {
  const annotations = { readOnlyHint: true }
  const tools = new Map([
    ['echo', { denied: true, outputSchema: undefined, annotations }],
    ['look_up', {
      denied: false, outputSchema: { type: 'object', required: ['wind'] }, annotations: undefined,
    }],
  ])
  const quirk: Quirk = { 'tools/list': () =>
    result({ tools: [tool('echo'), tool('look_up', { outputSchema: { type: 'object' } })] }) }
  const { inspection } = await run(quirk, { tools, call: { tool: 'look_up', arguments: { rain: 1 } } })
  t.match(inspection.tools[0], { name: 'echo', denied: true })
  t.equal(inspection.tools[0]?.definition?.['annotations'], undefined, 'as the server sent it')
  t.match(inspection.call?.findings, [{ rule: 'result/schema' }])
})

t.test('the inspecting relay changes nothing, and finds what the policy asks for', t => {
  const policy: Policy = new Map(ruleNames.map(rule => [rule, rule.startsWith('advice/') ? 'off' : 'block']))
  const watch = watching(policy)
  for (const rule of ruleNames) {
    const expected = rule.startsWith('advice/') || rule === 'tool/annotations'
      ? 'off'
      : rule.startsWith('call/') || (rule.startsWith('wire/') && rule !== 'wire/ambiguous') ? 'block'
        : 'log'
    t.equal(watch.get(rule), expected, rule)
  }
  t.end()
})
