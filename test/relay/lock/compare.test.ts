import { existsSync, readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { bodyDigest, compareIdentities, compareOffers, compareTools } from '#relay/lock/compare.js'
import { emptyOffer as empty, single, type Offer } from '#relay/lock/offer.js'
import {
  equal, isList, isRecord, field, pointer, type Data, type DataObject,
} from '#relay/protocol/unmetered.js'

const tool: DataObject = {
  name: 'send',
  title: 'Send',
  description: 'Sends mail.',
  inputSchema: {
    type: 'object',
    properties: {
      title: { type: 'string', description: 'Of the mail.' },
      to: { type: 'array', items: { type: 'string', examples: ['a@b'] } },
    },
    required: ['to'],
    $defs: { description: { type: 'string', title: 'T' } },
  },
  outputSchema: { type: 'object', properties: { id: { type: 'string', title: 'Id' } } },
  annotations: { title: 'Send', readOnlyHint: false, destructiveHint: false, idempotentHint: true, x: 1 },
  icons: [{ src: 'https://a/b.png' }],
  execution: { taskSupport: 'optional' },
  _meta: { version: 1 },
}

/** The value with another one at a place; undefined takes it away. */
const withAt = (
  value: Data, [key, ...rest]: readonly (string | number)[], replacement: Data | undefined,
): Data => {
  if (isList(value)) {
    return value.map((element, index) =>
      (index === key ? (rest.length > 0 ? withAt(
        element, rest, replacement,
      ) : (replacement ?? null)) : element))
  }
  if (!isRecord(value) || key === undefined) throw new Error('no such place')
  const inner = rest.length > 0 ? withAt(field(value, String(key)) ?? {}, rest, replacement) : replacement
  return { ...value, [key]: inner }
}

t.test('each change of a tool is of the class that says what it means', t => {
  const cases: [string, readonly (string | number)[], Data | undefined, string][] = [
    ['a title', ['title'], 'Post', 'text'],
    ['a description', ['description'], 'Sends mail\u200b.', 'text'],
    ['no description', ['description'], undefined, 'text'],
    ['the title of annotations', ['annotations', 'title'], 'Read', 'text'],
    ['the description of an argument', ['inputSchema', 'properties', 'title', 'description'], 'x', 'text'],
    ['examples, deep down', ['inputSchema', 'properties', 'to', 'items', 'examples', 0], 'x', 'text'],
    [
      'an argument that is called title', ['inputSchema', 'properties', 'title', 'type'], 'number',
      'inputSchema',
    ],
    [
      'an argument called title that is gone', ['inputSchema', 'properties', 'title'], undefined,
      'inputSchema',
    ],
    ['another argument', ['inputSchema', 'properties', 'note'], {}, 'inputSchema'],
    [
      'another argument called description', ['inputSchema', 'properties', 'description'], { type: 'string' },
      'inputSchema',
    ],
    [
      'a definition called description', ['inputSchema', '$defs', 'description', 'type'], 'number',
      'inputSchema',
    ],
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
    t.ok(
      found.some(difference => difference.class === expected),
      `${name}: ${expected}, not ${JSON.stringify(found)}`,
    )
    const [first] = found
    t.ok(
      first && pointer(...path).startsWith(pointer(...first.path).split('/').slice(0, path.length).join('/')),
      `${name}: and where`,
    )
  }
  t.match(compareTools(tool, 7), [{ class: 'other', path: [], before: tool, after: 7 }])
  t.end()
})

const offering = (...names: readonly string[]): Offer => ({
  ...empty, tools: new Map(names.map(name => [name, { ...tool, description: name.toLowerCase(), name }])),
})

t.test('what comes, goes and changes its name', t => {
  const summary = (before: Offer, after: Offer) => compareOffers(before, after)
    .map(({ part, name, class: kind, after }) => [part, name, kind, kind === 'renamed' ? after : undefined])
  t.strictSame(
    summary(offering('a', 'b'), offering('b', 'c')),
    [['tool', 'a', 'removed', undefined], ['tool', 'c', 'added', undefined]],
  )
  t.strictSame(summary(offering('a', 'b'), offering('b', 'A')), [['tool', 'a', 'renamed', 'A']])
  t.strictSame(summary(offering('a', 'b'), offering('b', 'a')), [], 'the order of a list says nothing')
  t.strictSame(
    summary(offering('a', 'A'), offering()),
    [['tool', 'a', 'removed', undefined], ['tool', 'A', 'removed', undefined]],
  )
  t.strictSame(
    summary(offering('a'), offering('a', 'A')), [['tool', 'A', 'added', undefined]],
    'a copy beside what it is a copy of is new',
  )
  t.strictSame(
    summary(empty, { ...empty, instructions: single('x'), serverInfo: single({ title: 'T' }) }),
    [['server', '', 'serverInfo', undefined], ['server', '', 'instructions', undefined]],
  )
  const all = new Map([['p', { name: 'p' }]])
  t.strictSame(summary(empty, { ...empty, prompts: all, resources: all, resourceTemplates: all }), [
    ['prompt', 'p', 'prompts', undefined], ['resource', 'p', 'resources', undefined],
    ['resource template', 'p', 'resourceTemplates', undefined],
  ])
  t.end()
})

t.test('another version of the same program is told from another command', t => {
  const of = (
    before: DataObject, after: DataObject,
  ) => [...new Set(compareIdentities(before, after).map(change => change.class))]
  const npx = (
    version: string, rest: DataObject = {},
  ) => ({ command: `npx -y a@${version} /data`, package: { name: 'a', version, ...rest } })
  t.strictSame(of(npx('1.0.0'), npx('1.0.0')), [])
  t.strictSame(of(npx('1.0.0', { integrity: 'x' }), npx('1.1.0', { integrity: 'y' })), ['version'])
  t.strictSame(of({ ...npx('1'), command: 'uvx a==1' }, { ...npx('2'), command: 'uvx a==2' }), ['version'])
  t.strictSame(of(
    { command: 'npx a', package: { name: 'a', version: '1' } },
    { command: 'npx a', package: { name: 'a', version: '2' } },
  ), ['version'])
  t.strictSame(of({ ...npx('1'), sha256: '0' }, { ...npx('2'), sha256: '1' }), ['version'])
  t.strictSame(
    of({ command: 'node a.js', sha256: '0' }, { command: 'node a.js', sha256: '1' }), ['version'],
    'another digest of the same program',
  )
  const image = (sha256: string) => ({ command: `docker run a@sha256:${sha256}`, sha256 })
  t.strictSame(of(image('0'), image('1')), ['version'], 'another digest of the same image')
  t.strictSame(
    of({ ...npx('1', { integrity: 'x' }), command: 'npx -y a /data' }, npx('1', { integrity: 'x' })),
    [], 'the version that was accepted, now named in the command',
  )
  const others: readonly [string, DataObject, DataObject][] = [
    ['the same version with other bytes', npx('1.0.0', { integrity: 'x' }), npx('1.0.0', { integrity: 'y' })],
    [
      'another package', npx('1.0.0'),
      { command: 'npx -y b@1.1.0 /data', package: { name: 'b', version: '1.1.0' } },
    ],
    ['another argument as well', npx('1.0.0'), { ...npx('1.1.0'), command: 'npx -y a@1.1.0 /' }],
    ['another program', { command: 'node a.js', sha256: '0' }, { command: 'node b.js', sha256: '1' }],
    ['a program that is gone', { command: 'node a.js', sha256: '0' }, { command: 'node a.js' }],
    ['another image', image('0'), { command: 'docker run b@sha256:1', sha256: '1' }],
    ['what the working directory brings along', npx('1.0.0'), npx('1.1.0', { from: 'working directory' })],
    ['another URL', { url: 'https://a' }, { url: 'https://b' }],
  ]
  for (const [name, before, after] of others) t.strictSame(of(before, after), ['command'], name)
  t.end()
})

t.test('the order of lists that are sets is no change', t => {
  const schema = (required: Data, more: DataObject = {}) => ({ name: 'a', inputSchema: {
    type: 'object', properties: { required: { type: ['string', 'null'], enum: [{ a: 1, b: 2 }, 'x'] } },
    required, dependentRequired: { a: ['b', 'c'] }, ...more,
  } })
  const one = schema(['a', 'b'])
  const other = schema(['b', 'a'], {
    properties: { required: { type: ['null', 'string'], enum: ['x', { b: 2, a: 1 }] } },
    dependentRequired: { a: ['c', 'b'] },
  })
  t.strictSame(compareTools(one, other), [])
  t.equal(bodyDigest(one), bodyDigest({ ...schema(['b', 'a']), name: 'b' }))
  t.strictSame(compareTools(one, schema(['a'])).map(difference => difference.class), ['inputSchema'])
  t.strictSame(
    compareTools(one, schema(['a', 'b', 'b'])).map(difference => difference.class), ['inputSchema'],
  )
  t.strictSame(compareTools(one, schema(['a', 'b'], { default: ['x', 'y'] })).length, 1)
  t.strictSame(compareTools(
    schema([], { default: ['x', 'y'] }), schema([], { default: ['y', 'x'] }),
  ).map(difference => difference.class), ['inputSchema', 'inputSchema'], 'a value is what it is')
  t.end()
})

const members = (object: DataObject): readonly (readonly [string, Data])[] =>
  Object.entries(object).map(([key, value = null]) => [key, value])

const shuffled = (value: Data): Data =>
  isRecord(value)
    ? Object.fromEntries([...members(value)].reverse().map(([key, inner]) => [key, shuffled(inner)]))
    : isList(value) ? value.map(shuffled) : value

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Data>
const definition = fc.record(
  Object.fromEntries(Object.keys(tool).map(key => [key, json])), { requiredKeys: [] },
) as fc.Arbitrary<DataObject>

t.test('whatever differs is found, and nothing else', t => {
  fc.assert(fc.property(
    definition,
    one => compareTools(one, shuffled(one)).length === 0 && bodyDigest(one) === bodyDigest(shuffled(one)),
  ))
  fc.assert(fc.property(
    definition, definition, (one, other) => (compareTools(one, other).length === 0) === equal(one, other),
  ))
  t.end()
})

t.test('a flood of changes hides none of another class', t => {
  const many = (value: string): Data => ({ ...tool, inputSchema: { properties: Object.fromEntries(Array.from(
    { length: 3000 }, (_, index) => [`a${index}`, { const: value }],
  )) } })
  const found = compareTools(many('x'), { ...(many('y') as DataObject), _meta: {}, icons: [] })
  t.ok(found.length < 1100)
  t.strictSame(
    [...new Set(found.map(difference => difference.class))].sort(), ['icons', 'inputSchema', 'meta'],
  )
  t.end()
})

const corpus = new URL('../../../../shared/corpus/', import.meta.url)

const inner = (value: Data): readonly (readonly [string | number, Data])[] =>
  (isRecord(value) ? members(value) : isList(value) ? [...value.entries()] : [])

/** Every place of a value, with a value that may stand there instead. */
const mutations = (
  value: Data, path: readonly (string | number)[] = [],
): readonly (readonly [readonly (string | number)[], Data])[] => [
  ...(path.length > 0 ? [[
    path, typeof value === 'string' ? `${value}\u200b` : { was: value },
  ] as const] : []),
  ...inner(value).flatMap(([key, one]) => mutations(one, [...path, key])),
]

t.test('of the definitions of real servers each is itself, and no change of one is missed', {
  skip: existsSync(corpus) ? false : 'the corpus is not here',
}, t => {
  let tried = 0
  for (const server of readdirSync(corpus)) {
    const list = new URL(`${server}/tools-list.jsonl`, corpus)
    if (!existsSync(list)) continue
    const pages = readFileSync(list, 'utf8').split('\n').filter(line => line !== '').map(line =>
      JSON.parse(line) as { result: { tools: DataObject[] } })
    const tools = pages.flatMap(({ result }) => result.tools)
    const missed = tools.flatMap(one => {
      const all = mutations(one)
      const some = all.filter((_, index) => index % Math.ceil(all.length / 40) === 0)
      tried += some.length
      return some.filter(([path, value]) => compareTools(one, withAt(one, path, value)).length === 0)
        .map(([path]) => pointer(...path))
    })
    t.strictSame(missed, [], server)
    t.strictSame(tools.flatMap(one => compareTools(one, shuffled(one))), [], server)
  }
  t.ok(tried > 5000, String(tried))
  t.end()
})
