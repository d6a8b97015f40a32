import type { Exchange } from '#relay/core/vocabulary.js'
import { existsSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { asks, Bench, type Message, type Sent } from './modern.js'

// Any sequence of messages of a modern client and of a legacy server that is valid in their revisions comes
// out valid in the other one, by the official schemas, and each request has one answer.

const runs = Number(process.env['MCP_CUSTOMS_FUZZ'] ?? 300)
const spec = new URL('../../../../shared/spec/', import.meta.url)
const skip = existsSync(spec) ? false : 'the official schemas are not here'

type Judge = (definition: string, value: unknown) => string | undefined

const judgeOf = (revision: string): Judge => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(JSON.parse(readFileSync(new URL(`${revision}/schema.json`, spec), 'utf8')) as object, 'mcp')
  const known = new Map<string, ReturnType<Ajv2020['compile']>>()
  return (definition, value) => {
    const check = known.get(definition) ?? ajv.compile({ $ref: `mcp#/$defs/${definition}` })
    known.set(definition, check)
    return check(value) ? undefined : `${definition}: ${ajv.errorsText(check.errors)}: ${JSON.stringify(value)}`
  }
}

interface Method {
  /** The definition of its request, without `Request`, in both revisions. */
  readonly name: string
  readonly params: Record<string, unknown>
  readonly result: Record<string, unknown>
}

