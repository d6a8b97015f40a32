import fc from 'fast-check'
import t from 'tap'
import { acceptTools, nothingAccepted } from '../../dist/lock/accept.js'
import { changeClasses, compare, compareTools, type Catalogue } from '../../dist/lock/compare.js'
import { decide, standardActions } from '../../dist/lock/decide.js'
import { digestOf, hasDigest } from '../../dist/lock/digest.js'
import { frameOf } from '../../dist/lock/frame.js'
import { formatLock, parseLock, type Lock } from '../../dist/lock/lock.js'
import { isString, type Json, type JsonObject } from '../../dist/protocol/json.js'

const offering = (...tools: readonly JsonObject[]): Catalogue => ({ ...nothingAccepted, tools: new Map(tools.map(tool => [isString(tool['name']) ? tool['name'] : '', tool])) })

const echo = { name: 'echo', description: 'Says it\u200b again.', inputSchema: { type: 'object', properties: { b: { maximum: 1e21 }, a: {} } } }
const add = { name: 'add', inputSchema: { type: 'object' } }
const lock: ReadonlyMap<string, Catalogue> = new Map([
  ['second', offering(add)],
  ['first', { ...offering(echo, add), identity: { command: 'node a.mjs' }, instructions: 'Do.', prompts: new Map([['p', { name: 'p' }]]), resourceTemplates: new Map([['f:///{x}', { uriTemplate: 'f:///{x}' }]]) }],
])

/** As it was written, or as somebody laid it out. */
const reread = (text: string): Lock => {
  const { value, definitions } = frameOf(Buffer.from(text)) ?? { value: JSON.parse(text) as Json, definitions: [] }
  return parseLock(value, 'lock', definitions)
}

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
  const lines = (tool: JsonObject) => formatLock(new Map([['s', offering(tool, add)]])).split('\n')
  const before = lines(echo)
  const after = lines({ ...echo, description: 'Other.' })
  t.equal(before.length, after.length)
  t.equal(before.filter((line, index) => line !== after[index]).length, 2, 'the description and the digest')
  t.end()
})

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>
const catalogue = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.dictionary(fc.string(), json)).map(
  all => offering(...Object.entries(all).map(([name, definition]) => ({ ...definition, name }))),
)

t.test('whatever is locked is read again as it was', t => {
  const names = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('__proto__', 'constructor', '10', '9'))
  fc.assert(fc.property(names, catalogue, (name, server) => {
    const again = reread(formatLock(new Map([[name, server]]))).get(name)
    return again !== undefined && compare(server, again).length === 0
  }))
  fc.assert(fc.property(json, value => hasDigest(value, digestOf(value)) && !hasDigest([value], digestOf(value))))
  t.equal(digestOf({ b: 1, a: [true, 1e21] }), 'sha256-71124226b8d81fa20fd2ce6de2cda9b5fcea366de5c322486ffa9fe5a1620427', 'of {"a":[true,1e+21],"b":1}')
  t.end()
})

