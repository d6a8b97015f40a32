import t from 'tap'
import { nextPage } from '#relay/protocol/pages.js'
import { revisions } from '#relay/protocol/revisions/index.js'
import { presetPolicy, presets } from '#relay/rules/index.js'
import { call, findingsOf, result, Script, weather, type Setting } from './script.js'

t.test('a page is followed by another one, by nothing, or by what came before', t => {
  const seen = new Set(['', 'a', 'b'])
  const many = new Set(Array.from({ length: 1000 }, (_, at) => String(at)))
  for (const revision of [...revisions, '2099-01-01']) {
    for (const none of [undefined, null, 1, {}, ['a']])
      t.same(nextPage(none, revision, seen), { kind: 'end' }, `${revision} ${JSON.stringify(none)}`)
    t.same(nextPage('c', revision, seen), { kind: 'page', cursor: 'c' })
    t.same(nextPage('b', revision, seen), { kind: 'repeats' })
    t.same(nextPage('x'.repeat(16_385), revision, seen), { kind: 'endless' })
    t.same(nextPage('c', revision, many), { kind: 'endless' })
    const isModern = revision === '2026-07-28' || revision === '2099-01-01'
    const isEnd = { kind: 'end', isEmpty: true }
    t.same(nextPage('', revision, new Set()), isModern ? { kind: 'page', cursor: '' } : isEnd, revision)
    t.same(nextPage('', revision, seen), isModern ? { kind: 'repeats' } : isEnd, revision)
  }
  t.end()
})

const lists = [
  // `compat` shows no outputSchema.
  ['tools/list', 'tools', (name: string) => ({ name, inputSchema: { type: 'object' } })],
  ['prompts/list', 'prompts', (name: string) => ({ name })],
  ['resources/list', 'resources', (name: string) => ({ name, uri: `x://${name}` })],
  ['resources/templates/list', 'resourceTemplates', (name: string) => ({ name, uriTemplate: `x://${name}` })],
] as const

const compat = presetPolicy('compat', { purpose: 'relay', locked: false })
const joining: Setting = { policy: compat }

/** Answers the relay's own request for a page. */
const own = (script: Script, key: string, names: readonly string[], nextCursor?: string) => {
  const [, , made] = lists.find(([, one]) => one === key) ?? lists[0]
  const asked = script.raw.findLast(({ to }) => to === 'server')
  const { id } = JSON.parse(asked?.bytes ?? '') as { id: number }
  return script.server(result(id, {
    [key]: names.map(made), ...(nextCursor !== undefined && { nextCursor }),
  }))
}

for (const exchange of ['stdio', 'post']) for (const [method, key, made] of lists)
  t.test(`${method}, ${exchange}: the pages of a list are one, where the policy joins them`, t => {
    const script = new Script(joining)
    const ask = (id: string, params?: object) =>
      script.client({ jsonrpc: '2.0', id, method, ...(params && { params }) }, exchange)
    ask('l')
    const first = result('l', { [key]: [made('a')], nextCursor: '1', _meta: { kept: 1 } })
    t.match(script.server(first, exchange), [
      ['start timer', 'list 1'], ['to server', { method, params: { cursor: '1' } }],
    ])
    const answered = (names: readonly string[], next?: string) => {
      const asked = script.raw.findLast(({ to }) => to === 'server')
      const { id } = JSON.parse(asked?.bytes ?? '') as { id: number }
      return script.server(result(id, {
        [key]: names.map(made), ...(next !== undefined && { nextCursor: next }),
      }), exchange)
    }
    t.match(answered([], '2'), [['to server', { method, params: { cursor: '2' } }]])
    const [, [, joined] = []] = answered(['b', 'c'], '1')
    t.strictSame(joined, result('l', { [key]: [made('a'), made('b'), made('c')], _meta: { kept: 1 } }))
    t.match(script.entries.at(-1), {
      verdict: 'mend', findings: [{ rule: 'list/shape', mended: 'joined 3 pages' }],
      ...(key === 'tools' && { tools: ['a', 'b', 'c'] }),
    })
    if (key === 'tools') {
      t.match(script.client(call(1, 'c'), exchange).at(-1), ['to server', { id: 1 }], 'the list is whole')
      t.match(script.client(call(2, 'd'), exchange).at(-1), ['to client', { error: { code: -32602 } }])
    }
    ask('p', { cursor: '1' })
    t.match(script.server(result('p', { [key]: [made('b')], nextCursor: '2' }), exchange).at(-1), [
      'to client', { id: 'p', result: { nextCursor: '2' } },
    ], 'a client that asks for a page gets it')
    t.end()
  })