const tool = { name: 'a', inputSchema: { type: 'object' } }
const table: Readonly<Record<string, Method>> = {
  'tools/list': { name: 'ListTools', params: {}, result: { tools: [tool, { ...tool, name: 'b', execution: { taskSupport: 'required' } }] } },
  'tools/call': { name: 'CallTool', params: { name: 'a', arguments: { x: 1 } }, result: { content: [{ type: 'text', text: 'x' }], structuredContent: { a: 1 } } },
  'prompts/list': { name: 'ListPrompts', params: { cursor: 'c' }, result: { prompts: [{ name: 'p' }], nextCursor: 'd' } },
  'prompts/get': { name: 'GetPrompt', params: { name: 'p' }, result: { messages: [], _meta: { a: 1 } } },
  'resources/list': { name: 'ListResources', params: {}, result: { resources: [{ uri: 'a:b', name: 'r' }] } },
  'resources/templates/list': { name: 'ListResourceTemplates', params: {}, result: { resourceTemplates: [] } },
  'resources/read': { name: 'ReadResource', params: { uri: 'a:b' }, result: { contents: [{ uri: 'a:b', text: 'x' }] } },
  'completion/complete': { name: 'Complete', params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'b' } }, result: { completion: { values: ['c'] } } },
}
const questions: readonly Omit<Message, 'id'>[] = [
  { method: 'roots/list' },
  { method: 'elicitation/create', params: { message: 'm', requestedSchema: { type: 'object', properties: {} }, _meta: { a: 1 } } },
  { method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://a/', elicitationId: 'e' } },
  { method: 'sampling/createMessage', params: { messages: [{ role: 'user', content: { type: 'text', text: 'x' } }], maxTokens: 1 } },
]
const responses: Readonly<Record<string, Record<string, unknown>>> = {
  'roots/list': { roots: [{ uri: 'file:///a' }] },
  'elicitation/create': { action: 'accept', content: { a: 'b' } },
  'sampling/createMessage': { role: 'assistant', content: { type: 'text', text: 'y' }, model: 'm' },
}
const said: readonly Message[] = [
  { method: 'notifications/message', params: { level: 'info', data: { a: 1 } } },
  { method: 'notifications/tools/list_changed' },
  { method: 'notifications/resources/updated', params: { uri: 'a:b', _meta: { z: 1 } } },
  { method: 'notifications/elicitation/complete', params: { elicitationId: 'e' } },
]

const prefix = 'io.modelcontextprotocol/'
const exchanges: readonly Exchange[] = ['a', 'b', 'c', 'd'].map(name => ({ name, context: 'same' }))
const choice = fc.nat(1000)
const step = fc.oneof(
  fc.record({ do: fc.constant('ask' as const), method: fc.constantFrom(...Object.keys(table)), id: fc.constantFrom(0, 1, '0', 'x'), level: fc.boolean(), token: fc.boolean(), declares: fc.boolean(), choice }),
  fc.record({ do: fc.constant('listen' as const), choice }),
  fc.record({ do: fc.constantFrom('answer' as const, 'fail' as const, 'twice' as const, 'progress' as const), choice }),
  fc.record({ do: fc.constant('question' as const), question: fc.nat(3), choice }),
  fc.record({ do: fc.constant('say' as const), what: fc.nat(3), choice }),
  fc.record({ do: fc.constantFrom('retry' as const, 'leave' as const, 'pass' as const), choice }),
)
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

interface Asked {
  readonly id: string | number
  readonly exchange: Exchange
  readonly method: string
  readonly params: Record<string, unknown>
  readonly meta: Record<string, unknown>
  answers: number
  isOver: boolean
}

interface Parked {
  readonly of: Asked
  readonly requestState: unknown
  readonly inputRequests: object
}

/** A client and a server at random, and what each of them got. */
class World {
  readonly #bench = new Bench().open()
  readonly #old: Judge
  readonly #new: Judge
  readonly #asked: Asked[] = []
  #parked: Parked[] = []
  readonly #atServer: Sent[] = []
  readonly #questions = new Map<number, number>()
  #last = 100
  readonly faults: string[] = []
  readonly #isPipe: boolean
  #names = 0

  constructor(isPipe: boolean, old: Judge, modern: Judge) {
    this.#isPipe = isPipe
    this.#old = old
    this.#new = modern
  }

  do(step: Step): void {
    const at = <One>(list: readonly One[]): One | undefined => list[step.choice % Math.max(1, list.length)]
    switch (step.do) {
      case 'ask': {
        const meta = {
          ...(step.level && { [`${prefix}logLevel`]: 'info' }), ...(step.token && { progressToken: step.id }),
          ...(!step.declares && { [`${prefix}clientCapabilities`]: {} }),
        }
        this.#ask(step.id, step.method, table[step.method]?.params ?? {}, meta, at(exchanges))
        break
      }
      case 'listen':
        this.#ask(`l${step.choice}`, 'subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: ['a:b'] } }, {}, at(exchanges))
        break
      case 'answer':
      case 'fail':
      case 'twice':
        this.#answer(at(this.#atServer), step.do)
        break
      case 'progress': {
        const sent = at(this.#atServer)
        const token = (sent?.message.params?.['_meta'] as { progressToken?: string } | undefined)?.progressToken
        if (sent !== undefined && token !== undefined)
          this.#bench.server({ method: 'notifications/progress', params: { progressToken: token, progress: 1 } }, sent.exchange)
        break
      }
      case 'question': {
        const id = ++this.#last
        this.#questions.set(id, 0)
        this.#bench.server({ id, ...questions[step.question] }, at(this.#atServer)?.exchange)
        break
      }
      case 'say': {
        const message = said[step.what]
        if (message !== undefined) this.#bench.server(message)
        break
      }
      case 'retry':
        this.#retry(at(this.#parked))
        break
      case 'leave': {
        const one = at(this.#asked.filter(({ isOver }) => !isOver))
        if (one === undefined) break
        one.isOver = true
        if (this.#isPipe) this.#bench.client({ method: 'notifications/cancelled', params: { requestId: one.id } })
        else this.#bench.leaves(one.exchange)
        break
      }
      case 'pass':
        this.#bench.pass(10)
        break
      default:
        step satisfies never
    }
    this.#look()
  }

  /** The server answers all, and the client all questions. */
  finish(): void {
    for (let round = 0; round < 200; round++) {
      this.#answer(this.#atServer[0], 'answer')
      this.#bench.pass(5000)
      this.#look()
      this.#retry(this.#parked[0])
      this.#look()
    }
    this.#bench.pass(600_000)
    this.#look()
    this.#bench.ends()
    this.#look()
    for (const { id, method, answers, isOver } of this.#asked)
      if (answers > 1 || (answers === 0 && !isOver)) this.faults.push(`${method} ${id} has ${answers} answers`)
    for (const [id, answers] of this.#questions)
      if (answers !== 1) this.faults.push(`the question ${id} has ${answers} answers`)
    if (this.#bench.timers > 0) this.faults.push('timers are left')
  }

  #ask(
    id: string | number, method: string, params: Record<string, unknown>, meta: Record<string, unknown>,
    at: Exchange = stdioExchange,
  ): void {
    const exchange = this.#isPipe ? stdioExchange : { ...at, name: `${at.name}${++this.#names}` }
    if (this.#asked.some(one => !one.isOver && one.exchange === exchange && one.id === id)) return
    this.#asked.push({ id, exchange, method, params, meta, answers: 0, isOver: false })
    this.#bench.client(asks(id, method, params, meta), exchange)
  }

  #answer(sent: Sent | undefined, how: 'answer' | 'fail' | 'twice'): void {
    if (sent?.message.id === undefined) return
    const { id, method = '' } = sent.message
    this.#atServer.splice(this.#atServer.indexOf(sent), 1)
    const answer = how === 'fail'
      ? { id, error: { code: -32602, message: 'no', data: { a: 1 } } } : { id, result: table[method]?.result ?? {} }
    for (let times = how === 'twice' ? 2 : 1; times > 0; times--) this.#bench.server(answer, sent.exchange)
  }

  #retry(parked: Parked | undefined): void {
    if (parked === undefined) return
    this.#parked = this.#parked.filter(one => one !== parked)
    const { of: { method, params, meta, exchange }, requestState, inputRequests } = parked
    const entries = Object.entries(inputRequests as Record<string, { method: string }>)
    const inputResponses = Object.fromEntries(entries.map(([key, { method }]) => [key, responses[method]]))
    this.#ask(`r${++this.#last}`, method, { ...params, requestState, inputResponses }, meta, exchange)
  }

  /** Checks what came out. */
  #look(): void {
    for (const sent of this.#bench.toServer.splice(0)) this.#server(sent)
    for (const sent of this.#bench.fromServer()) this.#client(sent)
  }

  #server(sent: Sent): void {
    const { message } = sent
    const { id, method } = message
    if (method !== undefined && id !== undefined) {
      const own: Readonly<Record<string, string>> =
        { 'logging/setLevel': 'SetLevel', 'resources/subscribe': 'Subscribe', 'resources/unsubscribe': 'Unsubscribe' }
      this.#judge(this.#old, `${table[method]?.name ?? own[method] ?? method}Request`, message)
      if (JSON.stringify(message).includes(prefix)) this.faults.push(`leaks ${JSON.stringify(message)}`)
      this.#atServer.push(sent)
    } else if (method !== undefined) this.#judge(this.#old, 'ClientNotification', message)
    else {
      if (message.result !== undefined) this.#judge(this.#old, 'ClientResult', message.result)
      const question = Number(id)
      this.#questions.set(question, (this.#questions.get(question) ?? 5) + 1)
    }
  }

  #client({ exchange, message }: Sent): void {
    if (message.method !== undefined) return this.#judge(this.#new, 'ServerNotification', message)
    const of = this.#asked
      .findLast(one => one.exchange === exchange && one.id === message.id && one.answers === 0)
    if (of === undefined) return void this.faults.push(`answers nobody: ${JSON.stringify(message)}`)
    of.answers++
    of.isOver = true
    const { resultType, requestState, inputRequests } = message.result ?? {}
    if (message.error !== undefined) return this.#judge(this.#new, 'JSONRPCErrorResponse', message)
    if (resultType === 'input_required') {
      this.#judge(this.#new, 'InputRequiredResult', message.result)
      this.#judge(this.#new, 'InputRequests', inputRequests)
      this.#parked.push({ of, requestState, inputRequests: inputRequests ?? {} })
    } else {
      const name = of.method === 'subscriptions/listen' ? 'SubscriptionsListen' : table[of.method]?.name ?? ''
      this.#judge(this.#new, `${name}Result`, message.result)
    }
  }

  #judge(judge: Judge, definition: string, value: unknown): void {
    const fault = judge(definition, value)
    if (fault !== undefined) this.faults.push(fault)
  }
}

t.test('any valid sequence comes out valid, with one answer for each request', { skip }, t => {
  const [old, modern] = [judgeOf('2025-11-25'), judgeOf('2026-07-28')]
  fc.assert(fc.property(fc.boolean(), fc.array(step, { maxLength: 40 }), (isPipe, steps) => {
    const world = new World(isPipe, old, modern)
    for (const one of steps) world.do(one)
    world.finish()
    if (world.faults.length > 0) throw new Error(world.faults.join('\n'))
  }), { numRuns: runs })
  t.end()
})
