import { readFileSync } from 'node:fs'
import t from 'tap'
import { pointer } from '#relay/protocol/unmetered.js'
import { Meter } from '#relay/protocol/json.js'
import { Places } from '#relay/protocol/places.js'
import { listShape, revisions, traitsOf, type Revision } from '#relay/protocol/revisions/index.js'
import { call, initialize, result, Script, weather } from './script.js'

/** scripts/positions.mjs says what these are. */
type Part = 'params' | 'result' | 'error'
type Step = string | 0 | object
type Position = readonly [method: string, part: Part, kind: string, way: readonly Step[]]

const root = new URL('../../../', import.meta.url)
const file = readFileSync(new URL('test/relay/protocol/positions.json', root), 'utf8')
const positions = JSON.parse(file) as Readonly<Record<Revision, readonly Position[]>>

const spec = (await import(new URL('scripts/positions.mjs', root).href)) as {
  isAtHand: boolean
  text: () => string
}

t.test(
  'the list of positions is what the specification says',
  { skip: spec.isAtHand ? false : 'the specification is not here' },
  t => {
    t.equal(file, spec.text(), 'node scripts/positions.mjs writes it')
    t.end()
  },
)

/** What stands at the end of a way, with all that leads there. */
const within = (way: readonly Step[], value: unknown): unknown =>
  way.reduceRight((inner: unknown, step): unknown => {
    if (typeof step === 'object') return { ...step, ...(inner as object) }
    return step === 0 ? [inner] : { [step === '*' ? 'a' : step]: inner }
  }, value)

const pathOf = (part: Part, way: readonly Step[]): string =>
  pointer(part, ...way.filter(step => typeof step !== 'object').map(step => (step === '*' ? 'a' : step)))

const anyRequest = ['sampling/createMessage', 'elicitation/create', 'roots/list']

/** Something bad of each kind, and which rule says so, at which place below. */
const badOf = ([method, part, kind, way]: Position): readonly {
  readonly value: unknown
  readonly rule: string
  readonly below: string
}[] => {
  const last = way.at(-1)
  switch (kind) {
    case 'text':
      return [
        {
          value: 'a\u202eb',
          rule: method === 'tools/list' && way[0] === 'tools' ? 'tool/hidden-text' : 'content/hidden-text',
          below: '',
        },
      ]
    case 'uri':
      return [
        {
          value: 'javascript:alert(1)', rule: last === 'websiteUrl' ? 'tool/icon' : 'content/uri', below: '',
        },
      ]
    case 'optional':
      return [{ value: null, rule: listShape(method) === undefined ? 'result/shape' : 'list/shape', below: '' }]
    case 'byte':
      return [{ value: '!', rule: 'content/base64', below: '' }]
    case 'content':
      return [{ value: { type: 'unknown' }, rule: 'content/type', below: '/type' }]
    case 'Icon':
      return [{ value: { src: 'javascript:alert(1)' }, rule: 'tool/icon', below: '' }]
    case 'Tool':
      return [
        { value: { name: 1, inputSchema: { type: 'object' } }, rule: 'tool/definition', below: '/name' },
      ]
    case 'CallToolResult':
      return [
        {
          value: { content: [], structuredContent: 'hot' }, rule: 'result/schema',
          below: '/structuredContent',
        },
      ]
    case 'elicitation':
      return [{ value: { mode: 'url', url: 'https://a.example/' }, rule: 'server/request', below: '' }]
    case 'request':
      return part === 'params'
        ? [{ value: {}, rule: 'server/request', below: '/method' }]
        : anyRequest.map(method => ({
            value: { method, params: {} }, rule: 'server/request', below: '/method',
          }))
    default:
      throw new Error(`nobody judges ${kind}`)
  }
}

/** Why no rule judges what stands in some params: what a model reads there is judged all the same. */
const exempt = new Map([
  [
    'sampling/createMessage Tool',
    'a tool for the model of the client, which nobody calls through this relay',
  ],
  ['tasks/get text', 'the id of a task, which the client gave it'],
  ['tasks/result text', 'the same'],
  ['tasks/cancel text', 'the same'],
  ['tasks/list text', 'a cursor, which the client gave it'],
  ['notifications/elicitation/complete text', 'an id'],
  ['notifications/subscriptions/acknowledged text', 'the URIs that the client has asked for'],
])

