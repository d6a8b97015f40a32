import t from 'tap'
import type { ToolSetting } from '#relay/core/options.js'
import { jsonSchemaKeywords } from '#relay/protocol/json-schema.js'
import { field, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { type Preset, presetPolicy } from '#relay/rules/index.js'
import { checkAtOnce as checkNow } from './engine.js'
import { initialize, Script, type Setting } from './script.js'

const under = (preset: Preset, more: Setting = {}): Setting =>
  ({ checkNow, policy: presetPolicy(preset, { purpose: 'relay', locked: false }), ...more })

/** What the client gets of the server's result for a request, the verdict, and the rules with findings. */
const exchanged = (setting: Setting, request: DataObject, result: unknown, tools?: readonly object[], revision = '2025-11-25') => {
  const made = new Script(setting)
  made.client(initialize(revision))
  const greeting =
    { protocolVersion: revision, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
  const isGreeting = field(request, 'method') === 'initialize'
  if (!isGreeting) {
    made.server({ jsonrpc: '2.0', id: 0, result: greeting })
    if (tools !== undefined) {
      made.client({ jsonrpc: '2.0', id: 'list', method: 'tools/list' })
      made.server({ jsonrpc: '2.0', id: 'list', result: { tools } })
    }
    made.client({ jsonrpc: '2.0', id: 1, ...request })
  }
  made.entries.length = 0
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  made.server(`{"jsonrpc":"2.0","id":${isGreeting ? 0 : 1},"result":${text}}`)
  const got = JSON.parse(made.raw.at(-1)?.bytes ?? '{}') as DataObject
  const [entry] = made.entries
  return {
    result: field(got, 'result'), error: field(got, 'error'), verdict: entry?.verdict ?? 'pass',
    rules: [...new Set(entry?.findings.map(({ rule }) => rule))], findings: entry?.findings ?? [],
  }
}

const text = (text: string) => ({ type: 'text', text })
const object: DataObject = { type: 'object' }
const counting = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
const tool = (outputSchema?: object, name = 'a') => ({ name, inputSchema: object, ...(outputSchema && { outputSchema }) })
const settings = (setting: Partial<ToolSetting>): ToolSetting =>
  ({ denied: false, outputSchema: undefined, annotations: undefined, ...setting })

/** What a tool returns, and what the client gets under `compat`; undefined: refused. */
const results: readonly (readonly [
  title: string, declared: object | undefined, sent: object, got: object | undefined,
  rules: readonly string[],
  revision?: string,
])[] = [
  ['data of another type', counting, { content: [text('1')], structuredContent: { n: '1' } }, { content: [text('1')] }, ['result/schema']],
  ['a null for a number', counting, { content: [text('1')], structuredContent: { n: null } }, { content: [text('1')] }, ['result/schema']],
  ['data of another type, and no text', counting, { content: [], structuredContent: { n: '1' } }, undefined, ['result/schema', 'result/no-text']],
  ['a date in another format', { type: 'object', properties: { d: { type: 'string', format: 'date' } } },
    { content: [text('x')], structuredContent: { d: 'today' } }, { content: [text('x')], structuredContent: { d: 'today' } }, ['result/format']],
  ['a date in another format, and no text', { type: 'object', properties: { d: { type: 'string', format: 'date' } } },
    { content: [], structuredContent: { d: 'today' } }, { content: [text('{"d":"today"}')], structuredContent: { d: 'today' } }, ['result/no-text', 'result/format']],
  ['no data', counting, { content: [text('one')] }, { content: [text('one')] }, ['result/missing']],
  ['null for data', counting, { content: [text('one')], structuredContent: null }, { content: [text('one')] }, ['result/missing']],
  ['null for data in 2026-07-28', counting, { content: [text('one')], structuredContent: null, resultType: 'complete' },
    { content: [text('one')], resultType: 'complete' }, ['result/missing'], '2026-07-28'],
  ['null that nobody declared', undefined, { content: [text('one')], structuredContent: null }, { content: [text('one')] }, ['result/shape']],
  ['a list that nobody declared', undefined, { content: [text('[{"a":1}]')], structuredContent: [{ a: 1 }] }, { content: [text('[{"a":1}]')] }, ['result/shape']],
  ['a list that nobody declared, and no text', undefined, { content: [], structuredContent: [1] }, { content: [text('[1]')] }, ['result/shape']],
  ['a number that nobody declared', undefined, { content: [], structuredContent: 5 }, { content: [text('5')] }, ['result/shape']],
  ['a list where an object is declared', object, { content: [text('[1]')], structuredContent: [1] }, undefined, ['result/shape', 'result/schema']],
  ['an empty list where an object is declared', object, { content: [text('[]')], structuredContent: [] }, { content: [text('[]')], structuredContent: {} }, ['result/shape']],
  ['good data, and empty content', counting, { content: [], structuredContent: { n: 1 } }, { content: [text('{"n":1}')], structuredContent: { n: 1 } }, ['result/no-text']],
  ['good data alone', counting, { structuredContent: { n: 1 } }, { structuredContent: { n: 1 }, content: [text('{"n":1}')] }, ['result/shape']],
  ['nothing at all', undefined, {}, { content: [] }, ['result/shape']],
  ['an error with data of another type', counting, { content: [text('no')], isError: true, structuredContent: { n: '1' } }, { content: [text('no')], isError: true }, ['result/error-structured']],
  ['nulls', undefined, { content: [{ ...text('x'), annotations: null, _meta: null }], isError: null, _meta: null }, { content: [text('x')] }, ['result/shape']],
  ['an empty array for an object', undefined, { content: [text('x')], _meta: [] }, { content: [text('x')], _meta: {} }, ['result/shape']],
]

t.test('results of careless servers', t => {
  for (const [title, declared, sent, got, rules, revision = '2025-11-25'] of results) {
    const asked = (setting: Setting) =>
      exchanged(setting, { method: 'tools/call', params: { name: 'a', arguments: {} } }, sent, [tool(declared)], revision)
    const isModern = revision === '2026-07-28'
    if (isModern) continue
    const compat = asked(under('compat'))
    t.same([...compat.rules].sort(), [...rules].sort(), `${title}: rules`)
    if (got !== undefined) t.same(compat.result, got, `${title}: compat`)
    else t.match(compat.result, { isError: true, structuredContent: undefined }, `${title}: refused`)
    t.same(asked(under('observe')).result, sent, `${title}: observe changes nothing`)
    const relaxed = asked(under('standard', { tools: new Map([['a', settings({ relaxed: true })]]) }))
    if (got !== undefined && declared !== undefined && !title.startsWith('an error')) t.same(relaxed.result, got, `${title}: relaxed`)
  }
  t.end()
})

const property = (d: DataObject): DataObject => ({ name: 'a', inputSchema: { type: 'object', properties: { d } } })
const into = (inputSchema: DataObject): DataObject => ({ name: 'a', inputSchema })

/** A tool as it is sent, and as the client gets it under `compat`; undefined: it is left out. */
const definitions: readonly (readonly [title: string, sent: DataObject, got: DataObject | undefined])[] = [
  ['a $ref to nothing', { name: 'a', inputSchema: object, outputSchema: { type: 'object', properties: { id: { type: 'string' }, v: { $ref: '#/$defs/S' } } } }, { name: 'a', inputSchema: object }],
  ['a bound that is a text', property({ type: 'string', format: 'date', minimum: '2024-01-01' }), property({ type: 'string', format: 'date' })],
  ['required that is true', property({ type: 'string', required: true }), property({ type: 'string' })],
  ['a pattern of another language', property({ type: 'string', pattern: '(?i)abc' }), property({ type: 'string' })],
  ['a type that is none', property({ type: 'str' }), property({})],
  ['a type that is none, at the top', into({ type: 'OBJECT', properties: {} }), into({ properties: {}, type: 'object' })],
  ['an unknown dialect', into({ $schema: 'https://a.example/', type: 'object' }), into({ type: 'object' })],
  ['an older dialect with a broken place', into({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', minProperties: 'x' }), into({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' })],
  ['a property that is no schema', into({ type: 'object', properties: { d: 'string', e: object } }), into({ type: 'object', properties: { d: {}, e: object } })],
  ['properties that are no object', into({ type: 'object', properties: ['x'], additionalProperties: false }), undefined],
  ['a broken alternative', property({ oneOf: [{ type: 'string' }, { type: 'str' }] }), property({})],
  ['a broken negation', property({ not: { type: 'str' } }), property({})],
  ['a broken branch of all', property({ allOf: [{ type: 'str' }, { maxLength: 3 }], unevaluatedProperties: false }), property({ allOf: [{}, { maxLength: 3 }] })],
  ['tuples', property({ type: 'array', prefixItems: 5, items: { type: 'string' } }), property({ type: 'array' })],
  ['a schema that refers to itself', property({ $ref: '#/properties/d' }), property({})],
  ['a reference to the network', property({ $ref: 'https://a.example/x' }), undefined],
  ['properties of PHP', into({ type: 'object', properties: [] }), into({ type: 'object', properties: {} })],
  ['properties of PHP within', property({ type: 'object', properties: [], $defs: [], dependentRequired: [] }), property({ type: 'object', properties: {}, $defs: {}, dependentRequired: {} })],
  ['a property of PHP', into({ type: 'object', properties: { d: [] } }), into({ type: 'object', properties: { d: {} } })],
  ['a schema of PHP', { name: 'a', inputSchema: [] }, into(object)],
  ['_meta of PHP', { name: 'a', inputSchema: object, _meta: [] }, { name: 'a', inputSchema: object, _meta: {} }],
  ['a default that is an empty array', property({ type: 'array', default: [] }), property({ type: 'array', default: [] })],
  ['100 broken places', into({ type: 'object', properties: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`p${index}`, { required: true }])) }),
    into({ type: 'object', properties: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`p${index}`, {}])) })],
]

