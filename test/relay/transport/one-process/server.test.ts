import type { Exchange } from '#relay/core/vocabulary.js'
import fc from 'fast-check'
import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { slice } from '#relay/protocol/scan.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { SharedServer } from '#relay/transport/one-process/server.js'
import type { Expected, Transport, TransportEvent } from '#relay/transport/transport.js'
import type { Frame } from '#relay/protocol/frame.js'
import { ManualTimers } from '../timers.js'
import { exchange } from '#test/exchange.js'

const limits = { messageBytes: 1 << 20, depth: 64 }
const frameOf = (text: string): Frame => parseFrame(Buffer.from(text), limits)

const revision = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"'
const subscription = (id: string) => `"io.modelcontextprotocol/subscriptionId":${id}`
const ask = (id: string, method = 'tools/call', token?: string) =>
  frameOf(
    `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{"_meta":{${revision}${token === undefined ? '' : `,"progressToken":${token}`}}}}`,
  )
const answer = (id: string, result = '{}') => `{"jsonrpc":"2.0","id":${id},"result":${result}}`
const note = (method: string, params: string) =>
  `{"jsonrpc":"2.0","method":"notifications/${method}","params":${params}}`
const logged = note('message', '{"level":"info","data":1}')

/** A process that is not there: what it got, and what it is made to say. */
class Child implements Transport {
  readonly got: string[] = []
  readonly frames: Frame[] = []
  paused = false
  closes = 0
  free = true
  hear: (event: TransportEvent) => void = () => undefined
  expected: Expected | undefined
  gone = (): void => undefined
  readonly #gone = new Promise<void>(resolve => (this.gone = resolve))

  start(hear: (event: TransportEvent) => void, expected?: Expected): void {
    this.hear = hear
    this.expected = expected
  }

  send(_exchange: Exchange, frame: Frame): boolean {
    this.got.push(frame.bytes.toString())
    this.frames.push(frame)
    return this.free
  }

  say(text: string): void {
    this.hear({ type: 'frame', exchange: stdioExchange, frame: frameOf(text) })
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  close(urgency = 1): Promise<void> {
    this.closes = Math.max(this.closes, urgency)
    return this.#gone
  }
}

/** A session in front of it: what it was told. */
class Ear {
  readonly events: TransportEvent[] = []
  /** The responses whose schema was asked for. */
  readonly asked: string[] = []

  constructor(readonly port: Transport) {
    port.start(event => this.events.push(event), ({ name }, key) => void this.asked.push(`${name} ${key}`))
  }

  /** The frames since the last time, as `EXCHANGE TEXT`. */
  heard(): readonly string[] {
    return this.events.splice(0).flatMap(event =>
      (event.type === 'frame' ? [`${event.exchange.name} ${event.frame.bytes.toString()}`] : []))
  }

