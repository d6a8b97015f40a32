import t from 'tap'
import { Relay } from '#relay/core/relay.js'
import type { Exchange, Power, Rule, SchemaChecker } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import type { RelayOptions } from '#relay/core/options.js'
import { RunningChecks } from '#relay/session/checks.js'
import { Session } from '#relay/session/session.js'
import type { Frame } from '#relay/protocol/frame.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { presetPolicy, rules } from '#relay/rules/index.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { judgementOf } from '../../judgement.js'

// Everything that a session calls throws at random, once in so many calls. Whoever asks has exactly one
// answer all the same.

const oneIn = 1000
const sessions = Number(process.env['SESSIONS'] ?? 16)
const callsOfEach = 300

let state = 20261123
const random = (most: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * most)
}

interface Faults {
  /** Throws at random, where faults are injected. */
  readonly maybe: (what: string) => void
  readonly injected: Map<string, number>
}

const injecting = (isOn: boolean): Faults => {
  const injected = new Map<string, number>()
  const maybe = (what: string) => {
    if (!isOn || random(oneIn) !== 0) return
    injected.set(what, (injected.get(what) ?? 0) + 1)
    throw new Error(`injected: ${what}`)
  }
  return { maybe, injected }
}

const frame = (message: object): Frame =>
  parseFrame(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })), {
    messageBytes: 1 << 20, depth: 32,
  })

class End implements Transport {
  tell: (event: TransportEvent) => void = () => {}
  isClosed = false
  readonly #taken: (frame: Frame) => void
  readonly #faults: Faults
  readonly #name: string

  constructor(name: string, faults: Faults, taken: (frame: Frame) => void) {
    this.#name = name
    this.#faults = faults
    this.#taken = taken
  }

  start(hear: (event: TransportEvent) => void): void {
    this.tell = hear
  }

  send(_: Exchange, frame: Frame): boolean {
    this.#faults.maybe(`send to the ${this.#name}`)
    this.#taken(frame)
    return true
  }

  pause(): void {}
  resume(): void {}

  close(): Promise<void> {
    this.isClosed = true
    if (this.#name === 'server') setImmediate(() => this.tell({ type: 'ended', reason: 'it was closed' }))
    return Promise.resolve()
  }
}

/** Each power of a rule throws at random. */
const breaking = (rule: Rule, { maybe }: Faults): Rule =>
  Object.fromEntries(Object.entries(rule).map(([name, value]: [string, unknown]) => {
    if (!name.startsWith('on') || typeof value !== 'function') return [name, value]
    return [name, (...asked: readonly unknown[]): unknown => {
      maybe('rule')
      return Reflect.apply(value, rule, asked)
    }]
  })) as unknown as Rule & Record<Power, never>

/** The answers to each request, by id, of one session that a client and a server speak through. */
const play = async (
  faults: Faults,
): Promise<{ readonly asked: readonly number[]; readonly answers: ReadonlyMap<number, number> }> => {
  const answers = new Map<number, number>()
  const asked = [0]
  const policy = presetPolicy('standard', { purpose: 'relay', locked: false })
  const client = new End('client', faults, ({ message }) => {
    if ((message.kind === 'result' || message.kind === 'error') && typeof message.id === 'number')
      answers.set(message.id, (answers.get(message.id) ?? 0) + 1)
  })
  const server: End = new End('server', faults, ({ message }) => {
    if (message.kind !== 'request') return
    const { id, method } = message
    const result = method === 'tools/list'
      ? { tools: [{ name: 'a', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }] }
      : method === 'tools/call' ? { content: [{ type: 'text', text: '{}' }], structuredContent: {} } : {}
    setImmediate(() => server.tell({ type: 'frame', exchange: stdioExchange, frame: frame({ id, result }) }))
  })
  const checker: SchemaChecker = {
    check: () => {
      faults.maybe('engine')
      if (random(2) === 0) return []
      return new Promise(resolve => setImmediate(() => {
        try {
          faults.maybe('engine, later')
          resolve([])
        } catch (error) {
          resolve(Promise.reject(error instanceof Error ? error : new Error()))
        }
      }))
    },
    close: () => Promise.resolve(),
  }
  const checks = new RunningChecks(checker, 's')
  const tools = new Map()
  const options: RelayOptions = {
    session: 's',
    nonce: 'n',
    stateless: false,
    checkNow: checks.now,
    judgement: {
      ...judgementOf({ rules: rules.map(rule => breaking(rule, faults)), trusted: false }),
      ruling: {
        policy,
        // Read in flows and outside of them.
        get tools() {
          faults.maybe('flow')
          return tools
        },
      },
    },
  }
  const audit = (): undefined => {
    faults.maybe('audit')
  }
  const session = new Session({
    client, server, core: new Relay(options), checks, audit, failed: () => undefined,
  })
  session.start()
  client.tell({
    type: 'frame',
    exchange: stdioExchange,
    frame: frame({
      id: 0, method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
    }),
  })
  for (let id = 1; id <= callsOfEach && !client.isClosed; id++) {
    asked.push(id)
    const [method, params] =
      [['ping', {}], ['tools/call', { name: 'a', arguments: {} }], ['tools/list', {}]][random(3)] ?? []
    client.tell({ type: 'frame', exchange: stdioExchange, frame: frame({ id, method, params }) })
    if (random(3) === 0) await new Promise(resolve => setImmediate(resolve))
  }
  client.tell({ type: 'ended', reason: 'it closed its output', graceMs: 5000 })
  await session.ended
  return { asked, answers }
}

t.test('every request has exactly one answer while a rule, a transport, the audit, the engine and flows throw at random', async t => {
  const [faulty, none] = [injecting(true), injecting(false)]
  const wrong: string[] = []
  let all = 0
  for (let index = 0; index < sessions; index++) {
    const [broken, neighbour] = await Promise.all([play(faulty), play(none)])
    t.equal(neighbour.asked.length, callsOfEach + 1, 'the neighbour asked everything')
    for (const [title, { asked, answers }] of [['session', broken], ['neighbour', neighbour]] as const) {
      all += asked.length
      for (const id of asked) {
        if (answers.get(id) !== 1) {
          wrong.push(`${title} ${index}, request ${id}: ${answers.get(id) ?? 0} answers`)
        }
      }
    }
  }
  t.strictSame(wrong.slice(0, 10), [])
  for (const what of ['rule', 'engine', 'flow']) t.ok(faulty.injected.has(what), `${what} has thrown`)
  t.comment(`${all} requests; ${[...faulty.injected].map(([what, times]) => `${what} ${times}`).join(', ')}`)
})
