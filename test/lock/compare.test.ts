import { existsSync, readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { bodyDigest, compare, compareTools, type Catalogue } from '../../dist/lock/compare.js'
import { equal, isArray, isObject, member, pointer, type Json, type JsonObject } from '../../dist/protocol/json.js'

const tool: JsonObject = {
  name: 'send',
  title: 'Send',
  description: 'Sends mail.',
  inputSchema: {
    type: 'object',
    properties: { title: { type: 'string', description: 'Of the mail.' }, to: { type: 'array', items: { type: 'string', examples: ['a@b'] } } },
    required: ['to'],
    $defs: { description: { type: 'string', title: 'T' } },
  },
  outputSchema: { type: 'object', properties: { id: { type: 'string', title: 'Id' } } },
  annotations: { title: 'Send', readOnlyHint: false, destructiveHint: false, idempotentHint: true, 'x': 1 },
  icons: [{ src: 'https://a/b.png' }],
  execution: { taskSupport: 'optional' },
  _meta: { version: 1 },
}

/** The value with another one at a place; undefined takes it away. */
const withAt = (value: Json, [key, ...rest]: readonly (string | number)[], replacement: Json | undefined): Json => {
  if (isArray(value)) return value.map((element, index) => (index === key ? (rest.length > 0 ? withAt(element, rest, replacement) : (replacement ?? null)) : element))
  if (!isObject(value) || key === undefined) throw new Error('no such place')
  const inner = rest.length > 0 ? withAt(member(value, String(key)) ?? {}, rest, replacement) : replacement
  return { ...value, [key]: inner }
}

t.test('each change of a tool is of the class that says what it means', t => {
  const cases: [string, readonly (string | number)[], Json | undefined, string][] = [
    ['a title', ['title'], 'Post', 'text'],
    ['a description', ['description'], 'Sends mail\u200b.', 'text'],
    ['no description', ['description'], undefined, 'text'],
    ['the title of annotations', ['annotations', 'title'], 'Read', 'text'],
    ['the description of an argument', ['inputSchema', 'properties', 'title', 'description'], 'x', 'text'],
    ['examples, deep down', ['inputSchema', 'properties', 'to', 'items', 'examples', 0], 'x', 'text'],
    ['an argument that is called title', ['inputSchema', 'properties', 'title', 'type'], 'number', 'inputSchema'],
    ['an argument called title that is gone', ['inputSchema', 'properties', 'title'], undefined, 'inputSchema'],
    ['another argument', ['inputSchema', 'properties', 'note'], {}, 'inputSchema'],
    ['another argument called description', ['inputSchema', 'properties', 'description'], { type: 'string' }, 'inputSchema'],
    ['a definition called description', ['inputSchema', '$defs', 'description', 'type'], 'number', 'inputSchema'],
    ['what is required', ['inputSchema', 'required'], [], 'inputSchema'],
    ['no schema', ['inputSchema'], undefined, 'inputSchema'],
    ['an unknown keyword', ['inputSchema', 'x'], 'title', 'inputSchema'],
    ['a result', ['outputSchema', 'properties', 'id', 'type'], 'number', 'outputSchema'],
    ['the title of a result', ['outputSchema', 'properties', 'id', 'title'], 'x', 'text'],
    ['no output schema', ['outputSchema'], undefined, 'outputSchema'],
    ['a promise that is made', ['annotations', 'readOnlyHint'], true, 'annotationsStrengthened'],
    ['a promise that is taken back', ['annotations', 'destructiveHint'], true, 'annotationsWeakened'],
    ['a promise that is no longer made', ['annotations', 'idempotentHint'], undefined, 'annotationsWeakened'],
    ['a hint that is none', ['annotations', 'readOnlyHint'], 'yes', 'annotationsWeakened'],
    ['a hint that nobody knows', ['annotations', 'x'], 2, 'annotationsWeakened'],
    ['no annotations', ['annotations'], undefined, 'annotationsWeakened'],
    ['another icon', ['icons', 0, 'src'], 'https://c', 'icons'],
    ['no icons', ['icons'], undefined, 'icons'],
    ['_meta', ['_meta', 'version'], 2, 'meta'],
    ['execution', ['execution', 'taskSupport'], 'required', 'other'],
    ['a member that nobody knows', ['toString'], 'x', 'other'],
    ['the name', ['name'], 'post', 'renamed'],
  ]
  for (const [name, path, value, expected] of cases) {
    const found = compareTools(tool, withAt(tool, path, value))
    t.ok(found.some(difference => difference.class === expected), `${name}: ${expected}, not ${JSON.stringify(found)}`)
    const [first] = found
    t.ok(first && pointer(...path).startsWith(pointer(...first.path).split('/').slice(0, path.length).join('/')), `${name}: and where`)
  }
  t.match(compareTools(tool, 7), [{ class: 'other', path: [], before: tool, after: 7 }])
  t.end()
})

const empty: Catalogue = { identity: {}, instructions: undefined, tools: new Map(), prompts: new Map(), resourceTemplates: new Map() }
const offering = (...names: readonly string[]): Catalogue => ({ ...empty, tools: new Map(names.map(name => [name, { ...tool, description: name.toLowerCase(), name }])) })

t.test('what comes, goes and changes its name', t => {
  const summary = (before: Catalogue, after: Catalogue) => compare(before, after).map(({ of, name, class: kind, after }) => [of, name, kind, kind === 'renamed' ? after : undefined])
  t.strictSame(summary(offering('a', 'b'), offering('b', 'c')), [['tool', 'a', 'removed', undefined], ['tool', 'c', 'added', undefined]])
  t.strictSame(summary(offering('a', 'b'), offering('b', 'A')), [['tool', 'a', 'renamed', 'A']])
  t.strictSame(summary(offering('a', 'b'), offering('b', 'a')), [], 'the order of a list says nothing')
  t.strictSame(summary(offering('a', 'A'), offering()), [['tool', 'a', 'removed', undefined], ['tool', 'A', 'removed', undefined]])
  t.strictSame(summary(offering('a'), offering('a', 'A')), [['tool', 'A', 'added', undefined]], 'a copy beside what it is a copy of is new')
  t.strictSame(summary(empty, { ...empty, instructions: 'x', identity: { url: 'u' } }), [['server', '', 'identity', undefined], ['server', '', 'instructions', undefined]])
  const prompts = new Map([['p', { name: 'p' }]])
  t.strictSame(summary(empty, { ...empty, prompts, resourceTemplates: prompts }), [['prompt', 'p', 'prompts', undefined], ['resource template', 'p', 'resourceTemplates', undefined]])
  t.end()
})

const members = (object: JsonObject): readonly (readonly [string, Json])[] => Object.entries(object).map(([key, value = null]) => [key, value])

const shuffled = (value: Json): Json =>
  isObject(value) ? Object.fromEntries([...members(value)].reverse().map(([key, inner]) => [key, shuffled(inner)])) : isArray(value) ? value.map(shuffled) : value

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>
const definition = fc.record(Object.fromEntries(Object.keys(tool).map(key => [key, json])), { requiredKeys: [] }) as fc.Arbitrary<JsonObject>

t.test('whatever differs is found, and nothing else', t => {
  fc.assert(fc.property(definition, one => compareTools(one, shuffled(one)).length === 0 && bodyDigest(one) === bodyDigest(shuffled(one))))
  fc.assert(fc.property(definition, definition, (one, other) => (compareTools(one, other).length === 0) === equal(one, other)))
  t.end()
})

t.test('a flood of changes hides none of another class', t => {
  const many = (value: string): Json => ({ ...tool, inputSchema: { properties: Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`a${index}`, { const: value }])) } })
  const found = compareTools(many('x'), { ...(many('y') as JsonObject), _meta: {}, icons: [] })
  t.ok(found.length < 1100)
  t.strictSame([...new Set(found.map(difference => difference.class))].sort(), ['icons', 'inputSchema', 'meta'])
  t.end()
})