  lost(): readonly string[] {
    return this.events.splice(0).flatMap(event =>
      (event.type === 'lost' ? [`${event.exchange.name} ${event.key} ${event.reason}`] : []))
  }
}

const setUp = (sessions = 1) => {
  const children: Child[] = []
  const timers = new ManualTimers()
  const clock = { now: 0 }
  const random = () => 1
  const make = () => {
    const child = new Child()
    children.push(child)
    return child
  }
  const shared = new SharedServer({ make, timers, now: () => clock.now, random })
  const ears = Array.from({ length: sessions }, () => new Ear(shared.connect()))
  const first = (): Ear => {
    const [ear] = ears
    if (ear === undefined) throw new Error('there is no session')
    return ear
  }
  const child = (): Child => {
    const last = children.at(-1)
    if (last === undefined) throw new Error('nothing was started')
    return last
  }
  return { shared, ears, children, child, timers, clock, first }
}

t.test('requests of the same id go to one process under different numbers, and the answers back under their own', async t => {
  const { ears: [a, b], children, child } = setUp(2)
  t.equal(children.length, 0, 'nothing is started before it is used')
  a?.port.send(exchange('one'), ask('0'))
  a?.port.send(exchange('two'), ask('0'))
  b?.port.send(exchange('one'), ask('"0"'))
  t.equal(children.length, 1)
  t.same(child().frames.map(({ message }) => 'key' in message && message.key), ['1', '2', '3'])
  for (const number of ['3', '1', '2']) child().say(answer(number, `{"of":${number}}`))
  t.same(a?.heard(), [`one ${answer('0', '{"of":1}')}`, `two ${answer('0', '{"of":2}')}`])
  t.same(b?.heard(), [`one ${answer('"0"', '{"of":3}')}`])
})

t.test('the schema of a response is asked for in its own session, by its own id', async t => {
  const { ears: [a, b], child } = setUp(2)
  a?.port.send(exchange('one'), ask('0'))
  b?.port.send(exchange('two'), ask('"0"'))
  for (const number of ['2', '1', '3']) child().expected?.(stdioExchange, number, 0)
  t.strictSame([a?.asked, b?.asked], [['one 0'], ['two "0"']])
})

t.test('nothing of a message changes but its names', async t => {
  const spelled = fc.oneof(
    fc.maxSafeInteger().map(String),
    fc.string().map(text => JSON.stringify(text)),
    fc.constantFrom('"\\u0061"', '12345678901234567890', '-0', '1.0', '1e3', '""'),
  )
  const member = fc.tuple(fc.string(), fc.jsonValue()).map(([key, value]) =>
    `${JSON.stringify(`x${key}`)} : ${JSON.stringify(value)}`)
  fc.assert(
    fc.property(spelled, fc.option(
      spelled, { nil: undefined },
    ), member, fc.boolean(), (id, token, more, idLast) => {
      const { first, child } = setUp()
      const text = (itsId: string, itsToken: string | undefined) => {
        const meta =
          `{ ${itsToken === undefined ? '' : `"progressToken":\t${itsToken} , `}${revision}, ${more}}`
        const rest = `"method":"x/y", "params": {"a": [1.0, 1E2], "_meta" : ${meta}, ${more} }`
        return idLast
          ? `{"jsonrpc":"2.0",${rest},"id" :${itsId} }`
          : `{ "id" : ${itsId}, "jsonrpc":"2.0", ${rest}}`
      }
      first().port.send(exchange('e'), frameOf(text(id, token)))
      t.equal(child().got.pop(), text('1', token === undefined ? undefined : '1'))
      const progress = (itsToken: string) =>
        `{"params": {${more}, "progress": 1.0, "progressToken" : ${itsToken}}, "method":"notifications/progress","jsonrpc":"2.0"}`
      if (token !== undefined) child().say(progress('1'))
      const says = (itsId: string) =>
        `{"result": {${more}, "n": 12345678901234567890.0} , "id": ${itsId}, "jsonrpc":"2.0"}`
      child().say(says('1'))
      t.strictSame(
        first().heard(), [...(token === undefined ? [] : [`e ${progress(token)}`]), `e ${says(id)}`],
      )
    }),
    { numRuns: 200 },
  )
})

t.test('nothing of a large answer changes but its id', async t => {
  const text = JSON.stringify({ text: '"id":1,'.repeat(1000), id: 1, nested: [{ id: 1 }] })
  const ids = ['7', '"a long id \\u00e9"', '12345678901234567890']
  const shapes = [
    (id: string) => `{"jsonrpc":"2.0","id":${id},"result":${text}}`,
    (id: string) => ` { "result" : ${text} , "x":"id", "id" : ${id} , "jsonrpc":"2.0" } `,
    (id: string) => `{"error":{"code":1,"message":"m","data":${text}},"id":${id},"jsonrpc":"2.0"}`,
    (id: string) => `{"a":{},"id":${id},"result":${text},"jsonrpc":"2.0"}`,
  ]
  for (const [id, shape] of ids.flatMap(id => shapes.map(shape => [id, shape] as const))) {
    const { first, child } = setUp()
    first().port.send(exchange('e'), ask(id))
    child().say(shape('1'))
    const [event] = first().events
    const frame = event?.type === 'frame' ? event.frame : t.fail('nothing was heard')
    t.same(first().heard(), [`e ${shape(id)}`])
    t.strictSame(
      typeof frame === 'object' && { ...frame, facts: undefined },
      { ...frameOf(shape(id)), facts: undefined },
    )
    t.equal(
      typeof frame === 'object' && slice(frame, ['result'])?.toString(),
      shape(id).includes('"error"') ? undefined : text,
    )
  }
})

t.test('what is heard reads as its bytes do', async t => {
  const { first, child } = setUp()
  const { port, events } = first()
  port.send(exchange('e'), ask('"a"', 'subscriptions/listen', '"t"'))
  child().say(note('progress', '{"progressToken":1,"progress":1}'))
  child().say(note('tools/list_changed', `{"_meta":{${subscription('1')},"k":1}}`))
  child().say(answer('1', `{"_meta":{${subscription('1')}},"resultType":"complete"}`))
  port.send(exchange('e'), ask('7'))
  child().say('{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"m"}}')
  t.equal(events.length, 4)
  for (const event of events) {
    if (event.type === 'frame') t.strictSame(event.frame, frameOf(event.frame.bytes.toString()))
  }
  t.strictSame(child().frames[0], frameOf(child().got[0] ?? ''), 'by the process too')
})

t.test('a notification goes to the exchange whose request it names, as that calls it', async t => {
  const { ears: [a, b], child } = setUp(2)
  a?.port.send(exchange('one'), ask('"listen:0"', 'subscriptions/listen', '5'))
  b?.port.send(exchange('two'), ask('"listen:0"', 'subscriptions/listen', '5'))
  child().say(note('subscriptions/acknowledged', `{"_meta":{${subscription('2')}},"notifications":{}}`))
  child().say(note('resources/updated', `{"uri":"x:y","_meta":{${subscription('1')}}}`))
  child().say(note('progress', '{"progressToken":2,"progress":1}'))
  child().say(note('cancelled', '{"requestId":1}'))
  child().say(answer('2', `{"_meta":{${subscription('2')}}}`))
  t.same(a?.heard(), [
    `one ${note('resources/updated', `{"uri":"x:y","_meta":{${subscription('"listen:0"')}}}`)}`,
    `one ${note('cancelled', '{"requestId":"listen:0"}')}`,
  ])
  t.same(b?.heard(), [
    `two ${note('subscriptions/acknowledged', `{"_meta":{${subscription('"listen:0"')}},"notifications":{}}`)}`,
    `two ${note('progress', '{"progressToken":5,"progress":1}')}`,
    `two ${answer('"listen:0"', `{"_meta":{${subscription('"listen:0"')}}}`)}`,
  ])
})

t.test('what names no request, or none that is known, goes to nobody: one relay has it for the record', async t => {
  const progress = (token: string) => note('progress', `{"progressToken":${token},"progress":1}`)
  const cases = [
    ['a log message', logged],
    ['a list that changed', note('resources/list_changed', '{}')],
    ['progress of nothing', progress('99')],
    ['progress by another type', progress('"1"')],
    ['progress of a request that wants none', progress('1')],
    ['a subscription that nobody has', note('tools/list_changed', `{"_meta":{${subscription('99')}}}`)],
    ['an answer to nothing', answer('99')],
    ['noise', 'Listening on stdio'],
    [
      'an answer to what could not be read',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}',
    ],
  ] as const
  for (const [name, said] of cases) {
    const { ears: [a, b], child } = setUp(2)
    a?.port.send(exchange('one'), ask('1'))
    b?.port.send(exchange('two'), ask('1'))
    child().say(said)
    const heard = [...(a?.heard() ?? []), ...(b?.heard() ?? [])]
    // The list of tools concerns every session.
    t.same(
      heard, Array.from({ length: said.includes('tools/list_changed') ? 2 : 1 }, () => `stdio ${said}`), name,
    )
  }
})

