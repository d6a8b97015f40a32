import t from 'tap'
import { presetPolicy } from '#relay/rules/index.js'
import { call, result, Script } from './script.js'

// A frame of the server that answers no request ends none by itself (docs/promises.md, 3).

const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })

/** Frames that may be the answer to request 1, which is the only one: it gets an error if no other comes. */
const suspects: readonly string[] = [
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}',
  '{"jsonrpc":"2.0","id":null,"result":{}}',
  '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}',
  '{"jsonrpc":"2.0","result":{}}',
  '{"jsonrpc":"2.0","result":{"a":1',
  '{"jsonrpc":"2.0","id":1,"log":"started"}',
  '{"level":"info","id":1,"error":"none yet"}',
  'Sending: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}',
  'Ready.{"jsonrpc":"2.0","id":1,"result":{}}',
  '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te',
  '{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}',
  '\ufeff{"jsonrpc":"2.0","id":1,"result":{}}',
  '{"jsonrpc":"2.0","id":"1","result":{}}',
  '{"jsonrpc":"2.0","id":1.0,"result":{}}',
  '{"jsonrpc":"2.0","id":0,"result":{}}',
  '{"jsonrpc":"2.0","id":"other","error":{"code":1,"message":"m"}}',
]

/** Frames that are no answer, to whatever request. */
const noise: readonly string[] = [
  'Server listening',
  'WARN {"id":9} starting',
  '{"level":"info","id":9}',
  '42',
  'Received: {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}',
  '[INFO] {"jsonrpc":"2.0","id":1,"method":"ping"}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/ca',
  '{"id":1,"method":"ping","result":{}}',
]

/** Where the frames come from: a session over stdio, and an HTTP request without a session. */
const places = [{ stateless: false, exchange: 'stdio' }, { stateless: true, exchange: 'post' }] as const

const begun = (stateless: boolean, exchange: string, ...ids: readonly number[]): Script => {
  const script = new Script({ stateless })
  for (const id of ids) script.client(ping(id), exchange)
  return script
}

const toClient = (did: readonly (readonly [string, unknown])[]) => did.filter(([what]) => what === 'to client')

/** The timer that a stray frame has started. */
const timerIn = (did: readonly (readonly [string, unknown])[]): string =>
  String(did.find(([what]) => what === 'start timer')?.[1])

const isTimed = (did: readonly (readonly [string, unknown])[]) => did.some(([what]) => what === 'start timer')

