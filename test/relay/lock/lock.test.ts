import fc from 'fast-check'
import t from 'tap'
import { compareTools } from '#relay/lock/compare.js'
import { changeClasses } from '#relay/lock/comparison.js'
import { decide, standardActions } from '#relay/lock/decide.js'
import { markLongNumbers } from '#relay/lock/digits.js'
import {
  acceptAll, acceptTools, compareServers, definitionDigest, formatLock, parseLock, type Lock,
} from '#relay/lock/lock.js'
import { single, type Offer } from '#relay/lock/offer.js'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import { byName, lockedAs, offering } from './offering.js'

const echo = {
  name: 'echo', description: 'Says it\u200b again.',
  inputSchema: { type: 'object', properties: { b: { maximum: 1e21 }, a: {} } },
}
const add = { name: 'add', inputSchema: { type: 'object' } }
const first = offering([echo, add], {
  says: 'Do.', serverInfo: single({ title: 'First' }), prompts: byName([{ name: 'p' }]), resources: byName(
    [{ uri: 'f:///a', name: 'a' }], 'uri',
  ), resourceTemplates: byName([{ uriTemplate: 'f:///{x}' }], 'uriTemplate'),
})
const lock: Lock =
  new Map([['second', lockedAs(offering([add]))], ['first', lockedAs(first, { command: 'node a.mjs' })]])

const reread = (text: string): Lock =>
  parseLock(JSON.parse((markLongNumbers(Buffer.from(text)) ?? text).toString()) as Data, 'lock')

t.test('a lock is sorted, shows what is not seen, and is the same text every time', t => {
  const text = formatLock(lock)
  t.ok(text.indexOf('"first"') < text.indexOf('"second"'))
  t.match(text, `          "definition": {
            "description": "Says it\\u200b again.",
            "inputSchema": {
              "properties": {
                "a": {},
                "b": {
                  "maximum": 1e+21
                }
              },`)
  t.equal(formatLock(reread(text)), text)
  t.equal(formatLock(new Map([...lock].reverse())), text)
  t.end()
})

t.test('a change of one tool changes the lines of that tool alone', t => {
  const lines = (tool: DataObject) =>
    formatLock(new Map([['s', lockedAs(offering([tool, add]))]])).split('\n')
  const before = lines(echo)
  const after = lines({ ...echo, description: 'Other.' })
  t.equal(before.length, after.length)
  t.equal(before.filter((line, index) => line !== after[index]).length, 2, 'the description and the digest')
  t.end()
})

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Data>
const offer = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.dictionary(fc.string(), json)).map(
  all => offering(Object.entries(all).map(([name, definition]) => ({ ...definition, name }))),
)

t.test('whatever is locked is read again as it was', t => {
  const names =
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('__proto__', 'constructor', '10', '9'))
  fc.assert(fc.property(names, offer, offer, (name, legacy, modern) => {
    const server = { ...lockedAs(legacy), offers: { legacy, modern } }
    const again = reread(formatLock(new Map([[name, server]]))).get(name)
    return again !== undefined && compareServers(again, server)
      .length === 0 && compareServers(server, again).length === 0
  }))
  t.equal(
    definitionDigest({ b: 1, a: [true, 1e21] }),
    'sha256-71124226b8d81fa20fd2ce6de2cda9b5fcea366de5c322486ffa9fe5a1620427', 'of {"a":[true,1e+21],"b":1}',
  )
  t.end()
})

