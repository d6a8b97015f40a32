import type { Test } from 'tap'
import type { DataObject } from '#relay/protocol/unmetered.js'
import type { Bridge, Open } from './bridge.js'
import { answer, call, legacy, on, request } from './cases.js'

// Servers that are honest and careless, in front of the built command: what tolerant clients accept works.

const object = { type: 'object' }
const text = (text: string) => ({ type: 'text', text })
const counting = { type: 'object', properties: { n: { type: 'integer' }, d: { type: 'string', format: 'date-time' } }, required: ['n'] }

const greeting = {
  protocolVersion: legacy,
  capabilities: { tools: { listChanged: null }, prompts: null, logging: null, resources: [] },
  serverInfo: { name: 'a', version: '1', title: null }, instructions: null,
}
const greetingMended = {
  protocolVersion: legacy, capabilities: { tools: {}, resources: {} }, serverInfo: { name: 'a', version: '1' },
}

interface Careless {
  readonly name: string
  readonly tool: object
  /** As clients get it under `compat`; undefined: the tool is left out. */
  readonly shown: object | undefined
  readonly result: object
  /** What the client gets of the result under `compat`, and under `standard`; undefined: an error. */
  readonly compat: object | undefined
  readonly standard: object | 'unlisted' | undefined
}

const tool = (name: string, more: object = {}) => ({ name, inputSchema: object, ...more })
const plain = { content: [text('x')] }
/** A result that passes under no policy but `observe` and `compat`. */
const returning = (
  name: string, outputSchema: object | undefined, result: object, compat: object | undefined,
  standard?: object,
): Careless =>
  ({ name, tool: tool(name, outputSchema && { outputSchema }), shown: tool(name), result, compat, standard })
/** A definition that only `compat` shows. */
const declaring = (name: string, more: object, shown: object | undefined): Careless =>
  ({ name, tool: tool(name, more), shown: shown && tool(name, shown), result: plain, compat: shown && plain, standard: 'unlisted' })

const input = (d: object) => ({ inputSchema: { type: 'object', properties: { d } } })

const all: readonly Careless[] = [
  returning('other_type', counting, { content: [text('one')], structuredContent: { n: null } }, { content: [text('one')] }),
  returning('other_format', counting, { content: [text('one')], structuredContent: { n: 1, d: '2026-01-01 10:00' } },
    { content: [text('one')], structuredContent: { n: 1, d: '2026-01-01 10:00' } }, { content: [text('one')], structuredContent: { n: 1, d: '2026-01-01 10:00' } }),
  returning('missing', counting, { content: [text('one')] }, { content: [text('one')] }),
  returning('null', counting, { content: [text('one')], structuredContent: null }, { content: [text('one')] }),
  returning('no_text', counting, { content: [], structuredContent: { n: '1' } }, undefined),
  returning('silent_good', counting, { content: [], structuredContent: { n: 1 } }, { content: [text('{"n":1}')], structuredContent: { n: 1 } }, { content: [], structuredContent: { n: 1 } }),
  returning('list', undefined, { content: [text('[{"a":1}]')], structuredContent: [{ a: 1 }] }, { content: [text('[{"a":1}]')] }),
  returning('silent', undefined, { content: [], structuredContent: [1] }, { content: [text('[1]')] }),
  returning('declared', object, { content: [text('[1]')], structuredContent: [1] }, undefined),
  returning('php', object, { content: [text('[]')], structuredContent: [], _meta: [] }, { content: [text('[]')], structuredContent: {}, _meta: {} }),
  declaring('upload', { outputSchema: { type: 'object', properties: { v: { $ref: '#/$defs/Screen' } } } }, {}),
  declaring('run', input({ type: 'string', minimum: '2024-01-01' }), input({ type: 'string' })),
  declaring('old', input({ type: 'string', required: true }), input({ type: 'string' })),
  declaring('java', input({ type: 'string', pattern: '(?i)abc' }), input({ type: 'string' })),
  declaring('types', input({ type: 'str' }), input({})),
  declaring('empty', { inputSchema: { type: 'object', properties: [] } }, { inputSchema: { type: 'object', properties: {} } }),
  declaring('within', input({ type: 'object', properties: [] }), input({ type: 'object', properties: {} })),
  declaring('meta', { _meta: [] }, { _meta: {} }),
  declaring('named', { inputSchema: { type: 'object', properties: ['x'] } }, undefined),
]