const listing = (setting: Setting, tool: object) => {
  const { result, ...rest } = exchanged(setting, { method: 'tools/list' }, { tools: [tool] })
  return { tools: (result as { tools?: readonly unknown[] } | undefined)?.tools ?? [], ...rest }
}

t.test('definitions of careless servers', t => {
  for (const [title, sent, got] of definitions) {
    t.same(listing(under('compat'), sent).tools, got === undefined ? [] : [got], `${title}: compat`)
    t.same(listing(under('observe'), sent).tools, [sent], `${title}: observe`)
    const { tools } = listing(under('standard'), sent)
    const isFine = title === 'a default that is an empty array'
    t.same(tools, isFine ? [sent] : [], `${title}: standard`)
    if (got === undefined) continue
    const called = (preset: Preset) =>
      exchanged(under(preset), { method: 'tools/call', params: { name: 'a', arguments: {} } }, { content: [text('x')], structuredContent: { id: 'x', v: 1 } }, [sent])
    t.match(called('compat').result, { content: [text('x')], isError: undefined }, `${title}: it can be called`)
    t.notOk(called('compat').rules.includes('result/unchecked'), `${title}: it is checked`)
  }
  t.end()
})

const scalars: readonly Data[] = [null, true, 5, -1, 0.5, 'x', '', [], ['x'], [5], [{}], {}, { x: 5 }, { x: 'y' }]