t.test('a lock that was tampered with, or is none, is an error', t => {
  const text = formatLock(lock)
  const cases: [string, string, RegExp][] = [
    [
      'another description', text.replace('Says it', 'Sends it'),
      /^lock: "first": tools: "echo": the definition is not what its digest says: it was changed after it was accepted$/,
    ],
    ['another digest', text.replace(/sha256-[0-9a-f]{8}/, 'sha256-00000000'), /is not what its digest says/],
    [
      'another name', text.replace('"echo": {', '"ohce": {'),
      /^lock: "first": tools: "ohce": the definition is that of another name$/,
    ],
    ['no digest', text.replace(/,\s+"digest": "[^"]*"/, ''), /is not what its digest says/],
    [
      'a newer one', text.replace('"version": 2', '"version": 3'),
      /^lock: was written by a newer mcp-customs \(version 3 of the file; known is 2\)$/,
    ],
    ['no version', '{"servers":{}}', /^lock: is no lock file: its version is not 2$/],
    ['a list', '[]', /^lock: it must be an object$/],
    ['a list for a version', '{"version":[2],"servers":{}}', /^lock: is no lock file: its version is not 2$/],
    [
      'an unknown key', text.replace('"instructions"', '"instruction"'),
      /^lock: "first": unknown key "instruction"$/,
    ],
    [
      'an older one', text.replace('"version": 2', '"version": 1'),
      /^lock: was written by an older mcp-customs \(version 1 of the file\): move it away, and accept the servers again with "mcp-customs lock"$/,
    ],
    [
      'other instructions', text.replace('"Do."', '"Do not."'),
      /^lock: "first": instructions: the definition is not what its digest says/,
    ],
    [
      'another title', text.replace('"First"', '"Last"'),
      /^lock: "first": serverInfo: the definition is not what its digest says/,
    ],
    [
      'nobody who accepted it', text.replace('"person"', '"somebody"'),
      /^lock: "first": acceptedBy must be "person" or "--yes"$/,
    ],
    [
      'no tools',
      '{"version":2,"servers":{"a":{"identity":{},"acceptedBy":"person","prompts":{},"resourceTemplates":{}}}}',
      /^lock: "a": tools must be an object$/,
    ],
  ]
  for (const [name, tampered, message] of cases) t.throws(
    () => reread(tampered), { code: 'BAD_CONFIG', message }, name,
  )
  t.end()
})

t.test('no change of a definition in a lock goes unseen', t => {
  const text = formatLock(new Map([['s', lockedAs(offering([echo]))]]))
  const [from, to] = [text.indexOf('"definition"'), text.indexOf('"digest"')]
  fc.assert(fc.property(fc.integer({ min: from, max: to }), fc.constantFrom(
    'x', '7', ' ', '"', '}',
  ), (at, put) => {
    const changed = text.slice(0, at) + put + text.slice(at + 1)
    try {
      return formatLock(reread(changed)) === text
    } catch {
      return true
    }
  }))
  t.end()
})

t.test('a digest that is over another text than the canonical form is none', t => {
  const text = formatLock(lock)
  const unsorted = text.replace(definitionDigest(add), definitionDigest({ add: 1 }))
  t.throws(() => reread(unsorted), { code: 'BAD_CONFIG', message: /not what its digest says/ })
  t.end()
})

t.test('what the eras say differently is locked apart, and what each client sees is compared with what its era was accepted with', t => {
  const legacy = offering([add, echo, { name: 'old' }], { says: 'Legacy.' })
  const modern = offering([add, { ...echo, title: 'Echo' }], { says: 'Modern.' })
  const listed = { identity: {}, offers: { legacy, modern } }
  const text = formatLock(new Map([['s', acceptAll(listed, 'person')]]))
  const { servers: { s } } = JSON.parse(text) as {
    servers: { s: Record<string, { instructions?: object; tools: object }> & { tools: object } },
  }
  t.strictSame(
    [Object.keys(s['tools']), Object.keys(s['legacy']?.tools ?? {}), Object.keys(s['modern']?.tools ?? {})],
    [['add'], ['echo', 'old'], ['echo']],
  )
  t.strictSame([s['instructions'], s['modern']?.instructions], [
    undefined, { definition: 'Modern.', digest: definitionDigest('Modern.') },
  ])
  const locked = reread(text).get('s')
  t.strictSame(compareServers(locked, listed), [])
  t.strictSame(
    compareServers(locked, { identity: {}, offers: { modern } }), [],
    'an era that nobody speaks any more is none that anybody sees',
  )
  const told = (offers: { legacy?: Offer; modern?: Offer }) =>
    compareServers(locked, { identity: {}, offers }).map(({ class: kind, name, era }) => [kind, name, era])
  t.strictSame(told({ legacy: modern, modern }), [
    ['instructions', '', 'legacy'], ['text', 'echo', 'legacy'], ['removed', 'old', 'legacy'],
  ])
  const changed = { ...add, title: 'Add' }
  t.strictSame(told({
    legacy: offering([changed, echo, { name: 'old' }], { says: 'Legacy.' }),
    modern: offering([changed, { ...echo, title: 'Echo' }], { says: 'Modern.' }),
  }), [['text', 'add', undefined]], 'what both have in common is told once')
  const one =
    reread(formatLock(new Map([['s', acceptAll({ identity: {}, offers: { legacy } }, 'person')]]))).get('s')
  t.strictSame(
    compareServers(one, listed).map(({ class: kind, era }) => [kind, era]),
    [['instructions', 'modern'], ['text', 'modern'], ['removed', 'modern']],
    'an era that was not spoken is held to the one that was',
  )
  t.end()
})

t.test('a part of what changed is accepted', t => {
  const before = lockedAs(offering([echo, add, { name: 'old', x: 1 }, { name: 'gone' }]))
  const legacy = offering(
    [{ ...echo, title: 'E' }, { ...add, title: 'A' }, { name: 'new', x: 1 }, { name: 'come' }],
    { says: 'New.' },
  )
  const acceptedOf = (...names: readonly string[]) =>
    acceptTools(before, { identity: {}, offers: { legacy } }, new Set(names)).offers
  const accepted = (...names: readonly string[]) =>
    [...(acceptedOf(...names).legacy?.tools.values() ?? [])].map(tool => JSON.stringify(tool))
  const has = (names: readonly string[], ...tools: readonly DataObject[]) =>
    t.strictSame(accepted(...names).sort(), tools.map(tool => JSON.stringify(tool)).sort(), names.join(' '))
  has(['echo'], { ...echo, title: 'E' }, add, { name: 'old', x: 1 }, { name: 'gone' })
  has(['gone', 'come'], echo, add, { name: 'old', x: 1 }, { name: 'come' })
  has(['old'], echo, add, { name: 'new', x: 1 }, { name: 'gone' })
  has(['new'], echo, add, { name: 'new', x: 1 }, { name: 'gone' })
  has(['nothing'], echo, add, { name: 'old', x: 1 }, { name: 'gone' })
  t.equal(acceptedOf('echo').legacy?.instructions.size, 0, 'nothing else is')
  t.equal(acceptedOf('echo').modern?.tools.get('echo'), echo, 'nor is what was not listed')
  t.end()
})

t.test('what a model reads, and what widens what can be sent, is blocked; the rest is recorded', t => {
  const decided = (after: DataObject) => decide(compareTools(echo, after), standardActions)
  t.strictSame(decided(echo), { action: 'pass', classes: [] })
  t.strictSame(decided({ ...echo, _meta: { v: 2 } }), { action: 'log', classes: ['meta'] })
  t.strictSame(decided({ ...echo, _meta: { v: 2 }, description: 'Other.' }), {
    action: 'block', classes: ['text', 'meta'],
  })
  t.strictSame(decided({ ...echo, inputSchema: {} }), { action: 'block', classes: ['inputSchema'] })
  t.strictSame(decide(compareTools(echo, { ...echo, title: 'x' }), { ...standardActions, text: 'log' }), {
    action: 'log', classes: ['text'],
  })
  t.strictSame(Object.keys(standardActions).sort(), Object.keys(changeClasses).sort())
  t.end()
})
