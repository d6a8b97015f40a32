import t from 'tap'
import type { ToolSetting } from '#core/options.js'
import { isObject, member, type Json, type JsonObject } from '#protocol/unmetered.js'
import { type Preset, presetPolicy } from '#rules/index.js'
import { checkAtOnce as checkNow } from './engine.js'
import { call, initialize, Script, type Setting } from './script.js'

const under = (preset: Preset, more: Setting = {}): Setting =>
  ({ checkNow, policy: presetPolicy(preset, { purpose: 'relay', locked: false }), ...more })

/** What the client gets of the server's result for a request, the verdict, and the rules with findings. */
const exchanged = (setting: Setting, request: JsonObject, result: unknown, tools?: readonly object[], revision = '2025-11-25') => {
  const made = new Script(setting)
  made.client(initialize(revision))
  const greeting =
    { protocolVersion: revision, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
  const isGreeting = member(request, 'method') === 'initialize'
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
  const got = JSON.parse(made.raw.at(-1)?.bytes ?? '{}') as JsonObject
  const [entry] = made.entries
  return {
    result: member(got, 'result'), error: member(got, 'error'), verdict: entry?.verdict ?? 'pass',
    rules: [...new Set(entry?.findings.map(({ rule }) => rule))], findings: entry?.findings ?? [],
  }
}

const text = (text: string) => ({ type: 'text', text })
const object = { type: 'object' }
const counting = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
const tool = (outputSchema?: object, name = 'a') => ({ name, inputSchema: object, ...(outputSchema && { outputSchema }) })
const settings = (setting: Partial<ToolSetting>): ToolSetting =>
  ({ denied: false, outputSchema: undefined, annotations: undefined, ...setting })

/** What a tool that declares `declared` returns, and what the client gets under `compat`; undefined: refused. */
const results: readonly (readonly [
  title: string, declared: object | undefined, sent: object, got: object | undefined, rules: readonly string[],
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
  ['null that nobody declared', undefined, { content: [text('one')], structuredContent: null }, { content: [text('one')] }, ['result/shape', 'result/undeclared']],
  ['a list that nobody declared', undefined, { content: [text('[{"a":1}]')], structuredContent: [{ a: 1 }] }, { content: [text('[{"a":1}]')] }, ['result/shape', 'result/undeclared']],
  ['a list that nobody declared, and no text', undefined, { content: [], structuredContent: [1] }, { content: [text('[1]')] }, ['result/shape', 'result/undeclared', 'result/no-text']],
  ['a number that nobody declared', undefined, { content: [], structuredContent: 5 }, { content: [text('5')] }, ['result/shape', 'result/undeclared', 'result/no-text']],
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
