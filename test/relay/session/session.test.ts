import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import type {
  Checked, Entry, Exchange, SchemaChecker, SharedAsk, SharedSession,
} from '#relay/core/vocabulary.js'
import { openSession } from '#relay/session/open.js'
import { parseFrame } from '#relay/protocol/parse.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { exchange } from '../../exchange.js'
import { judgementOf } from '../../judgement.js'

const limits = { messageBytes: 9999, depth: 32 }

const frame = (message: object) =>
  parseFrame(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })), limits)

/** One end of a session, in the hands of the test. */
class End implements Transport {
  tell: (event: TransportEvent) => void = () => {}
  readonly log: string[] = []
  hasLeft = false
  closed = 0
  isFull = false
  isBroken = false
  paused = false

  start(hear: (event: TransportEvent) => void): void {
    this.tell = hear
  }

  send({ name }: Exchange, { bytes }: { readonly bytes: Buffer }): boolean {
    if (this.isBroken) throw new TypeError('broken')
    this.log.push(`${name} ${bytes.toString()}`)
    return !this.isFull
  }

  hand(event: { readonly type: string }): boolean {
    this.log.push(event.type)
    return !this.isFull
  }

  complete({ name }: Exchange): void {
    this.log.push(`settled ${name}`)
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  leave(): void {
    this.hasLeft = true
  }

  close(): Promise<void> {
    this.closed++
    return Promise.resolve()
  }
}

/** An engine that answers when it is told to, as one does that works in another thread. */
class SlowChecker implements SchemaChecker {
  readonly #waiting: ((checked: Checked) => void)[] = []