/** In a result, the tools of an embedded request for sampling are the same. */
const isExempt = ([method, part, kind, way]: Position): boolean =>
  part === 'params' ? exempt.has(`${method} ${kind}`) : kind === 'Tool' && way[0] === 'inputRequests'

const modern = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'm', version: '2' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
}

/** What the relay finds in a message of the server's that answers a request of the method, or is of it. */
const findingsIn = (revision: Revision, [method, part]: Position, value: unknown): readonly string[] => {
  const { modern: isModern } = traitsOf(revision)
  const script = new Script()
  const asks = (id: string, method: string, params: object) =>
    script.client({ jsonrpc: '2.0', id, method, params: isModern ? { ...params, ...modern } : params })
  if (!isModern && method !== 'initialize') script.begin([weather], revision)
  if (isModern) {
    asks('list', 'tools/list', {})
    script.server(result('list', { tools: [weather] }))
  }
  if (method === 'tasks/result') {
    script.client({ ...call('task', 'weather'), params: { name: 'weather', task: {} } })
    script.server(result('task', { task: { taskId: 't', status: 'working' } }))
  }
  script.entries.length = 0
  if (part === 'params') {
    const isRequest = !method.startsWith('notifications/')
    script.server({ jsonrpc: '2.0', ...(isRequest && { id: 's' }), method, params: value })
  } else {
    if (method === 'initialize') script.client(initialize(revision))
    else asks('x', method || 'ping', { name: 'weather', uri: 'a:b', taskId: 't' })
    const id = method === 'initialize' ? 0 : 'x'
    script.server({
      jsonrpc: '2.0', id,
      [part]: part === 'error' ? { code: -32042, message: 'm', ...(value as object) } : value,
    })
  }
  return script.entries.flatMap(({ findings }) => findings.map(({ rule, path }) => `${rule} ${path}`))
}

for (const revision of revisions) {
  t.test(`${revision}: bad content is found at every position of the specification`, t => {
    for (const position of positions[revision]) {
      if (isExempt(position)) continue
      const [method, part, kind, way] = position
      for (const { value, rule, below } of badOf(position)) {
        const isItself = kind === 'request' && part === 'params'
        const expected = `${rule} ${isItself ? below : pathOf(part, way) + below}`
        const found = findingsIn(revision, position, within(way, value))
        t.ok(found.includes(expected), `${method || 'an error'}: ${expected}`, { found })
      }
    }
    t.end()
  })

  t.test(`${revision}: the table of methods covers every position`, t => {
    const kinds = new Map([
      ['Icon', 'icon'], ['Tool', 'icon'], ['CallToolResult', 'toolResult'], ['request', 'request'],
      ['elicitation', 'elicitation'],
    ])
    for (const [method, part, kind, way] of positions[revision]) {
      const expected = kinds.get(kind)
      if (expected === undefined || (part === 'params' && way.length === 0)) continue
      // A tool is judged elsewhere: here its icons show that it is found.
      const inner: readonly Step[] = kind === 'Tool' ? ['icons', 0] : []
      const value = within([...way, ...inner], { content: [] }) as Record<string, never>
      const places = new Places(`/${part}`, traitsOf(revision).modern, new Meter())
      const { outcomes, links, requests } = places.addPart(part, method, value).findAll()
      // What stands in a tool's result is looked for where that is judged.
      const below =
        outcomes.length === 0
          ? []
          : new Places(`/${part}`, places.modern, places.meter).addResult(value).findAll().links
      const found = [...outcomes, ...links, ...requests, ...below]
      const path = pathOf(part, [...way, ...inner])
      t.ok(
        found.some(thing => thing.kind === expected && thing.path === path),
        `${method} ${part} ${expected} ${path}`,
      )
    }
    t.end()
  })
}