t.test('a lock that was tampered with, or is none, is an error', t => {
  const text = formatLock(lock)
  const cases: [string, string, RegExp][] = [
    ['another description', text.replace('Says it', 'Sends it'), /^lock: "first": tools: "echo": the definition is not what its digest says: it was changed after it was accepted$/],
    ['another digest', text.replace(/sha256-[0-9a-f]{8}/, 'sha256-00000000'), /is not what its digest says/],
    ['another name', text.replace('"echo": {', '"ohce": {'), /^lock: "first": tools: "ohce": the definition is that of another name$/],
    ['no digest', text.replace(/,\s+"digest": "[^"]*"/, ''), /is not what its digest says/],
    ['a newer one', text.replace('"version": 1', '"version": 2'), /^lock: was written by a newer mcp-customs \(version 2 of the file; known is 1\)$/],
    ['no version', '{"servers":{}}', /^lock: is no lock file: its version is not 1$/],
    ['a list', '[]', /^lock: it must be an object$/],
    ['an unknown key', text.replace('"instructions"', '"instruction"'), /^lock: "first": unknown key "instruction"$/],
    ['no tools', '{"version":1,"servers":{"a":{"identity":{},"prompts":{},"resourceTemplates":{}}}}', /^lock: "a": tools must be an object$/],
    ['instructions that are none', text.replace('"Do."', '7'), /^lock: "first": instructions must be a text$/],
  ]
  for (const [name, tampered, message] of cases) t.throws(() => reread(tampered), { code: 'BAD_CONFIG', message }, name)
  t.end()
})

t.test('no change of a definition in a lock goes unseen', t => {
  const text = formatLock(new Map([['s', offering(echo)]]))
  const [from, to] = [text.indexOf('"definition"'), text.indexOf('"digest"')]
  fc.assert(fc.property(fc.integer({ min: from, max: to }), fc.constantFrom('x', '7', ' ', '"', '}'), (at, put) => {
    const changed = text.slice(0, at) + put + text.slice(at + 1)
    try {
      return formatLock(reread(changed)) === text
    } catch {
      return true
    }
  }))
  t.end()
})

t.test('a lock as it was written is read in parts, any other as a whole, and both say the same', t => {
  const text = formatLock(lock)
  const frame = frameOf(Buffer.from(text))
  t.equal(frame?.definitions.length, 5)
  t.strictSame(frame?.definitions.map(one => (JSON.parse(String(one)) as JsonObject)['name']), ['p', undefined, 'add', 'echo', 'add'], 'each as it stands there')
  const [parts, whole] = [reread(text), parseLock(JSON.parse(text) as Json, 'lock')]
  for (const [name, server] of whole) {
    const other = parts.get(name)
    t.strictSame([other && compare(server, other), other?.tools.size, other && [...other.tools.values()]], [[], server.tools.size, [...server.tools.values()]], name)
    other?.tools.forEach((definition, tool) => t.strictSame([definition, other.tools.get(tool), other.tools.has(tool)], [server.tools.get(tool), definition, true]))
  }
  t.strictSame(parts.get('first')?.tools.get('none'), undefined)
  const cases: readonly (readonly [string, string])[] = [
    ['a server that stands there twice', text.replace('"servers": {', '"servers": {\n    "first": {},')],
    ['a tool that stands there twice', text.replace(/("add": \{[^]*?\n {8}\},)/, '$1\n        $1')],
    ['a digest that stands there twice', text.replace(/("digest": "[^"]*")/, '$1,\n          $1')],
    ['a mark of the order of bytes', `\ufeff${text}`],
    ['other ends of lines', text.replaceAll('\n', '\r\n')],
    ['no last line end', text.slice(0, -1)],
    ['a definition in one line', text.replace(/"definition": \{[^]*?\n {10}\}/, '"definition": {"name": "add"}')],
    ['a definition without an end', text.slice(0, text.indexOf('"digest"') - 20)],
    ['nothing', ''],
  ]
  for (const [name, other] of cases) {
    t.not(other, text, name)
    t.equal(frameOf(Buffer.from(other)), undefined, name)
  }
  t.equal(frameOf(Buffer.from(text.replace('Says', '\u00ff'), 'latin1')), undefined, 'what is not UTF-8')
  t.throws(() => reread(text.replace(/"definition": \{[^]*?\n {10}\}/, '"definition": 1')), /the definition is|definition must be an object/, 'a number of our own')
  t.end()
})

t.test('a part of what changed is accepted', t => {
  const before = offering(echo, add, { name: 'old', x: 1 }, { name: 'gone' })
  const after = offering({ ...echo, title: 'E' }, { ...add, title: 'A' }, { name: 'new', x: 1 }, { name: 'come' })
  const accepted = (...names: readonly string[]) => [...acceptTools(before, { ...after, instructions: 'New.' }, new Set(names)).tools.values()].map(tool => JSON.stringify(tool))
  const has = (names: readonly string[], ...tools: readonly JsonObject[]) => t.strictSame(accepted(...names).sort(), tools.map(tool => JSON.stringify(tool)).sort(), names.join(' '))
  has(['echo'], { ...echo, title: 'E' }, add, { name: 'old', x: 1 }, { name: 'gone' })
  has(['gone', 'come'], echo, add, { name: 'old', x: 1 }, { name: 'come' })
  has(['old'], echo, add, { name: 'new', x: 1 }, { name: 'gone' })
  has(['new'], echo, add, { name: 'new', x: 1 }, { name: 'gone' })
  has(['nothing'], echo, add, { name: 'old', x: 1 }, { name: 'gone' })
  t.equal(acceptTools(before, { ...after, instructions: 'New.' }, new Set(['echo'])).instructions, undefined, 'nothing else is')
  t.end()
})

t.test('what a model reads, and what widens what can be sent, is blocked; the rest is recorded', t => {
  const decided = (after: JsonObject) => decide(compareTools(echo, after), standardActions)
  t.strictSame(decided(echo), { action: 'pass', classes: [] })
  t.strictSame(decided({ ...echo, _meta: { v: 2 } }), { action: 'log', classes: ['meta'] })
  t.strictSame(decided({ ...echo, _meta: { v: 2 }, description: 'Other.' }), { action: 'block', classes: ['text', 'meta'] })
  t.strictSame(decided({ ...echo, inputSchema: {} }), { action: 'block', classes: ['inputSchema'] })
  t.strictSame(decide(compareTools(echo, { ...echo, title: 'x' }), { ...standardActions, text: 'log' }), { action: 'log', classes: ['text'] })
  t.strictSame(Object.keys(standardActions).sort(), Object.keys(changeClasses).sort())
  t.end()
})