  check(): Promise<Checked> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  async answer(): Promise<void> {
    for (const settle of this.#waiting.splice(0)) settle([])
    await new Promise(resolve => setImmediate(resolve))
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

const begin = (
  record: (entry: Entry) => (() => void) | undefined = () => undefined, shared?: SharedSession,
) => {
  const [client, server, checker, records] = [new End(), new End(), new SlowChecker(), new Array<Entry>()]
  const refusals: string[] = []
  const guard = {
    judgement: judgementOf({ trusted: false }),
    checker,
    health: { answered: () => undefined, failed: (_: string, reason: string) => void refusals.push(reason) },
    audit: (entry: Entry) => {
      const flush = record(entry)
      records.push(entry)
      return flush
    },
  }
  const session = openSession(guard, client, () => server, { stateless: false, shared })
  session.start()
  const asks = (name: string, id: number, method: string) =>
    client.tell({ type: 'frame', exchange: exchange(name), frame: frame({ id, method, params: {} }) })
  const lists = (name: string, id: number) =>
    server.tell({
      type: 'frame', exchange: exchange(name),
      frame: frame({ id, result: { tools: [{ name: 'a', inputSchema: { type: 'object' } }] } }),
    })
  return { client, server, checker, records, session, asks, lists, refusals }
}

t.test('only an error of the server itself counts against its health', t => {
  const { server, refusals } = begin()
  server.tell({ type: 'head', exchange: exchange('x'), status: 502, headers: new Map() })
  t.same(refusals, [], 'the head for a server that cannot be reached')
  server.tell({ type: 'head', exchange: exchange('y'), status: 502, headers: new Map([['date', ['x']]]) })
  t.same(refusals, ['the server answered with HTTP 502'])
  t.end()
})

t.test('the end of a stream waits for a response in it that is still being judged', async t => {
  const { client, server, checker, asks, lists } = begin()
  asks('x', 1, 'tools/list')
  lists('x', 1)
  server.tell({ type: 'between', exchange: exchange('x'), lines: 'id: 2\n' })
  server.tell({ type: 'stream-ended', exchange: exchange('x'), resumable: true })
  server.tell({ type: 'stream-ended', exchange: exchange('other'), resumable: true })
  t.same(client.log, ['stream-ended'], 'but another response does not')
  await checker.answer()
  t.match(client.log, ['stream-ended', /^x \{.*"id":1/, 'between', 'stream-ended'])
})

t.test(
  'a complete response ends its exchange, once judged, also when its request was already answered',
  async t => {
    const { client, server, checker, asks } = begin()
    asks('x', 1, 'tools/list')
    server.tell({
      type: 'frame', exchange: exchange('x'), whole: true,
      frame: frame({ id: 1, result: { tools: [{ name: 'a', inputSchema: { type: 'object' } }] } }),
    })
    server.tell({ type: 'frame', exchange: exchange('y'), whole: true, frame: frame({ id: 2, result: {} }) })
    t.same(client.log, ['settled y'])
    await checker.answer()
    t.match(client.log, ['settled y', /^x \{.*"id":1/, 'settled x'])
  },
)

t.test('a frame after a finished check is not delayed', async t => {
  const { client, server, checker, asks, lists } = begin()
  asks('x', 1, 'tools/list')
  lists('x', 1)
  await checker.answer()
  server.tell({ type: 'stream-ended', exchange: exchange('x'), resumable: false })
  t.match(client.log, [/"id":1/, 'stream-ended'])
})

t.test(
  'when the server ends, its last response is judged and forwarded, and other requests get an error',
  async t => {
    const { client, server, checker, records, session, asks, lists } = begin()
    asks('x', 1, 'tools/list')
    asks('y', 2, 'ping')
    lists('x', 1)
    server.tell({ type: 'ended', reason: 'the server exited with 0' })
    t.equal(client.closed, 0)
    await checker.answer()
    await session.ended
    t.match(client.log, [/^x .*"id":1,"result"/, /^y .*"id":2,"error":\{"code":-31001/])
    t.equal(records.at(-1)?.event, 'session/end')
    t.equal(client.closed, 1)
  },
)

t.test(
  'after the audit has failed nothing passes any more, not even a response that was being judged',
  async t => {
    let isFull = false
    const { client, server, checker, session, asks, lists } = begin((): undefined => {
      if (isFull) throw new Error('no space left')
    })
    asks('x', 1, 'tools/list')
    asks('y', 2, 'tools/list')
    lists('x', 1)
    isFull = true
    lists('y', 2)
    server.tell({ type: 'frame', exchange: exchange('x'), frame: frame({ id: 's', method: 'roots/list' }) })
    await checker.answer()
    await checker.answer()
    server.tell({ type: 'frame', exchange: exchange('x'), frame: frame({ id: 't', method: 'roots/list' }) })
    server.tell({ type: 'ended', reason: 'the server exited' })
    const { failure } = await session.ended
    t.match(failure, /no space left/)
    t.same(client.log.filter(line => !line.includes('-31001')), [])
    t.match(client.log, [/"id":1,"error"/, /"id":2,"error"/])
  },
)

t.test('a frame whose record could not be written is not sent, in both directions', async t => {
  let isFull = false
  const { client, server, records, session } = begin(() => () => {
    if (isFull) throw new Error('no space left')
  })
  const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  // That of `initialize` goes before its response, which shows what the server speaks.
  client.tell({ type: 'frame', exchange: exchange('x'), frame: frame({ id: 1, method: 'resources/list' }) })
  t.equal(server.log.length, 0, 'the record of the session goes before its first request')
  await turn()
  t.equal(server.log.length, 1)
  client.tell({ type: 'frame', exchange: exchange('x'), frame: frame({ id: 2, method: 'ping' }) })
  client.tell({
    type: 'frame', exchange: exchange('y'),
    frame: frame({ id: 3, method: 'tools/call', params: { name: 'a' } }),
  })
  server.tell({ type: 'frame', exchange: exchange('y'), frame: frame({ id: 3, result: { content: [] } }) })
  server.tell({ type: 'stream-ended', exchange: exchange('y'), resumable: false })
  isFull = true
  await turn()
  server.tell({ type: 'ended', reason: 'it was closed' })
  const { failure } = await session.ended
  t.match(failure, /no space left/)
  t.ok(records.length > 1)
  t.same(
    client.log.filter(line => line !== 'stream-ended' && !line.includes('-31001')), [],
    'no answer but that there is none',
  )
  for (const id of [1, 2, 3])
    t.equal(client.log.filter(line => line.includes(`"id":${id},"error"`)).length, 1)
  t.equal(server.closed, 1)
})

t.test('a session that has ended takes no request, while its last records wait to be written', async t => {
  let write: (() => void) | undefined
  const { client, server, asks, session } = begin(() => write ??= () => client.log.push('written'))
  asks('x', 1, 'tools/call')
  server.tell({ type: 'ended', reason: 'gone' })
  t.same([client.hasLeft, client.log, client.closed], [true, [], 0])
  await session.ended
  t.match(client.log, ['written', /^x \{.*-31001/])
  t.equal(client.closed, 1)
})

t.test('every request in a batch that is not sent gets an error', async t => {
  let isFull = false
  const { client, server, session } = begin((): undefined => {
    if (isFull) throw new Error('no space left')
  })
  client.tell({
    type: 'frame', exchange: stdioExchange,
    frame: frame({ id: 0, method: 'initialize', params: { protocolVersion: '2025-03-26' } }),
  })
  server.tell({
    type: 'frame', exchange: stdioExchange,
    frame: frame({ id: 0, result: { protocolVersion: '2025-03-26' } }),
  })
  const asked = [1, 2].map(id => ({ jsonrpc: '2.0', id, method: 'tools/list' }))
  client.tell({
    type: 'frame', exchange: stdioExchange, frame: parseFrame(Buffer.from(JSON.stringify(asked)), limits),
  })
  isFull = true
  const answers = [1, 2].map(id => ({ jsonrpc: '2.0', id, error: { code: -1, message: 'no' } }))
  server.tell({
    type: 'frame', exchange: stdioExchange, frame: parseFrame(Buffer.from(JSON.stringify(answers)), limits),
  })
  server.tell({ type: 'ended', reason: 'the server exited' })
  await session.ended
  t.match(client.log.at(-1), /^stdio \[.*"id":1,"error":{"code":-31001.*"id":2,"error":{"code":-31001.*\]/)
})

t.test('a request that cannot be written to the server is answered, and the session goes on', async t => {
  const { server, client, session } = begin()
  server.isBroken = true
  client.tell({ type: 'frame', exchange: stdioExchange, frame: frame({ id: 1, method: 'ping' }) })
  t.match(client.log, [/"id":1,"error":{"code":-31001/])
  server.isBroken = false
  client.tell({ type: 'frame', exchange: stdioExchange, frame: frame({ id: 2, method: 'ping' }) })
  server.tell({ type: 'frame', exchange: stdioExchange, frame: frame({ id: 2, result: {} }) })
  t.match(client.log.at(-1), /"id":2,"result"/)
  server.tell({ type: 'ended', reason: 'it was closed' })
  const { failure } = await session.ended
  t.equal(failure, undefined)
})

t.test('a peer that does not read pauses the other side, also after a check', async t => {
  const { client, server, checker, asks, lists } = begin()
  asks('stdio', 1, 'tools/list')
  lists('stdio', 1)
  await checker.answer()
  server.isFull = true
  client.tell({
    type: 'frame', exchange: stdioExchange,
    frame: frame({ id: 2, method: 'tools/call', params: { name: 'a' } }),
  })
  await checker.answer()
  t.same([client.paused, server.paused], [true, false])
  server.isFull = false
  server.tell({ type: 'drained', exchange: stdioExchange })
  t.same([client.paused, server.paused], [false, false])
  client.isFull = true
  server.tell({
    type: 'frame', exchange: stdioExchange,
    frame: frame({ method: 'notifications/message', params: { level: 'info', data: 1 } }),
  })
  t.same([client.paused, server.paused], [false, true])
})

t.test('an exception in a flow answers its request, and the session goes on', async t => {
  const { client, server, session, records, asks } = begin()
  asks('x', 1, 'ping')
  server.tell({
    type: 'frame',
    exchange: exchange('x'),
    frame: {
      ...frame({ id: 1, result: {} }),
      message: {
        kind: 'result',
        id: 1,
        key: '1',
        get result(): never {
          throw new TypeError('broken')
        },
      },
    },
  })
  t.match(client.log, [/"id":1,"error":\{"code":-31000/])
  server.tell({ type: 'ended', reason: 'it was closed' })
  const { failure } = await session.ended
  t.equal(failure, undefined)
  t.match(records.map(({ event, verdict }) => [event, verdict]).slice(-2), [
    ['ping', 'block'], ['session/end', 'pass'],
  ])
})

t.test('a client that closed its input gets its responses before the server is closed', async t => {
  const { client, server, asks } = begin()
  asks('stdio', 1, 'ping')
  client.tell({ type: 'ended', reason: 'it closed its output', graceMs: 1 << 30 })
  t.equal(server.closed, 0)
  server.tell({ type: 'frame', exchange: stdioExchange, frame: frame({ id: 1, result: {} }) })
  t.match(client.log, [/"id":1,"result"/])
  t.equal(server.closed, 1)
  server.tell({ type: 'ended', reason: 'it was closed' })
})

t.test('responses are sent only within the grace period, and only while the client reads', async t => {
  for (const more of [undefined, { type: 'ended', reason: 'it reads no more' } as const]) {
    const { client, server, asks } = begin()
    asks('stdio', 1, 'ping')
    const closed = new Promise<void>(resolve => {
      server.close = () => Promise.resolve(resolve())
    })
    client.tell({ type: 'ended', reason: 'it closed its output', graceMs: more === undefined ? 1 : 1 << 30 })
    if (more !== undefined) client.tell(more)
    await closed
    server.tell({ type: 'ended', reason: 'it was closed' })
    t.match(client.log, [/"id":1,"error":\{"code":-31001/])
  }
})

/** The state that replicas share, which replies when it is told to. */
class SlowState implements SharedSession {
  readonly asked: string[] = []
  readonly #waiting: ((reply: 'none') => void)[] = []
  named(): void {}
  touch(): void {}

  ask({ kind, part }: SharedAsk): Promise<'none'> {
    this.asked.push(`${kind} ${part}`)
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  async reply(): Promise<void> {
    while (this.#waiting.length > 0) {
      for (const settle of this.#waiting.splice(0)) settle('none')
      await new Promise(resolve => setImmediate(resolve))
    }
  }
}

t.test('a whole response that waits for the shared state is sent before its exchange is completed', async t => {
  const state = new SlowState()
  const { client, server } = begin(undefined, state)
  client.tell({
    type: 'frame', exchange: exchange('x'), frame: frame({
      id: 1, method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
    }),
  })
  const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } }
  server.tell({ type: 'frame', exchange: exchange('x'), whole: true, frame: frame({ id: 1, result }) })
  t.same(client.log, [])
  await state.reply()
  t.match(client.log, [/^x .*"serverInfo"/, 'settled x'])
})

t.test('frames keep their order while the shared state is asked; without event ids, nothing is kept', async t => {
  const state = new SlowState()
  const { client, server, asks } = begin(undefined, state)
  asks('x', 1, 'prompts/list')
  for (const message of [{ id: 7, method: 'ping' }, { id: 1, result: { prompts: [] } }]) {
    const named = { ...frame(message), envelope: { event: 'event: message\n' } }
    server.tell({ type: 'frame', exchange: exchange('x'), frame: named })
  }
  t.same(client.log, [])
  await state.reply()
  t.match(client.log, [/^x .*"ping"/, /^x .*"prompts"/])
  t.same(state.asked, ['keep asked'])
})

t.test('a response that waits for the shared state is given to its client before the end of the server counts', async t => {
  const state = new SlowState()
  const { client, server, records, asks } = begin(undefined, state)
  asks('x', 1, 'prompts/list')
  asks('y', 2, 'prompts/list')
  for (const message of [{ id: 7, method: 'ping' }, { id: 1, result: { prompts: [] } }])
    server.tell({ type: 'frame', exchange: exchange('x'), frame: frame(message) })
  // The transport was cut behind the response.
  server.tell({ type: 'ended', reason: 'the connection to the server was closed' })
  await state.reply()
  t.match(client.log, [/^x .*"ping"/, /^x .*"prompts"/, /^y .*-31001/])
  t.same(records.flatMap(({ findings }) => findings), [], 'the server did nothing wrong')
})