for (const { stateless, exchange } of places) {
  const where = stateless ? 'without a session' : 'in a session'

  t.test(`a stray frame ${where} ends no request, and the right answer passes as it came`, t => {
    for (const stray of [...suspects, ...noise]) {
      for (const ids of [[1], [1, 2]]) {
        const script = begun(stateless, exchange, ...ids)
        t.same(toClient(script.server(stray, exchange)), [], stray)
        t.match(script.entries.at(-1), { event: 'wire', verdict: 'block' }, stray)
        for (const id of ids) {
          t.match(toClient(script.server(result(id, { of: id }), exchange)), [['to client', { id, result: { of: id } }]])
          t.equal(script.raw.at(-1)?.bytes, JSON.stringify(result(id, { of: id })), stray)
        }
        t.same(script.happens({ type: 'server-gone', reason: 'gone' }), [], 'no timer and no request is left')
      }
    }
    t.end()
  })

  t.test(`the only request ${where} gets an error when no answer follows a frame that may be it`, t => {
    for (const stray of suspects) {
      const script = begun(stateless, exchange, 1)
      const timer = timerIn(script.server(stray, exchange))
      t.same(script.server(stray, exchange).filter(([what]) => what !== 'to server'), [], 'one timer is enough')
      const did = script.happens({ type: 'timer-fired', timer })
      t.match(toClient(did), [['to client', { id: 1, error: { code: -31000, message: /wire\/(?:json|id)/ } }]], stray)
      t.match(did, [['stop timer', timer], [], ['abandon', '1']])
      t.match(script.entries.at(-1), { event: 'ping', verdict: 'block', error: -31000 })
      t.same(toClient(script.server(result(1, {}), exchange)), [], 'the late answer is dropped')
    }
    t.end()
  })

  t.test(`a stray frame ${where} is named when the server or the response ends`, t => {
    for (const stray of suspects) {
      const ends = [
        { type: 'server-gone', reason: 'gone' }, { type: 'request-lost', exchange, key: '1', reason: 'over' },
      ] as const
      for (const end of ends) {
        const script = begun(stateless, exchange, 1)
        script.server(stray, exchange)
        t.match(toClient(script.happens(end)), [['to client', { id: 1, error: { code: -31000 } }]], stray)
      }
    }
    t.end()
  })

  t.test(`noise ${where} blames no request, however long its answer takes`, t => {
    for (const stray of noise) {
      const script = begun(stateless, exchange, 1)
      t.notOk(isTimed(script.server(stray, exchange)), stray)
      t.match(
        toClient(script.happens({ type: 'server-gone', reason: 'gone' })),
        [['to client', { id: 1, error: { code: -31001 } }]], stray,
      )
    }
    t.end()
  })

  t.test(`of several requests ${where} a frame blames only one that it names in the form of an answer`, t => {
    const naming = suspects.filter(stray => /^\{"jsonrpc":"2.0","id":(?:1|"1"|1.0),"result"/.test(stray))
    for (const stray of suspects) {
      const script = begun(stateless, exchange, 2, 1)
      const did = script.server(stray, exchange)
      t.equal(isTimed(did), naming.includes(stray), stray)
      if (!isTimed(did)) continue
      t.match(
        toClient(script.happens({ type: 'timer-fired', timer: timerIn(did) })),
        [['to client', { id: 1, error: { code: -31000 } }]],
      )
      t.match(toClient(script.server(result(2, {}), exchange)), [['to client', { id: 2, result: {} }]])
    }
    t.end()
  })

  t.test(`a cancelled request ${where} gets no error for a stray frame`, t => {
    for (const stray of suspects) {
      const script = begun(stateless, exchange, 1)
      const timer = timerIn(script.server(stray, exchange))
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
      t.match(script.client(cancelled, exchange).filter(([what]) => what === 'stop timer'), [['stop timer', timer]])
      t.same(script.happens({ type: 'timer-fired', timer }), [], stray)
    }
    t.end()
  })

  t.test(`under observe a stray frame ${where} passes as it came, and so does the right answer`, t => {
    for (const stray of [...suspects, ...noise]) {
      // A lenient reader takes these for the answer, or for a request.
      if (/^\{.*"id":(?:1|"1"|1\.0),.*"(?:result|error)"/.test(stray) || stray.includes('"method":"ping"}')) continue
      const script = new Script({ stateless, policy: presetPolicy('observe', { purpose: 'relay', locked: false }) })
      script.client(ping(1), exchange)
      script.server(stray, exchange)
      t.equal(script.raw.at(-1)?.bytes, stray)
      t.match(script.server(result(1, {}), exchange), [['to client', { id: 1, result: {} }]], stray)
    }
    t.end()
  })
}

t.test('without a session a stray frame concerns only the exchange on which it came', t => {
  for (const stray of suspects) {
    const script = begun(true, 'post', 1)
    t.notOk(isTimed(script.server(stray, 'notification')), stray)
    t.match(script.server(result(1, {}), 'post'), [['to client', { id: 1, result: {} }]])
  }
  t.end()
})

t.test('in a session over HTTP a stray frame concerns only the exchange on which it came', t => {
  for (const stray of suspects) {
    const script = begun(false, 'post', 1)
    t.notOk(isTimed(script.server(stray, 'notification')), stray)
    t.ok(isTimed(script.server(stray, 'post')), stray)
  }
  t.end()
})

t.test('a request is blamed for no stray frame while the relay itself waits for a list', t => {
  const script = new Script()
  script.client(ping(1))
  script.client(call(2, 'weather'))
  t.notOk(isTimed(script.server('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}')))
  t.end()
})

t.test('a stray frame never ends a request that has no time limit', t => {
  const script = new Script({ stateless: true })
  script.client({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen' }, 'post')
  for (const stray of suspects.slice(0, 7)) t.notOk(isTimed(script.server(stray, 'post')), stray)
  t.end()
})

t.test('the late response to a request that the relay has answered blames no other request', t => {
  const script = new Script({ requestMs: 50 })
  const timer = timerIn(script.client(ping(1)))
  script.happens({ type: 'timer-fired', timer })
  script.client(ping(2))
  t.notOk(isTimed(script.server(result(1, {}))))
  t.match(toClient(script.server(result(2, {}))), [['to client', { id: 2, result: {} }]])
  t.end()
})

t.test('a faulty response with the exact id answers at once, however many requests are open', t => {
  const faulty = [
    '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"1.0","id":1,"result":{}}', '{"jsonrpc":"2.0","id":1,"result":"text"}',
    '{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}', '[{"jsonrpc":"2.0","id":1,"result":{}}]',
  ]
  for (const frame of faulty) {
    const script = begun(false, 'stdio', 1, 2)
    t.match(script.server(frame), [['to client', { id: 1, error: { code: -31000 } }]], frame)
  }
  t.end()
})

t.test('a request of the server that is blocked gets an error under its id', t => {
  const cases: readonly (readonly [frame: string, id: unknown, code: number])[] = [
    ['{"jsonrpc":"2.0","id":"p2","method":"ping","params":[]}', 'p2', -32600],
    ['{"jsonrpc":"2.0","id":"p3","method":"ping","params":null}', 'p3', -32600],
    ['{"id":"p4","method":"ping"}', 'p4', -32600],
    ['{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600],
    ['{"jsonrpc":"2.0","id":7,"method":7}', 7, -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 1.5, -32600],
    ['{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}', 7, -32600],
    ['{"jsonrpc":"2.0","id":7,"method":"ping","params":{', 7, -32600],
    ['{"jsonrpc":"2.0","id":"p5","method":"ping","params":{"a":1,"a":2}}', 'p5', -32601],
    ['{"jsonrpc":"2.0","id":"p6","method":"sampling/createMessage","params":{}}', 'p6', -32601],
    ['[{"jsonrpc":"2.0","id":"p7","method":"ping"}]', 'p7', -32601],
    ['[{"jsonrpc":"2.0","id":"p8","method":"ping","params":[]}]', 'p8', -32600],
    [`{"jsonrpc":"2.0","id":"p9","method":"ping","params":${'['.repeat(200)}${']'.repeat(200)}}`, 'p9', -32600],
  ]
  for (const [frame, id, code] of cases) {
    const script = new Script().begin()
    t.match(script.server(frame), [['to server', { id, error: { code } }]], frame)
    t.same(script.raw.filter(({ to }) => to === 'client'), [], frame)
  }
  const script = new Script().begin()
  for (const frame of ['{"jsonrpc":"2.0","id":null,"method":"ping"}', 'Got {"id":1,"method":"ping"}'])
    t.same(script.server(frame), [], 'its id cannot be read, or it is no request')
  t.end()
})