t.test('what names no request goes to the only exchange that waits', async t => {
  const { first, child } = setUp()
  first().port.send(exchange('one'), ask('1'))
  child().say(logged)
  child().say('noise')
  child().say(answer('99'))
  t.same(first().heard(), [`one ${logged}`, 'one noise', `one ${answer('99')}`])
})

t.test('a malformed request of the server gets an error under its id, and ends no request of a client', async t => {
  const { first, child } = setUp()
  first().port.send(exchange('one'), ask('1'))
  child().say('{"id":1,"method":"ping"}')
  t.match(child().frames.at(-1)?.message, { kind: 'error', id: 1, error: { code: -32600 } })
  child().say(answer('1'))
  t.same(first().heard(), ['stdio {"id":1,"method":"ping"}', `one ${answer('1')}`])
})

t.test('after a request was given up, what names none may be about it, until the process has read of it', async t => {
  const { first, child } = setUp()
  const { port } = first()
  port.send(exchange('one'), ask('1'))
  port.send(exchange('two'), ask('1'))
  port.shut?.(exchange('one'))
  child().say(logged)
  t.same(first().heard(), [`stdio ${logged}`])
  port.send(exchange('three'), ask('1'))
  child().say(answer('3'))
  child().say(logged)
  t.same(first().heard(), [`three ${answer('1')}`, `two ${logged}`])
})

