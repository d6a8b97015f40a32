import t from 'tap'
import { ruleNamed } from './ask.js'

const kinds = ['json', 'json-rpc', 'ambiguous', 'size', 'http'] as const

t.test('each fault of a frame is the finding of its rule', t => {
  const faults = kinds.map(kind => ({ kind, path: `/${kind}`, message: `the fault ${kind}` }))
  const frame = { bytes: Buffer.from('{}'), message: { kind: 'unusable', keys: [] }, faults } as const
  for (const kind of kinds) {
    const rule = ruleNamed(`wire/${kind}`)
    t.same(rule.onFrame?.(frame), [{ rule: `wire/${kind}`, path: `/${kind}`, message: `the fault ${kind}` }])
    t.same(rule.onFrame?.({ ...frame, faults: [] }), [])
  }
  t.end()
})
