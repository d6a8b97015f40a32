import fc from 'fast-check'
import t from 'tap'
import { begun, type Message, type Play } from './play.js'
import { officialOf, skip } from './official.js'

const prefix = 'io.modelcontextprotocol/'

/** Requests of 2025-11-25 with valid params, by the definitions of both revisions. */
const requests: Readonly<Record<string, readonly [definition: string, fc.Arbitrary<object>]>> = {
  'tools/list': ['ListToolsRequest', fc.constantFrom({}, { cursor: 'x' }, { _meta: { mine: 1 } })],
  'tools/call': ['CallToolRequest', fc.constantFrom<object>(
    { name: 'a' }, { name: 'a', arguments: { n: [1.5] } }, { name: 'b', task: { ttl: 1 }, _meta: { progressToken: 't' } },
  )],
  'prompts/list': ['ListPromptsRequest', fc.constant({})],
  'prompts/get': ['GetPromptRequest', fc.constantFrom({ name: 'p' }, { name: 'p', arguments: { a: 'é' } })],
  'resources/list': ['ListResourcesRequest', fc.constant({})],
  'resources/templates/list': ['ListResourceTemplatesRequest', fc.constant({})],
  'resources/read': ['ReadResourceRequest', fc.constant({ uri: 'a:b' })],
  'completion/complete': ['CompleteRequest', fc.constant(
    { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } },
  )],
  'subscriptions/listen': ['SubscriptionsListenRequest', fc.constant({})],
  'server/discover': ['DiscoverRequest', fc.constant({})],
}

/** Requests that the relay answers or makes subscriptions of. */
const own: readonly fc.Arbitrary<{ readonly method: string; readonly params?: object }>[] = [
  fc.constant({ method: 'ping' }),
  fc.constantFrom('debug', 'emergency').map(level => ({ method: 'logging/setLevel', params: { level } })),
  fc.constantFrom('resources/subscribe', 'resources/unsubscribe')
    .chain(method => fc.constantFrom('a:1', 'a:2').map(uri => ({ method, params: { uri } }))),
]

const request = fc.oneof(
  ...own,
  ...Object.entries(requests).filter(([method]) => !/^s/.test(method))
    .map(([method, [, params]]) => params.map(params => ({ method, params }))),
)

type Act =
  | { readonly act: 'ask'; readonly method: string; readonly params?: object }
  | { readonly act: 'notify'; readonly method: string }
  /** The server answers its oldest or newest request, the client its oldest or newest question. */
  | { readonly act: 'answer' | 'question' | 'error' | 'tell'; readonly newest: boolean }
  | { readonly act: 'cancel' }
  | { readonly act: 'fire' }

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: request.map(one => ({ act: 'ask' as const, ...one })) },
  {
    weight: 6,
    arbitrary: fc.record({ act: fc.constantFrom('answer', 'question', 'error', 'tell'), newest: fc.boolean() }),
  },
  fc.constantFrom('notifications/initialized', 'notifications/roots/list_changed', 'notifications/progress')
    .map(method => ({ act: 'notify' as const, method })),
  fc.constantFrom({ act: 'cancel' as const }, { act: 'fire' as const }),
)

const answers = new Map<string, readonly [definition: string, result: object]>([
  ['tools/list', ['ListToolsResult', {
    tools: [{ name: 'a', inputSchema: { type: 'object' }, outputSchema: { type: 'array' } }], ttlMs: 1, cacheScope: 'public',
  }]],
  ['tools/call', ['CallToolResult', { content: [{ type: 'text', text: 'x' }], structuredContent: [1] }]],
  ['prompts/list', ['ListPromptsResult', { prompts: [], ttlMs: 0, cacheScope: 'private' }]],
  ['prompts/get', ['GetPromptResult', { messages: [] }]],
  ['resources/list', ['ListResourcesResult', { resources: [], ttlMs: 0, cacheScope: 'private' }]],
  ['resources/templates/list', ['ListResourceTemplatesResult', { resourceTemplates: [], ttlMs: 0, cacheScope: 'private' }]],
  ['resources/read', ['ReadResourceResult', { contents: [{ uri: 'a:b', text: 'x' }], ttlMs: 0, cacheScope: 'private' }]],
  ['completion/complete', ['CompleteResult', { completion: { values: [] } }]],
])

