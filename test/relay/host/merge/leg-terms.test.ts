import t from 'tap'
import { LegTerms } from '#relay/host/merge/leg-terms.js'
import { frameOf } from './harness.js'

const initialize = (id: number, capabilities: object) => frameOf({
  jsonrpc: '2.0', id, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'c', version: '1' } },
})
const result = (id: number) => frameOf({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18' } })
const client = { name: 'c', version: '1' }

t.test('what a leg\'s handshake has agreed is known from the server\'s answer on', t => {
  const terms = new LegTerms()
  t.equal(terms.agreed, undefined)
  terms.sent(initialize(1, { roots: {} }))
  terms.received(result(7))
  terms.received(frameOf({ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no' } }))
  t.equal(terms.agreed, undefined)
  terms.received(result(1))
  t.strictSame(terms.agreed, { revision: '2025-06-18', capabilities: { roots: {} }, client })
  terms.sent(frameOf({ jsonrpc: '2.0', id: 2, method: 'tools/list' }))
  terms.received(result(2))
  t.match(terms.agreed, { capabilities: { roots: {} } })
  terms.sent(initialize(3, {}))
  t.equal(terms.agreed, undefined, 'a new handshake')
  terms.received(result(3))
  t.strictSame(terms.agreed, { revision: '2025-06-18', capabilities: {}, client })
  t.end()
})

t.test('a modern client makes no handshake', t => {
  const terms = new LegTerms()
  terms.sent(frameOf({ jsonrpc: '2.0', id: 1, method: 'server/discover' }))
  terms.received(result(1))
  t.equal(terms.agreed, undefined)
  t.end()
})
