import t from 'tap'
import { presetPolicy } from '#relay/rules/index.js'
import { checkAtOnce as checkNow } from './engine.js'
import { call, initialize, result, Script, type Setting } from './script.js'
import { accepting } from './locked.js'

const compat = presetPolicy('compat', { purpose: 'relay', locked: false })

const script = (setting: Setting = {}, revision = '2025-11-25') => {
  const made = new Script({ checkNow, ...setting })
  made.client(initialize(revision))
  made.server(
    result(0, {
      protocolVersion: revision, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' },
    }),
  )
  return made
}

/** What the client gets of a list, byte for byte, and what is recorded of it. */
const listing = (members: string, setting: Setting = {}, method = 'tools/list') => {
  const made = script(setting)
  made.client({ jsonrpc: '2.0', id: 1, method })
  made.entries.length = 0
  made.server(`{"jsonrpc":"2.0","id":1,"result":{${members}}}`)
  const [entry] = made.entries
  const found = entry?.findings.map(({ rule, path, mended }) => [rule, path, mended])
  return {
    bytes: made.raw.at(-1)?.bytes.replace('{"jsonrpc":"2.0","id":1,"result":{', '').slice(0, -2),
    verdict: entry?.verdict, found,
  }
}

const listed = (tools: string, setting: Setting = {}) => {
  const { bytes = '', ...rest } = listing(`"tools":[${tools}]`, setting)
  return { tools: bytes.slice(9, -1), ...rest }
}

const told = (...paths: readonly string[]) => [paths.map(path => `written /result/tools/0${path}`).join(', ')]

const draft07 = 'http://json-schema.org/draft-07/schema#'
const newest = 'https://json-schema.org/draft/2020-12/schema'

t.test(
  'a schema without a type gets one, booleans for schemas are spelt out, and nothing else changes',
  t => {
    t.same(
      listed(
        '{ "name":"a", "inputSchema":{ "properties" : {"x":true,"y": false,"z":{"maximum":1.0}} } , "n":12345678901234567890}',
      ),
      {
        tools:
          '{ "name":"a", "inputSchema":{ "properties" : {"x":{},"y": {"not":{}},"z":{"maximum":1.0}},"type":"object" } , "n":12345678901234567890}',
        verdict: 'mend',
        found: [
          [
            'tool/input-type', '/result/tools/0/inputSchema',
            ...told('/inputSchema/properties/x', '/inputSchema/properties/y', '/inputSchema/type'),
          ],
          [
            'tool/input-type', '/result/tools/0/inputSchema/properties/x',
            ...told('/inputSchema/properties/x', '/inputSchema/properties/y', '/inputSchema/type'),
          ],
          [
            'tool/input-type', '/result/tools/0/inputSchema/properties/y',
            ...told('/inputSchema/properties/x', '/inputSchema/properties/y', '/inputSchema/type'),
          ],
        ],
      },
    )
    t.match(
      listed('{"name":"a","inputSchema":{"type":"string"}},{"name":"b","inputSchema":{"type":"object"}}'),
      { tools: '{"name":"b","inputSchema":{"type":"object"}}', verdict: 'block' },
      'another type cannot be mended',
    )
    t.match(listed('{"name":"a","inputSchema":{}}', { actions: { 'tool/input-type': 'block' } }), {
      tools: '', verdict: 'block',
    })
    t.match(listed('{"name":"a","inputSchema":{}}', { actions: { 'tool/input-type': 'log' } }), {
      tools: '{"name":"a","inputSchema":{}}', verdict: 'log',
    })
    t.end()
  },
)