const parsed = (line: string): DataObject => JSON.parse(line) as DataObject

const sent = async (open: Open, line: string): Promise<DataObject> => {
  open.send(line)
  return parsed(await open.next())
}

const reactions = [
  on('initialize', answer('$ID', JSON.stringify(greeting))),
  on('tools/list', answer('$ID', JSON.stringify({ tools: all.map(one => one.tool) }))),
  ...all.map(({ name, result }) => ({ when: `"name":"${name}"`, say: [answer('$ID', JSON.stringify(result))] })),
  on('prompts/get', answer('$ID', '{"description":null,"messages":[{"role":"user","content":{"type":"text","text":"x","annotations":null}}]}')),
  on('completion/complete', answer('$ID', '{"completion":{"values":[],"total":null,"hasMore":null}}')),
]

export const policies = ['observe', 'standard', 'compat'] as const

/** What a client gets of such a server over a bridge, and what is on record. */
export const judgeCareless = async (t: Test, bridge: Bridge, policy: (typeof policies)[number]) => {
  const open = await bridge.open(t, { options: ['--policy', policy, '--trust', '--server', 'shop'], config: undefined, reactions })
  const hello = await sent(open, request(legacy, '1', 'initialize', `"protocolVersion":"${legacy}","capabilities":{},"clientInfo":{"name":"c","version":"1"}`))
  const isCompat = policy === 'compat'
  t.same(hello['result'], isCompat ? greetingMended : greeting, 'initialize')
  open.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  const { result: list } = await sent(open, request(legacy, '2', 'tools/list'))
  const shown = (one: Careless) => (policy === 'observe' ? one.tool : isCompat ? one.shown : one.standard === 'unlisted' ? undefined : one.tool)
  t.same((list as DataObject)['tools'], all.flatMap(one => shown(one) ?? []), 'tools/list')
  for (const [index, one] of all.entries()) {
    const got = await sent(open, call(legacy, String(10 + index), one.name))
    const expected = policy === 'observe' ? one.result : one[policy]
    if (expected === 'unlisted' || (expected === undefined && shown(one) === undefined)) t.match(got['error'], { code: -32602 }, one.name)
    else if (expected !== undefined) t.same(got['result'], expected, one.name)
    else {
      const told = JSON.stringify(got['result'])
      t.match(got['result'], { isError: true, structuredContent: undefined }, one.name)
      t.equal(told.includes(`mcp-customs relax shop ${one.name}`), !isCompat, `${one.name}: the command that helps`)
    }
  }
  const prompt = await sent(open, request(legacy, '3', 'prompts/get', '"name":"p"'))
  t.equal(JSON.stringify(prompt['result']).includes('null'), !isCompat, 'prompts/get')
  const completion = await sent(open, request(legacy, '4', 'completion/complete', '"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}'))
  t.equal(JSON.stringify(completion['result']).includes('null'), !isCompat, 'completion/complete')
  if (isCompat) {
    const php = await sent(open, '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[]}')
    t.ok(php['result'], 'params of PHP')
    const nothing = await sent(open, '{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"missing","arguments":null,"_meta":[]}}')
    t.same(nothing['result'], { content: [text('one')] }, 'arguments that are null')
    t.ok(open.traces().received.some(line => line.includes('"params":{"name":"missing","_meta":{}}')), 'what the server got')
  }
  await open.close()
  const [record] = open.traces().audit.filter(({ tool }) => tool === 'other_type')
  t.match(record, { findings: [{ rule: 'result/schema', path: '/result/structuredContent/n', value: 'null', declared: '{"type":"integer"}' }] })
}