t.test('a page that is not to be had leaves its cursor to the client', t => {
  const ends = {
    'an error': (script: Script, id: unknown) =>
      script.server({ jsonrpc: '2.0', id, error: { code: -32603, message: 'no' } }),
    'no list': (script: Script, id: unknown) => script.server({ jsonrpc: '2.0', id, result: {} }),
    'no answer in time': (script: Script) => script.happens({ type: 'timer-fired', timer: 'list 1' }),
    'the end of the server': (script: Script) => script.happens({ type: 'server-gone', reason: 'gone' }),
  }
  for (const [name, end] of Object.entries(ends)) {
    const script = new Script(joining)
    script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
    script.server(result('l', { tools: [weather], nextCursor: '1' }))
    own(script, 'tools', ['b'], '2')
    const did = end(script, script.ownId)
    const sent = did.find(([to]) => to === 'to client')?.[1]
    t.match(sent, { id: 'l', result: { tools: [{ name: 'weather' }, { name: 'b' }], nextCursor: '2' } }, name)
  }
  t.end()
})

t.test('what is blocked on a later page stays blocked, and its record names it', t => {
  const script = new Script(joining)
  script.client({ jsonrpc: '2.0', id: 'l', method: 'tools/list' })
  script.server(result('l', { tools: [weather], nextCursor: '1' }))
  const bad = { ...weather, name: 'bad', description: 'a\u202eb' }
  const did = script.server(result(script.ownId, { tools: [bad, weather, { ...weather, name: 'good' }] }))
  t.match(did.at(-1), ['to client', { result: { tools: [{ name: 'weather' }, { name: 'good' }] } }])
  t.match(script.entries.at(-2), {
    event: 'tools/list', from: 'relay', verdict: 'block', tools: ['good'],
    findings: [{ rule: 'tool/hidden-text', tool: 'bad' }, { rule: 'tool/duplicate', tool: 'weather' }],
  })
  t.end()
})

t.test('pages stay as they are under every other policy, and where list/shape is not mended', t => {
  const policies = presets.map(preset => presetPolicy(preset, { purpose: 'relay', locked: false }))
  for (const policy of [...policies, new Map([...compat, ['list/shape', 'log'] as const])]) {
    if (policy.get('tool/dialect') === 'mend' && policy.get('list/shape') === 'mend') continue
    const script = new Script({ policy })
    script.client({ jsonrpc: '2.0', id: 'l', method: 'prompts/list' })
    const page = result('l', { prompts: [{ name: 'a' }], nextCursor: '1' })
    t.strictSame(script.server(page), [['to client', page]])
    t.same(findingsOf(script), [])
  }
  t.end()
})

t.test('progress under a token that no request gave is a finding, and passes', t => {
  const progress = (progressToken: unknown) =>
    ({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } })
  const given = ['token', 7, '7a', 0]
  const cases: readonly (readonly [token: unknown, isForeign: boolean])[] = [
    ...given.map(token => [token, false] as const),
    ['7', true], [8, true], ['tool-call-5', true], [7.5, true], ['', true], [1, true],
  ]
  for (const isOver of [false, true]) for (const [token, isForeign] of cases) {
    const script = new Script().begin()
    for (const [index, one] of given.entries()) {
      const params = { name: 'weather', arguments: {}, _meta: { progressToken: one } }
      script.client({ jsonrpc: '2.0', id: index + 1, method: 'tools/call', params })
      const over = result(index + 1, { content: [{ type: 'text', text: '' }], structuredContent: {} })
      if (isOver) script.server(over)
    }
    t.strictSame(script.server(progress(token)), [['to client', progress(token)]])
    const name = `${JSON.stringify(token)}${isOver ? ', late' : ''}`
    t.same(findingsOf(script), isForeign ? ['wire/id /params/progressToken'] : [], name)
  }
  t.end()
})