t.test('nulls that no revision has are removed, with the other findings that they caused', t => {
  t.match(listing('"tools":[], "nextCursor":null'), {
    bytes: '"tools":[]', verdict: 'mend',
    found: [['list/shape', '/result/nextCursor', 'removed /result/nextCursor']],
  })
  t.match(listed(
    '{"name":"a","description":null,"inputSchema":{"type":"object","required":null,"properties":{"required":{"default":null,"title":null}}},"_meta":{"title":null}}',
  ), {
    tools: '{"name":"a","inputSchema":{"type":"object","properties":{"required":{"default":null}}},"_meta":{"title":null}}',
    verdict: 'mend',
  })
  t.match(listing(
    '"prompts":[{"name":"p","title":null,"arguments":[{"name":"x","required":null}]}]', {}, 'prompts/list',
  ), { bytes: '"prompts":[{"name":"p","arguments":[{"name":"x"}]}]', verdict: 'mend' })
  t.match(
    listing('"tools":[],"ttlMs":"long"'), { bytes: '"tools":[],"ttlMs":"long"', verdict: 'log' },
    'what cannot be mended is logged',
  )
  t.match(
    listed('{"name":null,"inputSchema":{"type":"object"}}'), { tools: '', verdict: 'block' },
    'a name is needed',
  )
  t.match(
    listed('{"name":"a","description":null,"inputSchema":{"type":"text"}}'), { tools: '', verdict: 'block' },
    'what else is wrong stays wrong',
  )
  t.end()
})

t.test(
  'a schema of another dialect is translated to 2020-12 by policy, and results are validated by the original',
  t => {
    const tool =
      `{"name":"a","inputSchema":{"$schema":"${draft07}","type":"object","additionalProperties":false}}`
    t.match(listed(tool), { tools: tool, verdict: 'pass' })
    t.match(listed(tool, { policy: compat }), { tools: tool.replace(draft07, newest), verdict: 'mend' })
    const left =
      `{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"$schema":"${draft07}","type":"object","properties":{"s":{"$ref":"${draft07}"}},"required":["s"]}}`
    t.match(
      listed(left, { policy: compat }),
      { tools: '{"name":"a","inputSchema":{"type":"object"}}', verdict: 'mend' },
      'what cannot be said is left out',
    )
    const made = script({ policy: compat }).begin([JSON.parse(left) as object])
    made.client(call(1, 'a'))
    t.match(made.server(result(1, { content: [], structuredContent: {} })), [
      ['to client', { result: { isError: true } }],
    ])
    const big =
      '{"name":"a","inputSchema":{"$schema":"' +
      draft07 +
      '","type":"object","definitions":{"x":{"const":12345678901234567890}}}}'
    t.match(
      listed(big, { policy: compat }), { tools: '', verdict: 'block' },
      'a number that we would spell otherwise',
    )
    t.match(listed(tool.replace('draft-07', 'draft-03'), { policy: compat }), {
      tools: '{"name":"a","inputSchema":{"type":"object","additionalProperties":false}}', verdict: 'mend',
    }, 'an unknown dialect is left out')
    t.end()
  },
)

t.test('accepted definitions are mended for the client like sent ones', t => {
  const accepted = accepting(
    { tools: new Map([['a', { name: 'a', inputSchema: { $schema: draft07, type: 'object' } }]]) },
    () => ({ classes: 'text', isMinor: true }),
  )
  const now = '{"name":"a","description":"now","inputSchema":{"type":"object"}}'
  t.match(listed(now, { accepted, policy: compat }), {
    tools: `{"name":"a","inputSchema":{"$schema":"${newest}","type":"object"}}`, verdict: 'mend',
  })
  t.match(
    listed(now.replace('now', '\\u202e'), { accepted, policy: compat }), { tools: '', verdict: 'block' },
    'what the server says now is judged as well',
  )
  t.end()
})

t.test('accepted prompts are mended too, and others are removed', t => {
  const accepted = accepting({ prompts: new Map([['p', { name: 'p', description: null }]]) }, before => ({
    classes: 'text', isMinor: before !== undefined,
  }))
  const prompts = '"prompts":[{"name":"q"},{"name":"p","description":"now"}],"nextCursor":null'
  t.match(
    listing(prompts, { accepted, policy: new Map([...compat, ['tool/drift', 'block']]) }, 'prompts/list'),
    { bytes: '"prompts":[{"name":"p"}]' },
  )
  t.end()
})