const corpus = new URL('../../../shared/corpus/', import.meta.url)

const inner = (value: Json): readonly (readonly [string | number, Json])[] => (isObject(value) ? members(value) : isArray(value) ? [...value.entries()] : [])

/** Every place of a value, with a value that may stand there instead. */
const mutations = (value: Json, path: readonly (string | number)[] = []): readonly (readonly [readonly (string | number)[], Json])[] => [
  ...(path.length > 0 ? [[path, typeof value === 'string' ? `${value}\u200b` : { was: value }] as const] : []),
  ...inner(value).flatMap(([key, one]) => mutations(one, [...path, key])),
]

t.test('of the definitions of real servers each is itself, and no change of one is missed', { skip: existsSync(corpus) ? false : 'the corpus is not here' }, t => {
  let tried = 0
  for (const server of readdirSync(corpus)) {
    const list = new URL(`${server}/tools-list.jsonl`, corpus)
    if (!existsSync(list)) continue
    const pages = readFileSync(list, 'utf8').split('\n').filter(line => line !== '').map(line => JSON.parse(line) as { result: { tools: JsonObject[] } })
    const tools = pages.flatMap(({ result }) => result.tools)
    const missed = tools.flatMap(one => {
      const all = mutations(one)
      const some = all.filter((_, index) => index % Math.ceil(all.length / 40) === 0)
      tried += some.length
      return some.filter(([path, value]) => compareTools(one, withAt(one, path, value)).length === 0).map(([path]) => pointer(...path))
    })
    t.strictSame(missed, [], server)
    t.strictSame(tools.flatMap(one => compareTools(one, shuffled(one))), [], server)
  }
  t.ok(tried > 5000, String(tried))
  t.end()
})