const questions: readonly (readonly [object, object])[] = [
  [{ method: 'elicitation/create', params: { message: 'm', requestedSchema: { type: 'object', properties: {} } } }, { action: 'decline' }],
  [{ method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://e.com' } }, { action: 'accept' }],
  [{ method: 'roots/list' }, { roots: [{ uri: 'file:///a' }] }],
  [
    { method: 'sampling/createMessage', params: { messages: [{ role: 'user', content: { type: 'text', text: 'x' } }], maxTokens: 1 } },
    { role: 'assistant', model: 'm', content: { type: 'text', text: 'y' } },
  ],
]

const modern = skip === false ? officialOf('2026-07-28') : () => undefined
const legacy = skip === false ? officialOf('2025-11-25') : () => undefined

/** Plays both peers by the official schemas, and keeps what each of them still owes. */
class Peers {
  readonly faults: string[] = []
  /** Requests that the server has not answered, and the client's questions. */
  readonly #asked: Message[] = []
  readonly #questions: Message[] = []
  readonly #cancelled = new Set<unknown>()
  readonly answered = new Map<unknown, number>()
  readonly methods = new Map<unknown, string>()
  readonly #play: Play
  #last = 10

  constructor(play: Play) {
    this.#play = play
  }

  do(step: Act): void {
    switch (step.act) {
      case 'ask': {
        const { method, params } = step
        const id = ++this.#last
        this.answered.set(id, 0)
        this.methods.set(id, method)
        this.#play.client({ id, method, ...(params && { params }) })
        break
      }
      case 'notify':
        this.#play.client({ method: step.method, params: { progressToken: 1, progress: 1 } })
        break
      case 'cancel': {
        const [id] = [...this.answered].find(([, count]) => count === 0) ?? []
        const method = this.methods.get(id) ?? ''
        if (!answers.has(method)) break
        this.#cancelled.add(id)
        this.#play.client({ method: 'notifications/cancelled', params: { requestId: id } })
        break
      }
      case 'fire':
        for (const timer of [...this.#play.timers].slice(0, 1)) this.#play.fire(timer)
        break
      case 'answer':
      case 'question':
      case 'error':
      case 'tell':
        this.#serve(step.act, step.newest)
    }
    this.#read()
  }

  /** Both peers answer until nobody waits. */
  end(): void {
    for (let round = 0; round < 500 && (this.#asked.length > 0 || this.#questions.length > 0); round++) {
      this.do({ act: 'tell', newest: false })
      this.do({ act: 'answer', newest: false })
    }
    for (const [id, count] of this.answered) {
      const wanted = this.#cancelled.has(id) ? count <= 1 : count === 1
      if (!wanted) this.faults.push(`${count} answers to ${String(id)} (${this.methods.get(id)})`)
    }
  }

  #serve(act: 'answer' | 'question' | 'error' | 'tell', newest: boolean): void {
    if (act === 'tell') {
      const question = newest ? this.#questions.pop() : this.#questions.shift()
      if (question === undefined) return
      const [, result] = questions.find(([one]) => 'method' in one && one.method === question.method) ?? []
      this.#play.client({ id: question.id, result: result ?? {} })
      return
    }
    const asked = newest ? this.#asked.pop() : this.#asked.shift()
    if (asked === undefined) return
    const { id, method = '' } = asked
    if (method === 'subscriptions/listen') {
      const params = { notifications: {}, _meta: { [`${prefix}subscriptionId`]: id } }
      if (act === 'error') this.#play.server({ id, error: { code: -32603, message: 'no' } })
      else this.#play.server({ method: 'notifications/subscriptions/acknowledged', params })
    } else if (act === 'question' && ['tools/call', 'prompts/get', 'resources/read'].includes(method)) {
      const inputRequests = Object.fromEntries(questions.map(([one], index) => [`k${index}`, one]))
      this.#play.server({ id, result: { resultType: 'input_required', inputRequests, requestState: 's' } })
    } else if (act === 'error') this.#play.server({ id, error: { code: -32602, message: 'no', data: { uri: 'x' } } })
    else {
      const meta = { _meta: { [`${prefix}serverInfo`]: { name: 's', version: '1' } } }
      this.#play.server({ id, result: { resultType: 'complete', ...meta, ...answers.get(method)?.[1] } })
    }
  }

  /** Judges what each peer has got. */
  #read(): void {
    for (const message of this.#play.taken()) {
      const { id, method = '' } = message
      const definition = method === 'notifications/cancelled' ? 'CancelledNotification' : requests[method]?.[0]
      this.#judge(modern(definition ?? 'ClientRequest', { jsonrpc: '2.0', ...message }))
      if (id !== undefined) this.#asked.push(message)
      const given = message.params?.['requestId']
      if (given !== undefined) this.#remove(this.#asked, given)
    }
    for (const message of this.#play.got()) {
      const { id, method } = message
      if (method === 'notifications/cancelled') this.#remove(this.#questions, message.params?.['requestId'])
      else if (method !== undefined && id !== undefined) this.#questions.push(message)
      if (method !== undefined) {
        this.#judge(legacy(id === undefined ? 'ServerNotification' : 'ServerRequest', { jsonrpc: '2.0', ...message }))
        continue
      }
      if (!this.answered.has(id)) this.faults.push(`an answer to ${String(id)}, which was not asked`)
      this.answered.set(id, (this.answered.get(id) ?? 0) + 1)
      const [definition = 'EmptyResult'] = answers.get(this.methods.get(id) ?? '') ?? []
      if (message.result) this.#judge(legacy(definition, message.result))
      if (JSON.stringify(message.result ?? {}).includes('resultType')) this.faults.push('a resultType reaches the client')
    }
  }

  #judge(fault: string | undefined): void {
    if (fault !== undefined) this.faults.push(fault)
  }

  #remove(from: Message[], id: unknown): void {
    const index = from.findIndex(one => one.id === id)
    if (index >= 0) from.splice(index, 1)
  }
}

t.test('any valid session of a legacy client is valid in 2026-07-28, with one answer to each request', { skip }, t => {
  fc.assert(fc.property(fc.array(act, { maxLength: 40 }), steps => {
    const peers = new Peers(begun())
    for (const step of steps) peers.do(step)
    peers.end()
    if (peers.faults.length > 0) throw new Error(peers.faults.slice(0, 3).join('\n'))
  }), { numRuns: 300 })
  t.pass('in each of them')
  t.end()
})
