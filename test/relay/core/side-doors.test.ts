import t from 'tap'
import type { Action } from '#relay/core/vocabulary.js'
import { presetPolicy } from '#relay/rules/index.js'
import { call, findingsOf, initialize, modern, result, Script, weather } from './script.js'

/** A session in which the weather runs as the task `t`. */
const withTask = (isModern: boolean): Script => {
  const script = new Script()
  if (!isModern) {
    script.begin()
    script.client({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather', task: {} } })
    script.server(result(1, { task: { taskId: 't', status: 'working' } }))
  } else {
    script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list', params: modern() })
    script.server(result('l', { tools: [weather] }))
    script.client({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'weather', ...modern() } })
    script.server(result(1, { resultType: 'task', taskId: 't', status: 'working' }))
  }
  script.entries.length = 0
  return script
}

const bad = { content: [{ type: 'text', text: 'x' }], structuredContent: 'hot' }
const good = { content: [{ type: 'text', text: 'x' }], structuredContent: {} }

/** Where the outcome of a task may stand beside where it belongs, and what is found of a bad one. */
const doors: readonly (readonly [
  isModern: boolean, method: string, holds: (outcome: unknown) => object, path: string,
])[] = [
  [true, 'tasks/get', outcome => ({ taskId: 't', status: 'completed', result: outcome }), '/result/result'],
  [
    true, 'tasks/cancel', outcome => ({ taskId: 't', status: 'cancelled', result: outcome }),
    '/result/result',
  ],
  [true, 'tasks/cancel', outcome => ({ taskId: 't', ...(outcome as object) }), '/result'],
  [true, 'tasks/update', outcome => ({ result: outcome }), '/result/result'],
  [true, 'tasks/update', outcome => ({ ...(outcome as object) }), '/result'],
  [
    true, 'notifications/tasks', outcome => ({ taskId: 't', status: 'completed', result: outcome }),
    '/params/result',
  ],
  [false, 'tasks/get', outcome => ({ taskId: 't', status: 'completed', result: outcome }), '/result/result'],
  [
    false, 'tasks/cancel', outcome => ({ taskId: 't', status: 'cancelled', result: outcome }),
    '/result/result',
  ],
  [
    false, 'tasks/list',
    outcome => ({ tasks: [{ taskId: 'u' }, { taskId: 't', status: 'completed', result: outcome }] }),
    '/result/tasks/1/result',
  ],
  [false, 'tasks/list', outcome => ({ tasks: [{ taskId: 't', ...(outcome as object) }] }), '/result/tasks/0'],
  [
    false, 'tools/call', outcome => ({ task: { taskId: 'v', status: 'completed', result: outcome } }),
    '/result/task/result',
  ],
  [
    false, 'tools/call', outcome => ({ task: { taskId: 'v', status: 'completed', ...(outcome as object) } }),
    '/result/task',
  ],
  [
    false, 'notifications/tasks/status', outcome => ({ taskId: 't', status: 'completed', result: outcome }),
    '/params/result',
  ],
]

const says = (isModern: boolean, method: string, members: object) => {
  const script = withTask(isModern)
  if (method.startsWith('notifications/'))
    return { sent: script.server({ jsonrpc: '2.0', method, params: members }), found: findingsOf(script) }
  const params = method === 'tools/call' ? { name: 'weather', task: {} } : { taskId: 't' }
  script.client({ jsonrpc: '2.0', id: 2, method, params: isModern ? { ...params, ...modern() } : params })
  return { sent: script.server(result(2, members)), found: findingsOf(script) }
}

t.test('a tool result is judged at every place where a client may read it', t => {
  for (const [isModern, method, holds, path] of doors) {
    const title = `${method} ${isModern ? 'of the extension' : 'of 2025-11-25'} at ${path}`
    const { sent, found } = says(isModern, method, holds(bad))
    t.ok(found.includes(`result/schema ${path}/structuredContent`), title, { found })
    t.notMatch(JSON.stringify(sent), '"structuredContent":"hot"', title)
    const fine = says(isModern, method, holds(good))
    t.same(fine.found, [], `${title}, when it is fine`)
    t.equal(fine.sent.length, 1)
  }
  t.end()
})

t.test('the outcome of a task that is no object breaks result/shape', t => {
  for (const [isModern, method, holds, path] of doors) {
    if (!path.endsWith('/result') || path === '/result') continue
    for (const outcome of [[good], 'sunny', 7, [], false]) {
      t.ok(
        says(isModern, method, holds(outcome)).found.includes(`result/shape ${path}/content`),
        `${method}: ${JSON.stringify(outcome)}`,
      )
    }
    if (!isModern) t.same(says(isModern, method, holds(null)).found, [], `${method}: null is none`)
  }
  for (const method of ['tasks/get', 'notifications/tasks']) {
    for (const none of [{}, { result: null }]) {
      const { found } = says(true, method, { taskId: 't', status: 'completed', ...none })
      t.ok(
        found.some(one => one.startsWith('result/shape')),
        `${method}: a task that is completed has an outcome`,
      )
      t.same(says(true, method, { taskId: 't', status: 'working', ...none }).found, [])
    }
  }
  t.end()
})

t.test('a task answered with the state of another is judged by the tools of both', t => {
  const script = withTask(true)
  const other = { ...weather, name: 'other', outputSchema: { type: 'array' } }
  script.client({ jsonrpc: '2.0', id: 'l2', method: 'tools/list', params: modern() })
  script.server(result('l2', { tools: [weather, other] }))
  script.client({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'other', ...modern() } })
  script.server(result(2, { resultType: 'task', taskId: 'o', status: 'working' }))
  script.client({ jsonrpc: '2.0', id: 3, method: 'tasks/get', params: { taskId: 't', ...modern() } })
  script.entries.length = 0
  t.match(script.server(result(3, { taskId: 'o', status: 'completed', result: good })), [
    ['to client', { error: { code: -31000 } }],
  ])
  t.same(findingsOf(script), ['result/schema /result/result/structuredContent'])
  t.end()
})