t.test('the answers of a batch are mended each by itself', t => {
  const made = script({ policy: compat }, '2025-03-26')
  made.client([
    { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { jsonrpc: '2.0', id: 2, method: 'prompts/list' },
  ])
  made.raw.length = 0
  made.server(
    '[{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{}}]}},{"jsonrpc":"2.0", "id":2,"result":{"prompts":[],"nextCursor":null}}]',
  )
  t.equal(
    made.raw[0]?.bytes,
    '[{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}},{"jsonrpc":"2.0", "id":2,"result":{"prompts":[]}}]',
  )
  t.end()
})

t.test('hidden text in removed annotations is still found', t => {
  const tool = '{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"x":"\u202e"}}'
  t.match(listed(tool, { trusted: false }), { tools: '', verdict: 'block' })
  const harmless = tool.replace('\u202e', '')
  const without = { tools: '{"name":"a","inputSchema":{"type":"object"}}', verdict: 'mend' }
  t.match(listed(harmless, { trusted: false }), without)
  const policy = presetPolicy('strict', { purpose: 'relay', locked: false })
  t.match(listed(harmless, { trusted: false, policy }), without, 'an action that removes them is no block')
  t.end()
})

/** What the client gets of a result, byte for byte. */
const answered = (
  outputSchema: object | undefined, members: string, setting: Setting = { policy: compat },
) => {
  const made = script(setting).begin([
    { name: 'a', inputSchema: { type: 'object' }, ...(outputSchema && { outputSchema }) },
  ])
  made.client(call(1, 'a'))
  made.entries.length = 0
  made.server(`{"jsonrpc":"2.0","id":1,"result":{${members}}}`)
  const [entry] = made.entries
  return {
    sent: made.raw.at(-1)?.bytes.replace('{"jsonrpc":"2.0","id":1,"result":{', '').slice(0, -2),
    verdict: entry?.verdict, mended: entry?.findings.map(({ rule, mended }) => [rule, mended !== undefined]),
  }
}

const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }

t.test('results are mended where the meaning stays the same', t => {
  t.same(
    answered(schema, '"content":[{"type":"text","text":"It is 1."},{"type":"text","text":"{\\"n\\": 1}"}]'),
    {
      sent: '"content":[{"type":"text","text":"It is 1."},{"type":"text","text":"{\\"n\\": 1}"}],"structuredContent":{"n": 1}',
      verdict: 'mend', mended: [['result/missing', true]],
    },
    'promotion',
  )
  t.match(
    answered(schema, '"content":[{"type":"text","text":"{\\"n\\":12345678901234567890}"}]'),
    { sent: /"structuredContent":\{"n":12345678901234567890\}$/, verdict: 'mend' },
    'a number that we would spell otherwise',
  )
  t.match(
    answered(schema, '"content":[],"structuredContent":{"n": 1e0}'),
    {
      sent: '"content":[{"type":"text","text":"{\\"n\\": 1e0}"}],"structuredContent":{"n": 1e0}',
      verdict: 'mend',
    },
    'a text',
  )
  t.match(
    answered(schema, '"content":[{"type":"text","text":"{\\"n\\":2}"}],"structuredContent":{"n":1}'),
    { sent: '"content":[{"type":"text","text":"{\\"n\\":1}"}],"structuredContent":{"n":1}', verdict: 'mend' },
    'another text',
  )
  const picture = '{"type":"image","data":"","mimeType":"image/png","size": 12345678901234567890}'
  t.match(
    answered(
      schema,
      `"content":[{"type":"text","text":"{\\"n\\":2}"},${picture},{"type":"text","text":"{\\"n\\":3}"}],"structuredContent":{"n":1}`,
    ),
    {
      sent: `"content":[{"type":"text","text":"{\\"n\\":1}"},${picture}],"structuredContent":{"n":1}`,
      verdict: 'mend',
    },
    'what stands between two texts stays as it is',
  )
  t.match(
    answered(undefined, '"content":[{"type":"text","text":"[2]"}],"structuredContent":{"n":1}'),
    { sent: '"content":[{"type":"text","text":"[2]"}]', verdict: 'mend' }, 'what nobody declared',
  )
  t.match(
    answered(undefined, '"structuredContent":{"n":1.0},"content":[]'),
    { sent: '"content":[{"type":"text","text":"{\\"n\\":1.0}"}]', verdict: 'mend' },
    'what nothing else says is not lost',
  )
  t.match(
    answered(schema, '"content":[{"type":"text","text":"no"}],"isError":true,"structuredContent":{"n":"1"}'),
    { sent: '"content":[{"type":"text","text":"no"}],"isError":true', verdict: 'mend' }, 'the real error',
  )
  t.end()
})

