import t from 'tap'
import { Ledger } from '#relay/core/memory.js'
import { parseFrame } from '#relay/protocol/parse.js'
import type { Action } from '#relay/core/vocabulary.js'
import type { ToolSetting } from '#relay/core/options.js'
import { shapesOf } from '#relay/profiles/shape.js'
import { exchange } from '../../exchange.js'
import { checkAtOnce as checkNow } from './engine.js'
import { answer, call, result, Script, type Setting } from './script.js'

const begun = (profiles: readonly string[], setting: Setting = {}, client = 'test') => {
  const script = new Script({ checkNow, shapes: shapesOf(profiles, 'weather'), ...setting })
  const clientInfo = { name: client, version: '1' }
  script.client({
    jsonrpc: '2.0', id: 0, method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
  })
  script.server(result(0, {
    protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' },
  }))
  script.client({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  script.entries.length = 0
  return script
}

/** A session that has listed these tools, under these profiles. */
const session = (profiles: readonly string[], tools: readonly object[], setting: Setting = {}) => {
  const script = begun(profiles, setting)
  script.server(result(1, { tools }))
  script.entries.length = 0
  return script
}

/** What a client gets of a list, byte for byte, and what is recorded of it. */
const listed = (profiles: readonly string[], tools: string, setting: Setting = {}) => {
  const script = begun(profiles, setting)
  script.server(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools}]}}`)
  const [entry] = script.entries
  const before = '{"jsonrpc":"2.0","id":1,"result":{"tools":['
  return {
    tools: script.raw.at(-1)?.bytes.slice(before.length, -3), verdict: entry?.verdict,
    found: entry?.findings.map(({ rule, path, mended }) => [rule, path, mended]), named: entry?.tools,
  }
}

const uri = '{ "name":"a" , "inputSchema":{"type":"object","properties":{"u":{"type":"string","format":"uri"}}} }'

t.test('a tool is edited where its client refuses it, every other byte stays, and the change is on record', t => {
  t.same(listed(['gemini'], uri), {
    tools: '{ "name":"a" , "inputSchema":{"type":"object","properties":{"u":{"type":"string",' +
      '"description":"(format \\"uri\\")"}}} }',
    verdict: 'mend', named: ['a'],
    found: [[
      'tool/profile', '/result/tools/0',
      'removed /result/tools/0/inputSchema/properties/u/format, ' +
        'written /result/tools/0/inputSchema/properties/u/description',
    ]],
  })
  t.end()
})

t.test('without a profile, without a refusal, or where the rule only logs, a list keeps its bytes', t => {
  const cases: readonly (readonly [string, readonly string[], string, Setting, string])[] = [
    ['no profile', [], uri, {}, 'pass'],
    ['a profile that takes it', ['claude-api'], uri, {}, 'pass'],
    ['a client that is not known', ['auto'], uri, {}, 'pass'],
    ['the action log', ['gemini'], uri, { actions: { 'tool/profile': 'log' } }, 'log'],
    ['the action off', ['gemini'], uri, { actions: { 'tool/profile': 'off' } }, 'pass'],
  ]
  for (const [title, profiles, tool, setting, verdict] of cases) {
    t.match(listed(profiles, tool, setting), { tools: tool, verdict }, title)
  }
  t.end()
})

t.test('auto goes by the name that the client gives itself', t => {
  const script = begun(['auto'], {}, 'gemini-cli-mcp-client')
  script.server(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${uri}]}}`)
  t.match(script.raw.at(-1)?.bytes, /format \\"uri\\"/)
  t.end()
})

/** The name of the first tool that the client was shown. */
const shownOf = (script: Script) => /"name":"([^"]*)"/.exec(script.raw.at(-1)?.bytes ?? '')?.[1] ?? ''

const odd = { name: 'files.read/all', inputSchema: { type: 'object' } }