t.test('each keyword with each value that it may not have', t => {
  const places: readonly ((d: DataObject) => DataObject)[] = [
    d => into({ type: 'object', ...d }), property, d => property({ anyOf: [{ type: 'string' }, d] }),
  ]
  const sent = [...jsonSchemaKeywords.keys()].flatMap(keyword =>
    scalars.flatMap(value => places.map(place => place({ [keyword]: value }))))
    .map(({ inputSchema }, index) => ({ name: `t${index}`, inputSchema }))
  const listedUnder = (preset: Preset, tools: readonly DataObject[]) => {
    const { result } = exchanged(under(preset), { method: 'tools/list' }, { tools })
    const listed = (result as { tools: readonly (DataObject & { readonly name: string })[] }).tools
    return new Map(listed.map(one => [one.name, one]))
  }
  const [standard, compat] = [listedUnder('standard', sent), listedUnder('compat', sent)]
  const broken = sent.filter(({ name }) => !standard.has(name))
  const gone = broken.filter(({ name }) => !compat.has(name)).map(one => JSON.stringify(one.inputSchema))
  // Named arguments; a reference to the network; another type than object, which is that of an argument.
  t.same(gone.filter(one => !/"properties":\[[^\]]|"\$ref":"[xy]|Ref":"x|^\{"type":(?:null|\[)/.test(one)), [])
  t.ok(broken.length > 900, `${broken.length} broken`)
  const mended = [...compat].flatMap(([name, one]) => (standard.has(name) ? [] : [one]))
  t.equal(listedUnder('standard', mended).size, mended.length, 'what is shown is right')
  t.end()
})

t.test('settings of every tool hold for each that has none of its own', t => {
  const sent = { content: [text('1')], structuredContent: { n: '1' } }
  const asked = (tools: ReadonlyMap<string, ToolSetting>) =>
    exchanged(under('strict', { tools }), { method: 'tools/call', params: { name: 'a', arguments: {} } }, sent, [tool(counting)])
  t.same(asked(new Map([['*', settings({ relaxed: true })]])).result, { content: [text('1')] })
  t.same(asked(new Map([['*', settings({ outputSchema: true })]])).result, sent)
  t.match(asked(new Map([['*', settings({ relaxed: true })], ['a', settings({ relaxed: false })]])).result, { isError: true })
  t.match(asked(new Map([['*', settings({ denied: true })], ['a', settings({ relaxed: true })]])).result, { isError: true })
  t.end()
})

t.test('params that PHP and other serialisers write for nothing', t => {
  const rows = [
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    ['{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}', '{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}'],
    ['{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","arguments":[],"_meta":null}}', '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","arguments":{}}}'],
  ] as const
  const sentOn = (setting: Setting, from: 'client' | 'server', line: string) => {
    const made = new Script(setting).begin([])
    made[from](line)
    return made.raw.filter(({ to }) => to !== from).at(-1)?.bytes
  }
  for (const [sent, got] of rows) {
    t.equal(sentOn(under('compat'), 'client', sent), got)
    t.equal(sentOn(under('observe'), 'client', sent), sent)
    const isWellFormed = sent.includes('prompts/get')
    t.equal(sentOn(under('standard'), 'client', sent), isWellFormed ? sent : undefined)
    const names = { allow: ['a'] }
    t.equal(sentOn(under('compat', { names }), 'client', sent), isWellFormed ? sent : undefined, 'where access is restricted')
  }
  const ping = '{"jsonrpc":"2.0","id":"p","method":"ping","params":[]}'
  t.equal(sentOn(under('compat'), 'server', ping), ping.replace('[]', '{}'))
  t.equal(sentOn(under('compat'), 'client', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":["x"]}'), undefined)
  t.end()
})

t.test('what no revision knows stays as the server wrote it', t => {
  const capabilities = {
    tools: {}, experimental: { vendor: { formats: ['a'], limit: null } },
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
  }
  const greeting = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 's', version: '1' } }
  const result = { content: [text('x')], vendor: { title: null, annotations: [], description: null } }
  for (const preset of ['standard', 'compat'] as const) {
    const begun = exchanged(under(preset), initialize('2025-11-25') as DataObject, greeting)
    t.match(begun, { result: greeting, rules: [] }, preset)
    const called = exchanged(under(preset), { method: 'tools/call', params: { name: 'a' } }, result, [tool()])
    t.match(called, { result, rules: [] }, preset)
  }
  t.end()
})

t.test('a message that is ambiguous is not mended, and stays blocked', t => {
  const made = new Script(under('compat'))
  made.client(initialize('2025-11-25'))
  made.server({ jsonrpc: '2.0', id: 0, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } } })
  const sent = made.client('{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","arguments":{"p":"/etc"},"arguments":null}}')
  t.notOk(sent.some(([effect]) => effect === 'to server'))
  t.end()
})

t.test('a minor finding beside one that is mended blocks nothing', t => {
  const icons = [{ src: 'http://x.example/i.png', mimeType: null }]
  const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1', icons } }
  const { error } = exchanged(under('standard'), initialize('2025-11-25') as DataObject, greeting)
  t.equal(error, undefined)
  t.end()
})