t.test('a log message goes to the one request that asked for its level', async t => {
  const asking = (id: string, level: string | undefined, method = 'tools/call') => frameOf(
    `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{"_meta":{${revision}${
      level === undefined ? '' : `,"io.modelcontextprotocol/logLevel":"${level}"`}}}}`,
  )
  const listen = 'subscriptions/listen'
  const cases: readonly (readonly [
    name: string, open: readonly (readonly [level: string | undefined, method?: string])[],
    to: number | undefined,
  ])[] = [
    ['beside a subscription', [[undefined, listen], ['info']], 1],
    ['beside the call of another client that asked for none', [['info'], [undefined]], 0],
    ['beside a call that asked for less', [['error'], ['debug']], 1],
    ['the only one that asked, though for less', [['error'], [undefined]], 0],
    ['a subscription that asked', [['info', listen], [undefined]], 0],
    ['nobody asked: the only call', [[undefined, listen], [undefined]], 1],
    ['two that asked', [['info'], ['debug']], undefined],
    ['nobody asked, and two calls', [[undefined], [undefined]], undefined],
  ]
  for (const [name, open, to] of cases) {
    const { ears, child } = setUp(2)
    for (const [index, [level, method]] of open.entries())
      ears[index]?.port.send(exchange('one'), asking('1', level, method))
    child().say(logged)
    const heard = ears.map(ear => ear.heard())
    const nobody = [[`stdio ${logged}`], []]
    t.same(heard, to === undefined ? nobody : [0, 1].map(index => (index === to ? [`one ${logged}`] : [])), name)
  }
  const { ears: [a, b], child } = setUp(2)
  a?.port.send(exchange('one'), asking('1', 'info'))
  b?.port.send(exchange('two'), asking('1', 'info'))
  a?.port.shut?.(exchange('one'))
  child().say(logged)
  t.same(b?.heard(), [], 'it may be about the request that was given up')
  t.match(a?.events, [{ frame: { faults: [{ kind: 'json-rpc', isMinor: true }] } }], 'on record')
  child().say(answer('1'))
  child().say(logged)
  t.same(b?.heard(), [`two ${logged}`], 'once that one is answered, it is about the other')
})

t.test('every session learns that the tools changed, whoever subscribed', async t => {
  const { ears: [a, b], child } = setUp(2)
  const changed = (id: string) => note('tools/list_changed', `{"_meta":{${subscription(id)}}}`)
  a?.port.send(exchange('one'), ask('7', 'subscriptions/listen'))
  child().say(changed('1'))
  t.same(a?.heard(), [`one ${changed('7')}`])
  t.same(b?.heard(), [`stdio ${changed('1')}`], 'by no exchange: its relay hears, its clients do not')
})

t.test('the process hears of it when a client goes away, and its late answer is nobody\'s', async t => {
  const { first, child } = setUp()
  const { port } = first()
  port.send(exchange('one'), ask('"a"'))
  port.send(exchange('one'), ask('"b"'))
  port.send(exchange('two'), ask('"a"'))
  port.abandon?.(exchange('one'), '"a"')
  const cancelled = (id: number) =>
    note(
      'cancelled',
      `{"_meta":{${revision}},"requestId":${id},"reason":"the client does not wait for it any more"}`,
    )
  t.equal(
    child().got.at(-1), cancelled(1),
    'by the revision of the request: a server may take a message without one for a legacy one',
  )
  port.shut?.(exchange('one'))
  t.equal(child().got.at(-1), cancelled(2))
  port.shut?.(exchange('one'))
  t.equal(child().got.length, 5, 'once')
  child().say(answer('1'))
  child().say(note('progress', '{"progressToken":2,"progress":1}'))
  child().say(answer('3'))
  const [, own] = first().heard()
  t.equal(own, `two ${answer('"a"')}`)
  child().say(answer('1'))
  t.same(first().heard(), [`stdio ${answer('1')}`], 'a second late answer is one too many')
})