t.test('a name that the client refuses is replaced, and calls get the server\'s name back', t => {
  const script = session(['claude-api'], [odd])
  const shown = shownOf(script)
  t.match(shown, /^files_read_all_[0-9a-f]{12}$/)
  script.entries.length = 0
  script.client(
    `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{ "name":${JSON.stringify(shown)}, "arguments":{"n":1.0} }}`,
  )
  t.equal(
    script.raw.at(-1)?.bytes,
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{ "name":"files.read/all", "arguments":{"n":1.0} }}',
  )
  script.server(result(2, { content: [] }))
  t.match(script.entries, [
    { tool: 'files.read/all', verdict: 'mend', findings: [{ rule: 'tool/profile', path: '/params/name' }] },
  ])
  t.end()
})

t.test('a name that a client knows from before is found by listing', t => {
  const script = session(['claude-api'], [odd])
  const shown = shownOf(script)
  const cold = new Script({ checkNow, shapes: shapesOf(['claude-api'], 'weather'), joined: true })
  cold.client(call(1, shown))
  cold.server(result(cold.ownId, { tools: [odd] }))
  t.match(JSON.parse(cold.raw.at(-1)?.bytes ?? ''), { method: 'tools/call', params: { name: 'files.read/all' } })
  t.end()
})

/** A client's message that came over HTTP, with the scopes of its token. */
const fromHttp = (message: object, scopes: readonly string[]) => ({
  type: 'frame-received', from: 'client', exchange: exchange('http'),
  frame: {
    ...parseFrame(Buffer.from(JSON.stringify(message)), { messageBytes: 1 << 20, depth: 100 }),
    envelope: { scopes, client: 'c' },
  },
} as const)

t.test('the scopes of a tool are asked of a call by its shown name too', t => {
  const tools = new Map([['files.read/all', {
    denied: false, scopes: ['admin'], outputSchema: undefined, annotations: undefined,
  }]])
  const shown = shownOf(session(['claude-api'], [odd]))
  const script = new Script({ checkNow, shapes: shapesOf(['claude-api'], 'weather'), joined: true, tools })
  script.perform(fromHttp(call(1, shown), ['read']))
  script.server(result(script.ownId, { tools: [odd] }), 'http')
  t.match(script.raw.at(-1), { to: 'client', bytes: /"error":.*the client lacks a scope/ })
  t.notOk(script.raw.some(({ bytes }) => bytes.includes('"files.read/all"')), 'the server gets no call')
  t.match(script.entries.at(-1), { tool: 'files.read/all', verdict: 'block', reason: /lacks a scope/ })
  const [effect] = script.relay.handle(fromHttp(call(2, shown), ['read']), 1).filter(({ type }) => type === 'send')
  t.match(effect, { frame: { relayMade: true, envelope: { neededScopes: ['admin'] } } })
  script.perform(fromHttp(call(3, shown), ['read', 'admin']))
  t.match(script.raw.at(-1), { to: 'server', bytes: /"files.read\/all"/ })
  t.end()
})

t.test('the frame of a changed call has the message that its bytes say', t => {
  const script = session(['claude-api'], [odd])
  const effects = script.relay.handle(fromHttp(call(2, shownOf(script)), []), 1)
  const frames = effects.flatMap(effect => (effect.type === 'send' ? [effect.frame] : []))
  t.match(frames, [{ message: { params: { name: 'files.read/all' } } }])
  t.equal(frames[0]?.relayMade, undefined)
  t.end()
})