/** Bad icons and websites: the JSON text of a result, and what is left of it. */
const icons: readonly (readonly [
  revision: string, method: string, sent: string, left: string, path: string,
])[] = [
  [
    '2025-11-25',
    'prompts/list',
    '{"prompts": [{"name":"a", "icons":[{"src":"https://x/"}, {"src":"javascript:1"}] }]}',
    '{"prompts": [{"name":"a", "icons":[{"src":"https://x/"}] }]}',
    '/result/prompts/0/icons/1',
  ],
  [
    '2025-11-25',
    'resources/list',
    '{"resources":[{"name":"a","uri":"a:b","icons":[ {"src":"http://169.254.169.254/"} ],"size": 1.0}]}',
    '{"resources":[{"name":"a","uri":"a:b","icons":[  ],"size": 1.0}]}',
    '/result/resources/0/icons/0',
  ],
  [
    '2025-11-25',
    'resources/templates/list',
    '{"resourceTemplates":[{"name":"a","uriTemplate":"a:{b}","icons":[{"src":"file:///x"},{"src":"data:image/png;base64,"}]}]}',
    '{"resourceTemplates":[{"name":"a","uriTemplate":"a:{b}","icons":[{"src":"data:image/png;base64,"}]}]}',
    '/result/resourceTemplates/0/icons/0',
  ],
  [
    '2025-11-25', 'initialize',
    '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1","websiteUrl":"javascript:1"}}',
    '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}',
    '/result/serverInfo/websiteUrl',
  ],
  [
    '2025-11-25',
    'initialize',
    '{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","icons":{"src":"ftp://x/"},"version":"1"}}',
    '{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"}}',
    '/result/serverInfo/icons',
  ],
  [
    '2025-11-25', 'prompts/get',
    '{"messages":[{"role":"user","content":{"type":"resource_link","name":"a","uri":"a:b","icons":["javascript:1"]}}]}',
    '{"messages":[{"role":"user","content":{"type":"resource_link","name":"a","uri":"a:b","icons":[]}}]}',
    '/result/messages/0/content/icons/0',
  ],
  [
    '2025-11-25',
    'tools/call',
    '{"content":[{"type":"resource_link","name":"a","uri":"a:b","icons":[{"src":"http://x"}]},{"type":"text","text":"x"}],"structuredContent": { "a": 1.0 }}',
    '{"content":[{"type":"resource_link","name":"a","uri":"a:b","icons":[]},{"type":"text","text":"x"}],"structuredContent": { "a": 1.0 }}',
    '/result/content/0/icons/0',
  ],
  [
    '2026-07-28',
    'tools/list',
    '{"tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1","websiteUrl":"http://x/"}}}',
    '{"tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}',
    '/result/_meta/io.modelcontextprotocol~1serverInfo/websiteUrl',
  ],
]