t.test('a result without the data that the tool promises passes: the client does not know of the promise', t => {
  const passing = [
    ['no JSON', '[{"type":"text","text":"It is 1."}]'],
    ['two of them', '[{"type":"text","text":"{\\"n\\":1}"},{"type":"text","text":"{\\"n\\":2}"}]'],
    ['one that does not fit', '[{"type":"text","text":"{\\"n\\":\\"1\\"}"}]'],
    ['one that is no object', '[{"type":"text","text":"[1]"}]'],
    ['one beyond a double', '[{"type":"text","text":"{\\"n\\":1e400}"}]'],
    ['one with half a pair', '[{"type":"text","text":"{\\"n\\":1,\\"x\\":\\"\\\\ud800\\"}"}]'],
    [
      'one that is nested without measure',
      JSON.stringify([{ type: 'text', text: `{"n":1,"x":${'['.repeat(5000)}${']'.repeat(5000)}}` }]),
    ],
  ] as const
  for (const [title, content] of passing)
    t.match(
      answered(schema, `"content":${content}`),
      { verdict: 'log', sent: `"content":${content}`, mended: [['result/missing', false]] }, title,
    )
  t.match(answered(schema, '"content":"none","structuredContent":{"n":1}'), { verdict: 'block' })
  t.match(
    answered(schema, '"content":[{"type":"text","text":"{\\"n\\":1}"}]', {}), { verdict: 'demote' },
    'by the standard nothing is promoted',
  )
  t.end()
})

t.test('the result of a task is mended in its place', t => {
  const made = script({ policy: compat }).begin([
    { name: 'a', inputSchema: { type: 'object' }, outputSchema: schema },
  ])
  made.client({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', task: {} } })
  made.server(result(1, { task: { taskId: 't', status: 'working', createdAt: '', ttl: 1 } }))
  made.client({ jsonrpc: '2.0', id: 2, method: 'tasks/result', params: { taskId: 't' } })
  t.match(made.server(result(2, { content: [{ type: 'text', text: '{"n":1}' }] })), [
    ['to client', { result: { structuredContent: { n: 1 } } }],
  ])
  t.match(
    made.server({
      jsonrpc: '2.0', method: 'notifications/tasks',
      params: { taskId: 't', status: 'completed', result: { content: [], structuredContent: { n: 1 } } },
    }),
    [['to client', { params: { result: { content: [{ text: '{"n":1}' }] } } }]],
  )
  t.end()
})

t.test('a mend that throws counts as impossible', t => {
  const bomb = {
    name: 'tool/name',
    onTool: () => [{ path: '', message: 'm' }],
    mend: {
      onTool: () => {
        throw new Error('mend')
      },
    },
  } as const
  t.match(
    listed('{"name":"a","inputSchema":{"type":"object"}}', {
      rules: [bomb], actions: { 'tool/name': 'mend' },
    }),
    { tools: '', verdict: 'block' },
  )
  t.end()
})

t.test('a rule with the action mend but without a mend blocks', t => {
  t.match(
    listed('{"name":"two words","inputSchema":{"type":"object"}}', { actions: { 'tool/name': 'mend' } }),
    { tools: '', verdict: 'block' },
  )
  t.end()
})