t.test('a shown name is mapped back although no list of tools is to be had', t => {
  const script = session(['claude-api'], [odd])
  const shown = shownOf(script)
  script.server({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  script.client(call(2, shown))
  script.happens({ type: 'timer-fired', timer: 'list 1' })
  t.match(script.raw.at(-1), { to: 'server', bytes: /"files.read\/all"/ })
  t.end()
})

t.test('shown names are mapped back however often the list changes, and forgotten with their tools', t => {
  const ledger = new Ledger(2 ** 30)
  const script = begun(['claude-api'], { maxTools: 3, ledger })
  let kept = 0
  for (let list = 1; list < 9; list++) {
    script.server(result(list, { tools: [{ ...odd, name: `files/${list}` }, { ...odd, name: `more/${list}` }] }))
    const shown = (JSON.parse(script.raw.at(-1)?.bytes ?? '') as { result: { tools: { name: string }[] } }).result.tools[1]
    script.client(call(`call ${list}`, shown?.name ?? ''))
    t.match(script.raw.at(-1), { to: 'server', bytes: new RegExp(`"more/${list}"`) })
    script.server(result(`call ${list}`, { content: [] }))
    script.server({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    script.client({ jsonrpc: '2.0', id: list + 1, method: 'tools/list' })
    kept = ledger.kept
  }
  script.server(result(9, { tools: [] }))
  t.ok(ledger.kept < kept, 'what is kept is weighed')
  t.end()
})

t.test('a changed call goes on in its batch', t => {
  const script = new Script({ checkNow, shapes: shapesOf(['claude-api'], 'weather') }).begin([odd], '2025-03-26')
  const shown = shownOf(session(['claude-api'], [odd]))
  script.client([call(1, shown), { jsonrpc: '2.0', id: 2, method: 'ping' }])
  t.match(script.raw, [{ to: 'server', bytes: /^\[.*"files.read\/all".*"ping".*\]$/ }])
  t.end()
})

const search = {
  name: 'search',
  inputSchema: {
    type: 'object', required: ['query'],
    properties: {
      query: { type: 'string' }, limit: { type: 'integer' }, after: { type: ['string', 'null'] },
      where: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
}

t.test('a null for an argument that may be left out is taken out of the call, unless the server takes it', t => {
  const script = session(['openai-strict'], [search])
  script.client(call(1, 'search', { query: 'a', limit: null, after: null, where: { city: null } }))
  t.same(JSON.parse(script.raw.at(-1)?.bytes ?? ''), {
    ...call(1, 'search', { query: 'a', after: null, where: {} }),
  })
  script.server(result(1, { content: [] }))
  t.match(script.entries, [{
    verdict: 'mend',
    findings: [
      { rule: 'tool/profile', path: '/params/arguments/limit' },
      { rule: 'tool/profile', path: '/params/arguments/where/city' },
    ],
  }])
  t.end()
})

t.test('a null stays where an alternative or a tuple takes it', t => {
  const inputSchema = {
    type: 'object',
    properties: {
      pair: { type: 'array', prefixItems: [true], items: { type: 'object', properties: { a: { type: 'string' } } } },
      'a/b': { type: 'object', properties: { 'c d': { type: 'string' } } },
    },
    anyOf: [
      { properties: { city: { type: 'string' } } }, { properties: { zip: { type: 'string' } } },
    ],
    allOf: [{ $ref: '#/properties/a%7E1b' }],
  }
  const script = session(['openai-strict'], [{ name: 'find', inputSchema }])
  const kept = { city: null, pair: [{ a: null }, {}], 'c d': 'x' }
  script.client(call(1, 'find', { ...kept, pair: [{ a: null }, { a: null }] }))
  t.same(JSON.parse(script.raw.at(-1)?.bytes ?? ''), call(1, 'find', kept))
  script.client(call(2, 'find', { 'c d': null }))
  t.same(JSON.parse(script.raw.at(-1)?.bytes ?? ''), call(2, 'find', {}))
  t.end()
})

t.test('alternatives that are closed can be called by a client that must give every argument', t => {
  const [circle, square] = [
    { properties: { kind: { const: 'circle' }, radius: { type: 'number' } }, required: ['kind', 'radius'] },
    { properties: { kind: { const: 'square' }, side: { type: 'number' } }, required: ['kind', 'side'] },
  ].map(one => ({ type: 'object', ...one, additionalProperties: false }))
  const given = { kind: 'square', radius: null, side: 2 }
  const cases: readonly (readonly [string, object, object, object])[] = [
    ['at the root', { type: 'object', oneOf: [circle, square] }, given, { kind: 'square', side: 2 }],
    ['nested', { type: 'object', properties: { shape: { oneOf: [circle, square] } }, required: ['shape'] }, { shape: given },
      { shape: { kind: 'square', side: 2 } }],
    ['under a condition', {
      type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'],
      if: { properties: { kind: { const: 'square' } } },
      then: { properties: { side: { type: 'number' } }, required: ['side'] },
      else: { properties: { radius: { type: 'number' } }, required: ['radius'] },
    }, { kind: 'circle', radius: 1, side: null }, { kind: 'circle', radius: 1, side: null }],
    ['a null that is required', {
      type: 'object', properties: { kind: {}, to: { type: ['string', 'null'] }, radius: { type: 'number' } },
      required: ['kind', 'to'], additionalProperties: false, oneOf: [{ required: ['kind'] }, { required: ['radius'] }],
    }, { kind: 'a', to: null, radius: null }, { kind: 'a', to: null }],
  ]
  for (const [title, inputSchema, args, sent] of cases) {
    const script = begun(['openai-strict'])
    script.server(result(1, { tools: [{ name: 'draw', inputSchema }] }))
    const shown = script.raw.at(-1)?.bytes ?? ''
    for (const name of ['kind', 'radius', 'side']) {
      if (JSON.stringify(inputSchema).includes(`"${name}"`)) t.ok(shown.includes(`"${name}":`), `${title}: ${name} is shown`)
    }
    script.client(call(2, 'draw', args))
    t.same(JSON.parse(script.raw.at(-1)?.bytes ?? ''), call(2, 'draw', sent), title)
  }
  t.end()
})

const either = {
  name: 'find',
  inputSchema: {
    type: 'object', properties: { id: { type: 'string' }, url: { type: 'string' } },
    oneOf: [{ required: ['id'] }, { required: ['url'] }],
  },
}

t.test('arguments that only the shown schema takes are refused with what to change', t => {
  const both = { id: 'a', url: 'b' }
  const script = session(['claude-api'], [either])
  script.client(call(1, 'find', both))
  t.match(script.raw.at(-1), { to: 'client' })
  t.match(JSON.parse(script.raw.at(-1)?.bytes ?? ''), {
    result: { isError: true, content: [{ text: /"find" was not called: call\/arguments .*Correct the arguments/ }] },
  })
  // A client that breaks what it was shown is logged, as it is without a profile.
  script.client(call(2, 'find', { id: 1 }))
  t.match(script.raw.at(-1), { to: 'server' })
  const plain = session([], [either])
  plain.client(call(1, 'find', both))
  t.match(plain.raw.at(-1), { to: 'server' }, 'without a profile')
  t.end()
})

t.test('results are judged by the schema that the server declared', t => {
  const tool = {
    name: 'count', inputSchema: { type: 'object' },
    outputSchema: {
      $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { n: { type: 'number' } },
    },
  }
  const script = session(['claude-desktop'], [tool])
  script.client(call(1, 'count'))
  script.server(answer(1, { n: 'many' }))
  t.match(JSON.parse(script.raw.at(-1)?.bytes ?? ''), { result: { isError: true } })
  t.end()
})

t.test('of too many tools the first stay, those that the operator names before all others', t => {
  const inputSchema = { type: 'object', properties: {} }
  const many = Array.from({ length: 130 }, (_, index) => ({ name: `t${index}`, inputSchema }))
  const script = begun(['vscode'], { names: { allow: ['t129', 't*'] } })
  script.server(result(1, { tools: many }))
  const { result: { tools } } =
    JSON.parse(script.raw.at(-1)?.bytes ?? '') as { result: { tools: { name: string }[] } }
  t.same(tools.map(({ name }) => name), [...many.slice(0, 127), { name: 't129' }].map(({ name }) => name))
  t.match(script.entries, [{
    verdict: 'mend',
    findings: [{
      rule: 'tool/profile', path: '/result/tools',
      message: /takes 128 tools, so 2 are left out: "t127", "t128"/,
    }],
  }])
  script.client(call(2, 't128'))
  t.match(script.raw.at(-1), { to: 'server' }, 'it can be called all the same')
  t.end()
})

t.test('a limit for every tool changes no order, and a name comes before a pattern', t => {
  const inputSchema = { type: 'object', properties: {} }
  const many = [...Array.from({ length: 130 }, (_, index) => `t${index}`), 'late', 'last']
  const limits: ToolSetting = { denied: false, outputSchema: undefined, annotations: undefined }
  const tools = new Map([['*', { ...limits, callsPerMinute: 10 }], ['late', limits]])
  const script = begun(['copilot-cli'], { tools, names: { allow: ['*', 'last'] } })
  script.server(result(1, { tools: many.map(name => ({ name, inputSchema })) }))
  const { result: shown } =
    JSON.parse(script.raw.at(-1)?.bytes ?? '') as { result: { tools: { name: string }[] } }
  t.same(shown.tools.map(({ name }) => name), [...many.slice(0, 126), 'late', 'last'])
  t.end()
})

t.test('a list that is made for one client is not cached for others', t => {
  for (const [profiles, scope] of [[['auto'], 'private'], [['claude-api'], 'public']] as const) {
    const script = begun(profiles)
    script.server(result(1, { tools: [], cacheScope: 'public' }))
    t.match(JSON.parse(script.raw.at(-1)?.bytes ?? ''), { result: { cacheScope: scope } })
  }
  t.end()
})

t.test('a name that a tool is shown under belongs to it alone', t => {
  const shown = shownOf(session(['claude-api'], [odd]))
  const other = { ...odd, name: shown }
  for (const tools of [[odd, other], [other, odd]]) {
    const script = begun(['claude-api'])
    script.server(result(1, { tools }))
    const { result: list } =
      JSON.parse(script.raw.at(-1)?.bytes ?? '') as { result: { tools: { name: string }[] } }
    t.same(list.tools.map(({ name }) => name), [shown])
    t.ok(script.entries.at(-1)?.findings.some(({ rule }) => rule === 'tool/duplicate'))
    script.client(call(2, shown))
    t.match(script.raw.at(-1)?.bytes, `"name":${JSON.stringify(tools[0]?.name)}`)
  }
  t.end()
})

t.test('the operator\'s words are shown in the language of the client', t => {
  const tools = new Map([['a', {
    denied: false, annotations: undefined, description: 'Ours.',
    outputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' },
  }]])
  const tool = '{"name":"a","description":"Theirs.","inputSchema":' +
    '{"type":"object","oneOf":[{"required":["x"]},{"required":["y"]}]}}'
  t.match(JSON.parse(listed(['claude-desktop'], tool, { tools }).tools ?? ''), {
    description: 'Ours. (exactly one of: x, or y)',
    outputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema' },
  })
  t.end()
})

t.test('a tool that no step makes acceptable is withheld only where it would cost the client the whole list', t => {
  const action: Action = 'mend'
  for (const [isMinor, shown] of [[false, { tools: '', verdict: 'block' }], [true, { tools: uri, verdict: 'log' }]] as const) {
    const shapes = {
      names: ['none'], isPersonal: false,
      of: () => ({
        name: 'none', tools: undefined, refusals: () => [{ path: '', message: 'refuses it', isMinor }],
        adapted: (definition: object) => ({ ...definition }), withoutNulls: undefined,
      }),
    }
    t.match(listed([], uri, { shapes, actions: { 'tool/profile': action } }), shown)
  }
  t.end()
})

t.test('a tool that would take too long to rewrite is shown as it is, with a finding', t => {
  const alternatives = Array.from({ length: 240 }, (_, n) => ({
    properties: Object.fromEntries(Array.from({ length: 19 }, (_, m) => [`p${n}_${m}`, { type: 'string' }])),
  }))
  const tool = JSON.stringify({ name: 'a', inputSchema: { type: 'object', anyOf: alternatives } })
  t.match(listed(['gemini'], tool), {
    tools: tool, verdict: 'log', found: [['tool/profile', '/result/tools/0', undefined]],
  })
  t.end()
})
