import t from 'tap'
import { promotionOf } from '#relay/core/tool-results.js'
import type { ToolSetting } from '#relay/core/options.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import { Meter } from '#relay/protocol/json.js'
import { call, Script } from './script.js'

const block = (text: string) => ({ type: 'text', text })
const plain = { name: 'weather', inputSchema: { type: 'object' } }
const setting: ToolSetting = {
  denied: false, outputSchema: { type: 'object' }, structured: 'from-text', annotations: undefined,
}

const answered = (
  result: DataObject | string, more: Partial<ToolSetting> = {},
  options: ConstructorParameters<typeof Script>[0] = {},
) => {
  const script = new Script({ tools: new Map([['weather', { ...setting, ...more }]]), ...options }).begin([
    plain,
  ])
  script.client(call(1, 'weather'))
  script.raw.length = 0
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  script.server(`{"jsonrpc":"2.0","id":1, "result": ${text} }`)
  return {
    bytes: script.raw[0]?.bytes ?? '',
    findings: script.entries.at(-1)?.findings.map(({ rule }) => rule) ?? [],
  }
}

t.test('the structured content in a text', t => {
  const cases = [
    ['an object', [block('{"a":1}')], '{"a":1}'],
    [
      'an object beside a picture', [{ type: 'image', data: '', mimeType: 'image/png' }, block('{"a":1}')],
      '{"a":1}',
    ],
    ['lines become one', [block(' {\n  "a": 1\r\n}\n')], '{   "a": 1  }'],
    [
      'a big integer stays as it is spelt', [block('{"a":12345678901234567890}')],
      '{"a":12345678901234567890}',
    ],
    ['prose', [block('It rains.')], undefined],
    ['a list', [block('[1]')], '[1]'],
    ['data beside prose', [block('[It] rains.'), block('{"a":1}')], '{"a":1}'],
    ['two texts that are data', [block('{"a":1}'), block('[]')], undefined],
    ['no more than a number', [block('1')], undefined],
    ['a key twice', [block('{"a":1,"a":2}')], undefined],
    ['a lone surrogate', [block('{"a":"\\ud800"}')], undefined],
    ['a number beyond a double', [block('{"a":1e400}')], undefined],
    ['a text that closes the message and goes on', [block('{"a":1}},"x":{"y":1')], undefined],
    ['a text that adds a member', [block('{"a":1},"isError":true,"x":{}')], undefined],
  ] as const
  for (const [name, content, text] of cases) t.equal(promotionOf({ content }, new Meter())?.text, text, name)
  t.end()
})

t.test('a text that fits becomes structured content; every other byte stays', t => {
  const sent = '{ "content": [{"type":"text","text":"{\\"a\\": 1}"}] }'
  t.same(answered(sent), {
    bytes:
      '{"jsonrpc":"2.0","id":1, "result": { "content": [{"type":"text","text":"{\\"a\\": 1}"}],"structuredContent":{"a": 1} } }',
    findings: [],
  })
  t.end()
})

t.test('text that does not match the schema does not become structured content, whatever the policy', t => {
  const fits = { outputSchema: { type: 'array' } }
  t.match(answered({ content: [block('{"a":1}')] }, fits), {
    bytes: /"isError":true/, findings: ['result/schema'],
  })
  const logged = answered({ content: [block('{"a":1}')] }, fits, { actions: { 'result/schema': 'log' } })
  t.notMatch(logged.bytes, 'structuredContent')
  t.same(logged.findings, ['result/schema'])
  t.end()
})

t.test('prose, errors and structured content of the server are left alone', t => {
  t.match(answered({ content: [block('It rains.')] }), {
    bytes: /It rains\..*"isError":true/, findings: ['result/missing'],
  })
  for (const result of [
    { content: [block('{"a":1}')], isError: true },
    { content: [block('{"a":1}')], structuredContent: { a: 1 } },
  ]) {
    t.same(answered(result), {
      bytes: `{"jsonrpc":"2.0","id":1, "result": ${JSON.stringify(result)} }`, findings: [],
    })
  }
  t.end()
})

t.test('the result of a task has it too, requested or in a notification', t => {
  const script = new Script({ tools: new Map([['weather', setting]]) }).begin([plain])
  script.client({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather', task: {} } })
  script.server({
    jsonrpc: '2.0', id: 1, result: { task: { taskId: 't', status: 'working', createdAt: '', ttl: 1 } },
  })
  script.client({ jsonrpc: '2.0', id: 2, method: 'tasks/result', params: { taskId: 't' } })
  const result = { content: [block('{"a":1}')] }
  t.match(script.server({ jsonrpc: '2.0', id: 2, result }), [
    ['to client', { result: { structuredContent: { a: 1 } } }],
  ])
  t.match(
    script.server({
      jsonrpc: '2.0', method: 'notifications/tasks', params: { taskId: 't', status: 'completed', result },
    }),
    [['to client', { params: { result: { structuredContent: { a: 1 } } } }]],
  )
  t.end()
})

t.test('the list has the schema', t => {
  const script = new Script({ tools: new Map([['weather', setting]]) }).begin([plain])
  script.client({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
  script.raw.length = 0
  script.server({ jsonrpc: '2.0', id: 2, result: { tools: [plain] } })
  t.match(script.raw[0]?.bytes, '"outputSchema":{"type":"object"}')
  t.end()
})

t.test('a result that breaks the operator\'s contract is a finding, and passes as it came', t => {
  const only = { outputSchema: undefined, structured: undefined }
  const fine = { content: [block('It rains.')] }
  const passes = `{"jsonrpc":"2.0","id":1, "result": ${JSON.stringify(fine)} }`
  t.same(answered(fine, { ...only, resultSchema: { type: 'object' } }), { bytes: passes, findings: [] })
  t.same(answered(fine, { ...only, resultSchema: { type: 'array' } }), {
    bytes: passes, findings: ['result/contract'],
  })
  t.same(
    answered(fine, { ...only, resultSchema: { type: 'array' } }, { actions: { 'result/contract': 'off' } }),
    { bytes: passes, findings: [] },
  )
  t.match(
    answered(fine, { ...only, resultSchema: { type: 'array' } }, { actions: { 'result/contract': 'block' } }),
    { bytes: /"isError":true/ },
  )
  t.end()
})