t.test('what is given up is remembered to an extent', async t => {
  const { first, child } = setUp()
  for (let number = 1; number <= 1001; number++) {
    first().port.send(exchange(`e${number}`), ask('1'))
    first().port.shut?.(exchange(`e${number}`))
  }
  child().say(answer('2'))
  t.same(first().heard(), [])
  child().say(answer('1'))
  t.equal(first().heard().length, 1)
})

t.test('clients take nothing back by id, answer nothing, and say nothing without a revision', async t => {
  const { first, child } = setUp()
  const { port, events } = first()
  port.send(exchange('one'), ask('1'))
  const before = child().got.length
  for (const text of [
    note('cancelled', `{"requestId":1,"_meta":{${revision}}}`), note('initialized', '{}'), answer('1'),
    'noise',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}',
  ]) {
    t.equal(port.send(exchange('two'), frameOf(text)), true)
  }
  t.equal(child().got.length, before)
  const said = note('x', `{"_meta":{${revision}}}`)
  port.send(exchange('two'), frameOf(said))
  t.equal(child().got.at(-1), said)
  events.splice(0)
  port.send(exchange('three'), frameOf('{"jsonrpc":"2.0","id":4,"method":"tools/list"}'))
  await new Promise<void>(resolve => process.nextTick(resolve))
  t.match(events, [{
    type: 'frame', exchange: exchange('three'),
    frame: { message: { kind: 'error', key: '4', error: { code: -32602 } } },
  }])
  t.equal(child().got.length, before + 1)
})

t.test('a batch of either side is taken apart', async t => {
  const { first, child } = setUp()
  const { port, events } = first()
  port.send(exchange('one'), frameOf(`[${ask('1').bytes.toString()},${ask('2').bytes.toString()}]`))
  t.same(child().frames.map(({ message }) => message.kind), ['request', 'request'])
  child().say(`[${answer('2')},${answer('1')}]`)
  t.match(events, [
    { frame: { message: { key: '2' }, faults: [{ kind: 'json-rpc' }] } },
    { frame: { message: { key: '1' }, faults: [{ kind: 'json-rpc' }] } },
  ])
})

t.test('what may be meant as an answer is told to whoever waits for it, as what it is', async t => {
  const cases = [
    ['a string for a number', answer('"1"'), { message: { kind: 'result', key: ' "a"' } }, answer('"a"')],
    ['another spelling', answer('1.0'), { message: { kind: 'result', key: ' "a"' } }, answer('"a"')],
    [
      'no message', '{"jsonrpc":"2.0","id":1}', { message: { kind: 'unusable', keys: ['"a"'] } },
      '{"jsonrpc":"2.0","id":"a"}',
    ],
    [
      'cut off', '{"jsonrpc":"2.0","id":1,"result":{', { message: { kind: 'unusable', keys: ['"a"'] } },
      '{"jsonrpc":"2.0","id":1,"result":{',
    ],
  ] as const
  for (const [name, said, frame, bytes] of cases) {
    const { first, child } = setUp()
    first().port.send(exchange('one'), ask('"a"'))
    child().say(said)
    t.match(first().events, [{ type: 'frame', exchange: exchange('one'), frame }], name)
    t.same(first().heard(), [`one ${bytes}`], name)
    child().say(answer('1'))
    t.same(first().heard(), [`one ${answer('"a"')}`], `${name}: it is still waited for`)
  }
})

t.test('an answer that names two requests is told to both', async t => {
  const { ears: [a, b], child } = setUp(2)
  a?.port.send(exchange('one'), ask('"a"'))
  b?.port.send(exchange('two'), ask('"b"'))
  child().say('{"jsonrpc":"2.0","id":1,"id":2,"result":{}}')
  t.match(a?.events, [{
    exchange: exchange('one'),
    frame: { message: { kind: 'unusable', keys: ['"a"'] }, faults: [{ kind: 'ambiguous' }] },
  }])
  t.match(b?.events, [{
    exchange: exchange('two'),
    frame: { message: { kind: 'result', key: '"b"' }, faults: [{ kind: 'ambiguous' }] },
  }])
  for (const event of [...(a?.events ?? []), ...(b?.events ?? [])]) {
    t.equal(
      event.type === 'frame' && 'otherKeys' in event.frame, false,
      'the names of others are not among its keys',
    )
  }
})

