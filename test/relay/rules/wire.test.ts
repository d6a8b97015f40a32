import t from 'tap'
import { parseFrame } from '#relay/protocol/parse.js'
import { revisions, type Revision } from '#relay/protocol/revisions/index.js'
import { paths, ruleNamed } from './ask.js'

const kinds = ['json', 'json-rpc', 'ambiguous', 'size', 'http'] as const

t.test('each fault of a frame is the finding of its rule', t => {
  const faults = kinds.map(kind => ({ kind, path: `/${kind}`, message: `the fault ${kind}` }))
  const frame = { bytes: Buffer.from('{}'), message: { kind: 'unusable', keys: [] }, faults } as const
  for (const kind of kinds) {
    const rule = ruleNamed(`wire/${kind}`)
    t.match(
      rule.onFrame?.({ frame, from: 'server', revision: '2025-11-25' }),
      [{ path: `/${kind}`, message: `the fault ${kind}` }],
    )
    t.same(rule.onFrame?.({ frame: { ...frame, faults: [] }, from: 'server', revision: '2025-11-25' }), [])
  }
  t.end()
})

t.test('wire/json-rpc: batches where there are none, and requests that have no id', t => {
  const found = (text: string, revision: Revision) =>
    paths(ruleNamed('wire/json-rpc').onFrame?.({
      frame: parseFrame(Buffer.from(text), { messageBytes: 1000, depth: 10 }), from: 'client', revision,
    }))
  const batch = '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'
  t.same(found(batch, '2025-03-26'), [])
  for (const revision of revisions.filter(one => one !== '2025-03-26')) {
    t.same(found(batch, revision), [''], revision)
  }
  for (const method of ['tools/call', 'initialize', 'sampling/createMessage', 'tasks/get']) {
    t.same(found(`{"jsonrpc":"2.0","method":"${method}"}`, '2025-11-25'), ['/id'], method)
  }
  for (const method of ['notifications/initialized', 'vendor/event']) {
    t.same(found(`{"jsonrpc":"2.0","method":"${method}"}`, '2025-11-25'), [], method)
  }
  t.end()
})

t.test('wire/id: ids that are not valid', t => {
  for (const from of ['client', 'server'] as const) {
    for (const use of ['repeated', 'unasked'] as const) {
      t.same(paths(ruleNamed('wire/id').onId?.({ use, from })), ['/id'])
    }
    t.same(ruleNamed('wire/id').onId?.({ use: 'no-room', from }), [], 'too many are wire/size')
    t.same(paths(ruleNamed('wire/size').onId?.({ use: 'no-room', from })), [''])
  }
  t.end()
})
