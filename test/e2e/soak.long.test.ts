import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, type Dispatcher } from 'undici'
import t from 'tap'
import { auditOf, scratch } from './bridge.js'
import { initializeOf, legacy, request } from './cases.js'
import { lineOf, type Started } from './harness.js'
import { serve } from './http-bridges.js'

// The whole of it is for CI: MCP_CUSTOMS_SOAK=1 has 200 sessions make 10,000 calls.
const whole = process.env['MCP_CUSTOMS_SOAK'] !== undefined
const sessions = whole ? 200 : 20
const callsEach = whole ? 50 : 25
/** Of so many calls one is the last of its server. */
const oneIn = 60
const fixture = (name: string) => fileURLToPath(new URL(`../../test/fixtures/${name}`, import.meta.url))
const server = fixture('lying/mortal-server.mjs')
const collector = fixture('collect.mjs')

const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const initialize = initializeOf('0')

/** What became of the calls; every one of them must be counted, once. */
const counts = { answered: 0, gone: 0, begunAnew: 0 }

/** One client: calls, several at a time, and begins anew when its session is gone. */
class Client {
  readonly #url: URL
  readonly #agent: Agent
  readonly #name: number
  #session: string | undefined
  #id = 0

  constructor(url: URL, agent: Agent, name: number) {
    this.#url = url
    this.#agent = agent
    this.#name = name
  }

  async run(calls: number): Promise<void> {
    for (let left = calls; left > 0; left -= 5) {
      if (this.#session === undefined) await this.#begin()
      await Promise.all(Array.from({ length: Math.min(5, left) }, () => this.#call()))
    }
    await this.#ask('DELETE')
  }

  async #begin(): Promise<void> {
    const { statusCode, headers, body } = await this.#ask('POST', initialize)
    await body.dump()
    if (statusCode !== 200) throw new Error(`initialize: HTTP ${statusCode}`)
    this.#session = String(headers['mcp-session-id'])
  }

  async #call(): Promise<void> {
    const id = ++this.#id
    const word = `${this.#name}-${id}`
    const { statusCode, body } = await this.#ask(
      'POST', request(legacy, String(id), 'tools/call', `"name":"echo","arguments":{"word":"${word}"}`),
    )
    const text = await body.text()
    if (statusCode === 404) {
      this.#session = undefined
      counts.begunAnew++
      return
    }
    const message = JSON.parse(text) as {
      id: number; error?: { code: number }; result?: { structuredContent: { word: string } }
    }
    if (message.id !== id) throw new Error(`${word}: another's answer: ${text}`)
    if (message.result?.structuredContent.word === word) counts.answered++
    else if (message.error?.code === -31001) counts.gone++
    else throw new Error(`${word}: HTTP ${statusCode}: ${text}`)
  }

  #ask(method: 'POST' | 'DELETE', body?: string): Promise<Dispatcher.ResponseData> {
    const headers = {
      ...accept,
      ...(this.#session !== undefined && { 'mcp-session-id': this.#session, 'mcp-protocol-version': legacy }),
    }
    return this.#agent.request({
      origin: this.#url.origin, path: '/mcp', method, headers, body: body ?? null,
    })
  }
}

/** The processes that a process has started and that still run. */
const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(
      `/proc/${pid}/task/${task}/children`, 'utf8',
    ).split(' ').filter(child => child !== '').map(Number))

const megabytesOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/**
 * Memory in use when there is nothing left that could be given back; pages go back to the system a while
 * after.
 */
const afterCollection = async ({ pid, child }: Started): Promise<number> => {
  if (child.stderr === null) throw new Error('no stderr')
  const collected = lineOf(child.stderr, /^collected$/)
  process.kill(pid, 'SIGUSR2')
  await collected
  let least = Infinity
  for (let looks = 0; looks < 20; looks++) {
    least = Math.min(least, megabytesOf(pid))
    await pause(100)
  }
  return least
}

const skip = process.platform !== 'linux' && 'reads /proc'

t.test(`${sessions} sessions, ${sessions * callsEach} calls, servers that die: each call has one answer, and nothing is left`, {
  skip, timeout: 600_000,
}, async t => {
  const audit = join(scratch(t), 'audit.ndjson')
  const args = ['--audit', audit, '--log-level', 'silent', '--', process.execPath, server, String(oneIn)]
  const { relay, url } = await serve(t, args, ['--expose-gc', '--import', collector])
  const agent = new Agent({ connections: 256 })
  const clients = (of: number, calls: number) =>
    Promise.all(Array.from({ length: of }, (_, name) => new Client(new URL(url), agent, name).run(calls)))

  // As many sessions as later, but few calls: what so many at once need is there before it is measured.
  await clients(sessions, 5)
  await until(() => childrenOf(relay.pid).length === 0)
  const before = await afterCollection(relay)
  const warmUp = { ...counts }

  await clients(sessions, callsEach)
  const told = {
    answered: counts.answered - warmUp.answered, gone: counts.gone - warmUp.gone,
    begunAnew: counts.begunAnew - warmUp.begunAnew,
  }
  t.equal(
    told.answered + told.gone + told.begunAnew, sessions * callsEach,
    `every call is answered once: ${JSON.stringify(told)}`,
  )
  t.ok(told.gone > 0, 'servers died in the middle of calls')
  t.ok(told.answered > sessions * callsEach * 0.7, 'and most calls were answered all the same')

  await until(() => childrenOf(relay.pid).length === 0)
  t.pass('no server is left behind')
  const after = await afterCollection(relay)
  t.ok(after < before + 50, `${Math.round(before)} MB of memory before, ${Math.round(after)} MB after`)

  await agent.close()
  t.strictSame(await relay.stop(), { code: 0, signal: null })
  const records = auditOf(audit)
  const called = records.filter(({ event }) => event === 'tools/call').length
  t.equal(called, counts.answered + counts.gone, 'every call that reached a session is on record, once')
  const of = (event: string) => records.filter(record => record.event === event).length
  t.equal(of('session/end'), of('session/start'), 'every session that began has ended')
})

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await pause(20)
}