t.test('the process may ask nothing: nobody could answer', async t => {
  const { first, child } = setUp()
  first().port.send(exchange('one'), ask('1'))
  child().say('{"jsonrpc":"2.0","id":"s","method":"roots/list"}')
  t.match(JSON.parse(child().got.at(-1) ?? ''), { id: 's', error: { code: -32601 } })
  t.match(first().events, [{
    exchange: stdioExchange,
    frame: { message: { kind: 'unusable', keys: [] }, faults: [{ kind: 'json-rpc' }] },
  }])
})

t.test('a process that dies loses what it was asked, and the next request starts another', async t => {
  const { ears: [a, b], child, children } = setUp(2)
  a?.port.send(exchange('one'), ask('1'))
  b?.port.send(exchange('two'), ask('"x"'))
  const [dead] = children
  dead?.hear({ type: 'ended', reason: 'the server exited with code 1' })
  t.same(a?.lost(), ['one 1 the server exited with code 1'])
  t.same(b?.lost(), ['two "x" the server exited with code 1'])
  t.equal(children.length, 1, 'not before it is needed')
  a?.port.send(exchange('three'), ask('1'))
  t.equal(children.length, 2)
  dead?.say(answer('3', '{"of":"the dead"}'))
  child().say(answer('3'))
  t.same(a?.heard(), [`three ${answer('1')}`])
  child().hear({ type: 'lost', exchange: stdioExchange, key: '99', reason: 'r' })
  a?.port.send(exchange('four'), ask('5'))
  child()
    .hear({ type: 'lost', exchange: stdioExchange, key: '4', reason: 'the server does not read any more' })
  t.same(a?.lost(), ['four 5 the server does not read any more'])
})

