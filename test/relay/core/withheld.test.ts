import t from 'tap'
import { equal } from '#relay/protocol/json.js'
import { accepting } from './locked.js'
import { call, result, Script, weather, type Setting } from './script.js'

const listed = (setting: Setting, ...tools: readonly object[]): Script => {
  const script = new Script({ server: 'shop', ...setting }).begin()
  return list(script, 'a', ...tools)
}

const list = (script: Script, id: string, ...tools: readonly object[]): Script => {
  script.client({ jsonrpc: '2.0', id, method: 'tools/list' })
  script.server(result(id, { tools }))
  return script
}

const answerTo = (script: Script, name: string): string => {
  const [, sent] = script.client(call(9, name)).find(([what]) => what === 'to client') ?? []
  const { error, result: of } = (sent ?? {}) as {
    error?: { message: string }; result?: { content: readonly { text: string }[] }
  }
  return error?.message ?? of?.content[0]?.text ?? ''
}

const price = { name: 'price', inputSchema: { type: 'object' } }
const empty = {
  serverInfo: new Map(), instructions: new Map(), prompts: new Map(), resources: new Map(),
  resourceTemplates: new Map(),
}
const lock = (isFrozen = false): Setting => ({
  accepted: accepting({ ...empty, tools: new Map([['price', price]]) }, (before, after) =>
    (equal(before, after) ? undefined : { classes: 'text', isMinor: false }), { isFrozen }),
  actions: { 'tool/drift': 'block' },
})

const cases: readonly (readonly [why: string, script: () => Script, told: RegExp])[] = [
  ['hidden text', () => listed({}, { ...price, description: 'a\u200bb' }),
    /^Unknown tool: price; mcp-customs withholds it: tool\/hidden-text at \/result\/tools\/0\/description: /],
  ['a definition with a mistake', () => listed({}, { ...price, title: 5 }),
    /^Unknown tool: price; mcp-customs withholds it: tool\/definition at /],
  ['a definition that has changed', () => listed(lock(), { ...price, description: 'new' }),
    /^Unknown tool: price; it is not what was accepted any more, and mcp-customs withholds it: tool\/drift /],
  ['a tool that was never accepted', () => listed(lock(), price, { ...price, name: 'other' }),
    /^Unknown tool: other; mcp-customs withholds it: tool\/drift /],
  ['an accepted tool that is gone', () => listed(lock()),
    /^Unknown tool: price; it was accepted, but the server does not list it any more\. /],
  ['a frozen lock without it', () => listed(lock(true)),
    /^Unknown tool: other; the lock is frozen, and has no such tool\. /],
  ['a tool that is gone', () => list(listed({}, price), 'b', weather),
    /^Unknown tool: price; the server does not list it any more\. /],
  ['a list over the limit', () => listed({ maxTools: 1 }, weather, price),
    /^Unknown tool: price; mcp-customs withholds it: tool\/schema-cost at \/result\/tools: /],
  ['a tool that the operator denies',
    () => listed({ tools: new Map([['price', { denied: true, outputSchema: undefined, annotations: undefined }]]) }, price),
    /^The tool "price" may not be called here: call\/denied .*"mcp-customs tools shop" shows/],
]

for (const [why, script, told] of cases) {
  t.test(`a call of a withheld tool says why, and which command shows more: ${why}`, t => {
    const text = answerTo(script(), told.source.includes('other') ? 'other' : 'price')
    t.match(text, told)
    t.match(text, /"mcp-customs tools shop"/)
    t.end()
  })
}

t.test('a tool that is back can be called, and one that was never there is only unknown', t => {
  const script = list(listed({}, { ...price, description: 'a\u200bb' }), 'b', price)
  t.match(script.client(call(1, 'price')), [['to server', { id: 1 }]])
  t.equal(answerTo(script, 'prize'), 'Unknown tool: prize')
  t.end()
})

t.test('the list and its instructions have no word of ours', t => {
  const script = new Script({ server: 'shop' }).begin()
  script.client({ jsonrpc: '2.0', id: 'a', method: 'tools/list' })
  t.match(script.server(result('a', { tools: [{ ...price, description: 'a\u200bb' }] })), [
    ['to client', { result: { tools: [] } }],
  ])
  t.notMatch(JSON.stringify(script.raw.at(-1)), /mcp-customs/)
  t.end()
})