t.test('an icon or website that is not https: is removed, and every other byte stays', t => {
  for (const [revision, method, sent, left, path] of icons) {
    for (const action of ['mend', 'log'] as const) {
      const script = new Script({ actions: { 'tool/icon': action } })
      if (revision !== '2026-07-28' && method !== 'initialize') script.begin([weather], revision)
      script.client(
        method === 'initialize'
          ? initialize(revision)
          : {
              ...call(0, 'weather'), method,
              params: { name: 'weather', uri: 'a:b', ...(revision === '2026-07-28' && modern()) },
            },
      )
      script.server(`{"jsonrpc":"2.0","id":0,"result":${sent}}`)
      t.equal(
        script.raw.at(-1)?.bytes, `{"jsonrpc":"2.0","id":0,"result":${action === 'mend' ? left : sent}}`,
        `${method} ${path}`,
      )
      const entry = script.entries.find(({ findings }) => findings.some(({ rule }) => rule === 'tool/icon'))
      t.match(entry, { verdict: action, findings: [{ rule: 'tool/icon', path }] }, `${method} ${path}`)
      t.equal(entry?.findings[0]?.mended, action === 'mend' ? `removed ${path}` : undefined)
    }
  }
  t.end()
})

t.test('an elicitation in an error is one that the client has to have declared', t => {
  const error = {
    code: -32042, message: 'm',
    data: { elicitations: [{ mode: 'url', elicitationId: '1', url: 'javascript:alert(1)', message: 'a' }] },
  }
  const asks = (capabilities: object) => {
    const script = new Script()
    script.client(initialize('2025-11-25', capabilities))
    script.server(result(0, { protocolVersion: '2025-11-25' }))
    script.client({ jsonrpc: '2.0', id: 1, method: 'prompts/list' })
    return { sent: script.server({ jsonrpc: '2.0', id: 1, error }), found: findingsOf(script) }
  }
  const undeclared = asks({})
  t.match(undeclared.sent, [['to client', { error: { code: -31000 } }]])
  t.ok(undeclared.found.includes('server/request /error/data/elicitations/0'))
  t.match(
    asks({ elicitation: { form: {} } }).sent, [['to client', { error: { code: -31000 } }]],
    'a client that takes forms only',
  )
  const declared = asks({ elicitation: { url: {} } })
  t.match(declared.sent, [['to client', { error: { code: -32042 } }]])
  t.same(declared.found, ['content/uri /error/data/elicitations/0/url'])
  t.end()
})

t.test('observe passes frames that are no messages unchanged', t => {
  for (const rest of [
    '"result":[1]', '"result":"s"', '"result":null', '"result":7,"error":null',
  ]) {
    for (const method of ['tools/call', 'tools/list', 'prompts/list', 'initialize', 'tasks/result']) {
      const script = new Script({
        policy: presetPolicy('observe', { purpose: 'relay', locked: false }),
      }).begin()
      script.client({ jsonrpc: '2.0', id: 5, method, params: { name: 'weather', taskId: 't' } })
      const answer = `{"jsonrpc":"2.0", "id":5,${rest}}`
      script.server(answer)
      t.equal(script.raw.at(-1)?.bytes, answer, `${method}: ${rest}`)
      t.equal(script.entries.some(({ verdict }) => verdict === 'block'), false)
      const strict = new Script().begin()
      strict.client({ jsonrpc: '2.0', id: 5, method, params: { name: 'weather', taskId: 't' } })
      t.match(strict.server(answer), [['to client', { id: 5, error: { code: -31000 } }]])
    }
  }
  t.end()
})

t.test('a finding recorded as mended is mended, also in a result without a list', t => {
  const actions: Partial<Record<'tool/definition', Action>> = { 'tool/definition': 'log' }
  const script = new Script({ actions }).begin()
  script.client({ jsonrpc: '2.0', id: 5, method: 'tools/list' })
  script.server('{"jsonrpc":"2.0","id":5,"result":{"tools":{}, "nextCursor":null}}')
  t.match(
    script.entries.at(-1)?.findings.find(({ rule }) => rule === 'list/shape'),
    { mended: 'removed /result/nextCursor' },
  )
  t.equal(script.raw.at(-1)?.bytes, '{"jsonrpc":"2.0","id":5,"result":{"tools":{}}}')
  t.end()
})