t.test('a process that ends before it has answered anything is started again at once, then after longer and longer', async t => {
  const { shared, first, children, child, clock } = setUp()
  const waits: number[] = []
  for (let start = 1; start <= 9; start += 1) {
    first().port.send(exchange('x'), ask(String(start)))
    t.equal(children.length, start)
    child().hear({ type: 'ended', reason: 'the server exited with code 1' })
    const before = clock.now
    while (!shared.isReady) clock.now += 500
    waits.push(clock.now - before)
  }
  t.same(waits, [0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  first().lost()
  first().port.send(exchange('x'), ask('10'))
  child().say(answer('10'))
  child().hear({ type: 'ended', reason: 'the server exited with code 1' })
  t.ok(shared.isReady, 'one that has answered is started at once')
})

t.test('who asks meanwhile is told so', async t => {
  const { first, child, children } = setUp()
  for (const name of ['a', 'b']) {
    first().port.send(exchange(name), ask('1'))
    child().hear({ type: 'ended', reason: 'the server exited with code 1' })
  }
  first().lost()
  t.equal(first().port.send(exchange('c'), ask('7')), true)
  await new Promise(setImmediate)
  t.same(first().lost(), ['c 7 the server keeps ending before it answers; it is started again in 1 s'])
  t.equal(children.length, 2)
})

t.test('a subscription that the process takes back is over soon, answered or not', async t => {
  const { first, child, timers } = setUp()
  first().port.send(exchange('one'), ask('1', 'subscriptions/listen'))
  first().port.send(exchange('two'), ask('1', 'subscriptions/listen'))
  child().say(note('cancelled', '{"requestId":1}'))
  child().say(note('cancelled', '{"requestId":2}'))
  child().say(answer('2'))
  t.equal(first().heard().length, 3)
  t.equal(timers.fire(1000), 2)
  t.same(first().lost(), ['one 1 the server ended the subscription'])
})

t.test('the process ends with the last session, and another can begin meanwhile', async t => {
  const { shared, ears: [a, b], children, child } = setUp(2)
  a?.port.send(exchange('one'), ask('1'))
  await a?.port.close()
  t.match(a?.events, [{ type: 'ended' }])
  t.match(child().got.at(-1), /cancelled/, 'what a session waited for is given up')
  t.equal(child().closes, 0)
  let closed = false
  const closing = b?.port.close().then(() => (closed = true))
  t.equal(child().closes, 1)
  const c = new Ear(shared.connect())
  c.port.send(exchange('one'), ask('1'))
  t.equal(children.length, 2)
  children[0]?.say(answer('1'))
  children[0]?.hear({ type: 'ended', reason: 'late' })
  t.same(c.events, [], 'the one that ends is heard no more')
  const all = shared.close()
  t.same(c.lost(), ['one 1 the server is let go'])
  t.equal(closed, false)
  for (const one of children) one.gone()
  await Promise.all([closing, all])
  await shared.close()
  t.equal(children[1]?.closes, 1)
  t.equal(a?.port.send(exchange('one'), ask('1')), true)
  t.equal(children.length, 2, 'a session that is over starts nothing')
})

t.test('of those who hurry the end the most urgent one decides', t => {
  const { ears, first, children } = setUp(2)
  first().port.send(exchange('a'), ask('1'))
  const close = (...urgencies: readonly number[]) => {
    for (const [index, { port }] of ears.entries()) void port.close(urgencies[index])
    return children.map(({ closes }) => closes)
  }
  t.same([close(), close(), close(1, 2), close(1, 1), close(3, 2)], [[1], [1], [2], [2], [3]])
  t.end()
})

t.test('a process that does not read holds back those who write, until it reads or is gone', async t => {
  const { ears: [a, b], child } = setUp(2)
  t.equal(a?.port.send(exchange('one'), ask('1')), true)
  child().free = false
  t.equal(a?.port.send(exchange('two'), ask('1')), false)
  child().hear({ type: 'drained', exchange: stdioExchange })
  t.match(a?.events, [{ type: 'drained', exchange: stdioExchange }])
  t.same(b?.events, [])
  t.equal(b?.port.send(exchange('two'), ask('1')), false)
  child().hear({ type: 'ended', reason: 'r' })
  t.match(b?.events, [{ type: 'lost' }, { type: 'renewed' }, { type: 'drained', exchange: stdioExchange }])
})

const holdMs = 1000

t.test('a session that does not read pauses the others for a while, and never more than half of the time', async t => {
  const { ears: [a, b], child, timers, clock } = setUp(2)
  a?.port.send(exchange('one'), ask('1'))
  a?.port.pause(stdioExchange)
  a?.port.pause(stdioExchange)
  t.equal(child().paused, true)
  b?.port.pause(stdioExchange)
  b?.port.resume(stdioExchange)
  t.equal(child().paused, true, 'one is enough')
  clock.now = 100
  a?.port.resume(stdioExchange)
  t.equal(child().paused, false)
  clock.now = 199
  a?.port.pause(stdioExchange)
  t.equal(child().paused, false, 'it was read for less time than it was held up')
  clock.now = 200
  a?.port.pause(stdioExchange)
  t.equal(child().paused, true)
  clock.now += holdMs
  t.equal(timers.fire(holdMs), 1)
  t.equal(child().paused, false)
  clock.now += 10 * holdMs
  a?.port.pause(stdioExchange)
  t.equal(child().paused, false, 'who never reads pauses nobody again')
  a?.port.resume(stdioExchange)
  clock.now += holdMs
  a?.port.pause(stdioExchange)
  t.equal(child().paused, true)
  await a?.port.close()
  t.equal(child().paused, false)
})

t.test('a process that is started for others is held up as well', async t => {
  const { ears: [a, b], child, children } = setUp(2)
  a?.port.pause(stdioExchange)
  b?.port.send(exchange('one'), ask('1'))
  t.equal(children.length, 1)
  t.equal(child().paused, true)
})

t.test('an id that is none by JSON\'s grammar ends nothing, whoever says it', async t => {
  const { first, child } = setUp()
  const ear = first()
  ear.port.send(exchange('one'), ask('"a"'))
  for (const id of ['01', '02', '00', '-00', '01.5', '1.', '1e400', '"\\x"', 'null', '1']) {
    ear.port.send(exchange('two'), ask(id))
    t.doesNotThrow(() => child().say(answer(id)), id)
    t.doesNotThrow(() => child().say(`[${answer(id)}]`), id)
    t.doesNotThrow(() => child().say(note('cancelled', `{"requestId":${id}}`)), id)
  }
  t.match(ear.heard().at(0), /^one /, 'the only one that waits is told')
})

t.test('a second answer to a request is no answer to the only request that is open', async t => {
  const { ears: [a, b], child } = setUp(2)
  a?.port.send(exchange('one'), ask('1'))
  child().say(answer('1'))
  b?.port.send(exchange('two'), ask('1'))
  child().say(answer('1'))
  t.same(b?.heard(), [])
  t.same(a?.heard(), [`one ${answer('1')}`, `stdio ${answer('1')}`])
})
