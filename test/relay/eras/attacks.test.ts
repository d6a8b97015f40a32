import t from 'tap'
import { begun, discovered, initialize, Play, refused } from './play.js'

const asking = (id: unknown, requestState: string, inputRequests: object = {}) =>
  ({ id, result: { resultType: 'input_required', requestState, inputRequests } })

t.test('a server that never stops asking is asked again eight times', t => {
  const play = begun().client({ id: 1, method: 'tools/call', params: { name: 'a' } })
  let rounds = 0
  for (let asked = play.taken().at(-1); asked !== undefined; asked = play.taken().at(-1)) {
    rounds += 1
    play.server(asking(asked.id, 's'))
    for (const timer of play.timers) play.fire(timer)
  }
  t.equal(rounds, 9)
  t.match(play.got(), [{ id: 1, result: { isError: true } }])
  t.equal(play.timers.size, 0)
  t.end()
})

t.test('what servers let the relay keep has a limit for all calls of a session, and is forgotten', t => {
  const play = begun()
  const state = 's'.repeat(7 * 1024 * 1024)
  const open = Array.from({ length: 6 }, (_, index) => index + 1)
  for (const id of open) play.client({ id, method: 'tools/call', params: { name: 'a' } })
  for (const id of open) play.server(asking(id, state))
  const refusedCalls = play.got()
  t.same(refusedCalls.map(({ id }) => id), [5, 6])
  t.match(refusedCalls[0], { result: { isError: true } })
  play.taken()
  for (const timer of [...play.timers]) play.fire(timer)
  for (const { id } of play.taken()) play.server({ id, result: { content: [] } })
  t.same(play.got().map(({ id }) => id), [1, 2, 3, 4])
  play.client({ id: 7, method: 'tools/call', params: { name: 'a' } }).server(asking(7, state))
  t.same(play.got(), [], 'there is room again')
  t.end()
})

t.test('a round with very many questions asks none', t => {
  const play = begun().client({ id: 1, method: 'tools/call', params: { name: 'a' } })
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, { method: 'roots/list' }]))
  play.server(asking(1, 's', many))
  t.match(play.got(), [{ id: 1, result: { isError: true } }])
  t.end()
})

t.test('a server can ask only in the requests where the protocol lets it', t => {
  const play = begun().client({ id: 1, method: 'tools/list' })
  play.server(asking(1, 's', { a: { method: 'roots/list' } }))
  t.match(play.got(), [{ id: 1, error: { code: -31000 } }])
  const none = begun().client({ id: 1, method: 'tools/call', params: { name: 'a' } })
  none.server({ id: 1, result: { resultType: 'input_required' } })
  t.match(none.got(), [{ id: 1, result: { isError: true } }], 'nothing is asked for')
  t.end()
})

t.test('a second answer, and one to no request, go nowhere', t => {
  const play = begun().client({ id: 1, method: 'tools/call', params: { name: 'a' } })
  play.server({ id: 1, result: { content: [] } }).server({ id: 1, result: { content: [] } })
  play.server(asking(1, 's', { a: { method: 'roots/list' } })).server({ id: 99, result: {} })
  t.same(play.got(), [{ id: 1, result: { content: [] } }])
  play.server({ method: 'notifications/resources/updated', params: {
    uri: 'a:b', _meta: { 'io.modelcontextprotocol/subscriptionId': 'another client\'s' },
  } })
  t.same(play.got(), [], 'nor does a change of a subscription that is not the client\'s')
  t.end()
})

t.test('a server that says another thing of its era at each step gets no second chance', t => {
  const play = new Play().client(initialize).server(refused())
  const [, discover] = play.taken()
  play.server({ id: discover?.id, error: { code: -32022, message: 'no', data: { supported: ['2026-07-28'] } } })
  t.match(play.got(), [{ id: 0, error: { code: -32022 } }], 'its own refusal')
  play.server(discovered(discover?.id))
  t.notOk(play.actions.some(({ type }) => type === 'began'))
  const late = begun().client({ id: 1, method: 'tools/list' }).server(refused(1))
  t.match(late.got(), [{ id: 1, error: { code: -32022 } }], 'no request is sent twice')
  t.end()
})

t.test('of two requests with one id the relay is told which repeats it, and each gets its answer', t => {
  const play = begun()
  const call = { id: 1, method: 'tools/call', params: { name: 'a' } }
  play.client(call).client(call)
  const marks = play.actions.flatMap(one =>
    (one.type === 'report' && one.event.type === 'frame' ? [one.event.frame.envelope?.isRepeated] : []))
  t.same(marks.slice(-2), [false, true])
  const [first, second] = play.taken()
  t.not(first?.id, second?.id)
  play.server({ id: second?.id, result: { content: [], n: 2 } })
  play.server({ id: first?.id, result: { content: [], n: 1 } })
  t.same(play.got(), [{ id: 1, result: { content: [], n: 2 } }, { id: 1, result: { content: [], n: 1 } }])
  t.end()
})
